"""Messages with one line behind each other to and from routes: compared, and not parsed."""

from __future__ import annotations

import pytest

from framework.dataplane import LinkKind, PlaneLimits, Traced
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.dataplane.scopes import Scope
from framework.tests.dataplane.conftest import Peer, Talk

RUN = 5
"""The first is parsed, the second aims the line, the others are copied."""


def payloads(first: int = 0) -> list[bytes]:
    return [b"%04d" % number for number in range(first, first + RUN)]


def said(line: bytes, first: int = 0) -> bytes:
    return b"".join(b"%b\r\n%b\r\n" % (line, payload) for payload in payloads(first))


@pytest.mark.parametrize("omitted", [False, True])
def test_a_run_goes_to_a_route_with_its_account(talk: Talk, *, omitted: bool) -> None:
    options = {"accounts": [0], "account_omitted": True} if omitted else {}
    route, client = talk.route(**options), talk.client()
    account = b"" if omitted else b"$G "
    route.say(b"RS+ %ba.*\r\n" % account)
    client.say(said(b"PUB a.b 4"))

    assert said(b"RMSG %ba.b 4" % account) == route.heard()


def test_a_run_of_a_route_goes_to_its_subscription_and_to_no_group(talk: Talk) -> None:
    route, client, member = talk.route(), talk.client(), talk.client()
    client.say(b"SUB a.* 12\r\n")
    member.say(b"SUB a.b group 1\r\n")
    route.say(said(b"RMSG $G a.b 4"))

    assert said(b"MSG a.b 12 4") == client.heard()
    assert b"" == member.heard()


def test_a_run_of_a_route_goes_to_all_subscriptions_and_to_no_other_route(talk: Talk) -> None:
    route, other, *clients = talk.route(), talk.route(), talk.client(), talk.client()
    other.say(b"RS+ $G a\r\n")
    for client in clients:
        client.say(b"SUB a 1\r\n")
    other.heard()
    route.say(said(b"RMSG $G a 4"))

    assert [said(b"MSG a 1 4")] * 2 == [client.heard() for client in clients]
    assert b"" == other.heard()


def test_a_run_finds_who_comes_and_who_goes(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    far = b"RS+ $G a\r\n", b"RS- $G a\r\n"
    near = b"SUB a 1\r\n", b"UNSUB 1\r\n"
    for change in (*far, *far):
        route.say(change)
        client.say(said(b"PUB a 4"))

        assert (said(b"RMSG $G a 4") if change.startswith(b"RS+") else b"") == route.heard()
    for change in (*near, *near):
        client.say(change)
        route.say(said(b"RMSG $G a 4"))

        assert (said(b"MSG a 1 4") if change.startswith(b"SUB") else b"") == client.heard()


def test_interest_that_changes_within_a_read_changes_the_rest_of_a_run(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    route.say(b"RS+ $G b\r\n")
    client.say(said(b"PUB b 4") + b"SUB b 1\r\n" + said(b"PUB b 4", RUN))

    assert said(b"RMSG $G b 4") + b"RS+ $G b\r\n" + said(b"RMSG $G b 4", RUN) == route.heard()
    assert said(b"MSG b 1 4", RUN) == client.heard()


def test_a_run_is_counted_as_single_messages_are(talk: Talk) -> None:
    figures = []
    for lines in ((b"a", b"a"), (b"a", b"b")):
        talk = Talk()
        route, client = talk.route(), talk.client()
        route.say(b"RS+ $G a\r\nRS+ $G b\r\n")
        client.say(b"SUB a 1\r\nSUB b 2\r\nUNSUB 1\r\nUNSUB 2\r\n")
        for number in range(6):
            client.say(b"PUB %b 2\r\nhi\r\n" % lines[number % 2])
        client.say(b"SUB a 1\r\nSUB b 2\r\n")
        for number in range(6):
            route.say(b"RMSG $G %b 3\r\nyes\r\n" % lines[number % 2])
        figures.append((talk.core.totals(), talk.core.account_traffic(0)))

    assert figures[0] == figures[1]
    routes = figures[0][1].peers[Scope.ROUTE]
    assert 6 == routes.out_msgs == routes.in_msgs


def test_the_line_of_an_account_that_is_removed_reaches_nobody(talk: Talk) -> None:
    account = talk.core.add_account(b"A")
    route = talk.route(accounts=[0, account])
    client = talk.client(account=account)
    client.say(b"SUB a 1\r\n")
    route.say(said(b"RMSG A a 4"))
    heard = client.heard()
    talk.core.remove_account(account)
    talk.turn()
    route.say(said(b"RMSG A a 4"))
    before = talk.core.totals().in_msgs
    talk.core.add_account(b"A")
    again = talk.client(account=account)
    again.say(b"SUB a 2\r\n")
    route.say(said(b"RMSG A a 4"))

    assert said(b"MSG a 1 4") == heard
    assert 2 * RUN == before
    assert said(b"MSG a 2 4") == again.heard()


def test_a_run_for_a_route_that_ends_is_not_kept() -> None:
    talk = Talk(PlaneLimits(max_pending=100_000))
    route, client = talk.route(), talk.client()
    route.say(b"RS+ $G a\r\n")
    body = b"x" * 4_000
    line = b"PUB a 4000\r\n%b\r\n" % body
    for _ in range(100):
        talk.core.feed(client.link, line, talk.now_ns)
    talk.turn()
    client.say(line)

    assert 1 == talk.core.totals().kinds[LinkKind.ROUTE].slow
    assert 0 == talk.core.totals().kinds[LinkKind.ROUTE].links


def test_lines_of_two_accounts_do_not_mix(talk: Talk) -> None:
    account = talk.core.add_account(b"B")
    route = Peer(talk, talk.route(accounts=[0, account]).link)
    one, other = talk.client(), talk.client(account=account)
    for client in (one, other):
        client.say(b"SUB a 1\r\n")
    route.say(
        b"".join(b"RMSG %b a 4\r\nfour\r\n" % name for name in (b"$G", b"$G", b"B", b"B", b"B"))
    )

    assert b"MSG a 1 4\r\nfour\r\n" * 2 == one.heard()
    assert b"MSG a 1 4\r\nfour\r\n" * 3 == other.heard()


def test_a_run_obeys_the_permissions_of_its_route(talk: Talk) -> None:
    rules = talk.core.add_permissions(Permissions(subscribe=SubjectRules(deny=("a.c",))))
    route, client = talk.route(), talk.client()
    route.say(b"RS+ $G a.*\r\n")
    heard = []
    for number in (0, rules, 0):
        talk.core.set_peer_permissions(LinkKind.ROUTE, number)
        talk.turn()
        client.say(said(b"PUB a.c 4"))
        heard.append(route.heard())

    assert [said(b"RMSG $G a.c 4"), b"", said(b"RMSG $G a.c 4")] == heard


def test_what_this_server_repeats_obeys_new_permissions_and_is_traced(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    route.say(b"RS+ $G a.*\r\n")
    client.say(b"SUB b 1\r\n")
    route.heard()
    rules = talk.core.add_permissions(Permissions(subscribe=SubjectRules(deny=("a.c",))))

    def publish(subject: bytes) -> None:
        talk.core.publish(0, [(subject, b"", b"", payload) for payload in payloads()])
        talk.turn()

    publish(b"a.c")
    before = route.heard()
    talk.core.set_peer_permissions(LinkKind.ROUTE, rules)
    publish(b"a.c")
    after = route.heard()
    publish(b"b")
    talk.core.trace(on=True)
    publish(b"b")

    assert (said(b"RMSG $G a.c 4"), b"") == (before, after)
    lines = [event.text for event in talk.of(Traced) if not event.body_bytes]

    assert [b"MSG b 1 4"] * RUN == lines
