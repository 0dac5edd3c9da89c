"""Subject mappings of an account: what clients publish goes elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from framework.dataplane.tables import AccountTables, MappedDestination, SubjectMapping
from framework.sublist import BadTransform

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk


def _put(talk: Talk, *mappings: SubjectMapping, account: int = 0) -> None:
    talk.core.set_account_tables(account, AccountTables(mappings=mappings))
    talk.turn()


def _mapping(source: str, *destinations: tuple[str, int] | tuple[str, int, str]) -> SubjectMapping:
    return SubjectMapping(
        source=source,
        destinations=tuple(
            MappedDestination(subject=to[0], weight=to[1], cluster=to[2] if len(to) > 2 else "")
            for to in destinations
        ),
    )


def _subjects(peer: Peer) -> Counter[bytes]:
    lines = peer.heard().split(b"\r\n")
    return Counter(line.split()[1] for line in lines if line.startswith((b"MSG", b"HMSG")))


def _listener(talk: Talk) -> Peer:
    peer = talk.client()
    peer.say(b"SUB > 1\r\n")
    return peer


def test_a_message_goes_where_the_mapping_says(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a.*.*", ("b.$2.$1", 100)))
    client.say(
        b"PUB a.1.2 reply 2\r\nhi\r\nHPUB a.3.4 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPUB a.1 1\r\nx\r\n"
    )

    assert (
        b"MSG b.2.1 1 reply 2\r\nhi\r\n"
        b"HMSG b.4.3 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
        b"MSG a.1 1 1\r\nx\r\n"
    ) == listener.heard()


def test_the_first_mapping_that_holds_a_subject_decides(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a.x", ("first", 100)), _mapping("a.*", ("second.$1", 100)))
    client.say(b"PUB a.x 0\r\n\r\nPUB a.y 0\r\n\r\nPUB second.z 0\r\n\r\n")

    assert Counter([b"first", b"second.y", b"second.z"]) == _subjects(listener)


def test_what_weights_leave_stays_at_the_source(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a.*", ("b.$1", 20), ("c.$1", 30)))
    client.say(b"PUB a.x 0\r\n\r\n" * 4000)
    got = _subjects(listener)

    assert 4000 == got.total()
    assert 650 < got[b"b.x"] < 950
    assert 1000 < got[b"c.x"] < 1400
    assert 1800 < got[b"a.x"] < 2200


def test_a_source_among_the_destinations_loses_the_rest(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a", ("a", 50), ("b", 10)))
    client.say(b"PUB a 0\r\n\r\n" * 4000)
    got = _subjects(listener)

    assert 1800 < got[b"a"] < 2200
    assert 300 < got[b"b"] < 520
    assert {b"a", b"b"} == set(got)


def test_what_is_lost_has_no_responders(talk: Talk) -> None:
    client = talk.client(no_responders=True)
    _listener(talk)
    _put(talk, _mapping("a", ("a", 0)))

    assert b"NATS/1.0 503" in client.ask(b"SUB _I 1\r\nPUB a _I 0\r\n\r\n")


@pytest.mark.parametrize(
    ("cluster", "expected"), [(b"east", b"e.x"), (b"west", b"w.x"), (b"", b"o.x"), (b"eas", b"o.x")]
)
def test_destinations_of_a_cluster_are_for_its_servers(
    talk: Talk, cluster: bytes, expected: bytes
) -> None:
    talk.core.set_names(b"server", cluster)
    listener, client = _listener(talk), talk.client()
    _put(
        talk,
        _mapping("a.*", ("o.$1", 100), ("e.$1", 100, "east"), ("w.$1", 100, "west")),
    )
    client.say(b"PUB a.x 0\r\n\r\n")

    assert Counter([expected]) == _subjects(listener)


def test_where_no_destination_is_for_this_cluster_messages_stay(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a", ("b", 100, "east")))
    client.say(b"PUB a 0\r\n\r\n")

    assert Counter([b"a"]) == _subjects(listener)


def test_messages_of_routes_and_of_this_process_are_not_mapped(talk: Talk) -> None:
    listener, route = _listener(talk), talk.route()
    _put(talk, _mapping("a", ("b", 100)))
    route.say(b"RMSG $G a 0\r\n\r\n")
    talk.core.publish(0, [(b"a", b"", b"", b"")])
    talk.turn()

    assert Counter({b"a": 2}) == _subjects(listener)


def test_routes_get_the_mapped_subject(talk: Talk) -> None:
    route, client = talk.route(), talk.client()
    route.say(b"RS+ $G b\r\nRS+ $G a\r\n")
    _put(talk, _mapping("a", ("b", 100)))
    client.say(b"PUB a 0\r\n\r\n" * 3)

    assert b"RMSG $G b 0\r\n\r\n" * 3 == route.heard()


def test_a_line_that_is_repeated_is_drawn_anew_each_time(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a", ("b", 50)))
    client.say(b"PUB a 0\r\n\r\n" * 1000)

    assert 400 < _subjects(listener)[b"b"] < 600


def test_a_line_that_was_remembered_follows_new_mappings(talk: Talk) -> None:
    listener, client = _listener(talk), talk.client()
    client.say(b"PUB a 0\r\n\r\n" * 3)
    _put(talk, _mapping("a", ("b", 100)))
    client.say(b"PUB a 0\r\n\r\n" * 3)
    _put(talk)
    client.say(b"PUB a 0\r\n\r\n" * 3)

    assert Counter({b"a": 6, b"b": 3}) == _subjects(listener)


def test_another_account_is_not_concerned(talk: Talk) -> None:
    other = talk.core.add_account(b"OTHER")
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a", ("b", 100)), account=other)
    client.say(b"PUB a 0\r\n\r\n")

    assert Counter([b"a"]) == _subjects(listener)


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        (_mapping("a", ("b", 60), ("c", 41)), "0 to 100 percent together, not 101"),
        (_mapping("a", ("b", -1)), "0 to 100 percent"),
        (_mapping("a", ("b", 50), ("b", 20)), '"b" is there twice'),
        (_mapping("a.*", ("b.$2", 50)), "no wildcard 2"),
        (_mapping("a..b", ("b", 50)), "that is no subject"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused_and_the_old_ones_stay(
    talk: Talk, mapping: SubjectMapping, problem: str
) -> None:
    listener, client = _listener(talk), talk.client()
    _put(talk, _mapping("a", ("old", 100)))
    with pytest.raises(BadTransform, match=problem):
        talk.core.set_account_tables(0, AccountTables(mappings=(mapping,)))
    talk.turn()
    client.say(b"PUB a 0\r\n\r\n")

    assert Counter([b"old"]) == _subjects(listener)


def test_an_account_that_is_not_there_has_no_tables(talk: Talk) -> None:
    with pytest.raises(ValueError, match="no account 7"):
        talk.core.set_account_tables(7, AccountTables())


@pytest.mark.parametrize("reply", [b"_R_.x", b"$JS.ACK.x", b"_GR_.x", b"$GR.x"])
def test_a_reply_subject_that_servers_make_is_refused(talk: Talk, reply: bytes) -> None:
    listener, client = _listener(talk), talk.client()
    answer = client.ask(b"PUB a %b 0\r\n\r\n" % reply)

    assert b"-ERR 'Permissions Violation for Publish with Reply of \"%b\"'\r\n" % reply == answer
    assert Counter() == _subjects(listener)
