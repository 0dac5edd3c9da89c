"""A plugin for tests: users in a block `people`, each with a password, an account and rights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.actors import Reply
from framework.hookspecs import hookimpl
from framework.spec import (
    Accepted,
    AccountLimits,
    AccountPlan,
    AccountSpec,
    Authenticator,
    Permissions,
    Refused,
    ServiceExport,
    ServiceImport,
    SubjectRules,
)
from framework.topology import ConfigSection, Node, Reload, TopologyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.spec import LoginAnswer, LoginRequest, ServerContext
    from framework.topology import ConfigDiff, ServerConfig


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    return [ConfigSection(name="people", help="Users", reload=Reload.LIVE)]


@hookimpl
def framework_accounts(server: ServerContext) -> AccountPlan:
    return plan_of(server.config)


@hookimpl
def framework_authenticators(server: ServerContext) -> Iterable[Authenticator]:
    people = people_of(server.config)
    if not people:
        return []

    def judge(user: str) -> Accepted | Refused:
        person = people.get(user)
        return accepted(user, person) if person else Refused()

    def authenticate(request: LoginRequest) -> Reply[LoginAnswer]:
        reply: Reply[LoginAnswer] = Reply()
        person = people.get(request.connect.user)
        known = person is not None and person["pass"] == request.connect.password
        reply.set(judge(request.connect.user) if known else Refused())
        return reply

    def recheck(_request: LoginRequest, before: Accepted) -> Accepted | Refused:
        return judge(before.user)

    return [Authenticator(name="people", authenticate=authenticate, recheck=recheck)]


@hookimpl
def framework_check_reload(diff: ConfigDiff) -> Iterable[TopologyError]:
    for user in people_of(diff.config):
        if user == "nobody":
            yield TopologyError(diff.config.source("people"), "nobody can't log in")


@hookimpl
def framework_reloaded(server: ServerContext) -> None:
    server.accounts.put(plan_of(server.config).accounts)


def people_of(config: ServerConfig) -> dict[str, Any]:
    node: Any = config.values["people"]
    people: dict[str, Any] = node.plain() if isinstance(node, Node) else {}
    return people


def plan_of(config: ServerConfig) -> AccountPlan:
    people = people_of(config).values()
    most = {it["account"]: it.get("max_connections", -1) for it in people}
    return AccountPlan(
        accounts=tuple(
            AccountSpec(
                name=name,
                limits=AccountLimits(max_connections=count),
                service_exports=(ServiceExport(subject=f"of.{name}"),),
                service_imports=tuple(
                    ServiceImport(account=other, subject=f"of.{other}", to=f"to.{other}")
                    for other in most
                    if other != name
                ),
            )
            for name, count in most.items()
        )
    )


def accepted(user: str, person: dict[str, Any]) -> Accepted:
    may = person.get("may_publish")
    permissions = Permissions(publish=SubjectRules(allow=tuple(may))) if may else None
    return Accepted(user, person["account"], permissions)
