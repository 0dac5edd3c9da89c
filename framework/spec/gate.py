"""Gates: objects of plugins that decide on what clients and leaf nodes publish, before all else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from framework.dataplane.batch import Batch
from framework.dataplane.gate import GateCounters
from framework.dataplane.verdict import Verdict
from framework.spec._checks import check, check_function, check_name, check_subject
from framework.spec.account import GLOBAL_ACCOUNT

GATE_BYTES_MAX: Final = 8 * 1024 * 1024
"""What may wait at a gate unless it says otherwise; 32 batches of the largest size."""
GATE_TIME_LIMIT_S_MAX: Final = 60.0


class GateSpec(Struct, frozen=True, kw_only=True):
    """Decides on each message that clients and leaf nodes of this server publish on a subject.

    What is published waits for its verdict, and what its publisher says behind it does, too, but
    for messages to the same gate. What other servers bring has passed their gates, but for leaf
    nodes, whose operators are others; a leaf node is told nothing of what was refused.
    """

    name: str
    subject: str
    """May have wildcards; as it is behind the mappings of the account."""
    decide: Callable[[Batch], Sequence[Verdict]] | None = None
    """Returns one verdict for each message, in order.

    Called in a thread of the gate's own, with up to 2,000 messages at a time. Whoever keeps some
    of a batch copies it.
    """
    port: str = ""
    """In place of `decide`: name of a PortSpec of the same plugin, whose thread decides: it takes
    the messages as rows of the kind GATED, and answers by `decide` of `framework_port.h`."""
    tag: int = 0
    """Shown by these rows; 64 bits with a sign."""
    account: str = GLOBAL_ACCOUNT
    """Name of a known account, whose messages it decides on."""
    order: int = 0
    """Of several gates on a subject the one with the lowest is first; no two may have one order."""
    time_limit_s: float = 1.0
    """From a message's arrival until there must be a verdict; above 0, at most 60."""
    is_open: bool = False
    """Messages without a verdict, since `decide` was late or failed, pass; else they are refused.

    A Rewrite to a subject that the publisher may not use is refused in any case.
    """
    bytes_max: int = GATE_BYTES_MAX
    """Bytes that may wait; who publishes more is read no further until there is room."""
    plugin: str = ""
    """Whose it is; the core fills it in."""

    def __post_init__(self) -> None:
        check_name("gate", self.name)
        what = f"gate {self.name}"
        check_subject(what, self.subject)
        has_one = (self.decide is None) == bool(self.port)
        check(what, "decide", self.decide, is_good=has_one, expected="a function, or a port")
        if self.decide is not None:
            check_function(what, "decide", self.decide)
        check(what, "tag", self.tag, is_good=-(1 << 63) <= self.tag < 1 << 63, expected="64 bits")
        check(what, "bytes_max", self.bytes_max, is_good=self.bytes_max > 0, expected="above 0")
        is_limit = 0 < self.time_limit_s <= GATE_TIME_LIMIT_S_MAX
        expected = f"above 0 and at most {GATE_TIME_LIMIT_S_MAX:.0f}"
        check(what, "time_limit_s", self.time_limit_s, is_good=is_limit, expected=expected)


class GateRow(Struct, frozen=True):
    """How a gate does."""

    spec: GateSpec
    counters: GateCounters
