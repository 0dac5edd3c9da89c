"""Resolved accounts, and which follow when one of them changes.

A machine without clock and network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_auth.operator.account_specs import build_account, exporters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_auth.operator.account_specs import BuiltAccount
    from framework_auth.operator.trust import KnownAccount


class KnownAccounts:
    """Accounts by public key."""

    def __init__(self) -> None:
        self._accounts: dict[str, KnownAccount] = {}
        self._importers: dict[str, set[str]] = {}
        """Exporter to who imports from it; also of exporters that are not known."""
        self._ends_s: dict[str, float] = {}
        """Account to the Unix time at which it has to be looked at again."""

    def get(self, name: str) -> KnownAccount | None:
        """Return an account that is known."""
        return self._accounts.get(name)

    def names(self) -> Sequence[str]:
        """Return the public keys of all that are known."""
        return tuple(self._accounts)

    def put(self, known: KnownAccount, now_s: float) -> Sequence[BuiltAccount]:
        """Add an account, or put a new version of it in force.

        Returns:
            The account, and those that import from it, which its signing keys may concern.
        """
        name = known.claims.name
        self._forget_imports(name)
        self._accounts[name] = known
        for exporter in exporters_of(known.claims):
            self._importers.setdefault(exporter, set()).add(name)
        return self._build([name, *sorted(self._importers.get(name, ()))], now_s)

    def remove(self, name: str, now_s: float) -> Sequence[BuiltAccount]:
        """Forget an account; return those that import from it."""
        self._forget_imports(name)
        self._accounts.pop(name, None)
        self._ends_s.pop(name, None)
        return self._build(sorted(self._importers.get(name, ())), now_s)

    def missing_exporters(self, name: str) -> Sequence[str]:
        """Return the accounts that an account imports from, and that are not known."""
        known = self._accounts.get(name)
        exporters = exporters_of(known.claims) if known else ()
        return sorted(it for it in exporters if it not in self._accounts)

    def next_end_s(self) -> float:
        """Return the Unix time at which an account or an activation ends next; 0: none does."""
        return min(self._ends_s.values(), default=0.0)

    def receive_time(self, now_s: float) -> Sequence[BuiltAccount]:
        """Return the accounts of which something has ended, as they are now."""
        return self._build([name for name, end_s in self._ends_s.items() if end_s <= now_s], now_s)

    def _build(self, names: Sequence[str], now_s: float) -> Sequence[BuiltAccount]:
        built = [
            build_account(self._accounts[name], self._accounts, now_s)
            for name in dict.fromkeys(names)
            if name in self._accounts
        ]
        for it in built:
            self._note_end(it, now_s)
        return built

    def _note_end(self, built: BuiltAccount, now_s: float) -> None:
        # A claim counts in the second that it names, too.
        ends = [it + 1 for it in (built.expires_s, built.spec.expires_s) if it + 1 > now_s and it]
        self._ends_s.pop(built.spec.name, None)
        if ends:
            self._ends_s[built.spec.name] = min(ends)

    def _forget_imports(self, name: str) -> None:
        known = self._accounts.get(name)
        for exporter in exporters_of(known.claims) if known else ():
            importers = self._importers.get(exporter, set())
            importers.discard(name)
            if not importers:
                self._importers.pop(exporter, None)
