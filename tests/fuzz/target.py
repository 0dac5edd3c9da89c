"""What the fuzzer feeds: one client or route at a core, with a listener beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from framework.dataplane import Closed, Core, Event, Greeting, LinkKind, PlaneLimits
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMITS = PlaneLimits(max_payload=4096, ping_interval_s=1e6)
"""Small payloads, so that a mutated size is often one over the limit."""
LISTENING = b'CONNECT {"headers":true,"verbose":false}\r\nSUB here 1\r\nSUB here q 2\r\nSUB x.* 3\r\n'

Observation = tuple[bytes, bytes, list[tuple[object, ...]]]
"""What the peer got, what the listener got, what was reported."""


def observe(data: bytes, cuts: Sequence[int], kind: LinkKind) -> Observation:
    """Feed `data` in the pieces that `cuts` makes of it, and return all that can be seen of it."""
    core = Core(LIMITS, seed=7)
    listener = core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
    core.feed(listener, LISTENING, 0)
    _settle(core)
    peer = core.open(kind, "127.0.0.1", 2, accepted=True)
    if kind is LinkKind.ROUTE:
        core.register_route(peer)
    events = _settle(core)
    heard = core.take_output(peer)
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        core.feed(peer, data[start:end], 0)
        heard += core.take_output(peer)
        events += _settle(core)
        heard += core.take_output(peer)
    core.hang_up(peer)
    events += _settle(core)
    return heard, core.take_output(listener), [_seen(event) for event in events]


def _settle(core: Core) -> list[Event]:
    """Turn the core until nobody waits, and log in who has said CONNECT."""
    happened: list[Event] = []
    while True:
        core.turn(0)
        events = core.take_events()
        happened += events
        waiting = [event for event in events if isinstance(event, Greeting) and event.parked]
        if not waiting:
            return happened
        for greeting in waiting:
            _answer(core, greeting)


def _answer(core: Core, greeting: Greeting) -> None:
    if greeting.kind is LinkKind.ROUTE:
        core.resume(greeting.link)
        return
    try:
        said: Any = json.loads(greeting.document)
        core.resume_client(
            greeting.link,
            verbose=bool(said.get("verbose", True)),
            pedantic=bool(said.get("pedantic", True)),
            echo=bool(said.get("echo", True)),
            headers=bool(said.get("headers", False)),
            no_responders=bool(said.get("no_responders", False)),
            protocol=int(said.get("protocol") == 1),
        )
    except (AttributeError, RecursionError, ValueError):
        core.close(greeting.link, ClosedState.PARSE_ERROR)


def _seen(event: Event) -> tuple[object, ...]:
    match event:
        case Closed():
            # Not the detail: it quotes what had arrived when the mistake was seen.
            return (Closed, event.reason, event.row.in_msgs, event.row.in_bytes)
        case Greeting():
            return (Greeting, event.verb, event.document, event.parked)
        case _:
            return (type(event), getattr(event, "text", None), getattr(event, "subject", None))
