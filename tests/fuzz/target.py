"""Feeds bytes of one connection to a core in which others are at work, and tells all that came out.

The same bytes must come to the same whether they arrive whole or in pieces: that is the property.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from framework.dataplane import (
    Closed,
    Core,
    Delivered,
    Event,
    Greeting,
    LinkKind,
    Opened,
    Overflow,
    PeerTerms,
    PlaneLimits,
)
from framework.dataplane.dialects import GATEWAY_DIALECT, LEAF_DIALECT
from framework.dataplane.kinds import KIND_TRAITS, KindTraits
from framework.dataplane.permissions import Permissions, ResponsePermission, SubjectRules
from framework.dataplane.scopes import GroupClass, Scope
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.dataplane import PlaneStage

LIMITS = PlaneLimits(max_payload=300, max_control_line=200, max_subscriptions=12)
"""Small, so that inputs of a few hundred bytes run into them."""
NOW_NS = 1_000_000_000
LATER_NS = NOW_NS + 1_000_000_000_000
_CLIENT_FLAGS = ("verbose", "pedantic", "echo", "headers", "no_responders")
_BYSTANDER = (
    b'CONNECT {"headers":true}\r\nSUB > 1\r\nSUB a.* q 2\r\nSUB a.b q 3\r\n'
    b"SUB foo 4\r\nUNSUB 4 3\r\n"
)
RULES = Permissions(
    publish=SubjectRules(allow=("a.>", "s.*"), deny=("a.c",)),
    subscribe=SubjectRules(allow=("a.>", "foo", "foo q.*", "r"), deny=("a.b", "a.* work")),
    responses=ResponsePermission(),
)
"""Of clients that call themselves `ruled`."""
_PEER = (
    b'CONNECT {"server_id":"N"}\r\nINFO {"server_id":"N"}\r\n'
    b"RS+ $G a.b\r\nRS+ $G a.* q 3\r\nRS+ $G c.>\r\n"
)


KINDS = {
    **KIND_TRAITS,
    LinkKind.GATEWAY: KindTraits(
        dialect=GATEWAY_DIALECT, scope=Scope.GATEWAY, group_class=GroupClass.NEAREST_IF_NONE
    ),
    LinkKind.LEAF: KindTraits(
        dialect=LEAF_DIALECT, scope=Scope.LEAF, group_class=GroupClass.IF_NONE
    ),
}


class World:
    """A core with a client, a route, a sink, and the connection whose bytes are fuzzed."""

    def __init__(self, kind: LinkKind, stages: Sequence[PlaneStage] = ()) -> None:
        self._core = Core(LIMITS, seed=1, kinds=KINDS)
        self._registered: set[int] = set()
        self._events: list[Event] = []
        self._delivered: list[tuple[Any, ...]] = []
        """To the sink, apart from the events: it comes when a turn ends, wherever that is."""
        for of in (LinkKind.CLIENT, LinkKind.ROUTE):
            self._core.set_info(of, b'{"server_id":"N"}')
        self._rules = self._core.add_permissions(RULES)
        self._core.subscribe_sink(0, b"s.>", bytes_max=4096, overflow=Overflow.DROP)
        self._turn(NOW_NS)
        others = [self._open(of) for of in (LinkKind.CLIENT, LinkKind.ROUTE)]
        self._links = [*others, self._open(kind, stages)]
        self._outputs = {link: bytearray() for link in self._links}
        self._feed(self._links[0], _BYSTANDER)
        self._feed(self._links[1], _PEER)

    def play(self, pieces: Iterable[bytes]) -> None:
        """Let the connection send pieces and hang up, and much time pass."""
        fuzzed = self._links[2]
        for piece in pieces:
            self._feed(fuzzed, piece)
        self._core.hang_up(fuzzed)
        self._turn(NOW_NS)
        self._turn(LATER_NS)
        for listing, links in enumerate((False, True)):
            self._core.open_listing(listing, links=links)
            self._core.next_rows(listing, listing)
        self._turn(LATER_NS)

    def outcome(self) -> list[Any]:
        """Return what was sent to each connection, what was reported, and the counters."""
        outputs = [self.output(link) for link in self._links]
        return [*outputs, *self._events, *self._delivered, asdict(self._core.totals())]

    def output(self, link: int) -> bytes:
        """Return what was sent to a connection."""
        return bytes(self._outputs[link])

    def _open(self, kind: LinkKind, stages: Sequence[PlaneStage] = ()) -> int:
        if stages:
            assert self._core.load_deflate()
            self._turn(NOW_NS)
        link = self._core.open(kind, "127.0.0.1", 1, accepted=True, stages=stages)
        self._turn(NOW_NS)
        return link

    def _feed(self, link: int, data: bytes) -> None:
        self._core.feed(link, data, NOW_NS)
        self._turn(NOW_NS)

    def _turn(self, now_ns: int) -> None:
        self._core.turn(now_ns)
        while events := self._core.take_events():
            for event in events:
                self._take(event)
            self._core.turn(now_ns)
        for link in getattr(self, "_links", ()):
            self._outputs[link] += self._core.take_output(link)

    def _take(self, event: Event) -> None:
        match event:
            case Opened():
                return
            case Delivered(sink=sink, batch=batch):
                self._delivered += [(sink, *message) for message in batch.detach()]
                return
            case Closed():
                # Not the detail: it quotes what had arrived when the mistake was seen. Nor how much
                # had come, and what was pending: in pieces, some of it was taken before.
                row = replace(event.row, pending_bytes=0, wire_in_bytes=0, wire_out_bytes=0)
                event = replace(event, detail="", row=row)
            case Greeting(parked=True):
                self._answer(event)
        self._events.append(event)

    def _answer(self, greeting: Greeting) -> None:
        """Do what the control plane does, without its details."""
        link = greeting.link
        try:
            document = json.loads(greeting.document)
            assert isinstance(document, dict)
        except (AssertionError, ValueError, RecursionError):
            self._core.close(link, ClosedState.PROTOCOL_VIOLATION, b"-ERR 'Parser Error'\r\n")
            return
        if greeting.kind == LinkKind.CLIENT:
            flags = {flag: bool(document.get(flag)) for flag in _CLIENT_FLAGS}
            rules = self._rules if document.get("name") == "ruled" else 0
            self._core.resume_client(link, **flags, permissions=rules, protocol=1)
        elif greeting.verb == "INFO" and link not in self._registered:
            self._registered.add(link)
            accounts = [0] if greeting.kind == LinkKind.LEAF else None
            self._core.register_peer(link, PeerTerms(accounts=accounts))
        else:
            self._core.resume(link)


def run(kind: LinkKind, pieces: Iterable[bytes]) -> list[Any]:
    """Return the whole outcome of one connection that sends `pieces`."""
    world = World(kind)
    world.play(pieces)
    return world.outcome()
