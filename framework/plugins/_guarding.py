"""What plugins hand over, with every function in it guarded: whose it is, and how it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from framework.actors import Component, MailboxFullError, Reply
from framework.errors import BadQuery, PluginError
from framework.plugins._places import definition_of

if TYPE_CHECKING:
    from framework.plugins._guard import Guard
    from framework.spec import (
        Authenticator,
        ComponentSpec,
        HealthCheck,
        MonitorEndpoint,
        ServerContext,
        ServiceSpec,
        TapSpec,
    )


def guarded_tap(guard: Guard, plugin: str, spec: TapSpec) -> TapSpec:
    """Guard `receive`; who tells an actor that has too much to do does not fail."""
    passes = (MailboxFullError,)
    receive = guard.guarded(plugin, f"tap {spec.name}", spec.receive, passes=passes)
    return replace(spec, receive=receive)


def guarded_endpoint(guard: Guard, plugin: str, spec: MonitorEndpoint) -> MonitorEndpoint:
    """Guard `answer`; a query that makes no sense is the asker's fault."""
    what = f"endpoint {spec.path or spec.request or spec.account_request or spec.status}"
    answer = guard.guarded_async(plugin, what, spec.answer, passes=(BadQuery,))
    return replace(spec, answer=answer)


def guarded_service(guard: Guard, plugin: str, spec: ServiceSpec) -> ServiceSpec:
    """Guard `answer`."""
    return replace(spec, answer=guard.guarded_async(plugin, f"service {spec.name}", spec.answer))


def guarded_check(guard: Guard, plugin: str, spec: HealthCheck) -> HealthCheck:
    """Guard `check`."""
    return replace(spec, check=guard.guarded(plugin, f"health check {spec.name}", spec.check))


def guarded_authenticator(guard: Guard, plugin: str, spec: Authenticator) -> Authenticator:
    """Guard `authenticate` and `recheck`; what they raise may hold a client's secrets."""
    what = f"authenticator {spec.name}"

    def authenticate(request: object) -> Reply[Any]:
        try:
            reply = guard.call(plugin, what, spec.authenticate, request, is_secret=True)
        except PluginError as error:
            guard.report(what, error)
            raise
        if isinstance(reply, Reply):
            return reply
        problem = f"{what} must return a Reply, not {type(reply).__name__}"
        fix = "make a Reply(), set() it now or later, and return it"
        place = definition_of(spec.authenticate)
        wrong = PluginError(plugin, problem, origin=place, fix=fix)
        guard.fail(what, wrong)
        raise wrong

    def recheck(request: object, accepted: object) -> object:
        assert spec.recheck is not None
        try:
            return guard.call(plugin, what, spec.recheck, request, accepted, is_secret=True)
        except PluginError as error:
            guard.report(what, error)
            raise

    return replace(
        spec, authenticate=authenticate, recheck=recheck if spec.recheck else None, plugin=plugin
    )


def guarded_component(guard: Guard, plugin: str, spec: ComponentSpec) -> ComponentSpec:
    """Guard `factory`, and look at what it returns."""
    what = f"component {spec.name}"

    def factory(server: ServerContext) -> tuple[type[Component], Mapping[str, Any]]:
        made = guard.call(plugin, what, spec.factory, server)
        match made:
            case (type() as kind, Mapping() as arguments) if issubclass(kind, Component):
                return kind, arguments
        problem = f"{what}: its factory must return (actor class, its arguments), not {made!r:.80}"
        raise PluginError(plugin, problem, origin=definition_of(spec.factory))

    return replace(spec, factory=factory)
