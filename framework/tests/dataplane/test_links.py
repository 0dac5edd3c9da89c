"""Lives of links: numbers, limits, clocks, ends."""

from __future__ import annotations

import pytest

from framework.dataplane import (
    Closed,
    LinkKind,
    Opened,
    PlaneLimits,
    Traced,
)
from framework.dataplane.tables import AccountTables, MappedDestination, SubjectMapping
from framework.tests.dataplane.conftest import Talk
from framework.wire.closed_state import ClosedState


def test_a_number_is_never_used_again(talk: Talk) -> None:
    links = []
    for _ in range(100):
        peer = talk.stranger()
        links.append(peer.link)
        talk.core.hang_up(peer.link)
        talk.turn()

    assert 100 == len(set(links))
    assert list(range(1, 101)) == [event.cid for event in talk.of(Opened)]
    assert links == [event.link for event in talk.of(Closed)]


def test_an_order_for_a_link_that_is_gone_does_nothing(talk: Talk) -> None:
    gone = talk.client()
    talk.core.hang_up(gone.link)
    talk.turn()
    here = talk.client()
    talk.core.send(gone.link, b"PING\r\n")
    talk.core.close(gone.link, ClosedState.KICKED)
    talk.core.register_peer(gone.link)

    assert b"" == here.heard()
    assert 1 == len(talk.of(Closed))


def test_a_client_is_greeted_with_its_number_and_address(talk: Talk) -> None:
    talk.core.set_info(LinkKind.CLIENT, b'{"server_id":"S"}')
    talk.turn()
    first = talk.stranger()

    assert b'INFO {"server_id":"S","client_id":1,"client_ip":"127.0.0.1"} \r\n' == first.heard()


def test_a_new_info_is_announced_to_clients_that_understand(talk: Talk) -> None:
    new, old = talk.client(protocol=1), talk.client(protocol=0)
    for client in (new, old):
        client.ask(b"PING\r\n")
    talk.core.set_info(LinkKind.CLIENT, b'{"connect_urls":["b:1"]}', announce=True)

    assert (
        b'INFO {"connect_urls":["b:1"],"client_id":1,"client_ip":"127.0.0.1"} \r\n'
    ) == new.heard()
    assert b"" == old.heard()


def test_a_client_is_told_its_account_behind_its_first_pong(talk: Talk) -> None:
    talk.core.add_account(b'a"b')
    talk.core.set_system_account(1)
    talk.core.set_info(LinkKind.CLIENT, b'{"max_payload":1048576,"a":1}')
    talk.turn()
    plain = talk.client(protocol=1)
    special = talk.client(protocol=1, account=1, max_payload=77)

    assert (
        b'PONG\r\nINFO {"max_payload":1048576,"a":1,"client_id":1,"client_ip":"127.0.0.1",'
        b'"connect_info":true,"remote_account":"$G"} \r\nPONG\r\n'
    ) == plain.ask(b"PING\r\nPING\r\n")
    assert (
        b'PONG\r\nINFO {"max_payload":77,"a":1,"client_id":2,"client_ip":"127.0.0.1",'
        b'"connect_info":true,"remote_account":"a\\"b","acc_is_sys":true} \r\n'
    ) == special.ask(b"PING\r\n")


def test_its_own_limit_stands_where_there_is_no_other() -> None:
    talk = Talk(PlaneLimits(max_payload=-1))
    talk.core.set_info(LinkKind.CLIENT, b'{"max_payload":-1,"a":1}')
    talk.turn()
    client = talk.client(protocol=1, max_payload=77)

    assert b'INFO {"max_payload":77,"a":1,' in client.ask(b"PING\r\n")


def test_an_account_that_is_not_there_is_not_the_system_account(talk: Talk) -> None:
    with pytest.raises(ValueError, match="no account 9"):
        talk.core.set_system_account(9)


def test_what_changed_since_the_greeting_comes_behind_the_first_pong(talk: Talk) -> None:
    talk.core.set_info(LinkKind.CLIENT, b'{"a":1}')
    talk.turn()
    client, other = talk.client(protocol=1), talk.client(protocol=1)
    other.ask(b"PING\r\n")
    talk.core.set_info(LinkKind.CLIENT, b'{"a":2}', announce=True)

    assert b"" == client.heard()
    assert client.ask(b"PING\r\nPING\r\n").startswith(b'PONG\r\nINFO {"a":2,"client_id":1,')
    assert b'INFO {"a":2,"client_id":2,"client_ip":"127.0.0.1"} \r\n' == other.heard()


def test_who_need_not_log_in_is_told_afterwards_that_others_must() -> None:
    talk = Talk(PlaneLimits(auth_required=True, lets_anybody_in=True))
    talk.core.set_info(LinkKind.CLIENT, b'{"a":1}')
    talk.turn()
    client = talk.client(protocol=1)

    assert b'"auth_required":true,"connect_info":true' in client.ask(b"PING\r\n")
    talk.core.set_info(LinkKind.CLIENT, b'{"a":1,"auth_required":true}', announce=True)
    talk.turn()
    assert 1 == client.heard().count(b"auth_required")


def test_one_client_too_many_is_told_so() -> None:
    talk = Talk(PlaneLimits(max_connections=2))
    first = talk.client()
    talk.client()
    third = talk.stranger()

    assert b"-ERR 'maximum connections exceeded'\r\n" == third.heard()
    assert [ClosedState.MAX_CONNECTIONS_EXCEEDED] == [event.reason for event in talk.of(Closed)]
    assert b"PONG\r\n" == first.ask(b"PING\r\n")


def test_nobody_is_let_in_when_none_may_be() -> None:
    talk = Talk(PlaneLimits(max_connections=-1))

    assert b"-ERR 'maximum connections exceeded'\r\n" == talk.stranger().heard()


def test_tokens_of_a_subscription_have_a_limit() -> None:
    client = Talk(PlaneLimits(max_subscription_tokens=3)).client()

    assert (
        b"-ERR 'Permissions Violation for Subscription to \"a.b.c.d\", too many tokens'\r\nPONG\r\n"
    ) == client.ask(b"SUB a.b.c 1\r\nSUB a.b.c.d 2\r\nPING\r\n")


def test_the_subject_table_counts_what_it_does(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB a 1\r\nSUB a 2\r\nSUB b 3\r\nUNSUB 3\r\n")
    client.say(b"PUB a r 1\r\nx\r\n" * 5)
    counters = talk.core.sublist_counters()

    assert (3, 1, 3, 2, 1, 2) == (
        counters.inserts,
        counters.removes,
        counters.hits,
        counters.misses,
        counters.cached,
        counters.fanout_max,
    )


def test_subscriptions_have_a_limit() -> None:
    talk = Talk(PlaneLimits(max_subscriptions=2))
    client = talk.client()

    assert b"-ERR 'maximum subscriptions exceeded'\r\nPONG\r\n" == client.ask(
        b"SUB a 1\r\nSUB b 2\r\nSUB c 3\r\nPING\r\n"
    )


def test_a_silent_client_is_pinged_and_then_given_up() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=10, ping_max=2))
    client = talk.client()
    heard = []
    for _ in range(45):
        talk.turn(1)
        heard.append(client.heard())
    said = [words for words in heard if words]

    assert [b"PING\r\n"] * 2 + [b"-ERR 'Stale Connection'\r\n"] == said
    assert [ClosedState.STALE_CONNECTION] == [event.reason for event in talk.of(Closed)]
    assert 1 == talk.core.totals().kinds[LinkKind.CLIENT].stale


def test_a_client_that_talks_is_not_pinged_again() -> None:
    talk = Talk(PlaneLimits(ping_interval_s=10, ping_max=2))
    client = talk.client()
    pings = 0
    for _ in range(100):
        talk.turn(1)
        heard = client.heard()
        pings += heard.count(b"PING")
        client.say(b"PONG\r\n" if b"PING" in heard else b"PUB a 1\r\nx\r\n")

    assert 1 == pings
    assert [] == talk.of(Closed)


@pytest.mark.parametrize("kind", [LinkKind.CLIENT, LinkKind.ROUTE])
def test_silence_before_login_has_an_end(kind: LinkKind) -> None:
    talk = Talk(PlaneLimits(auth_required=True, auth_timeout_s=2))
    link = talk.core.open(kind, "127.0.0.1", 1, accepted=True)
    talk.turn(1.9)
    early = talk.core.take_output(link)
    talk.turn(0.3)
    talk.turn()

    assert b"" == early
    assert b"-ERR 'Authentication Timeout'\r\n" == talk.core.take_output(link)


def test_who_has_said_connect_waits_for_the_decision_from_then_on() -> None:
    talk = Talk(PlaneLimits(auth_required=True, auth_timeout_s=2))
    link = talk.core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
    talk.core.turn(1_900_000_000)
    talk.core.feed(link, b"CONNECT {}\r\n", 1_900_000_000)
    talk.core.turn(4_800_000_000)
    early = talk.core.take_output(link)
    talk.core.turn(5_100_000_000)

    assert b"" == early
    assert b"-ERR 'Authentication Timeout'\r\n" == talk.core.take_output(link)


def test_too_much_that_waits_cuts_a_slow_client_off_and_nobody_else() -> None:
    talk = Talk(PlaneLimits(max_pending=8_000_000))
    publisher, slow, quick = talk.client(), talk.client(), talk.client()
    slow.say(b"SUB a 1\r\n")
    quick.say(b"SUB a 1\r\n")
    received = 0
    for _ in range(120):
        talk.core.feed(publisher.link, b"PUB a 100000\r\n" + b"x" * 100_000 + b"\r\n", talk.now_ns)
        received += talk.core.take_output(quick.link).count(b"MSG")
        talk.turn(0.02)

    assert 120 == received
    assert [(slow.link, ClosedState.SLOW_CONSUMER_PENDING_BYTES)] == [
        (e.link, e.reason) for e in talk.of(Closed)
    ]
    assert 1 == talk.core.totals().kinds[LinkKind.CLIENT].slow
    assert talk.core.totals().kinds[LinkKind.CLIENT].stalled > 0


def test_who_takes_nothing_for_too_long_is_cut_off() -> None:
    talk = Talk(PlaneLimits(write_deadline_s=10))
    publisher, slow = talk.client(), talk.client()
    slow.say(b"SUB a 1\r\n")
    slow.heard()
    talk.core.feed(publisher.link, b"PUB a 1\r\nx\r\n", talk.now_ns)
    talk.turn(9.9)
    before = talk.of(Closed)
    talk.turn(0.4)

    assert [] == before
    assert [ClosedState.SLOW_CONSUMER_WRITE_DEADLINE] == [event.reason for event in talk.of(Closed)]


def test_rows_say_what_a_link_did(talk: Talk) -> None:
    one, two = talk.client(), talk.client()
    two.say(b"SUB a.* q 7\r\n")
    one.say(b"PUB a.b 5\r\nhello\r\n")
    rows = {row.link: row for row in talk.links(kinds=[LinkKind.CLIENT])}

    assert (1, 5, 0, 0) == (
        rows[one.link].in_msgs,
        rows[one.link].in_bytes,
        rows[one.link].out_msgs,
        rows[one.link].subscriptions,
    )
    assert (0, 1, 5, 1) == (
        rows[two.link].in_msgs,
        rows[two.link].out_msgs,
        rows[two.link].out_bytes,
        rows[two.link].subscriptions,
    )
    assert [(two.link, b"a.*", b"q", b"7", 1)] == [
        (r.link, r.subject, r.queue, r.sid, r.msgs) for r in talk.subscriptions()
    ]
    assert [] == talk.subscriptions(link=one.link)


def test_new_limits_are_in_force_at_once(talk: Talk) -> None:
    client = talk.client()
    client.say(b"PUB a 4\r\nabcd\r\nPUB a 4\r\nabcd\r\n")
    talk.core.set_limits(PlaneLimits(max_payload=3))

    assert b"-ERR 'Maximum Payload Violation'\r\n" == client.ask(b"PUB a 4\r\nabcd\r\n")


def traced(talk: Talk) -> list[tuple[bool, bytes, int]]:
    return [(event.inbound, event.text, event.body_bytes) for event in talk.of(Traced)]


def test_lines_and_messages_are_traced_both_ways_when_it_is_asked(talk: Talk) -> None:
    client = talk.client()
    talk.core.trace(on=True)
    talk.turn()
    client.say(b"SUB a 1\r\nPUB a 2\r\nhi\r\nPUB a 0\r\n\r\nUNSUB 1\r\nPING\r\n")
    talk.core.trace(on=False)
    talk.turn()
    client.say(b"PING\r\n")

    assert [
        (True, b"SUB a 1", 0),
        (True, b"PUB a 2", 0),
        (True, b"hi", 2),
        (False, b"MSG a 1 2", 0),
        (False, b"hi", 2),
        (True, b"PUB a 0", 0),
        (False, b"MSG a 1 0", 0),
        (True, b"UNSUB 1", 0),
        (False, b"DELSUB 1", 0),
        (True, b"PING", 0),
        (False, b"PONG", 0),
    ] == traced(talk)


def test_of_traced_messages_so_much_is_shown() -> None:
    talk = Talk(PlaneLimits(max_traced_bytes=3))
    client = talk.client()
    talk.core.trace(on=True)
    talk.turn()
    client.say(b"PUB a.long.subject 9\r\n123456789\r\n")

    assert [(True, b"PUB a.long.subject 9", 0), (True, b"123", 9)] == traced(talk)


def test_headers_may_be_all_that_is_traced_of_messages(talk: Talk) -> None:
    client = talk.client()
    talk.core.trace(on=True, headers_only=True)
    talk.turn()
    client.say(b"HPUB a 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\nPUB a 2\r\nhi\r\n")

    assert [
        (True, b"HPUB a 18 20", 0),
        (True, b"NATS/1.0\r\nA: b", 14),
        (True, b"PUB a 2", 0),
    ] == traced(talk)


def test_what_this_process_publishes_is_traced_where_that_is_asked(talk: Talk) -> None:
    header = b"NATS/1.0\r\nA: b\r\n\r\n"
    talk.core.trace(on=True)
    talk.core.publish(0, [(b"a", b"", b"", b"unseen")])
    talk.core.trace(on=True, internal=True)
    talk.core.publish(0, [(b"a", b"r", b"", b"hi"), (b"a", b"", header, b"hi")])
    talk.turn()

    assert [
        (True, b"PUB a r 2", 0),
        (True, b"hi", 2),
        (True, b"HPUB a 18 20", 0),
        (True, header + b"hi", 20),
    ] == traced(talk)


def test_a_mapped_subject_is_traced(talk: Talk) -> None:
    client = talk.client()
    mapping = SubjectMapping(source="a", destinations=(MappedDestination(subject="b", weight=100),))
    talk.core.set_account_tables(0, AccountTables(mappings=(mapping,)))
    talk.core.trace(on=True)
    talk.turn()
    client.say(b"PUB a 2\r\nhi\r\n")

    assert [
        (True, b"PUB a 2", 0),
        (True, b"MAPPING a -> b", 0),
        (True, b"hi", 2),
    ] == traced(talk)
