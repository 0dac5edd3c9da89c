"""Dispatch events of the data plane to actors: one wake-up, one batch, one message each."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from pykka import ActorDeadError

from framework.actors.errors import MailboxFullError
from framework.dataplane import link_rows
from framework.errors import PluginError
from framework.server.limits import HELD_RETRY_S, TAP_FAILURES_MAX
from framework.spec import (
    AddressRefused,
    Closed,
    ClosedState,
    Confirmed,
    Delivered,
    Detached,
    GateFailed,
    Greeting,
    InterestChanged,
    LatencySampled,
    LinkEvents,
    LinkKind,
    Listed,
    MessageTraced,
    Opened,
    ResponderTimed,
)
from framework.spec.tap import TapRow

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef
    from framework.dataplane.batch import SinkDrops
    from framework.server.plane_port import ServerPlane
    from framework.spec import (
        Batch,
        Event,
        LinkRow,
        SinkId,
        TapSpec,
    )


class LinkTransport(Protocol):
    """Carries bytes of links between the plane and their peers: TLS, or a codec."""

    def receive_detached(self, event: Detached) -> bool:
        """Take the socket of a link; False: another transport has it."""
        ...

    def receive(self, event: Opened | Closed) -> None:
        """Take note of links that come and go, before their owners do."""
        ...


class _Tap(Struct):
    spec: TapSpec
    sink: SinkId
    account: int
    failures: int = 0
    """Batches in a row that it failed on."""
    batches: int = 0
    messages: int = 0
    drops: SinkDrops | None = None
    """Counts what it has no room for; None before its first batch."""
    has_warned: bool = False


def _place(spec: TapSpec, account: int) -> tuple[object, ...]:
    """Return what of a tap can't change while it listens."""
    return (
        account, spec.subject, spec.kind, spec.terms, spec.queue, spec.bytes_max, spec.overflow
    )  # fmt: skip


class Bridge:
    """Dispatch events of the data plane to their owners, and answers to whoever asked.

    Everything here runs in the control loop.

    Args:
        plane: Where events come from.
        transports: Take the sockets of links; each is asked until one does.
        log: The server's logger.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        transports: Sequence[LinkTransport] = (),
        log: FilteringBoundLogger,
    ) -> None:
        self._plane = plane
        self._log = log
        self._owners: dict[LinkKind, ActorRef[Any]] = {}
        self._witnesses: dict[LinkKind, Callable[[Closed], None]] = {}
        self._taps: dict[SinkId, _Tap] = {}
        self._declared: dict[str, _Tap] = {}
        """Those of `follow_taps`, by name."""
        self._watchers: dict[type, Callable[[Any], None]] = {}
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._tokens = count(1)
        self._one_slice = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reads = False
        self._held: deque[Callable[[], None]] = deque()
        self._pressed: set[LinkKind] = set()
        self._transports = transports

    def start(self) -> None:
        """Begin to take events, in the running loop."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._plane.event_fd, self.turn)
        self._reads = True

    def stop(self) -> None:
        """Stop dispatching; pending questions are cancelled."""
        if self._loop is not None:
            self._loop.remove_reader(self._plane.event_fd)
            self._loop = None
            self._reads = False
        for question in self._questions.values():
            question.cancel()
        self._questions.clear()

    def set_owner(self, kind: LinkKind, owner: ActorRef[Any]) -> None:
        """Send `owner` the events of all links of `kind` from now on."""
        assert kind not in self._owners
        self._owners[kind] = owner
        owner.watch_pressure(partial(self._owner_is_pressed, kind))

    def tell_owner(self, kind: LinkKind, message: object) -> None:
        """Tell the owner of a kind a message, if there is one."""
        owner = self._owners.get(kind)
        if owner is not None:
            self._tell(owner, message)

    def watch_ends(self, kind: LinkKind, receive: Callable[[Closed], None]) -> None:
        """Pass the ends of links of a kind to `receive`, besides its owner."""
        assert kind not in self._witnesses
        self._witnesses[kind] = receive

    def watch(self, kind: type, receive: Callable[[Any], None]) -> None:
        """Pass all events of a class, such as `LatencySampled`, to `receive`."""
        assert kind not in self._watchers
        self._watchers[kind] = receive

    def add_tap(self, spec: TapSpec, *, account: int) -> Callable[[], None]:
        """Subscribe a tap in an account; return a function that removes it."""
        tap = _Tap(spec, self._subscribe(spec, account), account)
        self._taps[tap.sink] = tap
        return partial(self._remove_tap, tap)

    async def follow_taps(self, wanted: Sequence[tuple[TapSpec, int]]) -> None:
        """Have these taps listen, each in an account, and no others that were declared so.

        One that changes gets every message once, by what it was or what it is now.
        """
        kept = {spec.name: self._change_tap(spec, account) for spec, account in wanted}
        gone = [tap for name, tap in self._declared.items() if name not in kept]
        self._declared = kept
        for tap in gone:
            self._remove_tap(tap)
        if any(tap.sink != sink for sink, tap in self._taps.items()):
            await self.confirm()
            await self.confirm()  # what came in the turn of the first is handed over behind it
            self._taps = {sink: tap for sink, tap in self._taps.items() if tap.sink == sink}

    def _change_tap(self, spec: TapSpec, account: int) -> _Tap:
        tap = self._declared.get(spec.name)
        if tap is None or tap.sink not in self._taps:
            tap = _Tap(spec, self._subscribe(spec, account), account)
        elif _place(spec, account) != _place(tap.spec, tap.account):
            tap.sink = self._subscribe(spec, account, replaces=tap.sink)
            tap.spec, tap.account, tap.drops = spec, account, None
        else:
            tap.spec = spec
        self._taps[tap.sink] = tap
        return tap

    def renew_taps(self, name: str, account: int) -> None:
        """Subscribe the taps of an account again that has come back."""
        for tap in [it for it in self._taps.values() if it.spec.account == name]:
            self._remove_tap(tap)
            tap.sink, tap.account = self._subscribe(tap.spec, account), account
            self._taps[tap.sink] = tap

    def remove_taps(self) -> None:
        """End all subscriptions of taps."""
        for sink in self._taps:
            self._plane.unsubscribe_sink(sink)
        self._taps.clear()

    async def ask_links(
        self, kind: LinkKind | None = None, *, account: int | None = None
    ) -> Sequence[LinkRow]:
        """Return the state of all links, or of one kind, or of clients in one account."""
        rows: list[LinkRow] = []
        kinds = None if kind is None else (kind,)
        async for listed in self.list_rows(links=True, kinds=kinds, account=account):
            rows += link_rows(listed.data)
        return rows

    async def list_rows(self, **terms: Any) -> AsyncGenerator[Listed, None]:
        """Yield links or subscriptions, a slice at a time.

        Whoever asks: the plane makes one slice, and the next one when that was handed on.

        Args:
            terms: Of `ServerPlane.open_listing`.
        """
        listing, has_more = next(self._tokens), True
        self._plane.open_listing(listing, **terms)
        try:
            while has_more:
                async with self._one_slice:
                    token, answer = self._question()
                    self._plane.next_rows(token, listing)
                    listed: Listed = await answer
                has_more = listed.more
                yield listed
        finally:
            if has_more:
                self._plane.close_listing(listing)

    async def confirm(self) -> None:
        """Return when the plane has carried out all commands so far."""
        token, answer = self._question()
        self._plane.confirm(token)
        await answer

    def turn(self) -> None:
        """Dispatch all pending events of the data plane, unless an owner has too much to do.

        Then they stay there: the plane reads no further whoever causes more of them.
        """
        self._hand_on_held()
        if self._held or self._pressed:
            self._wait()
            return
        batches: defaultdict[LinkKind, list[Event]] = defaultdict(list)
        for event in self._plane.take_events():
            if isinstance(event, Opened | Closed):
                self._witness(event)
                batches[event.kind].append(event)
            elif isinstance(event, Greeting):
                batches[event.kind].append(event)
            else:
                self._sort(event, batches)
        for kind, events in batches.items():
            owner = self._owners.get(kind)
            if owner is not None:
                self._tell(owner, LinkEvents(tuple(events)))
            else:
                self._refuse(events)

    def _witness(self, event: Opened | Closed) -> None:
        """Tell who wants to know of links that come and go, before their owners."""
        for transport in self._transports:
            transport.receive(event)
        if self._witnesses and isinstance(event, Closed) and event.kind in self._witnesses:
            self._witnesses[event.kind](event)

    def _sort(self, event: Event, batches: Mapping[LinkKind, list[Event]]) -> None:
        """Handle what comes seldom, or put it to its kind."""
        match event:
            case Delivered(sink, _):
                self._deliver(sink, event)
            case Listed(token=token):
                self._answer(token, event)
            case Confirmed(token):
                self._answer(token, None)
            case Detached():
                any(transport.receive_detached(event) for transport in self._transports)
            case (
                InterestChanged()
                | LatencySampled()
                | ResponderTimed()
                | MessageTraced()
                | AddressRefused()
                | GateFailed()
            ):
                self._watched(event)
            case _ if event.kind is None:  # a trace of what this process publishes
                self._watched(event)
            case _:
                batches[event.kind].append(event)

    def _watched(self, event: Event) -> None:
        receive = self._watchers.get(type(event))
        if receive is not None:
            receive(event)

    def _tell(self, owner: ActorRef[Any], message: object) -> None:
        self._hand_on(partial(owner.tell, message))

    def _hand_on(self, give: Callable[[], None]) -> None:
        """Give somebody a message, behind those that are held for a mailbox with room."""
        if self._held:
            self._held.append(give)
            return
        try:
            give()
        except ActorDeadError:
            return  # it stops, or has given up; then the server stops
        except MailboxFullError:
            self._held.append(give)
            self._wait()

    def _hand_on_held(self) -> None:
        held, self._held = self._held, deque()
        while held and not self._held:
            self._hand_on(held.popleft())
        self._held.extend(held)

    def _owner_is_pressed(self, kind: LinkKind, is_pressed: bool, /) -> None:  # noqa: FBT001
        """Leave events in the plane while the mailbox of an owner is nearly full. Any thread."""
        if is_pressed:
            self._pressed.add(kind)
        else:
            self._pressed.discard(kind)

    def _wait(self) -> None:
        """Take no events for a moment."""
        if self._loop is None or not self._reads:
            return
        self._loop.remove_reader(self._plane.event_fd)
        self._reads = False
        self._loop.call_later(HELD_RETRY_S, self._go_on)

    def _go_on(self) -> None:
        if self._loop is not None:
            self._loop.add_reader(self._plane.event_fd, self.turn)
            self._reads = True
            self.turn()

    def _question(self) -> tuple[int, asyncio.Future[Any]]:
        token = next(self._tokens)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._questions[token] = answer
        answer.add_done_callback(lambda _: self._questions.pop(token, None))
        return token, answer

    def _answer(self, token: int, result: object) -> None:
        answer = self._questions.get(token)
        if answer is not None and not answer.done():
            answer.set_result(result)

    def _refuse(self, events: Sequence[Event]) -> None:
        """Close links that nobody owns."""
        for event in events:
            if isinstance(event, Opened):
                self._plane.close(event.link, ClosedState.WRONG_PORT)

    def _subscribe(self, spec: TapSpec, account: int, replaces: SinkId | int = 0) -> SinkId:
        return self._plane.subscribe_sink(
            account,
            spec.subject.encode(),
            spec.queue.encode() if spec.queue else None,
            bytes_max=spec.bytes_max,
            overflow=spec.overflow,
            kind=spec.kind,
            terms=spec.terms,
            replaces=replaces,
        )

    def _remove_tap(self, tap: _Tap) -> None:
        if self._taps.pop(tap.sink, None) is not None:
            self._plane.unsubscribe_sink(tap.sink)

    def taps(self) -> Sequence[TapRow]:
        """Return drops and failures of all taps, the core's among them."""
        return [
            TapRow(it.spec, it.batches, it.messages, it.drops.count if it.drops else 0)
            for it in self._taps.values()
        ]

    def _count(self, tap: _Tap, batch: Batch) -> None:
        tap.drops = tap.drops or batch.drops()
        tap.batches += bool(len(batch))
        tap.messages += len(batch)
        if tap.drops.count and not tap.has_warned:
            tap.has_warned = True
            self._log.warning(
                "Tap {component} drops messages: {detail} bytes wait for it already",
                component=tap.spec.name,
                plugin=tap.spec.plugin,
                detail=tap.spec.bytes_max,
            )

    def _deliver(self, sink: SinkId, event: Delivered) -> None:
        tap = self._taps.get(sink)
        if tap is None:
            return
        self._count(tap, event.batch)
        if not len(event.batch):
            return  # the plane only says that it has begun to drop
        self._hand_on(partial(self._receive, tap, event.batch))

    def _receive(self, tap: _Tap, batch: Batch) -> None:
        """Let a tap have a batch; MailboxFullError: it works, and has too much to do just now."""
        try:
            tap.spec.receive(batch)
        except MailboxFullError:
            raise
        except PluginError:
            tap.failures += 1  # it is logged already, where it is known whose tap it is
        except Exception as error:  # noqa: BLE001 - one tap must not stop the others
            tap.failures += 1
            self._log.error("Tap {component} failed", component=tap.spec.name, error=repr(error))
        else:
            tap.failures = 0
        if tap.failures >= TAP_FAILURES_MAX:
            self._remove_tap(tap)
            self._log.error(
                "Tap {component} removed after {count} failures in a row",
                component=tap.spec.name,
                count=tap.failures,
            )
