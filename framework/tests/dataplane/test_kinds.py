"""What a link may do is said by the row of its kind alone."""

from __future__ import annotations

from msgspec.structs import replace

from framework.dataplane import Closed, Core, ErrReceived, Greeting, LinkKind, PlaneLimits
from framework.dataplane.kinds import KIND_TRAITS, KindTraits
from framework.wire.closed_state import ClosedState

CLIENT, LEAF = LinkKind.CLIENT, LinkKind.LEAF
SECOND_NS = 1_000_000_000


def core_with(leaf: KindTraits, **limits: object) -> Core:
    return Core(PlaneLimits(**limits), seed=7, kinds={**KIND_TRAITS, LEAF: leaf})  # type: ignore[arg-type]


def say(core: Core, link: int, data: bytes) -> bytes:
    core.feed(link, data, 0)
    core.turn(0)
    return core.take_output(link)


def open_leaf(core: Core) -> int:
    return core.open(LEAF, "127.0.0.1", 7422, accepted=True)


def test_links_of_a_kind_with_the_traits_of_clients_are_served_as_clients():
    core = core_with(KIND_TRAITS[CLIENT])
    leaf = open_leaf(core)

    assert b"MSG a 1 2\r\nok\r\n" in say(core, leaf, b"SUB a 1\r\nPUB a 2\r\nok\r\n")
    kinds = core.totals().kinds
    assert (1, 1, 1) == (kinds[LEAF].links, kinds[LEAF].in_msgs, kinds[LEAF].out_msgs)
    assert (0, 0) == (kinds[CLIENT].links, kinds[CLIENT].in_msgs)


def test_kinds_that_are_limited_share_one_limit():
    core = core_with(KIND_TRAITS[CLIENT], max_connections=1)
    core.open(CLIENT, "127.0.0.1", 4222, accepted=True)
    second = open_leaf(core)

    assert b"maximum connections exceeded" in core.take_output(second)


def test_kinds_that_are_not_limited_do_not_count():
    core = core_with(replace(KIND_TRAITS[CLIENT], is_limited=False), max_connections=1)
    leaf = open_leaf(core)
    client = core.open(CLIENT, "127.0.0.1", 4222, accepted=True)

    assert b"" == core.take_output(leaf) == core.take_output(client)


def test_without_the_right_to_be_anonymous_a_link_must_say_connect_first():
    core = core_with(replace(KIND_TRAITS[CLIENT], may_be_anonymous=False))
    leaf = open_leaf(core)

    assert b"Authorization Violation" in say(core, leaf, b"PUB a 2\r\nok\r\n")
    (closed,) = (it for it in core.take_events() if isinstance(it, Closed))
    assert closed.reason is ClosedState.AUTHENTICATION_VIOLATION


def test_what_a_peer_says_is_reported_where_the_kind_hears_it():
    core = core_with(KindTraits(hears_peer=True))
    leaf = open_leaf(core)
    say(core, leaf, b"CONNECT {}\r\n")
    core.resume(leaf)
    say(core, leaf, b"-ERR 'no'\r\nINFO {}\r\n")
    events = core.take_events()

    assert [b"no"] == [it.text for it in events if isinstance(it, ErrReceived)]
    assert "INFO" in [it.verb for it in events if isinstance(it, Greeting)]


def test_a_first_ping_comes_when_the_row_says():
    core = core_with(KindTraits(first_ping_s=5.0, may_be_anonymous=True))
    leaf = open_leaf(core)
    core.turn(4 * SECOND_NS)
    early = core.take_output(leaf)
    core.turn(7 * SECOND_NS)

    assert b"PING" not in early
    assert b"PING\r\n" in core.take_output(leaf)
