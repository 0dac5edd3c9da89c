"""Taps: messages for who is inside the server's process, in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from framework.dataplane.batch import Batch
from framework.dataplane.sink import ALL_OF_IT, Overflow, TapKind, WatchTerms
from framework.spec._checks import check, check_function, check_name, check_queue, check_subject
from framework.spec.account import GLOBAL_ACCOUNT

TAP_BYTES_MAX: Final = 8 * 1024 * 1024
"""What a tap may hold unless it says otherwise; 32 batches of the largest size."""


class TapSpec(Struct, frozen=True, kw_only=True):
    """A subscription, or a watch that nobody notices, whose messages arrive in batches."""

    name: str
    subject: str
    """May have wildcards."""
    receive: Callable[[Batch], None]
    """Called in the control loop, in order, and must not block.

    Its messages count against `bytes_max` as long as anybody holds the batch. What a tap that is no
    subscriber gets is up to a millisecond old while the server has more to do: fewer batches then.
    """
    kind: TapKind = TapKind.SUBSCRIBER
    """Which messages it gets, and whether it counts as interest: to watch is INGRESS."""
    terms: WatchTerms = ALL_OF_IT
    """What of the messages it gets; a SUBSCRIBER gets all of them."""
    queue: str | None = None
    """Queue group that a SUBSCRIBER shares the messages with; None: gets all of them."""
    bytes_max: int = TAP_BYTES_MAX
    """Bytes that may wait for `receive`."""
    overflow: Overflow = Overflow.DROP
    """Of a SUBSCRIBER; the others drop."""
    account: str = GLOBAL_ACCOUNT
    """Name of a known account, whose messages it gets."""
    plugin: str = ""
    """Whose it is; the core fills it in."""

    def __post_init__(self) -> None:
        check_name("tap", self.name)
        what = f"tap {self.name}"
        check_subject(what, self.subject)
        check_function(what, "receive", self.receive)
        check_queue(what, self.queue)
        check(what, "bytes_max", self.bytes_max, is_good=self.bytes_max > 0, expected="above 0")
        is_known = isinstance(self.overflow, Overflow)
        check(what, "overflow", self.overflow, is_good=is_known, expected="an Overflow")
        check(what, "kind", self.kind, is_good=isinstance(self.kind, TapKind), expected="a TapKind")
        if self.kind is not TapKind.SUBSCRIBER:
            check(what, "queue", self.queue, is_good=self.queue is None, expected="None")
            drops = self.overflow is Overflow.DROP
            check(what, "overflow", self.overflow, is_good=drops, expected="Overflow.DROP")
        else:
            is_all = self.terms == ALL_OF_IT
            check(what, "terms", self.terms, is_good=is_all, expected="none: it is a SUBSCRIBER")


class TapRow(Struct, frozen=True):
    """How a tap does."""

    spec: TapSpec
    batches: int
    messages: int
    dropped: int
    """Messages that it had no room for."""
