"""What clients were told, and what servers have afterwards: where the one is not the other."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Stored(Struct, frozen=True):
    """A message of a stream, as a replica has it."""

    seq: int
    name: str
    """That its publisher gave it: `<publisher>-<number>`, its header `Nats-Msg-Id`."""
    payload: bytes


class Verdict(Struct, kw_only=True):
    """What is wrong, as counts; all 0: nothing."""

    acknowledged: int = 0
    lost: int = 0
    """Acknowledged and not there."""
    moved: int = 0
    """There with another sequence than was acknowledged."""
    twice: int = 0
    changed: int = 0
    """Other bytes than were sent."""
    unordered: int = 0
    """A later message of a publisher stands before an earlier one."""
    replicas_differ: int = 0
    """Replicas with other messages than the first one."""
    examples: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        wrong = (self.lost, self.moved, self.twice, self.changed, self.unordered)
        return not any(wrong) and not self.replicas_differ


def payload_of(name: str) -> bytes:
    """Return what the message of a name has."""
    return (name + " ").encode() * 12


def judge(acked: Mapping[str, int], replicas: Sequence[Sequence[Stored]]) -> Verdict:
    """Return what is wrong.

    Args:
        acked: Sequences that were acknowledged, by name.
        replicas: What each of them has, in order.
    """
    first = replicas[0]
    found = Verdict(acknowledged=len(acked))
    places: dict[str, int] = {}
    for it in first:
        found.changed += it.payload != payload_of(it.name)
        places.setdefault(it.name, it.seq)
    found.twice = sum(count - 1 for count in Counter(it.name for it in first).values())
    for name, seq in acked.items():
        if name not in places:
            found.lost += 1
            found.examples.append(f"{name} was acknowledged as {seq} and is not there")
        elif places[name] != seq:
            found.moved += 1
            found.examples.append(f"{name} was acknowledged as {seq} and is {places[name]}")
    found.unordered = _unordered(acked)
    found.replicas_differ = sum(list(it) != list(first) for it in replicas[1:])
    return found


def _unordered(acked: Mapping[str, int]) -> int:
    """Return how often a publisher's next message was acknowledged with a lower sequence.

    A publisher sends the next one when the one before is acknowledged.
    """
    publishers: dict[str, list[tuple[int, int]]] = {}
    for name, seq in acked.items():
        publisher, _, number = name.rpartition("-")
        publishers.setdefault(publisher, []).append((int(number), seq))
    wrong = 0
    for sent in publishers.values():
        seqs = [seq for _, seq in sorted(sent)]
        wrong += sum(later <= earlier for earlier, later in pairwise(seqs))
    return wrong
