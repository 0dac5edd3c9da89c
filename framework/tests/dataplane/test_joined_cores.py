"""Cores that are one server: what links of one say is heard by links of all."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from framework.dataplane import Core, LinkKind, PlaneLimits
from framework.dataplane.inner.plant import Plant
from framework.dataplane.tables import AccountTables, ServiceImportRow, StreamImportRow
from framework.spec import RowKind, RowWord
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.joined_world import plays
from framework.tests.dataplane.test_ports import publish, rows

SEEDS = 240
STEPS = 200
PLANTED_SEEDS = 30
MISTAKES = tuple(it for it in Plant if it is not Plant.NOTHING)
MEBIBYTE = 1_048_576


def joined(count: int = 2, **limits: object) -> list[Talk]:
    """Return cores that are one server."""
    talks = [Talk(PlaneLimits(**limits), seed=at + 1) for at in range(count)]
    Core.join([talk.core for talk in talks])
    return talks


def turn(talks: list[Talk], seconds: float = 0.0) -> None:
    """Let time pass, and turn all cores until none has anything to do."""
    for talk in talks:
        talk.turn(seconds)
    while any(talk.core.is_busy for talk in talks):
        for talk in talks:
            talk.turn()


def heard(talks: list[Talk], peer: Peer) -> bytes:
    """Return what a link was sent until all is quiet."""
    turn(talks)
    return peer.heard()


def asking(talk: Talk) -> Peer:
    """Return a client that listens for answers to `inbox`, and hears when nobody is there."""
    peer = talk.client(no_responders=True)
    peer.ask(b"SUB inbox 1\r\n")
    return peer


# ---- by chance ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SEEDS))
def test_joined_cores_do_what_one_server_would(seed: int) -> None:
    plays(seed, STEPS)


@pytest.mark.parametrize("plant", MISTAKES)
def test_the_simulation_finds_planted_mistakes(plant: Plant) -> None:
    found = 0
    for seed in range(PLANTED_SEEDS):
        try:
            plays(seed, STEPS, plant)
        except AssertionError:
            found += 1

    assert found


# ---- joining -----------------------------------------------------------------------------------


def test_a_core_is_joined_once_and_before_it_has_links() -> None:
    one, other = joined()
    third, used = Core(PlaneLimits(), seed=9), Core(PlaneLimits(), seed=10)
    used.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)

    for cores in (
        [third],
        [third, third],
        [third, one.core],
        [third, used],
        [third, Core(PlaneLimits(), seed=9)],
    ):
        with pytest.raises(ValueError, match="joined"):
            Core.join(cores)
    with pytest.raises(ValueError, match="not joined"):
        third.look()
    other.core.look()


def test_links_of_joined_cores_have_different_numbers() -> None:
    talks = joined(3)
    links = [talk.client() for talk in talks for _ in range(4)]
    rows = [row for talk in talks for row in talk.links()]

    assert len({it.link for it in links}) == len(links)
    assert [it.link >> 56 for it in links] == [0] * 4 + [1] * 4 + [2] * 4
    assert sorted(row.cid for row in rows) == list(range(1, 13))


def test_what_sinks_want_before_cores_are_joined_is_told() -> None:
    talks = [Talk(seed=at + 1) for at in range(2)]
    sink = talks[0].core.subscribe_sink(0, b"a.*")
    talks[0].turn()
    Core.join([talk.core for talk in talks])
    talks[1].client().say(b"PUB a.b 2\r\nhi\r\n")
    turn(talks)

    assert sink
    assert [event.batch.payload(0) for event in talks[0].events if hasattr(event, "batch")] == [
        b"hi"
    ]


def test_a_core_may_go_before_the_others() -> None:
    talks = joined(3)
    client = talks[0].client()
    client.say(b"SUB > 1\r\n")
    talks[1].client().say(b"PUB a 2\r\nhi\r\n")
    del talks[1]
    talks[1].client().say(b"PUB b 2\r\nho\r\n")

    assert heard(talks, client) == b"MSG a 1 2\r\nhi\r\nMSG b 1 2\r\nho\r\n"


# ---- messages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 8_191, 32_600, 32_768, 300_000])
def test_messages_of_all_lengths_come_whole_and_in_order(length: int) -> None:
    talks = joined()
    client, other = talks[0].client(), talks[1].client()
    client.say(b"SUB a 1\r\n")
    body = bytes(at % 251 for at in range(length))
    for _ in range(5):
        other.say(
            b"PUB a %d\r\n%b\r\nHPUB a back 12 %d\r\nNATS/1.0\r\n\r\n%b\r\n"
            % (length, body, 12 + length, body)
        )

    expected = b"MSG a 1 %d\r\n%b\r\nHMSG a 1 back 12 %d\r\nNATS/1.0\r\n\r\n%b\r\n" % (
        length,
        body,
        12 + length,
        body,
    )
    assert heard(talks, client) == expected * 5


def test_a_message_goes_to_a_core_once_however_many_want_it_there() -> None:
    talks = joined()
    clients = [talks[0].client() for _ in range(50)]
    for client in clients:
        client.say(b"SUB a 1\r\nSUB * 2\r\nSUB > g 3\r\n")
    talks[1].client().say(b"PUB a 2\r\nhi\r\n")
    turn(talks)
    got = Counter(sid for it in clients for sid in re.findall(rb"MSG a (\d) 2", it.heard()))

    assert got == {b"1": 50, b"2": 50, b"3": 1}


def test_members_of_a_group_are_chosen_evenly_over_all_cores() -> None:
    talks = joined(3)
    members = [talks[at].client() for at in (0, 1, 1, 2, 2, 2)]
    for member in members:
        member.say(b"SUB a g 1\r\n")
    route = talks[2].route()
    route.say(b"RS+ $G a g 2\r\n")
    publisher = talks[0].client()
    for _ in range(800):
        publisher.say(b"PUB a 0\r\n\r\n")
    turn(talks)
    counts = [it.heard().count(b"MSG") for it in (*members, route)]

    assert sum(counts) == 800
    assert all(60 < it < 140 for it in counts[:-1])
    assert 140 < counts[-1] < 270


def test_a_routes_message_for_a_group_is_shared_by_all_cores() -> None:
    talks = joined(3)
    members = [talks[at].client() for at in (0, 1, 2, 2)]
    for member in members:
        member.say(b"SUB a g 1\r\n")
    route = talks[1].route()
    for _ in range(400):
        route.say(b"RMSG $G a | g 0\r\n\r\n")
    turn(talks)
    counts = [it.heard().count(b"MSG") for it in members]

    assert sum(counts) == 400
    assert all(60 < it < 140 for it in counts)


def test_a_core_whose_member_has_left_passes_a_message_on_to_where_one_is() -> None:
    talks = joined(3)
    first, last = talks[1].client(), talks[2].client()
    first.say(b"SUB a g 1\r\n")
    talks[0].core.feed(talks[0].client().link, b"PUB a 2\r\nhi\r\n", 0)
    last.say(b"SUB a g 1\r\n")
    talks[1].core.feed(first.link, b"UNSUB 1\r\n", 0)

    assert heard(talks, last) == b"MSG a 1 2\r\nhi\r\n"
    assert first.heard() == b""


def test_a_message_may_come_back_to_the_core_that_sent_it() -> None:
    talks = joined()
    there, here = talks[1].client(), talks[0].client()
    there.say(b"SUB a g 1\r\n")
    talks[0].core.feed(here.link, b"PUB a 2\r\nhi\r\nSUB a g 2\r\n", 0)
    talks[1].core.feed(there.link, b"UNSUB 1\r\n", 0)

    assert heard(talks, here) == b"MSG a 2 2\r\nhi\r\n"


# ---- nobody there ------------------------------------------------------------------------------


def test_a_request_to_nobody_on_any_core_is_refused_at_once() -> None:
    client = asking(joined()[0])

    assert b"\r\nNATS/1.0 503\r\n" in client.ask(b"PUB svc inbox 0\r\n\r\n")


@pytest.mark.parametrize("queue", [b"", b"g"])
def test_a_request_whose_only_receiver_has_just_left_another_core_comes_back(queue: bytes) -> None:
    talks = joined(3)
    client, service = asking(talks[0]), talks[1].client()
    service.say(b"SUB svc %b 1\r\n" % queue)
    talks[0].core.feed(client.link, b"PUB svc inbox 0\r\n\r\n", 0)
    talks[1].core.feed(service.link, b"UNSUB 1\r\n", 0)

    assert (
        heard(talks, client)
        == b"HMSG inbox 1 35 35\r\nNATS/1.0 503\r\nNats-Subject: svc\r\n\r\n\r\n"
    )


def test_a_request_that_two_groups_of_a_core_were_to_have_comes_back() -> None:
    talks = joined()
    client, service = asking(talks[0]), talks[1].client()
    service.say(b"SUB svc g 1\r\nSUB svc h 2\r\nSUB * 3\r\n")
    talks[0].core.feed(client.link, b"PUB svc inbox 0\r\n\r\n", 0)
    talks[1].core.feed(service.link, b"UNSUB 1\r\nUNSUB 2\r\nUNSUB 3\r\n", 0)

    assert b"503" in heard(talks, client)


def test_a_request_that_anybody_got_is_not_refused() -> None:
    talks = joined(3)
    client, service, other = asking(talks[0]), talks[1].client(), talks[2].client()
    service.say(b"SUB svc 1\r\n")
    other.say(b"SUB svc 1\r\n")
    talks[0].core.feed(client.link, b"PUB svc inbox 0\r\n\r\n", 0)
    talks[1].core.feed(service.link, b"UNSUB 1\r\n", 0)

    assert heard(talks, client) == b""
    assert other.heard() == b"MSG svc 1 inbox 0\r\n\r\n"


def test_a_request_to_a_server_that_wants_it_no_more_comes_back_from_its_core() -> None:
    talks = joined()
    client, route = asking(talks[0]), talks[1].route()
    route.say(b"RS+ $G svc\r\n")
    talks[0].core.feed(client.link, b"PUB svc inbox 0\r\n\r\n", 0)
    talks[1].core.feed(route.link, b"RS- $G svc\r\n", 0)

    assert b"503" in heard(talks, client)


def test_what_a_port_delivers_to_nobody_at_another_core_is_answered() -> None:
    talks = joined()
    port = talks[0].core.open_port()
    client = talks[1].client()
    client.say(b"SUB a 1\r\nSUB b 2\r\n")
    talks[0].turn()
    publish(port, (b"a", b"x"), token=7)
    publish(port, (b"b", b"y"), token=8)
    talks[0].core.turn(0)
    talks[1].core.feed(client.link, b"UNSUB 1\r\n", 0)

    assert heard(talks, client) == b"MSG b 2 1\r\ny\r\n"
    assert rows(port) == [(RowKind.ANSWER, 7, RowWord.NOBODY)]


# ---- routes ------------------------------------------------------------------------------------


def test_the_core_of_a_route_tells_it_what_all_want() -> None:
    talks = joined(3)
    route = talks[1].route()
    clients = [talk.client() for talk in talks]
    for client in clients:
        client.say(b"SUB a 1\r\nSUB b g 2\r\n")

    assert heard(talks, route).split(b"\r\n")[:-1] == [
        b"RS+ $G a",
        b"RS+ $G b g 1",
        b"RS+ $G b g 2",
        b"RS+ $G b g 3",
    ]
    for client in clients:
        client.say(b"UNSUB 1\r\n")
    assert heard(talks, route) == b"RS- $G a\r\n"


def test_servers_are_told_nothing_of_each_other_whatever_cores_they_are_at() -> None:
    talks = joined()
    one, other = talks[0].route(peer=1), talks[1].route(peer=2)
    one.say(b"RS+ $G a\r\nRS+ $G b g 3\r\n")
    other.say(b"RMSG $G a 2\r\nhi\r\n")

    assert heard(talks, other) == b""
    assert heard(talks, one) == b""


def test_a_server_behind_another_core_is_told_of_a_reply_before_the_request() -> None:
    talks = joined()
    route, client = talks[1].route(), talks[0].client()
    route.say(b"RS+ $G svc\r\n")
    turn(talks)
    client.say(b"SUB inbox 1\r\nPUB svc inbox 0\r\n\r\n")

    assert heard(talks, route) == b"RS+ $G inbox\r\nRMSG $G svc inbox 0\r\n\r\n"


def test_interest_in_accounts_that_are_not_here_yet_is_kept() -> None:
    talks = joined()
    route = talks[1].route()
    route.say(b"RS+ NEW a\r\n")
    turn(talks)
    account = {talk.core.add_account(b"NEW") for talk in talks}.pop()
    talks[0].client(account=account).say(b"PUB a 2\r\nhi\r\n")

    assert heard(talks, route) == b"RMSG NEW a 2\r\nhi\r\n"


def test_a_route_that_ends_takes_its_interest_away_from_all_cores() -> None:
    talks = joined(3)
    client, route = asking(talks[0]), talks[1].route()
    route.say(b"RS+ $G svc\r\nRS+ $G svc g 2\r\n")
    talks[1].core.hang_up(route.link)
    turn(talks)

    assert b"503" in client.ask(b"PUB svc inbox 0\r\n\r\n")


# ---- imports -----------------------------------------------------------------------------------


def imports(talks: list[Talk], **tables: object) -> None:
    """Let account 1 import of account 2, on all cores."""
    for talk in talks:
        talk.core.add_account(b"A")
        talk.core.add_account(b"B")
        talk.core.set_account_tables(1, AccountTables(**tables))
    turn(talks)


def test_streams_of_another_account_come_from_all_cores() -> None:
    talks = joined(3)
    imports(talks, stream_imports=(StreamImportRow(account=2, subject="news.*", to="from.b.*"),))
    client = talks[0].client(account=1)
    client.say(b"SUB from.b.x 1\r\n")
    for talk in talks:
        talk.client(account=2).say(b"PUB news.x 2\r\nhi\r\n")

    assert heard(talks, client) == b"MSG from.b.x 1 2\r\nhi\r\n" * 3


def test_a_request_enters_a_service_once_and_its_answer_finds_back() -> None:
    talks = joined(3)
    imports(talks, service_imports=(ServiceImportRow(account=2, subject="svc", to="help"),))
    client = talks[0].client(account=1, no_responders=True)
    service = talks[1].client(account=2)
    watcher = talks[2].client(account=1)
    watcher.say(b"SUB help 1\r\n")
    service.say(b"SUB svc 1\r\n")
    client.say(b"SUB inbox 1\r\nPUB help inbox 2\r\nhi\r\n")
    asked = heard(talks, service)
    reply = asked.split()[3]
    service.say(b"PUB %b 2\r\nho\r\n" % reply)

    assert asked == b"MSG svc 1 %b 2\r\nhi\r\n" % reply
    assert heard(talks, client) == b"MSG inbox 1 2\r\nho\r\n"
    assert watcher.heard() == b"MSG help 1 inbox 2\r\nhi\r\n"


def test_a_request_through_an_import_comes_back_when_its_service_has_just_left() -> None:
    talks = joined()
    imports(talks, service_imports=(ServiceImportRow(account=2, subject="svc", to="help"),))
    client = talks[0].client(account=1, no_responders=True)
    service = talks[1].client(account=2)
    service.say(b"SUB svc 1\r\n")
    client.say(b"SUB inbox 1\r\n")
    talks[0].core.feed(client.link, b"PUB help inbox 2\r\nhi\r\n", 0)
    talks[1].core.feed(service.link, b"UNSUB 1\r\n", 0)

    assert heard(talks, client).startswith(b"HMSG inbox 1 35 35\r\nNATS/1.0 503\r\n")


# ---- back-pressure -----------------------------------------------------------------------------


def stalls(talk: Talk, peer: Peer) -> int:
    """Return how often a link was paused."""
    return next(row.stalls for row in talk.links() if row.link == peer.link)


def fill(talk: Talk, source: Peer, count: int, messages_min: int = 0) -> int:
    """Let a link publish until it was paused so often; return how many messages that took."""
    is_route = source.link in {row.link for row in talk.links(kinds=[LinkKind.ROUTE])}
    line = b"RMSG $G a 65536\r\n" if is_route else b"PUB a 65536\r\n"
    sent = 0
    while stalls(talk, source) < count or sent < messages_min:
        talk.core.feed(source.link, line + b"x" * 65_536 + b"\r\n", talk.now_ns)
        sent += 1
    return sent


@pytest.mark.parametrize("kind", [LinkKind.CLIENT, LinkKind.ROUTE])
def test_who_fills_the_queue_to_another_core_waits_for_it(kind: LinkKind) -> None:
    talks = joined(fast_producer_stall=False)
    client = talks[1].client()
    client.say(b"SUB a 1\r\n")
    source = talks[0].client() if kind is LinkKind.CLIENT else talks[0].route()
    sent = fill(talks[0], source, 1)
    for _ in range(3):
        # Time alone does not let it go on: paused links are not paused anew.
        talks[0].turn(1.0)
        sent += fill(talks[0], source, 0, 1)

    assert stalls(talks[0], source) == 1
    assert MEBIBYTE <= (sent - 3) * 65_536 < MEBIBYTE + 65_536 * 2
    assert heard(talks, client).count(b"MSG") == sent
    assert fill(talks[0], source, 2) == sent - 3


def test_who_changes_its_interest_faster_than_others_hear_of_it_waits() -> None:
    talks = joined()
    client = talks[0].client()
    lines = b"".join(b"SUB subject.%d g %d\r\nUNSUB %d\r\n" % (it, it, it) for it in range(100))
    while not stalls(talks[0], client):
        talks[0].core.feed(client.link, lines, 0)
    client.say(b"SUB a 1\r\n")
    talks[1].client().say(b"PUB a 2\r\nhi\r\n")

    assert heard(talks, client) == b"MSG a 1 2\r\nhi\r\n"


def test_what_a_port_publishes_waits_while_another_core_has_much_to_take() -> None:
    talks = joined()
    port = talks[0].core.open_port()
    client = talks[1].client()
    client.say(b"SUB a 1\r\n")
    for _ in range(40):
        publish(port, (b"a", b"x" * 65_536))
        talks[0].turn()
    once = talks[1].core.take_output(client.link)
    talks[1].turn()
    first = client.heard().count(b"MSG")

    assert not once
    assert 16 <= first <= 17
    assert heard(talks, client).count(b"MSG") == 40 - first


def test_a_client_that_reads_slowly_at_one_core_holds_up_who_publishes_at_another() -> None:
    talks = joined()
    slow, fast = talks[1].client(), talks[0].client()
    slow.say(b"SUB a 1\r\n")
    body = b"x" * 60_000
    for _ in range(80):
        talks[0].core.feed(fast.link, b"PUB a 60000\r\n%b\r\n" % body, 0)
        turn(talks)

    assert stalls(talks[0], fast) > 0
