"""The accounts of a running server: what each is told to be, and its number in the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.spec import GLOBAL_ACCOUNT, SYSTEM_ACCOUNT, AccountBook, AccountSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.server.plane_port import ServerPlane
    from framework.spec import AccountPlan


class Accounts(AccountBook):
    """The book of accounts; a name keeps its number as long as the server runs.

    Args:
        plane: Is told of them.
    """

    def __init__(self, plane: ServerPlane) -> None:
        self._plane = plane
        self._specs: dict[str, AccountSpec] = {}
        self._indexes = {GLOBAL_ACCOUNT: 0}
        self._system_account = ""
        self.put([AccountSpec(name=GLOBAL_ACCOUNT)])

    def begin(self, plan: AccountPlan | None) -> None:
        """Take the accounts that the server begins with; None: `$G` and `$SYS`."""
        self._system_account = plan.system_account if plan else SYSTEM_ACCOUNT
        specs = list(plan.accounts) if plan else []
        if self._system_account and self._system_account not in {spec.name for spec in specs}:
            specs.append(AccountSpec(name=self._system_account))
        self.put(specs)

    @property
    @override
    def system_account(self) -> str:
        return self._system_account

    @override
    def names(self) -> Sequence[str]:
        return tuple(self._specs)

    @override
    def get(self, name: str) -> AccountSpec | None:
        return self._specs.get(name)

    @override
    def index(self, name: str) -> int:
        if name not in self._specs:
            raise KeyError(name)
        return self._indexes[name]

    def name(self, index: int) -> str:
        """Return the name of an account by its number in the data plane."""
        return next((name for name, at in self._indexes.items() if at == index), str(index))

    @override
    def put(self, specs: Sequence[AccountSpec]) -> None:
        for spec in specs:
            self._specs[spec.name] = spec
            if spec.name not in self._indexes:
                self._indexes[spec.name] = self._plane.add_account(spec.name.encode())

    @override
    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            self._specs.pop(name, None)
