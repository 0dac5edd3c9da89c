"""Accounts as rooms that only read them see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import AccountSpec, JetStreamLimits


class Book:
    """Accounts by name, with their numbers in the order in which they were given."""

    def __init__(self, *specs: AccountSpec, system_account: str = "$SYS") -> None:
        self.system_account = system_account
        self.jetstream_domain: str | None = None
        self.specs = {it.name: it for it in specs}

    def names(self) -> tuple[str, ...]:
        return tuple(self.specs)

    def get(self, name: str) -> AccountSpec | None:
        return self.specs.get(name)

    def default_domain(self, name: str) -> str | None:
        return None

    def jetstream_limits(self, name: str) -> Mapping[str, JetStreamLimits] | None:
        return self.specs[name].jetstream

    def index(self, name: str) -> int:
        if name not in self.specs:
            raise KeyError(name)
        return list(self.specs).index(name)
