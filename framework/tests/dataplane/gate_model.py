"""What gates, taps and 503 come to, said plainly: one publisher and one message at a time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypeAlias
from zlib import crc32

from framework.dataplane.verdict import PASS, Delay, Refuse, Rewrite, Verdict

SUBJECTS = (b"x.a", b"x.b", b"y", b"z", b"nobody")
HEARD = frozenset(SUBJECTS) - {b"nobody"}
Said: TypeAlias = "tuple[bytes, bytes] | None"
"""(subject, payload) that was published as a request; None: PING."""


@dataclass(frozen=True)
class GateRule:
    """A gate; its verdict on a message follows from the payload."""

    name: bytes
    subjects: frozenset[bytes]
    pattern: bytes
    order: int
    is_open: bool

    def verdict(self, payload: bytes) -> Verdict:
        drawn = crc32(self.name + payload)
        chosen: list[Verdict] = [
            Refuse(error="no"),
            Refuse(),
            Refuse(status=400),
            Rewrite(payload=payload + b"~" + self.name),
            Rewrite(subject=SUBJECTS[drawn // 16 % len(SUBJECTS)].decode()),
            Delay(0.01),
        ]
        return chosen[drawn % 16] if drawn % 16 < len(chosen) else PASS


GATES = (
    GateRule(b"one", frozenset({b"x.a"}), b"x.a", 1, is_open=False),
    GateRule(b"two", frozenset({b"x.a", b"x.b"}), b"x.*", 2, is_open=False),
    GateRule(b"three", frozenset({b"y"}), b"y", 1, is_open=True),
)


@dataclass
class Outcome:
    """What follows from what publishers said: by publisher, in order."""

    heard: dict[bytes, list[tuple[bytes, bytes]]] = field(default_factory=lambda: defaultdict(list))
    """(subject, payload) that a listener to all subjects but `nobody` got."""
    seen: dict[bytes, list[tuple[bytes, bytes]]] = field(default_factory=lambda: defaultdict(list))
    """By the ingress tap."""
    unheard: dict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    told: dict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """What the publisher was told: `PONG`, `-ERR`, `400` or `503`."""


def expected(said: dict[bytes, list[Said]], undecided: set[tuple[bytes, bytes]]) -> Outcome:
    """Work out what must follow.

    Args:
        said: By publisher.
        undecided: (gate, payload) of what a gate failed on.
    """
    outcome = Outcome()
    for publisher, things in said.items():
        for thing in things:
            if thing is None:
                outcome.told[publisher].append(b"PONG")
            else:
                _enter(outcome, publisher, *thing, undecided)
    return outcome


def _enter(
    outcome: Outcome,
    publisher: bytes,
    subject: bytes,
    payload: bytes,
    undecided: set[tuple[bytes, bytes]],
) -> None:
    order = 0
    while gates := sorted(
        (it for it in GATES if subject in it.subjects and it.order > order), key=lambda it: it.order
    ):
        gate = gates[0]
        order = gate.order
        verdict = gate.verdict(payload)
        if (gate.name, payload) in undecided:
            verdict = PASS if gate.is_open else Refuse(error="undecided")
        match verdict:
            case Refuse(error=error, status=status):
                outcome.told[publisher] += [b"-ERR"] * bool(error) + [b"400"] * bool(status)
                return
            case Rewrite(subject=to, payload=changed):
                subject = to.encode() if to else subject
                payload = changed or payload
    outcome.seen[publisher].append((subject, payload))
    if subject in HEARD:
        outcome.heard[publisher].append((subject, payload))
    else:
        outcome.unheard[publisher].append(payload)
        outcome.told[publisher].append(b"503")
