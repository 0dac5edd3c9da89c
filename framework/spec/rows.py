"""Arrays of monitoring documents that are made while they are sent, a million items or more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from typing_extensions import override

from framework.dataplane import Listed


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
    """Subscriptions, as the data plane lists them.

    Args:
        slices: Of `ServerContext.list_subscriptions`.
        write: Makes items of the data of a slice and a newline; such as `subscription_items`.
    """

    def __init__(
        self, slices: AsyncGenerator[Listed, None], write: Callable[[bytes, bytes], bytes]
    ) -> None:
        self._slices = slices
        self._write = write

    @override
    async def items(self, newline: bytes) -> AsyncGenerator[bytes, None]:
        comma = b""
        async with aclosing(self._slices) as slices:
            async for listed in slices:
                text = self._write(listed.data, newline)
                if text:
                    yield comma + text
                    comma = b","
