"""Arrays of monitoring documents that are made while they are sent, a million items or more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Self

from typing_extensions import override

from framework.dataplane import Listed, subject_items, subscription_items


class Rows(ABC):
    """An array, the value of a field of a document; it is asked for once."""

    @abstractmethod
    def items(self, newline: bytes) -> AsyncGenerator[bytes, None]:
        """Yield the JSON of items, commas between them included, some at a time.

        Args:
            newline: What stands before each item and its closing brace, whose fields stand two
                blanks further in; empty: there are no blanks at all.
        """


class SubscriptionRows(Rows):
    """Subscriptions, as `ServerContext.list_subscriptions` yields them.

    Args:
        slices: What it yields.
        write: Makes items of the data of a slice and a newline.
    """

    def __init__(
        self, slices: AsyncGenerator[Listed, None], write: Callable[[bytes, bytes], bytes]
    ) -> None:
        self._slices = slices
        self._write = write

    @classmethod
    def subjects(cls, slices: AsyncGenerator[Listed, None]) -> Self:
        """Return them by their subjects alone."""
        return cls(slices, subject_items)

    @classmethod
    def details(
        cls,
        slices: AsyncGenerator[Listed, None],
        *,
        accounts: Mapping[int, tuple[bytes, bytes]] | None = None,
    ) -> Self:
        """Return them with all that is known of them.

        Args:
            slices: What `ServerContext.list_subscriptions` yields.
            accounts: Name and name tag of each account by its number; None: they are left out.

        Source: nats-server `monitor.go`, `newSubDetail` and `newClientSubDetail`.
        """
        return cls(slices, partial(subscription_items, accounts=accounts))

    @override
    async def items(self, newline: bytes) -> AsyncGenerator[bytes, None]:
        comma = b""
        async with aclosing(self._slices) as slices:
            async for listed in slices:
                text = self._write(listed.data, newline)
                if text:
                    yield comma + text
                    comma = b","
