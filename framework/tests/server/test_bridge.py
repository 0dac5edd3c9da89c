from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pykka import ActorDeadError
from structlog.testing import CapturingLogger

from framework.actors import MailboxFullError
from framework.server.bridge import Bridge
from framework.server.limits import TAP_FAILURES_MAX
from framework.spec import (
    ClosedState,
    Delivered,
    InterestChanged,
    LinkEvents,
    LinkKind,
    Listed,
    Opened,
    TapSpec,
)

if TYPE_CHECKING:
    from collections.abc import Callable


async def turn() -> None:
    """Let every task go as far as it can at once."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_soon(over.set_result, None)
    await over


async def turns() -> None:
    """Let everything happen that nobody waits for."""
    for _ in range(5):
        await turn()


class Owner:
    def __init__(self, error: Exception | None = None) -> None:
        self.told: list[object] = []
        self.error = error
        self.press: Callable[[bool], None] = lambda _: None

    def watch_pressure(self, callback: Callable[[bool], None]) -> None:
        self.press = callback

    def tell(self, message: object) -> None:
        if self.error:
            raise self.error
        self.told.append(message)


class Batch(str):
    """Stands in for a batch of one message a character."""

    __slots__ = ()

    def drops(self) -> Any:
        return SimpleNamespace(count=0)


def opened(link: int, kind: LinkKind) -> Opened:
    return Opened(link, kind, link, "127.0.0.1", 1, 0, 0)


def bridge_of(plane: Any, **owners: Any) -> tuple[Bridge, CapturingLogger]:
    log = CapturingLogger()
    bridge = Bridge(plane, log=log)
    for name, owner in owners.items():
        bridge.set_owner(getattr(LinkKind, name), owner)
    return bridge, log


def test_each_owner_gets_one_message_a_turn(plane: Any) -> None:
    clients, routes = Owner(), Owner()
    bridge, _ = bridge_of(plane, CLIENT=clients, ROUTE=routes)
    first, second = opened(1, LinkKind.CLIENT), opened(2, LinkKind.ROUTE)
    third = opened(3, LinkKind.CLIENT)
    plane.events = [first, second, InterestChanged(0, b"a", b"", 1), third]
    bridge.turn()

    assert clients.told == [LinkEvents((first, third))]
    assert routes.told == [LinkEvents((second,))]


def test_links_that_nobody_owns_are_closed(plane: Any) -> None:
    bridge, _ = bridge_of(plane)
    plane.events = [opened(1, LinkKind.LEAF)]
    bridge.turn()

    assert plane.calls == [("close", (1, ClosedState.WRONG_PORT), {})]


def test_an_owner_that_has_stopped_is_told_nothing(plane: Any) -> None:
    bridge, log = bridge_of(plane, CLIENT=Owner(ActorDeadError("gone")))
    plane.events = [opened(1, LinkKind.CLIENT)]
    bridge.turn()

    assert not log.calls


def test_what_a_full_mailbox_refuses_is_told_later_and_in_order(plane: Any) -> None:
    clients, routes = Owner(MailboxFullError("full")), Owner()
    bridge, log = bridge_of(plane, CLIENT=clients, ROUTE=routes)
    first, second = opened(1, LinkKind.CLIENT), opened(2, LinkKind.CLIENT)
    plane.events = [first]
    bridge.turn()
    plane.events = [second]
    bridge.tell_owner(LinkKind.CLIENT, "a notice")
    bridge.turn()

    assert not clients.told
    assert [second] == plane.events
    clients.error = None
    bridge.turn()
    assert [LinkEvents((first,)), "a notice", LinkEvents((second,))] == clients.told
    assert not log.calls


def test_events_wait_in_the_plane_while_their_owner_is_pressed(plane: Any) -> None:
    clients = Owner()
    bridge, _ = bridge_of(plane, CLIENT=clients)
    plane.events = [opened(1, LinkKind.CLIENT)]
    clients.press(True)  # noqa: FBT003 - a callback's one argument
    bridge.turn()

    assert not clients.told
    clients.press(False)  # noqa: FBT003 - a callback's one argument
    bridge.turn()
    assert 1 == len(clients.told)


def test_answers_find_who_asked(plane: Any) -> None:
    async def go() -> Any:
        bridge, _ = bridge_of(plane)
        links = asyncio.ensure_future(bridge.ask_links(LinkKind.CLIENT))
        await turn()
        plane.events = [Listed(9, b"", 0, more=False), Listed(2, b"", 0, more=False)]
        bridge.turn()
        return await links

    assert asyncio.run(go()) == []
    terms = {"links": True, "kinds": (LinkKind.CLIENT,), "account": None}
    assert plane.calls == [("open_listing", (1,), terms), ("next_rows", (2, 1), {})]


def test_the_plane_makes_one_slice_at_a_time_for_whoever_asks(plane: Any) -> None:
    asked: list[int] = []

    async def go() -> None:
        bridge, _ = bridge_of(plane)
        readers = [asyncio.ensure_future(bridge.ask_links()) for _ in range(3)]
        for _ in range(6):
            await turns()
            (token, listing), _ = plane.named("next_rows")[-1]
            asked.append(listing)
            assert len(plane.named("next_rows")) == len(asked)
            plane.events = [Listed(token, b"", 0, more=asked.count(listing) == 1)]
            bridge.turn()
        await asyncio.gather(*readers)

    asyncio.run(go())

    assert asked == [*asked[:3], *asked[:3]]
    assert len(set(asked)) == 3
    assert plane.named("close_listing") == []


def test_a_listing_that_nobody_reads_on_is_closed(plane: Any) -> None:
    async def go() -> None:
        bridge, _ = bridge_of(plane)
        slices = bridge.list_rows(links=True)
        first = asyncio.ensure_future(anext(slices))
        await turns()
        plane.events = [Listed(2, b"", 0, more=True)]
        bridge.turn()
        await first
        await slices.aclose()

    asyncio.run(go())

    assert plane.named("close_listing") == [((1,), {})]


def test_who_waits_at_the_stop_is_cancelled(plane: Any) -> None:
    async def go() -> bool:
        bridge, _ = bridge_of(plane)
        asked = asyncio.ensure_future(bridge.ask_links())
        await turn()
        bridge.stop()
        await asyncio.wait([asked])
        return asked.cancelled()

    assert asyncio.run(go())


def test_taps(plane: Any) -> None:
    batches: list[Any] = []
    bridge, log = bridge_of(plane)
    bad = TapSpec(name="bad", subject="a", receive=lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
    bridge.add_tap(bad, account=0)
    good = TapSpec(name="good", subject="b.>", queue="q", receive=batches.append)
    take_away = bridge.add_tap(good, account=3)
    plane.events = [
        Delivered(1, Batch("one")),
        Delivered(2, Batch("two")),
        Delivered(99, Batch("?")),
    ]  # type: ignore[arg-type]
    bridge.turn()

    assert batches == ["two"]
    assert [arguments for arguments, _ in plane.named("subscribe_sink")] == [
        (0, b"a", None),
        (3, b"b.>", b"q"),
    ]
    assert [call.kwargs["component"] for call in log.calls] == ["bad"]
    take_away()
    take_away()
    assert plane.named("unsubscribe_sink") == [((2,), {})]


def test_a_tap_with_too_much_to_do_is_not_taken_away(plane: Any) -> None:
    room: list[object] = []
    got: list[object] = []

    def receive(batch: object) -> None:
        if not room:
            raise MailboxFullError("7 messages wait already")
        got.append(batch)

    bridge, log = bridge_of(plane)
    bridge.add_tap(TapSpec(name="busy", subject="a", receive=receive), account=0)  # type: ignore[arg-type]
    plane.events = [Delivered(1, Batch("it"))] * (TAP_FAILURES_MAX + 3)  # type: ignore[arg-type]
    bridge.turn()

    assert plane.named("unsubscribe_sink") == []
    assert not log.calls
    room.append(1)
    bridge.turn()
    assert TAP_FAILURES_MAX + 3 == len(got)


def test_taps_of_an_account_that_comes_back(plane: Any) -> None:
    batches: list[Any] = []
    bridge, _ = bridge_of(plane)
    take_away = bridge.add_tap(
        TapSpec(name="it", subject="a", receive=batches.append, account="A"), account=7
    )
    bridge.add_tap(TapSpec(name="other", subject="a", receive=batches.append), account=0)
    bridge.renew_taps("A", 7)
    again = plane.named("subscribe_sink")[2:]
    assert [arguments for arguments, _ in again] == [(7, b"a", None)]

    newest = 4  # one, another one, one taken away, and the first one again
    plane.events = [Delivered(newest, Batch("batch"))]  # type: ignore[arg-type]
    bridge.turn()
    assert batches == ["batch"]

    take_away()
    assert plane.named("unsubscribe_sink") == [((1,), {}), ((newest,), {})]


def test_a_tap_that_always_fails_is_taken_away(plane: Any) -> None:
    bridge, _ = bridge_of(plane)
    bad = TapSpec(name="bad", subject="a", receive=lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
    bridge.add_tap(bad, account=0)
    plane.events = [Delivered(1, Batch("it"))] * (TAP_FAILURES_MAX + 3)  # type: ignore[arg-type]
    bridge.turn()
    bridge.remove_taps()

    assert plane.named("unsubscribe_sink") == [((1,), {})]
