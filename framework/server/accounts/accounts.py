"""The accounts of a running server, and their numbers in the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.dataplane.tables import AccountTables
from framework.server.accounts.account_imports import CYCLE, AccountImports, InvalidImport
from framework.server.accounts.sampled_services import SampledServices
from framework.spec import GLOBAL_ACCOUNT, SYSTEM_ACCOUNT, AccountBook, AccountSpec
from framework.sublist import BadTransform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol

    from structlog.typing import FilteringBoundLogger

    from framework.dataplane.tables import ServiceImportRow
    from framework.spec import (
        AccountPlan,
        JetStreamLimits,
        ServiceExport,
        SubjectMapping,
        TrustedOperator,
    )

    class AccountPlane(Protocol):
        """The commands of the data plane that concern accounts."""

        def add_account(self, name: bytes) -> int:
            """Return the number of an account, adding the account if it is new."""
            ...

        def set_account_tables(self, account: int, tables: AccountTables) -> None:
            """Put a version of an account's tables in force."""
            ...

        def set_system_account(self, account: int | None) -> None:
            """Say which account clients are told is the system's."""
            ...

        def remove_account(self, account: int) -> None:
            """Forget all of an account but its number."""
            ...


_NOTHING = AccountTables()


class Accounts(AccountBook):
    """Keep all accounts; a name keeps its number as long as the server runs.

    A machine: it tells the plane, and who asked to be told, and does nothing else.

    Args:
        plane: Is told of them.
        log: Where an import that does nothing is complained of, once.
        changed: Told of accounts that came, changed or went.
        came_back: Told of an account that is there again: nothing is subscribed in it any more.
    """

    def __init__(
        self,
        plane: AccountPlane,
        *,
        log: FilteringBoundLogger,
        changed: Callable[[Sequence[str]], None] = lambda _: None,
        came_back: Callable[[str, int], None] = lambda _name, _index: None,
    ) -> None:
        self._changed = changed
        self._came_back = came_back
        self._resolve: Callable[[str], object] | None = None
        self._plane = plane
        self._log = log
        self._indexes = {GLOBAL_ACCOUNT: 0}
        self._names = {0: GLOBAL_ACCOUNT}
        self.sampled = SampledServices()
        """Services whose response times are measured."""
        self.trusted_operators: Sequence[TrustedOperator] = ()
        self._links = AccountImports(
            index_of=self._indexes.__getitem__, token_of=self.sampled.token_of
        )
        self._tables: dict[str, AccountTables] = {}
        self._invalid: dict[str, tuple[InvalidImport, ...]] = {}
        self.put([AccountSpec(name=GLOBAL_ACCOUNT)])

    def replace(self, plan: AccountPlan | None) -> None:
        """Replace all accounts by those of a plan; None: `$G` and `$SYS`.

        Where a plan can fetch accounts, those that it does not name stay.
        """
        system_account = plan.system_account if plan else SYSTEM_ACCOUNT
        specs = {spec.name: spec for spec in plan.accounts} if plan else {}
        for name in (GLOBAL_ACCOUNT, system_account):
            if name:
                specs.setdefault(name, AccountSpec(name=name))
        default_domains = plan.default_domains if plan else {}
        everybody = (system_account, default_domains) != (
            self._links.system_account,
            self._links.default_domains,
        )
        self._links.default_domains = default_domains
        self._links.system_account = system_account
        self._resolve = plan.resolve if plan else None
        self.trusted_operators = plan.trusted_operators if plan else ()
        gone = () if self._resolve else tuple(set(self._links.specs) - set(specs))
        self._change(specs.values(), sorted(gone), everybody=everybody)
        self._plane.set_system_account(self._indexes.get(system_account))

    def join_cluster(self) -> None:
        """Let accounts use what other servers of the cluster have; before the first `replace`."""
        self._links.is_alone = False

    @override
    def offer_jetstream(self, domain: str = "") -> None:
        self._links.jetstream_domain = domain

    @property
    @override
    def jetstream_domain(self) -> str | None:
        return self._links.jetstream_domain

    @override
    def default_domain(self, name: str) -> str | None:
        return self._links.default_domains.get(name)

    @override
    def jetstream_limits(self, name: str) -> Mapping[str, JetStreamLimits] | None:
        if self._links.jetstream_domain is None:
            return None
        return self._links.jetstream_limits(name)

    def system_mappings(self, name: str) -> Sequence[SubjectMapping]:
        """Return mappings that an account has unasked; KeyError: unknown."""
        return self._links.system_mappings(name)

    def system_imports(self, name: str) -> Sequence[ServiceImportRow]:
        """Return what an account imports from the system account unasked; KeyError: unknown."""
        return self._links.system_imports(name)

    def system_exports(self) -> Sequence[ServiceExport]:
        """Return what the system account exports unasked; KeyError: there is none."""
        return self._links.system_exports()

    @property
    @override
    def system_account(self) -> str:
        return self._links.system_account

    @override
    def names(self) -> Sequence[str]:
        return tuple(self._links.specs)

    @override
    def get(self, name: str) -> AccountSpec | None:
        return self._links.specs.get(name)

    @override
    def index(self, name: str) -> int:
        if name not in self._links.specs:
            raise KeyError(name)
        return self._indexes[name]

    def name(self, index: int) -> str:
        """Return the name of an account by its number in the data plane."""
        return self._names.get(index) or str(index)

    def invalid_imports(self, name: str) -> Sequence[InvalidImport]:
        """Return the invalid imports of an account, and why."""
        return self._invalid.get(name, ())

    @override
    def fetch(self, name: str) -> None:
        if self._resolve is not None and name not in self._links.specs:
            self._resolve(name)

    @override
    def put(self, specs: Sequence[AccountSpec]) -> None:
        self._change(specs, ())

    @override
    def remove(self, names: Sequence[str]) -> None:
        self._change((), names)

    def _change(
        self, specs: Iterable[AccountSpec], gone: Sequence[str], *, everybody: bool = False
    ) -> None:
        """Add, replace and remove accounts, then resolve the imports that this concerns."""
        changed = [spec for spec in specs if self._links.specs.get(spec.name) != spec]
        always = {GLOBAL_ACCOUNT, self.system_account}
        changed += [AccountSpec(name=name) for name in gone if name in always]
        for spec in changed:
            is_new = spec.name not in self._links.specs
            self._links.put(spec)
            if is_new and spec.name != GLOBAL_ACCOUNT:  # which every plane has
                self._bring(spec.name)
        removed = [name for name in gone if self._take_away(name)]
        touched = [*(spec.name for spec in changed), *removed]
        concerned = dict.fromkeys(self._links.specs if everybody else touched)
        if touched:
            # What it imports depends on whether there are others.
            concerned[GLOBAL_ACCOUNT] = None
        for name in touched:
            concerned.update(dict.fromkeys(self._links.importers(name)))
        self._refresh(concerned)
        if touched:
            self._changed(touched)

    def _take_away(self, name: str) -> bool:
        """Forget an account; return False for one that is not known, or that always is."""
        if name not in self._links.specs or name in {GLOBAL_ACCOUNT, self.system_account}:
            return False
        self._links.remove(name)
        self._tables.pop(name, None)
        self._invalid.pop(name, None)
        self.sampled.forget(name)
        self._plane.remove_account(self._indexes[name])
        return True

    def _bring(self, name: str) -> None:
        was_there = name in self._indexes
        index = self._indexes.setdefault(name, self._plane.add_account(name.encode()))
        self._names[index] = name
        if was_there:
            self._came_back(name, index)

    def _refresh(self, names: Iterable[str]) -> None:
        """Tell the plane of the tables that have changed."""
        # What was in a cycle may not be any more, whichever account has broken it.
        cycles = [
            name
            for name, invalid in self._invalid.items()
            if any(it.reason is CYCLE for it in invalid)
        ]
        for name in dict.fromkeys((*names, *cycles)):
            if name not in self._links.specs:
                continue
            tables, invalid = self._links.tables(name)
            if tables != self._tables.get(name, _NOTHING):
                self._tables[name] = tables
                self._tell(name, tables)
            self._note_invalid(name, invalid)

    def _tell(self, name: str, tables: AccountTables) -> None:
        """Put tables in force; those with a mistake do nothing at all."""
        index = self._indexes[name]
        try:
            self._plane.set_account_tables(index, tables)
        except BadTransform as error:
            what = "Mappings and imports that can't be followed do nothing: {detail}"
            self._log.error(what, detail=str(error), account=name)
            self._plane.set_account_tables(index, self._links.plain_tables(name))

    def _note_invalid(self, name: str, invalid: tuple[InvalidImport, ...]) -> None:
        """Complain of imports that do nothing, each once until it did something."""
        before = self._invalid.pop(name, ())
        if invalid:
            self._invalid[name] = invalid
        for it in invalid:
            if it not in before:
                self._log.warning(
                    "Import of {subject} from account {exporter} is not in force: {detail}",
                    subject=it.subject,
                    exporter=it.account,
                    detail=it.reason,
                    account=name,
                )
