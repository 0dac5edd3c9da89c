"""Resolve the imports of accounts against the exports of others, into tables for the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.dataplane.tables import AccountTables, ServiceImportRow, StreamImportRow
from framework.server.accounts.import_cycles import is_in_cycle
from framework.server.accounts.system_imports import (
    default_domain_mappings,
    domain_mappings,
    own_system_exports,
    system_imports,
)
from framework.spec import (
    ALL_TIERS,
    GLOBAL_ACCOUNT,
    JetStreamLimits,
    ServiceExport,
    ServiceImport,
)
from framework.spec.exports import Exports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework.spec import AccountSpec, StreamExport, StreamImport, SubjectMapping

THRESHOLD_S: Final = 120.0
"""How long an answer may take. Source: nats-server `const.go`."""

_UNLIMITED: Final[Mapping[str, JetStreamLimits]] = {ALL_TIERS: JetStreamLimits()}
UNKNOWN: Final = "that account is not known"
CYCLE: Final = "it leads back to this account"


class InvalidImport(Struct, frozen=True):
    """An import that is not in force, and why."""

    account: str
    """The exporter."""
    subject: str
    reason: str


class AccountImports:
    """Resolve imports of all accounts.

    Args:
        index_of: The number of a known account in the data plane.
        token_of: The token of a service whose response times are sampled, by its account and
            the subject of its export.
    """

    def __init__(
        self, *, index_of: Callable[[str], int], token_of: Callable[[str, str], int]
    ) -> None:
        self.system_account = ""
        self.is_alone = True
        """There are no other servers."""
        self.jetstream_domain: str | None = None
        """Domain of the JetStream of this server, which may be empty; None: it has none."""
        self.default_domains: Mapping[str, str] = {}
        """As an AccountPlan has them."""
        self._index_of = index_of
        self._token_of = token_of
        self._specs: dict[str, AccountSpec] = {}
        self._importers: dict[str, dict[str, None]] = {}
        """Of whom each account imports, known or not; a dict keeps the order."""
        self._exports: dict[str, tuple[Exports[StreamExport], Exports[ServiceExport]]] = {}

    @property
    def specs(self) -> Mapping[str, AccountSpec]:
        """All accounts by name."""
        return self._specs

    def put(self, spec: AccountSpec) -> None:
        """Add or replace an account."""
        self._forget_imports(spec.name)
        self._exports.pop(spec.name, None)
        self._specs[spec.name] = spec
        for exporter in _exporters(spec):
            self._importers.setdefault(exporter, {})[spec.name] = None

    def remove(self, name: str) -> None:
        """Remove an account; imports from it are invalid until it is back."""
        self._forget_imports(name)
        self._exports.pop(name, None)
        self._specs.pop(name, None)

    def importers(self, exporter: str) -> Sequence[str]:
        """Return the accounts that import something of another."""
        return tuple(self._importers.get(exporter, ()))

    def plain_tables(self, name: str) -> AccountTables:
        """Return what a known account does to messages when nothing but the system's counts."""
        return AccountTables(
            mappings=tuple(self.system_mappings(name)), service_imports=self.system_imports(name)
        )

    def system_mappings(self, name: str) -> Sequence[SubjectMapping]:
        """Return how a known account reaches the domain of this server's JetStream, or its own."""
        if name == self.system_account:
            return ()
        spec = self._specs[name]
        own = self.jetstream_domain
        mappings = [*domain_mappings(own, spec.mappings)] if own else []
        default = self.default_domains.get(name)
        if default and spec.jetstream is None:
            mappings += default_domain_mappings(default)
        return mappings

    def jetstream_limits(self, name: str) -> Mapping[str, JetStreamLimits] | None:
        """Return what an account may store, by tier: as configured; `$G` anything, if it is alone.

        Returns:
            None: it may have no streams, or is not known.
        """
        spec = self._specs.get(name)
        if spec is None or name == self.system_account:
            return None
        if name == GLOBAL_ACCOUNT and set(self._specs) <= {name, self.system_account}:
            return _UNLIMITED
        return spec.jetstream

    def system_imports(self, name: str) -> tuple[ServiceImportRow, ...]:
        """Return what a known account imports from the system account unasked."""
        if not self.system_account:
            return ()
        spec = self._specs[name]
        index = self._index_of(self.system_account)
        # Here they are told that they may have no streams, elsewhere nobody would tell them.
        reaches = not self.is_alone and self.jetstream_limits(name) is not None
        jetstream = reaches or self.jetstream_domain is not None
        return system_imports(spec, self.system_account, index, jetstream=jetstream)

    def system_exports(self) -> tuple[ServiceExport, ...]:
        """Return what the system account, which is known, exports unasked."""
        configured = self._specs[self.system_account].service_exports
        offered = not self.is_alone or self.jetstream_domain is not None
        return own_system_exports(configured, jetstream=offered)

    def tables(self, name: str) -> tuple[AccountTables, tuple[InvalidImport, ...]]:
        """Return the tables of an account, and its invalid imports."""
        spec = self._specs[name]
        invalid: list[InvalidImport] = []
        streams = (self._stream_import(spec, it, invalid) for it in spec.stream_imports)
        services = (self._service_import(spec, it, invalid) for it in spec.service_imports)
        tables = AccountTables(
            mappings=(*spec.mappings, *self.system_mappings(name)),
            stream_imports=tuple(imported for imported in streams if imported),
            service_imports=(
                *(imported for imported in services if imported),
                *self.system_imports(name),
            ),
            trace_destination=spec.trace_destination,
            trace_percent=spec.trace_sampling_percent,
        )
        return tables, tuple(invalid)

    def _stream_import(
        self, spec: AccountSpec, imported: StreamImport, invalid: list[InvalidImport]
    ) -> StreamImportRow | None:
        export = self._admit(spec, imported, invalid)
        if export is None:
            return None
        return StreamImportRow(
            account=self._index_of(imported.account),
            subject=imported.subject,
            to=imported.to,
            allow_trace=imported.allow_trace,
        )

    def _service_import(
        self, spec: AccountSpec, imported: ServiceImport, invalid: list[InvalidImport]
    ) -> ServiceImportRow | None:
        export = self._admit(spec, imported, invalid)
        if export is None:
            return None
        assert isinstance(export, ServiceExport)
        latency = export.latency
        return ServiceImportRow(
            account=self._index_of(imported.account),
            subject=imported.subject,
            to=imported.to,
            response=export.response,
            threshold_s=export.threshold_s or THRESHOLD_S,
            share=imported.share,
            names_server=imported.account == self.system_account,
            latency=self._token_of(imported.account, export.subject) if latency else 0,
            latency_percent=latency.percent if latency else 100,
            allow_trace=export.allow_trace,
        )

    def _admit(
        self,
        spec: AccountSpec,
        imported: StreamImport | ServiceImport,
        invalid: list[InvalidImport],
    ) -> StreamExport | None:
        """Return the export of an import; None, and the import as invalid, if there is none."""
        is_service = isinstance(imported, ServiceImport)
        found: StreamExport | str = UNKNOWN
        if imported.account in self._specs:
            exports = self._exports_of(imported.account)[is_service]
            found = exports.admit(spec.name, imported.subject, imported.activated_s)
        if not isinstance(found, str):
            imports_of = self._services_of if is_service else self._streams_of
            if is_in_cycle(spec.name, imported, imports_of):
                found = CYCLE
        if isinstance(found, str):
            invalid.append(InvalidImport(imported.account, imported.subject, found))
            return None
        return found

    def _exports_of(self, name: str) -> tuple[Exports[StreamExport], Exports[ServiceExport]]:
        exports = self._exports.get(name)
        if exports is None:
            spec = self._specs[name]
            services = spec.service_exports
            if name == self.system_account:
                services += self.system_exports()
            exports = (Exports(spec.stream_exports), Exports(services))
            self._exports[name] = exports
        return exports

    def _services_of(self, name: str) -> Sequence[ServiceImport]:
        spec = self._specs.get(name)
        return spec.service_imports if spec else ()

    def _streams_of(self, name: str) -> Sequence[StreamImport]:
        spec = self._specs.get(name)
        return spec.stream_imports if spec else ()

    def _forget_imports(self, name: str) -> None:
        spec = self._specs.get(name)
        for exporter in _exporters(spec) if spec else ():
            importers = self._importers[exporter]
            importers.pop(name, None)
            if not importers:
                del self._importers[exporter]


def _exporters(spec: AccountSpec) -> Sequence[str]:
    """Return the accounts that a spec names, each once."""
    streams = {it.account: None for it in spec.stream_imports}
    return tuple(streams | {it.account: None for it in spec.service_imports})
