"""Clients that may not say or hear everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Closed, LinkKind, PlaneLimits, Violated, Violation
from framework.dataplane.permissions import Permissions, ResponsePermission, SubjectRules
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.permission_cases import (
    CASES,
    Case,
    parse_talk,
    publishing,
    subscribing,
)
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_clients_under_rules_hear_what_nats_server_says(talk: Talk, case: Case) -> None:
    peers = {"U": talk.client(no_responders=True), "O": talk.client(no_responders=True)}
    number = talk.core.add_permissions(case.permissions)
    talk.core.set_client(peers["U"].link, permissions=number)
    talk.turn()
    for who, said, hears in parse_talk(case.talk):
        peers[who].say(said)

        assert hears == {who: peer.heard() for who, peer in peers.items()}, said


def _under(talk: Talk, permissions: Permissions, **terms: int) -> Peer:
    """Return a client under rules."""
    peer = talk.client()
    talk.core.set_client(peer.link, permissions=talk.core.add_permissions(permissions), **terms)
    talk.turn()
    return peer


@pytest.mark.parametrize("rule", ["bar.*", "bar.* q"])
def test_one_token_does_not_allow_all_below(talk: Talk, rule: str) -> None:
    client = _under(talk, subscribing(rule, "foo.>", "foo.> q"))
    heard = client.ask(
        b"SUB bar.> q 1\r\nSUB bar.* q 2\r\nSUB foo.> q 3\r\nSUB foo.a.> q 4\r\nSUB bar.a> q 5\r\n"
    )

    assert (
        b'-ERR \'Permissions Violation for Subscription to "bar.>" using queue "q"\'\r\n' == heard
    )


def test_who_has_expired_answers_nothing(talk: Talk) -> None:
    client = _under(talk, publishing(answers=ResponsePermission(max_msgs=5, expires_s=10)))
    client.say(b"SUB svc 1\r\n")
    other = talk.client()
    other.say(b"SUB in.* 9\r\nPUB svc in.1 1\r\nx\r\n")
    talk.turn(9)
    in_time = client.ask(b"PUB in.1 1\r\na\r\n")
    talk.turn(1)
    late = client.ask(b"PUB in.1 1\r\nb\r\n")

    assert b"ERR" not in in_time
    assert b"-ERR 'Permissions Violation for Publish to \"in.1\"'\r\n" == late
    assert b"MSG in.1 9 1\r\na\r\n" in other.heard()


def test_each_request_may_be_answered_though_all_have_one_reply(talk: Talk) -> None:
    client = _under(talk, publishing(answers=ResponsePermission()))
    client.say(b"SUB svc 1\r\n")
    other = talk.client()
    other.say(b"SUB in 9\r\nPUB svc in 1\r\nx\r\nPUB svc in 1\r\nx\r\n")
    heard = client.ask(b"PUB in 1\r\na\r\nPUB in 1\r\nb\r\nPUB in 1\r\nc\r\n")

    assert 1 == heard.count(b"ERR")
    assert b"MSG in 9 1\r\na\r\nMSG in 9 1\r\nb\r\n" == other.heard()


def test_answers_that_are_owed_have_a_limit(talk: Talk) -> None:
    client = _under(talk, publishing(answers=ResponsePermission()))
    client.say(b"SUB svc 1\r\n")
    other = talk.client()
    for start in range(0, 65_537, 256):
        other.say(b"".join(b"PUB svc in.%d 0\r\n\r\n" % at for at in range(start, start + 256)))
        client.heard()
    heard = client.ask(b"PUB in.0 0\r\n\r\nPUB in.65791 0\r\n\r\n")

    assert b"-ERR 'Permissions Violation for Publish to \"in.0\"'\r\n" == heard


def test_zeros_stand_for_what_is_usual(talk: Talk) -> None:
    client = _under(talk, publishing(answers=ResponsePermission(max_msgs=0, expires_s=0)))
    client.say(b"SUB svc 1\r\n")
    talk.client().say(b"PUB svc in.1 0\r\n\r\nPUB svc in.2 0\r\n\r\n")
    client.heard()
    talk.turn(119)
    once = client.ask(b"PUB in.1 0\r\n\r\nPUB in.1 0\r\n\r\n")
    talk.turn(2)

    assert 1 == once.count(b"-ERR")
    assert 1 == client.ask(b"PUB in.2 0\r\n\r\n").count(b"-ERR")


def test_who_may_answer_for_ever_may(talk: Talk) -> None:
    client = _under(talk, publishing(answers=ResponsePermission(max_msgs=-1, expires_s=-1)))
    client.say(b"SUB svc 1\r\n")
    talk.client().say(b"PUB svc in.1 0\r\n\r\n")
    client.heard()
    talk.turn(1e6)

    assert b"" == client.ask(b"PUB in.1 0\r\n\r\n" * 9).replace(b"PING\r\n", b"")


def test_new_rules_hold_for_the_very_next_message(talk: Talk) -> None:
    client = _under(talk, publishing("foo"))
    other = talk.client()
    other.say(b"SUB foo 1\r\n")
    client.say(b"PUB foo 1\r\na\r\n" * 3)
    talk.core.set_client(client.link, permissions=talk.core.add_permissions(publishing("bar")))
    talk.turn()
    heard = client.ask(b"PUB foo 1\r\nb\r\n" * 2)
    talk.core.set_client(client.link, permissions=0)
    talk.turn()
    client.say(b"PUB foo 1\r\nc\r\n")

    assert b"-ERR 'Permissions Violation for Publish to \"foo\"'\r\n" * 2 == heard
    assert b"MSG foo 1 1\r\na\r\n" * 3 + b"MSG foo 1 1\r\nc\r\n" == other.heard()


def test_what_is_denied_later_is_not_heard_of_who_publishes_the_same_again_and_again(
    talk: Talk,
) -> None:
    client, other = talk.client(), talk.client()
    client.say(b"SUB foo.* 1\r\n")
    other.say(b"PUB foo.a 1\r\na\r\n" * 3)
    denied = talk.core.add_permissions(subscribing(deny=("foo.a",)))
    talk.core.set_client(client.link, permissions=denied)
    talk.turn()
    other.say(b"PUB foo.a 1\r\nb\r\n" * 3)
    talk.core.set_client(client.link, permissions=0)
    talk.turn()
    other.say(b"PUB foo.a 1\r\nc\r\n" * 2)

    assert b"MSG foo.a 1 1\r\na\r\n" * 3 + b"MSG foo.a 1 1\r\nc\r\n" * 2 == client.heard()


def test_subscriptions_that_are_not_allowed_any_more_end(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    client.say(b"SUB foo 1\r\nSUB bar q 2\r\nSUB baz 3\r\nSUB foo.* 4\r\n")
    route.heard()
    number = talk.core.add_permissions(subscribing("foo.*", "baz", deny=("foo.a",)))
    talk.core.set_client(client.link, permissions=number)
    talk.turn()
    told = route.heard()
    heard = client.heard()
    talk.client().say(
        b"".join(b"PUB %b 1\r\nx\r\n" % s for s in (b"foo", b"bar", b"baz", b"foo.a"))
    )

    assert {
        b'-ERR \'Permissions Violation for Subscription to "foo" (sid "1")\'',
        b'-ERR \'Permissions Violation for Subscription to "bar" using queue "q" (sid "2")\'',
        b"",
    } == set(heard.split(b"\r\n"))
    assert {b"RS- $G foo", b"RS- $G bar q", b""} == set(told.split(b"\r\n"))
    assert b"MSG baz 3 1\r\nx\r\n" == client.heard()
    assert {Violation.ENDED} == {event.violation for event in talk.of(Violated)}


def test_answers_are_owed_on_when_the_rule_for_them_stays(talk: Talk) -> None:
    client = _under(talk, publishing("a", answers=ResponsePermission()))
    client.say(b"SUB svc 1\r\n")
    talk.client().say(b"PUB svc in.1 0\r\n\r\nPUB svc in.2 0\r\n\r\n")
    client.heard()
    same = talk.core.add_permissions(publishing("b", answers=ResponsePermission()))
    talk.core.set_client(client.link, permissions=same)
    talk.turn()
    kept = client.ask(b"PUB in.1 0\r\n\r\n")
    other = talk.core.add_permissions(publishing("b", answers=ResponsePermission(max_msgs=2)))
    talk.core.set_client(client.link, permissions=other)
    talk.turn()

    assert b"" == kept
    assert b"-ERR" in client.ask(b"PUB in.2 0\r\n\r\n")


def test_a_client_may_have_a_smaller_limit_for_messages(talk: Talk) -> None:
    client = _under(talk, Permissions(), max_payload=4)
    heard = client.ask(b"PUB a 4\r\nabcd\r\nPUB a 5\r\nabcde\r\n")
    (closed,) = talk.of(Closed)

    assert b"-ERR 'Maximum Payload Violation'\r\n" == heard
    assert ClosedState.MAX_PAYLOAD_EXCEEDED == closed.reason


@pytest.mark.parametrize("most", [0, 2])
def test_a_client_may_have_a_smaller_limit_for_subscriptions(talk: Talk, most: int) -> None:
    client = _under(talk, Permissions(), max_subscriptions=most)
    heard = client.ask(b"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n")

    assert b"-ERR 'maximum subscriptions exceeded'\r\n" * (3 - most) == heard
    assert [] == talk.of(Closed)


def test_a_client_with_more_subscriptions_than_it_may_have_any_more_is_closed(talk: Talk) -> None:
    client = _under(talk, Permissions(), max_subscriptions=2)
    client.say(b"SUB a 1\r\nSUB b 2\r\n")
    talk.core.set_client(client.link, permissions=0, max_subscriptions=2)
    talk.turn()
    staying = client.heard()
    talk.core.set_client(client.link, permissions=0, max_subscriptions=1)
    talk.turn()
    (closed,) = talk.of(Closed)

    assert b"" == staying
    assert b"-ERR 'maximum subscriptions exceeded'\r\n" == client.heard()
    assert ClosedState.MAX_SUBSCRIPTIONS_EXCEEDED == closed.reason


def test_a_client_begins_under_the_rules_that_it_was_accepted_with(talk: Talk) -> None:
    peer = talk.stranger()
    talk.core.feed(peer.link, b"CONNECT {}\r\nPUB b 1\r\nx\r\nPUB a 1\r\nx\r\n", 0)
    talk.core.resume_client(
        peer.link,
        permissions=talk.core.add_permissions(publishing("a")),
        verbose=True,
        pedantic=False,
        echo=True,
        headers=True,
        no_responders=False,
        protocol=1,
    )
    talk.core.turn(1)

    assert (
        b"+OK\r\n-ERR 'Permissions Violation for Publish to \"b\"'\r\n+OK\r\n"
        == talk.core.take_output(peer.link)
    )


def test_equal_permissions_are_one(talk: Talk) -> None:
    first = talk.core.add_permissions(publishing("a"))
    same = talk.core.add_permissions(publishing("a"))
    other = talk.core.add_permissions(publishing("b"))
    for number in (first, first, other):
        talk.core.drop_permissions(number)
    again = talk.core.add_permissions(publishing("c"))

    assert first == same != other
    assert again in {first, other}
    assert 0 == talk.core.add_permissions(Permissions())


def test_permissions_stay_with_who_has_them(talk: Talk) -> None:
    client = _under(talk, publishing("a"))
    number = talk.core.add_permissions(publishing("a"))
    for _ in range(2):
        talk.core.drop_permissions(number)
    again = talk.core.add_permissions(publishing("b"))
    talk.turn()

    assert number == again
    assert 1 == client.ask(b"PUB b 0\r\n\r\nPUB a 0\r\n\r\n").count(b'to "b"')


def test_what_one_table_says_of_a_subject_is_not_what_its_successor_says(talk: Talk) -> None:
    client = talk.client()
    for at in range(20):
        number = talk.core.add_permissions(publishing("a" if at % 2 else "b"))
        talk.core.set_client(client.link, permissions=number)
        talk.core.drop_permissions(number)
        talk.turn()

        assert (at % 2 == 0) == (b"-ERR" in client.ask(b"PUB a 0\r\n\r\n")), at


@pytest.mark.parametrize(
    "wrong",
    [
        publishing("a..b"),
        publishing("a b"),
        publishing(""),
        publishing("a", deny=("a.>.b",)),
        subscribing("a b c"),
        subscribing("a ."),
        subscribing(deny=("a\x00",)),
    ],
)
def test_rules_are_valid_subjects(talk: Talk, wrong: Permissions) -> None:
    with pytest.raises(ValueError, match="a permission"):
        talk.core.add_permissions(wrong)


def test_a_queue_group_that_is_denied_to_a_publisher_denies_the_subject(talk: Talk) -> None:
    client = _under(talk, publishing(deny=("a q",)))

    assert b"-ERR" in client.ask(b"PUB a 0\r\n\r\n")


@pytest.mark.parametrize("number", [1, -1])
def test_permissions_that_are_not_there_are_refused(talk: Talk, number: int) -> None:
    client = talk.client()
    with pytest.raises(ValueError, match="no permissions"):
        talk.core.set_client(client.link, permissions=number)
    with pytest.raises(ValueError, match="no permissions"):
        talk.core.drop_permissions(number)


def test_violations_are_reported(talk: Talk) -> None:
    client = _under(
        talk,
        Permissions(publish=SubjectRules(allow=("a",)), subscribe=SubjectRules(allow=("a",))),
    )
    client.say(b"PUB b 0\r\n\r\nSUB b 1\r\nSUB b q 22\r\nPUB a _R_.x 0\r\n\r\n")
    link, kind = client.link, LinkKind.CLIENT

    assert [
        Violated(link, kind, Violation.PUBLISH, b"b", b"", b"", 0),
        Violated(link, kind, Violation.SUBSCRIBE, b"b", b"", b"1", 0),
        Violated(link, kind, Violation.SUBSCRIBE, b"b", b"q", b"22", 0),
        Violated(link, kind, Violation.REPLY, b"_R_.x", b"", b"", 0),
    ] == talk.of(Violated)


def test_too_many_tokens_are_a_violation() -> None:
    talk = Talk(PlaneLimits(max_subscription_tokens=2))
    client = talk.client()
    heard = client.ask(b"SUB a.b.c q 1\r\n")

    assert b"-ERR 'Permissions Violation for Subscription to \"a.b.c\", too many tokens'\r\n" == (
        heard
    )
    assert [Violation.TOKENS] == [event.violation for event in talk.of(Violated)]


def test_who_violates_again_and_again_does_not_fill_the_log(talk: Talk) -> None:
    client = _under(talk, publishing("a"))
    heard = client.ask(b"PUB b 0\r\n\r\n" * 250)
    reported = len(talk.of(Violated))
    talk.turn(1)
    client.say(b"PUB c 0\r\n\r\n")

    assert 250 == heard.count(b"-ERR")
    assert 100 == reported
    assert 150 == talk.of(Violated)[-1].missed


def test_a_subject_of_any_bytes_makes_one_line(talk: Talk) -> None:
    client = _under(talk, publishing("a"))
    subject = bytes(set(range(256)) - set(b"\t\n\r ")) + b"\xe4\xb8\x96\xc3"
    (line, rest) = client.ask(b"PUB " + subject + b" 0\r\n\r\n").split(b"\r\n")

    assert b"" == rest
    assert all(byte >= ord(" ") for byte in line)
    assert b"\\x00\\x01\\x02" in line
    assert b'!\\"#' in line
    assert "世".encode() + b"\\xc3\"'" == line[-9:]


@pytest.mark.parametrize("length", [100, 104, 105, 200, 3_000])
def test_long_subjects_are_looked_at_whole(talk: Talk, length: int) -> None:
    subject = b"a" * length
    client = _under(talk, publishing(subject.decode()))
    heard = client.ask(b"PUB %b 0\r\n\r\nPUB %bb 0\r\n\r\n" % (subject, subject) * 2)

    assert 2 == heard.count(b"-ERR")


def test_many_subjects_are_told_apart(talk: Talk) -> None:
    client = _under(talk, publishing("even.>"))
    for _ in range(2):
        for start in range(0, 40_000, 500):
            lines = [
                b"PUB %b.%d 0\r\n\r\n" % ((b"even", b"odd")[at % 2], at // 2)
                for at in range(start, start + 500)
            ]

            assert 250 == client.ask(b"".join(lines)).count(b'to "odd.')
