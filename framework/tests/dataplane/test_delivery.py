"""Who gets a message, and in what words."""

from __future__ import annotations

from collections import Counter

import pytest

from framework.tests.dataplane.conftest import Talk


def test_every_plain_subscription_gets_it_once(talk: Talk) -> None:
    publisher, one, two = talk.client(), talk.client(), talk.client()
    one.say(b"SUB a.b 1\r\nSUB a.* 2\r\nSUB c 3\r\n")
    two.say(b"SUB > 9\r\n")
    publisher.say(b"PUB a.b rep 2\r\nhi\r\n")

    assert [b"MSG a.b 1 rep 2\r\nhi\r\n", b"MSG a.b 2 rep 2\r\nhi\r\n"] == sorted(
        part + b"hi\r\n" for part in one.heard().split(b"hi\r\n")[:-1]
    )
    assert b"MSG a.b 9 rep 2\r\nhi\r\n" == two.heard()


@pytest.mark.parametrize("count", [1, 2, 50, 3000])
def test_a_run_of_one_line_arrives_whole_and_in_order(talk: Talk, count: int) -> None:
    publisher, subscriber = talk.client(), talk.client()
    subscriber.say(b"SUB run 1\r\n")
    publisher.say(b"".join(b"PUB run 6\r\n%06d\r\n" % number for number in range(count)))

    assert (
        b"".join(b"MSG run 1 6\r\n%06d\r\n" % number for number in range(count))
        == subscriber.heard()
    )
    assert (count, 6 * count) == (talk.core.totals().in_msgs, talk.core.totals().in_bytes)


def test_a_run_sees_interest_that_comes_and_goes(talk: Talk) -> None:
    publisher, one, two = talk.client(), talk.client(), talk.client()
    line = b"PUB run 1\r\nx\r\n"
    heard = []
    for change in (b"", b"SUB run 1\r\n", b"UNSUB 1\r\n", b"SUB run 2\r\n", b"UNSUB 2 4\r\n"):
        two.say(change or b"PING\r\n")
        two.heard()
        publisher.say(line * 3)
        heard.append(two.heard().count(b"MSG"))
    one.say(b"SUB run 5\r\n")
    publisher.say(line * 3)

    assert [0, 3, 0, 3, 1] == heard
    assert 3 == one.heard().count(b"MSG run 5 1\r\nx\r\n")


def test_a_run_with_a_subscriber_of_its_own(talk: Talk) -> None:
    echoing, silent = talk.client(), talk.client(echo=False)
    echoing.say(b"SUB own 1\r\n" + b"PUB own 1\r\nx\r\n" * 4)
    silent.say(b"SUB mine 1\r\n" + b"PUB mine 1\r\nx\r\n" * 4)

    assert 4 == echoing.heard().count(b"MSG own 1 1\r\n")
    assert b"" == silent.heard()


def test_a_queue_group_shares_and_plain_subscribers_get_all(talk: Talk) -> None:
    publisher, plain = talk.client(), talk.client()
    members = [talk.client() for _ in range(4)]
    plain.say(b"SUB q.* 1\r\n")
    for member in members:
        member.say(b"SUB q.x g 7\r\n")
    publisher.say(b"PUB q.x 1\r\nm\r\n" * 4000)
    shares = [member.heard().count(b"MSG") for member in members]

    assert 4000 == plain.heard().count(b"MSG")
    assert 4000 == sum(shares)
    assert all(850 < share < 1150 for share in shares)


def test_a_queue_member_without_echo_leaves_it_to_another(talk: Talk) -> None:
    publisher, other = talk.client(echo=False), talk.client()
    publisher.say(b"SUB q g 1\r\n")
    other.say(b"SUB q g 1\r\n")
    publisher.say(b"PUB q 1\r\nx\r\n" * 20)

    assert 20 == other.heard().count(b"MSG")


def test_headers_are_taken_off_for_who_has_none(talk: Talk) -> None:
    publisher, with_headers, without = talk.client(), talk.client(), talk.client(headers=False)
    with_headers.say(b"SUB h 1\r\n")
    without.say(b"SUB h 2\r\n")
    publisher.say(b"HPUB h rep 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n")

    assert b"HMSG h 1 rep 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n" == with_headers.heard()
    assert b"MSG h 2 rep 2\r\nhi\r\n" == without.heard()


def test_nobody_there_is_said_when_it_was_asked(talk: Talk) -> None:
    asking, not_asking = talk.client(no_responders=True), talk.client()
    asking.say(b"SUB _I.* 3\r\nPUB none.there _I.7 2\r\nhi\r\n")
    not_asking.say(b"SUB _J.* 3\r\nPUB none.there _J.7 2\r\nhi\r\n")
    status = b"NATS/1.0 503\r\nNats-Subject: none.there\r\n\r\n"

    assert b"HMSG _I.7 3 %d %d\r\n%b\r\n" % (len(status), len(status), status) == asking.heard()
    assert b"" == not_asking.heard()
    assert [0, 0] == [it.out_msgs for it in talk.links()]


def test_nobody_there_counts_for_a_subscription_that_ends(talk: Talk) -> None:
    asking = talk.client(no_responders=True)
    asking.ask(b"SUB _I.* 3\r\nUNSUB 3 1\r\nPUB none.there _I.7 2\r\nhi\r\n")

    assert [] == talk.subscriptions(link=asking.link)


def test_a_maximum_counts_from_the_beginning(talk: Talk) -> None:
    publisher, subscriber = talk.client(), talk.client()
    subscriber.say(b"SUB a 1\r\n")
    publisher.say(b"PUB a 1\r\n1\r\nPUB a 1\r\n2\r\n")
    subscriber.say(b"UNSUB 1 3\r\n")
    publisher.say(b"PUB a 1\r\n3\r\nPUB a 1\r\n4\r\n")

    assert [b"1", b"2", b"3"] == subscriber.heard().split(b"\r\n")[1::2]
    assert 0 == talk.core.totals().subscriptions


def test_verbose_and_pedantic(talk: Talk) -> None:
    client = talk.client(verbose=True, pedantic=True)

    assert b"+OK\r\n+OK\r\n" == client.ask(b"SUB a 1\r\nUNSUB 1\r\n")
    assert b"-ERR 'Invalid Publish Subject'\r\n+OK\r\n" == client.ask(b"PUB a.* 1\r\nx\r\n")
    assert b"-ERR 'Invalid Subject'\r\n" == client.ask(b"SUB a..b 2\r\n")


@pytest.mark.parametrize("size", [8191, 8192, 65536, 262144, 1_000_000])
def test_large_payloads_reach_all_unchanged(talk: Talk, size: int) -> None:
    publisher, one, two = talk.client(), talk.client(), talk.client()
    one.say(b"SUB big 1\r\n")
    two.say(b"SUB big 2\r\n")
    payload = bytes(number * 7 % 251 for number in range(size))
    for _ in range(3):
        publisher.say(b"PUB big %d\r\n%b\r\n" % (size, payload))

    assert b"MSG big 1 %d\r\n%b\r\n" % (size, payload) * 3 == one.heard()
    assert b"MSG big 2 %d\r\n%b\r\n" % (size, payload) * 3 == two.heard()


def test_choices_follow_the_seed() -> None:
    def shares(seed: int) -> list[int]:
        talk = Talk(seed=seed)
        members = [talk.client() for _ in range(3)]
        for member in members:
            member.say(b"SUB q g 1\r\n")
        talk.client().say(b"PUB q 1\r\nx\r\n" * 300)
        return [member.heard().count(b"MSG") for member in members]

    assert shares(1) == shares(1)
    assert Counter(map(tuple, [shares(1), shares(2), shares(3)])).most_common(1)[0][1] == 1
