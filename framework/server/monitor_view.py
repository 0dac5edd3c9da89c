"""The server as monitoring endpoints read it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from typing_extensions import override

from framework.monitor import MonitorSource, Turns
from framework.monitor.source import PluginState
from framework.server.usage import UsageMeter
from framework.spec import HealthProblem

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Callable,
        Collection,
        Iterator,
        Mapping,
        Sequence,
    )

    from framework.dataplane import Listed
    from framework.dataplane.totals import AccountTraffic, SublistCounters, Totals
    from framework.monitor import ClosedClient, ProcessUsage, ServerFacts
    from framework.plugins import PluginRegistry
    from framework.server.accounts.accounts import Accounts
    from framework.server.clients.client_info import ClientInfoDocument
    from framework.server.clients.clients import Clients
    from framework.server.context import Context
    from framework.server.plane_port import ServerPlane
    from framework.spec import (
        AccountBook,
        ClientIdentity,
        HealthCheck,
        HealthQuestion,
        LinkId,
        LinkKind,
        LinkRow,
        MonitorFields,
        ServiceExport,
        SubjectMapping,
        TrustedOperator,
    )
    from framework.spec.quota import QuotaRow
    from framework.wire.info import ClientConnect


class MonitorView(MonitorSource):
    """What monitoring endpoints may read.

    Args:
        context: The server.
        facts: What does not change but by a reload.
        plane: Has the counters.
        clients: Has the names of clients, and those that are gone.
        accounts: Its accounts.
        client_info: The INFO of clients.
        plugins: Loaded.
        component_failures: How often each component has failed.
    """

    def __init__(
        self,
        context: Context,
        *,
        plugins: PluginRegistry,
        component_failures: Mapping[str, int],
        facts: ServerFacts,
        plane: ServerPlane,
        clients: Clients,
        accounts: Accounts,
        client_info: ClientInfoDocument,
        user_kinds: Sequence[LinkKind],
        quotas: Callable[[], Iterator[QuotaRow]],
    ) -> None:
        self._quotas = quotas
        self.health_checks: Sequence[HealthCheck] = ()
        self.fields: Sequence[MonitorFields] = ()
        self.requests: Mapping[str, int] = {}
        self._context = context
        self._facts = facts
        self._plane = plane
        self._clients = clients
        self._accounts = accounts
        self._client_info = client_info
        self._user_kinds = user_kinds
        self._plugins = plugins
        self._component_failures = component_failures
        self._usage = UsageMeter()

    @property
    @override
    def server_id(self) -> str:
        return self._context.server_id

    @property
    @override
    def name(self) -> str:
        return self._context.name

    @property
    @override
    def cluster_name(self) -> str:
        return self._context.cluster_name

    @property
    @override
    def turns(self) -> Turns:
        return self._context.turns

    @override
    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    @override
    def wall_ns(self, monotonic_ns: int) -> int:
        return time.time_ns() - time.monotonic_ns() + monotonic_ns

    @override
    async def links(
        self, kind: LinkKind | None, *, account: int | None = None
    ) -> Sequence[LinkRow]:
        return await self._context.links_of(kind, account)

    @property
    @override
    def user_kinds(self) -> Sequence[LinkKind]:
        return self._user_kinds

    @override
    def list_subscriptions(
        self,
        *,
        link: LinkId | None = None,
        account: int | None = None,
        subject: str = "",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> AsyncGenerator[Listed, None]:
        return self._context.list_subscriptions(
            kinds=self._user_kinds,
            link=link,
            account=account,
            subject=subject,
            once=once,
            offset=offset,
            limit=limit,
        )

    @override
    def connection_counts(self) -> Mapping[str, int]:
        return self._clients.counts()

    @override
    def leafnode_counts(self) -> Mapping[str, int]:
        return self._context.leafnode_counts

    @override
    def client_connect(self, row: LinkRow) -> ClientConnect | None:
        return self._clients.connect_of(row.link)

    @override
    def client_identity(self, row: LinkRow) -> ClientIdentity | None:
        return self._clients.identity_of(row.link)

    @override
    async def plugin_fields(self, document: str) -> Mapping[str, object]:
        merged: dict[str, object] = {}
        for fields in self.fields:
            if fields.document == document:
                merged |= await fields.make()
        return merged

    @override
    def closed_clients(self) -> Sequence[ClosedClient]:
        return tuple(self._clients.closed)

    @override
    def account_name(self, account: int) -> str:
        return self._context.account_name(account)

    @property
    @override
    def accounts(self) -> AccountBook:
        return self._accounts

    @property
    @override
    def trusted_operators(self) -> Sequence[TrustedOperator]:
        return self._accounts.trusted_operators

    @override
    def invalid_imports(self, account: str) -> Collection[tuple[str, str]]:
        return {(it.account, it.subject) for it in self._accounts.invalid_imports(account)}

    @override
    def system_imports(self, account: str) -> Sequence[tuple[str, str, bool]]:
        if self._accounts.get(account) is None:
            return ()
        imports = self._accounts.system_imports(account)
        return [(imported.to, imported.subject, imported.share) for imported in imports]

    @override
    def system_mappings(self, account: str) -> Sequence[SubjectMapping]:
        if self._accounts.get(account) is None:
            return ()
        return self._accounts.system_mappings(account)

    @override
    def system_exports(self, account: str) -> Sequence[ServiceExport]:
        if self._accounts.get(account) is None or account != self._accounts.system_account:
            return ()
        return self._accounts.system_exports()

    @override
    def account_traffic(self, account: int) -> AccountTraffic:
        return self._plane.account_traffic(account)

    @override
    def sublist_counters(self, account: int | None = None) -> SublistCounters:
        return self._plane.sublist_counters(account)

    @override
    def totals(self) -> Totals:
        return self._plane.totals()

    @property
    @override
    def facts(self) -> ServerFacts:
        return self._facts

    def replace_facts(self, facts: ServerFacts) -> None:
        """Show a reloaded configuration."""
        self._facts = facts

    @property
    @override
    def client_info(self) -> Mapping[str, object]:
        return self._client_info.fields

    @property
    @override
    def request_counts(self) -> Mapping[str, int]:
        return self.requests

    @override
    def plugins(self) -> Sequence[PluginState]:
        taps, owner_of = self._context.taps(), self._plugins.owner_of
        refused = self._context.refusals.rows()
        waiting, failures = self.mailboxes(), self._component_failures
        return [
            PluginState(
                plugin,
                self._plugins.usage(plugin.name),
                [row for row in taps if row.spec.plugin == plugin.name],
                [
                    (name, count, failures.get(name, 0))
                    for name, count in waiting.items()
                    if owner_of("component", name) == plugin.name
                ],
                [row for row in refused if row.spec.plugin == plugin.name],
                [row for row in self._context.gates.rows() if row.spec.plugin == plugin.name],
                [row for row in self._context.ports.rows() if row.spec.plugin == plugin.name],
            )
            for plugin in self._plugins.plugins
        ]

    @override
    def quotas(self) -> Iterator[QuotaRow]:
        return self._quotas()

    @override
    def mailboxes(self) -> Mapping[str, int]:
        return {name: len(it.actor_inbox) for name, it in self._context.components.items()}

    @override
    def usage(self) -> ProcessUsage:
        return self._usage.measure()

    @override
    def health_problems(self) -> Sequence[str]:
        problems = []
        for check in self.health_checks:
            try:
                problem = check.check()
            except Exception as error:  # noqa: BLE001 - a check that fails is a complaint too
                problem = f"the check itself failed: {error}"
            if problem:
                problems.append(f"{check.name}: {problem}")
        return problems

    @override
    def examine_health(self, question: HealthQuestion) -> Sequence[HealthProblem]:
        problems: list[HealthProblem] = []
        for check in self.health_checks:
            try:
                problems += check.examine(question)
            except Exception as error:  # noqa: BLE001 - as above
                text = f"{check.name}: the check itself failed: {error}"
                problems.append(HealthProblem(kind="JETSTREAM", error=text))
        return problems
