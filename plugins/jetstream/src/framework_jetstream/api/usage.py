"""How many requests there were, and how many of them were refused.

Source: nats-server `jetstream_api.go`, `trackAPI`, `trackAPIErr`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.records import ApiStats


class _Count(Struct):
    total: int = 0
    errors: int = 0


class ApiUsage:
    """Counts the requests of accounts that may have streams."""

    def __init__(self) -> None:
        self._all: Final = _Count()
        self._accounts: Final[dict[str, _Count]] = {}

    def count(self, account: str, *, is_error: bool) -> None:
        """Count one more answer."""
        for count in (self._all, self._accounts.setdefault(account, _Count())):
            count.total += 1
            count.errors += is_error

    def stats(self) -> ApiStats:
        """Return the counts of all accounts together."""
        return _stats(self._all)

    def stats_of(self, account: str, *, level: int = JETSTREAM_API_LEVEL) -> ApiStats:
        """Return the counts of an account.

        Args:
            account: Its name.
            level: Of the API, as shown.
        """
        return _stats(self._accounts.get(account, _Count()), level)


def _stats(count: _Count, level: int = JETSTREAM_API_LEVEL) -> ApiStats:
    return ApiStats(level=level, total=count.total, errors=count.errors)
