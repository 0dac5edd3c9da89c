from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.server.clients.client_notices import ClientSeen
from framework.server.system import client_event_queue
from framework.server.system.account_events import AccountEvents
from framework.server.system.account_report import AccountReport
from framework.server.system.client_event_queue import ClientEventQueue
from framework.server.system.client_events import ClientEvents
from framework.server.system.limits import COUNTS_APART_S, COUNTS_INTERVAL_S
from framework.server.system.outbox import Outbox
from framework.spec import (
    ClientIdentity,
    Closed,
    ClosedState,
    ConnectionInfo,
    LinkKind,
    LinkRow,
    ServiceRequest,
)
from framework.wire.event_ids import EventIds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.server.system.server_stamp import ServerStamp

REFUSED = ClosedState.AUTHENTICATION_VIOLATION


def seen(cid: int = 1, account: str = "A", **identity: Any) -> ClientSeen:
    info = ConnectionInfo(
        link=cid,
        kind=LinkKind.CLIENT,
        cid=cid,
        host="10.1.1.1",
        port=5,
        name="app",
        lang="go",
        version="1.2",
    )
    return ClientSeen(info, ClientIdentity(account=account, user="joe", **identity), 500)


def closed(cid: int = 1, reason: ClosedState = ClosedState.CLIENT_CLOSED) -> Closed:
    row = LinkRow(
        link=cid,
        kind=LinkKind.CLIENT,
        cid=cid,
        host="10.1.1.1",
        port=5,
        opened_ns=500,
        last_activity_ns=600,
        rtt_ns=250,
        pending_bytes=0,
        in_msgs=3,
        in_bytes=30,
        out_msgs=4,
        out_bytes=40,
        subscriptions=0,
        stalls=0,
    )
    return Closed(cid, LinkKind.CLIENT, reason, "", row, 700)


class World:
    """The actor on virtual time, with what it publishes."""

    def __init__(self, server: Any, stamp: ServerStamp) -> None:
        self.server = server
        self.dispatcher = SimulatedDispatcher(seed=1)
        self.system = ActorSystem(self.dispatcher, name="test")
        self.is_heard = True
        self.queue = ClientEventQueue()
        outbox = Outbox(server, server.accounts)
        events = ClientEvents(stamp, EventIds(random.Random(1)), monotonic_ns=lambda: 1_000)
        self.report = AccountReport(
            queue=self.queue,
            events=events,
            statistics=lambda account, count: {"acc": account, "conns": count},
            outbox=outbox,
        )
        self.actor = self.system.spawn(
            AccountEvents,
            name="events",
            queue=self.queue,
            events=events,
            report=self.report,
            outbox=outbox,
            stamp=stamp,
            is_heard=lambda: self.is_heard,
        )

    def take(self) -> list[tuple[str, Any]]:
        self.dispatcher.run_ready()
        documents = self.server.documents()
        self.server.published.clear()
        return list(documents)


@pytest.fixture
def world(server: Any, stamp: ServerStamp) -> Iterator[World]:
    world = World(server, stamp)
    world.actor.tell(AccountEvents.Begin())
    world.dispatcher.run_ready()
    yield world
    world.system.stop(5.0)
    world.dispatcher.run_ready()

    assert not world.queue.is_open


def test_a_client_comes_and_goes(world: World) -> None:
    world.queue.client_connected(seen(tags=("vip",), issuer_key="AKEY"))
    came = world.take()
    world.dispatcher.run_for(COUNTS_APART_S)
    world.queue.client_disconnected(seen(), closed())
    went = world.take()

    assert [subject for subject, _ in came] == [
        "$SYS.ACCOUNT.A.CONNECT",
        "$SYS.REQ.ACCOUNT.A.CONNS",
        "$SYS.SERVER.ACCOUNT.A.CONNS",
        "$SYS.ACCOUNT.A.SERVER.CONNS",
    ]
    assert came[0][1]["type"] == "io.nats.server.advisory.v1.client_connect"
    assert came[0][1]["client"] == {
        "start": "2023-11-14T22:13:19.9999995Z",
        "host": "10.1.1.1",
        "id": 1,
        "acc": "A",
        "user": "joe",
        "name": "app",
        "lang": "go",
        "ver": "1.2",
        "issuer_key": "AKEY",
        "name_tag": "A",
        "tags": ["vip"],
        "kind": "Client",
        "client_type": "nats",
    }
    assert [document["conns"] for _, document in came[2:]] == [1, 1]
    assert came[2][1]["id"] == came[3][1]["id"]
    assert came[2][1]["server"]["seq"] < came[3][1]["server"]["seq"]
    assert [subject for subject, _ in went] == [
        "$SYS.ACCOUNT.A.DISCONNECT",
        "$SYS.SERVER.ACCOUNT.A.CONNS",
        "$SYS.ACCOUNT.A.SERVER.CONNS",
    ]
    assert went[0][1]["sent"] == {"msgs": 3, "bytes": 30}
    assert went[0][1]["received"] == {"msgs": 4, "bytes": 40}
    assert (went[0][1]["reason"], went[0][1]["client"]["rtt"]) == ("Client Closed", 250)
    assert went[0][1]["client"]["stop"] == "2023-11-14T22:13:19.9999997Z"
    assert [document["conns"] for _, document in went[1:]] == [0, 0]


def test_who_is_not_let_in_is_told_of_as_one_of_the_global_account(world: World) -> None:
    world.queue.client_refused(seen(account=""), closed(reason=REFUSED))

    assert [(subject, it["client"]["acc"], it["reason"]) for subject, it in world.take()] == [
        ("$SYS.SERVER.NONE.CLIENT.AUTH.ERR", "$G", "Authentication Failure"),
        ("$SYS.ACCOUNT.$G.DISCONNECT", "$G", "Authentication Failure"),
        ("$SYS.ACCOUNT.CLIENT.AUTH.ERR", "$G", "Authentication Failure"),
    ]
    assert world.queue.active_accounts == 0


def test_who_is_not_let_in_goes_by_the_key_that_it_has_shown(world: World) -> None:
    world.queue.client_refused(seen(account="", nkey="UKEY"), closed(reason=REFUSED))

    assert {it["client"]["user"] for _, it in world.take()} == {"UKEY"}


def test_an_account_hears_of_who_may_not_stay_in_it(world: World) -> None:
    world.queue.client_connected(seen())
    world.take()
    world.queue.client_refused(seen(), closed(reason=REFUSED))
    world.queue.client_disconnected(seen(), closed(reason=REFUSED))
    world.dispatcher.run_ready()
    told = [(account, message[0].decode()) for account, message in world.server.published]

    assert told == [
        (2, "$SYS.SERVER.NONE.CLIENT.AUTH.ERR"),
        (2, "$SYS.ACCOUNT.A.DISCONNECT"),
        (1, "$SYS.ACCOUNT.CLIENT.AUTH.ERR"),
    ]


def test_a_storm_of_logins_is_reported_a_few_times_only(world: World) -> None:
    for cid in range(1_000):
        world.queue.client_connected(seen(cid))
    first = world.take()
    for cid in range(1_000, 2_000):
        world.queue.client_connected(seen(cid))
    second = world.take()
    world.dispatcher.run_for(COUNTS_APART_S)
    third = world.take()

    assert len([1 for subject, _ in first if subject.endswith(".CONNECT")]) == 1_000
    assert [it["conns"] for subject, it in first if subject.endswith("SERVER.CONNS")] == [1_000]
    assert not [1 for subject, _ in second if subject.endswith("CONNS")]
    assert [it["conns"] for _, it in third] == [2_000, 2_000]


def test_what_does_not_change_is_repeated_as_long_as_there_are_clients(world: World) -> None:
    world.queue.client_connected(seen())
    world.take()
    world.dispatcher.run_for(2 * COUNTS_INTERVAL_S + 1)

    assert len(world.take()) == 4

    world.queue.client_disconnected(seen(), closed())
    world.take()
    world.dispatcher.run_for(2 * COUNTS_INTERVAL_S)

    assert world.take() == []
    assert world.dispatcher.timer_count == 0


def test_what_nobody_hears_is_not_made(world: World) -> None:
    world.is_heard = False
    world.queue.client_connected(seen())
    subjects = [subject for subject, _ in world.take()]

    assert "$SYS.ACCOUNT.A.CONNECT" not in subjects
    assert "$SYS.ACCOUNT.A.SERVER.CONNS" in subjects


def test_the_global_account_is_not_reported(world: World) -> None:
    world.queue.client_connected(seen(account="$G"))

    assert [subject for subject, _ in world.take()] == ["$SYS.ACCOUNT.$G.CONNECT"]


def test_an_account_whose_name_is_no_word_of_a_subject_is_not_told_of(world: World) -> None:
    world.queue.client_connected(seen(account="two words"))
    world.queue.client_connected(seen(2, account="*"))

    assert world.take() == []


def test_news_have_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_event_queue, "EVENTS_WAITING_MAX", 2)
    for cid in range(5):
        world.queue.client_connected(seen(cid))

    assert world.queue.dropped == 3
    assert world.queue.count("A") == 5


def test_after_the_end_nothing_is_told(world: World) -> None:
    world.actor.tell(AccountEvents.End())
    world.dispatcher.run_ready()
    world.queue.client_connected(seen())

    assert world.take() == []
    assert world.queue.count("A") == 1


@pytest.mark.parametrize(
    ("payload", "answers"),
    [(b"", 1), (b'{"acc":"A"}', 1), (b'{"acc":"B"}', 0), (b"{bad", 0)],
)
def test_another_server_asks_for_the_clients_of_an_account(
    world: World, payload: bytes, answers: int
) -> None:
    answer = world.report.services()[0].answer
    request = ServiceRequest(
        subject="$SYS.REQ.ACCOUNT.A.CONNS", reply="inbox", header=b"", payload=payload
    )
    asyncio.run(answer(request))

    assert world.take() == []

    world.queue.client_connected(seen())
    world.take()
    asyncio.run(answer(request))
    told = [(message[0], json.loads(message[3])["conns"]) for _, message in world.server.published]

    assert told == [(b"inbox", 1)] * answers
