from __future__ import annotations

import pytest

from framework.dataplane import LinkKind, PlaneLimits
from framework.dataplane.scopes import Scope
from framework.tests.dataplane.conftest import Peer, Talk


def member(talk: Talk, account: int) -> Peer:
    """Return a client that was let into an account."""
    link = talk.core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
    flags = {"verbose": False, "pedantic": False, "echo": True, "headers": True}
    talk.core.resume_client(link, account=account, no_responders=False, protocol=1, **flags)
    talk.turn()
    return Peer(talk, link)


def figures(talk: Talk, account: int, way: str) -> tuple[int, int, int, int]:
    traffic = talk.core.account_traffic(account)
    routes = traffic.peers[Scope.ROUTE]
    if way == "in":
        return traffic.in_msgs, traffic.in_bytes, routes.in_msgs, routes.in_bytes
    return traffic.out_msgs, traffic.out_bytes, routes.out_msgs, routes.out_bytes


@pytest.mark.parametrize("count", [1, 2, 50])
def test_messages_count_for_the_account_of_their_client(talk: Talk, count: int) -> None:
    account = talk.core.add_account(b"A")
    client = member(talk, account)
    member(talk, 0).say(b"SUB > 1\r\n")
    client.say(b"SUB a 1\r\nSUB b 2\r\nSUB b 3\r\n")
    for subject in (b"a", b"b", b"none"):
        client.say(b"PUB %s 3\r\nabc\r\n" % subject * count)

    assert figures(talk, account, "in") == (3 * count, 9 * count, 0, 0)
    assert figures(talk, account, "out") == (3 * count, 9 * count, 0, 0)
    assert figures(talk, 0, "in") == figures(talk, 0, "out") == (0, 0, 0, 0)


def test_messages_of_routes_count_for_the_account_that_they_name(talk: Talk) -> None:
    account = talk.core.add_account(b"A")
    route = talk.route(accounts=[0, account])
    client = member(talk, account)
    client.say(b"SUB a 1\r\n")
    route.say(b"RMSG A a 5\r\nhello\r\n")
    route.say(b"RS+ A b\r\n")
    client.say(b"PUB b 2\r\nhi\r\n" * 3)

    assert figures(talk, account, "in") == (4, 11, 1, 5)
    assert figures(talk, account, "out") == (4, 11, 3, 6)
    assert figures(talk, 0, "in") == figures(talk, 0, "out") == (0, 0, 0, 0)


def test_a_message_for_an_account_that_is_not_known_counts_for_none(talk: Talk) -> None:
    route = talk.route()
    route.say(b"RMSG B a 5\r\nhello\r\n")

    assert figures(talk, 0, "in") == (0, 0, 0, 0)
    assert talk.core.totals().in_msgs == 1


def test_slow_consumers_count_for_their_account() -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    account = talk.core.add_account(b"A")
    slow, fast = member(talk, account), member(talk, account)
    slow.say(b"SUB a 1\r\n")
    for _ in range(200):
        talk.core.feed(fast.link, b"PUB a 1000\r\n%s\r\n" % (b"x" * 1_000), talk.now_ns)

    assert talk.core.account_traffic(account).slow_consumers == 1
    assert talk.core.account_traffic(0).slow_consumers == 0


def test_the_subject_table_of_one_account_is_counted_alone(talk: Talk) -> None:
    account = talk.core.add_account(b"A")
    member(talk, account).say(b"SUB a 1\r\nSUB b 2\r\n")
    member(talk, 0).say(b"SUB a 1\r\n")
    counts = [talk.core.sublist_counters(it).count for it in (0, account, None)]

    assert counts == [1, 2, 3]
    assert talk.core.sublist_counters(account).inserts == 2


def test_an_account_that_is_not_there_has_no_figures(talk: Talk) -> None:
    with pytest.raises(KeyError):
        talk.core.account_traffic(1)
