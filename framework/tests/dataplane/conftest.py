"""A core without sockets, and clients and routes that talk to it by bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import pytest

from framework.dataplane import (
    Core,
    Event,
    Greeting,
    LinkKind,
    LinkRow,
    Listed,
    PeerTerms,
    PlaneLimits,
    SubscriptionRow,
    link_rows,
    subscription_rows,
)
from framework.dataplane.kinds import KIND_TRAITS, KindTraits
from framework.dataplane.reserved import RESERVED_PREFIXES, ReservedPrefix
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

E = TypeVar("E")
SECOND_NS = 1_000_000_000


@dataclass
class Talk:
    """One core, its clock and everything it has reported."""

    limits: PlaneLimits = field(default_factory=PlaneLimits)
    seed: int = 7
    kinds: Mapping[LinkKind, KindTraits] = field(default_factory=lambda: KIND_TRAITS)
    reserved: Sequence[ReservedPrefix] = RESERVED_PREFIXES

    def __post_init__(self) -> None:
        self.core = Core(self.limits, seed=self.seed, kinds=self.kinds, reserved=self.reserved)
        self.now_ns = 0
        self.events: list[Event] = []
        self.greetings: list[Greeting] = []

    def turn(self, seconds: float = 0.0) -> None:
        """Let time pass, and log in every client that has said CONNECT; leave nothing undone."""
        self.now_ns += int(seconds * SECOND_NS)
        self._turn_once()
        while self.core.is_busy:
            self._turn_once()

    def _turn_once(self) -> None:
        self.core.turn(self.now_ns)
        events = self.core.take_events()
        self.events += events
        for event in events:
            if isinstance(event, Greeting) and event.kind is LinkKind.CLIENT:
                self._log_in(event)
        if any(isinstance(event, Greeting) and event.parked for event in events):
            self.core.turn(self.now_ns)
            self.events += self.core.take_events()

    def _log_in(self, event: Greeting) -> None:
        try:
            said = json.loads(event.document)
        except ValueError:
            self.core.close(event.link, ClosedState.PROTOCOL_VIOLATION)
            return
        options = {"verbose": True, "pedantic": True, "echo": True, **said}
        self.core.resume_client(
            event.link,
            account=options.get("account", 0),
            permissions=options.get("permissions", 0),
            max_payload=options.get("max_payload", -1),
            verbose=options["verbose"],
            pedantic=options["pedantic"],
            echo=options["echo"],
            headers=options.get("headers", False),
            no_responders=options.get("no_responders", False),
            protocol=options.get("protocol", 0),
        )

    def client(self, **options: object) -> Peer:
        """Return a client that has logged in, by default as clients do, to `account` or `$G`."""
        peer = self.stranger()
        document = {"verbose": False, "pedantic": False, "headers": True, **options}
        peer.say(b"CONNECT " + json.dumps(document).encode() + b"\r\n")
        peer.heard()
        return peer

    def stranger(self, listener: int | None = None) -> Peer:
        """Return a client that has said nothing yet, of a listener or of NATS's own."""
        link = self.core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True, listener=listener)
        return Peer(self, link)

    def route(self, *, registered: bool = True, **options: object) -> Peer:
        """Return a route that was accepted, by default one that is registered."""
        return self.server(LinkKind.ROUTE, registered=registered, **options)

    def server(self, kind: LinkKind, *, registered: bool = True, **options: object) -> Peer:
        """Return an accepted link to another server, by default one that is registered."""
        peer = Peer(self, self.core.open(kind, "127.0.0.1", 2, accepted=True))
        if registered:
            peer.register(**options)
        return peer

    def listed(self, **terms: object) -> list[Listed]:
        """Return all slices of a listing, each asked for when the last one was there."""
        self.core.open_listing(1, **terms)
        slices: list[Listed] = []
        while not slices or slices[-1].more:
            self.core.next_rows(len(slices), 1)
            self.turn()
            slices.append(self.of(Listed)[-1])
        return slices

    def links(self, **terms: object) -> list[LinkRow]:
        """Return the rows of a listing of links."""
        return [row for it in self.listed(links=True, **terms) for row in link_rows(it.data)]

    def subscriptions(self, **terms: object) -> list[SubscriptionRow]:
        """Return the rows of a listing of subscriptions."""
        return [row for it in self.listed(**terms) for row in subscription_rows(it.data)]

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one class so far."""
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class Peer:
    """The far end of one link."""

    talk: Talk
    link: int

    def say(self, data: bytes) -> None:
        """Send bytes, and let the core have its turns."""
        self.talk.core.feed(self.link, data, self.talk.now_ns)
        self.last = self.talk.core.take_output(self.link)
        self.talk.turn()

    def register(self, **options: object) -> None:
        """Finish the handshake of a route, and take the PING that begins it."""
        self.talk.core.register_peer(self.link, PeerTerms(**options))
        self.talk.turn()
        said = self.talk.core.take_output(self.link)

        assert said.startswith(b"PING\r\n")
        self.last = said.removeprefix(b"PING\r\n")

    def heard(self) -> bytes:
        """Return what came since the last time."""
        self.talk.turn()
        last, self.last = getattr(self, "last", b""), b""
        return last + self.talk.core.take_output(self.link)

    def ask(self, data: bytes) -> bytes:
        """Say something, and return what comes back."""
        self.heard()
        self.say(data)
        return self.heard()


@pytest.fixture
def talk() -> Talk:
    """Return a core with nobody there yet."""
    return Talk()
