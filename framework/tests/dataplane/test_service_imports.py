"""Services of one account for clients of another: requests, the ways of their answers, samples."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from framework.dataplane import Delivered, LatencySampled
from framework.dataplane.port import Outgoing
from framework.dataplane.tables import (
    AccountTables,
    MappedDestination,
    ResponseKind,
    ServiceImportRow,
    SubjectMapping,
)

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk

A, B, C = 1, 2, 3
"""Accounts; A imports of B, and B of C, in most tests."""


@pytest.fixture
def talk(talk: Talk) -> Talk:
    assert [A, B, C] == [talk.core.add_account(name) for name in (b"A", b"B", b"C")]
    talk.turn()
    return talk


def _put(talk: Talk, account: int, *imports: ServiceImportRow, **others: Any) -> None:
    talk.core.set_account_tables(account, AccountTables(service_imports=imports, **others))
    talk.turn()


def _import(
    to: str = "help", subject: str = "svc", account: int = B, **more: Any
) -> ServiceImportRow:
    return ServiceImportRow(account=account, subject=subject, to=to, **more)


def _requestor(talk: Talk, **options: Any) -> Peer:
    peer = talk.client(account=A, no_responders=True, **options)
    peer.say(b"SUB _I.> 9\r\n")
    return peer


def _responder(talk: Talk, account: int = B, subject: bytes = b"svc") -> Peer:
    peer = talk.client(account=account)
    peer.say(b"SUB %b 1\r\n" % subject)
    return peer


def _reply(heard: bytes) -> bytes:
    """Return the reply subject of the only message that was heard."""
    line, _, _ = heard.partition(b"\r\n")
    words = line.split()
    assert words[3].startswith(b"_R_."), heard
    return words[3]


def _publish(subject: bytes, payload: bytes = b"ok") -> bytes:
    return b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload)


def test_a_request_and_its_answer_pass_between_accounts(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 3\r\nwhy\r\n")
    heard = responder.heard()
    reply = _reply(heard)
    responder.say(_publish(reply))

    assert b"MSG svc 1 %b 3\r\nwhy\r\n" % reply == heard
    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


def test_the_first_answer_of_a_singleton_is_the_last(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    responder.say(_publish(_reply(responder.heard())) * 3)

    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


@pytest.mark.parametrize("kind", [ResponseKind.STREAM, ResponseKind.CHUNKED])
def test_several_answers_end_with_an_empty_one(talk: Talk, kind: ResponseKind) -> None:
    _put(talk, A, _import(response=kind))
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    reply = _reply(responder.heard())
    responder.say(_publish(reply) * 2 + _publish(reply, b"") + _publish(reply))

    assert b"MSG _I.1 9 2\r\nok\r\n" * 2 + b"MSG _I.1 9 0\r\n\r\n" == requestor.heard()


def test_every_request_has_a_way_of_its_own(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    replies = []
    for number in (1, 2):
        requestor.say(b"PUB help _I.%d 0\r\n\r\n" % number)
        replies.append(_reply(responder.heard()))
    responder.say(_publish(replies[1], b"two") + _publish(replies[0], b"one"))

    assert b"MSG _I.2 9 3\r\ntwo\r\nMSG _I.1 9 3\r\none\r\n" == requestor.heard()


@pytest.mark.parametrize(
    ("to", "subject", "asked", "served"),
    [
        ("help.*", "svc.*", b"help.x", b"svc.x"),
        ("help.$2.$1", "svc.*.*", b"help.x.y", b"svc.y.x"),
        ("help.>", "svc.>", b"help.x.y", b"svc.x.y"),
        ("svc.*", "svc.*", b"svc.x", b"svc.x"),
        ("", "svc.*", b"svc.x", b"svc.x"),
        ("help.*", "svc", b"help.x", b"svc"),
    ],
)
def test_wildcards_are_carried_over(
    talk: Talk, to: str, subject: str, asked: bytes, served: bytes
) -> None:
    _put(talk, A, _import(to, subject))
    requestor, responder = _requestor(talk), _responder(talk, subject=b">")
    requestor.say(b"PUB %b _I.1 0\r\n\r\n" % asked)

    assert responder.heard().startswith(b"MSG %b 1 _R_." % served)


def test_who_subscribes_here_gets_the_request_as_well(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    near = talk.client(account=A)
    near.say(b"SUB help 5\r\n")
    requestor.say(b"PUB help _I.1 0\r\n\r\n")

    assert b"MSG help 5 _I.1 0\r\n\r\n" == near.heard()
    assert responder.heard().startswith(b"MSG svc 1 _R_.")


def test_nobody_who_serves_means_no_responders(talk: Talk) -> None:
    _put(talk, A, _import())
    heard = _requestor(talk).ask(b"PUB help _I.1 0\r\n\r\n")

    assert b"HMSG _I.1 9 36 36\r\nNATS/1.0 503\r\nNats-Subject: help\r\n\r\n\r\n" == heard


def test_one_member_of_a_group_gets_a_request(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor = _requestor(talk)
    members = [talk.client(account=B) for _ in range(2)]
    for member in members:
        member.say(b"SUB svc workers 1\r\n")
    requestor.say(b"PUB help _I.1 0\r\n\r\n" * 200)
    counts = [member.heard().count(b"MSG svc") for member in members]

    assert 200 == sum(counts)
    assert all(count > 50 for count in counts)


def test_requests_without_reply_and_repeated_lines_pass(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help 1\r\nx\r\n" * 5)

    assert b"MSG svc 1 1\r\nx\r\n" * 5 == responder.heard()


def test_a_request_passes_from_import_to_import_and_its_answer_back(talk: Talk) -> None:
    _put(talk, A, _import("help", "middle", B))
    _put(talk, B, _import("middle", "svc", C))
    requestor, responder = _requestor(talk), _responder(talk, C)
    requestor.say(b"PUB help _I.1 3\r\nwhy\r\n")
    heard = responder.heard()
    responder.say(_publish(_reply(heard)) * 2)

    assert heard.startswith(b"MSG svc 1 _R_.")
    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


def test_nobody_at_the_end_of_a_chain_means_no_responders(talk: Talk) -> None:
    _put(talk, A, _import("help", "middle", B))
    _put(talk, B, _import("middle", "svc", C))

    assert b"NATS/1.0 503" in _requestor(talk).ask(b"PUB help _I.1 0\r\n\r\n")


def test_a_circle_of_imports_ends(talk: Talk) -> None:
    _put(talk, A, _import("x", "x", B))
    _put(talk, B, _import("x", "x", A))
    client, there = talk.client(account=A), talk.client(account=B)
    client.say(b"SUB x 1\r\n")
    there.say(b"SUB x 2\r\n")
    client.say(b"PUB x 1\r\nm\r\n")

    assert b"MSG x 1 1\r\nm\r\n" * 2 == client.heard()
    assert b"MSG x 2 1\r\nm\r\n" == there.heard()
    assert 1 == talk.core.totals().circles


def test_a_long_chain_ends(talk: Talk) -> None:
    accounts = [A, B, C, *(talk.core.add_account(b"X%d" % at) for at in range(20))]
    for at, account in enumerate(accounts[:-1]):
        _put(talk, account, _import(f"s{at}", f"s{at + 1}", accounts[at + 1]))
    near = _responder(talk, accounts[15], b">")
    far = _responder(talk, accounts[17], b">")
    _requestor(talk).say(b"PUB s0 1\r\nx\r\n")

    assert b"MSG s15 1 1\r\nx\r\n" == near.heard()
    assert b"" == far.heard()
    assert 1 == talk.core.totals().circles


def test_an_answer_that_comes_too_late_finds_no_way(talk: Talk) -> None:
    _put(talk, A, _import(threshold_s=2.0))
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\nPUB help _I.2 0\r\n\r\n")
    first, second = (line.split()[3] for line in responder.heard().split(b"\r\n") if line)
    talk.turn(1.9)
    responder.say(_publish(first))
    talk.turn(0.3)
    responder.say(_publish(second))

    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard().replace(b"PING\r\n", b"")


def test_each_answer_of_several_gives_time_for_the_next(talk: Talk) -> None:
    _put(talk, A, _import(threshold_s=2.0, response=ResponseKind.STREAM))
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    reply = _reply(responder.heard())
    for _ in range(4):
        talk.turn(1.5)
        responder.say(_publish(reply))
    talk.turn(2.5)
    responder.say(_publish(reply))

    assert 4 == requestor.heard().count(b"MSG _I.1")


@pytest.mark.parametrize("gone", [b"UNSUB 9\r\n", None])
def test_a_requestor_that_goes_takes_its_ways_along(talk: Talk, gone: bytes | None) -> None:
    _put(talk, A, _import(response=ResponseKind.STREAM))
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"SUB _L 8\r\nPUB help _I.1 0\r\n\r\nPUB help _L 0\r\n\r\n")
    replies = [line.split()[3] for line in responder.heard().split(b"\r\n") if line]
    if gone:
        requestor.say(gone)
    else:
        talk.core.hang_up(requestor.link)
        talk.turn()
    talk.turn(0.2)
    other = talk.client(account=A)
    other.say(b"SUB _I.1 1\r\n")
    responder.say(b"".join(map(_publish, replies)))

    assert b"" == other.heard()
    assert (b"MSG _L 8 2\r\nok\r\n" if gone else b"") == requestor.heard()


def test_the_end_of_interest_with_wildcards_costs_the_same_whatever_is_asked(talk: Talk) -> None:
    _put(talk, A, _import(latency=5))
    requestor, _ = _requestor(talk), _responder(talk)
    requestor.say(b"".join(b"PUB help _I.%d 0\r\n\r\n" % at for at in range(20_000)))
    requestor.say(b"UNSUB 9\r\n" + b"SUB a.* 1\r\nUNSUB 1\r\n" * 100)
    counts = [len(_samples(talk))]
    while counts[-1] < 20_000:
        talk.turn(0.2)
        counts.append(len(_samples(talk)))
        assert counts[-2] < counts[-1] <= counts[-2] + 8_192

    assert 0 == counts[0]
    assert {408} == {sample.status for sample in _samples(talk)}


def test_a_requestor_with_another_subscription_is_still_there(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"SUB _I.1 8\r\nPUB help _I.1 0\r\n\r\nUNSUB 8\r\n")
    responder.say(_publish(_reply(responder.heard())))

    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


def test_the_oldest_of_too_many_ways_goes(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.first 0\r\n\r\n")
    first = _reply(responder.heard())
    for start in range(0, 65_536, 4096):
        requestor.say(
            b"".join(b"PUB help _I.%d 0\r\n\r\n" % at for at in range(start, start + 4096))
        )
        heard = responder.heard()
    last = heard.rstrip().rpartition(b"\r\n")[2].split()[3]
    responder.say(_publish(first) + _publish(last))

    assert b"MSG _I.65535 9 2\r\nok\r\n" == requestor.heard()
    assert 1 == talk.core.totals().answers_dropped


def test_an_answer_that_asks_back_may_be_the_oldest_of_too_many_ways(talk: Talk) -> None:
    _put(talk, A, _import(account=A))
    requestor, responder = _requestor(talk), _responder(talk, account=A)
    responder.say(b"SUB more 2\r\n")
    requestor.say(b"PUB help _I.first 0\r\n\r\n")
    first = _reply(responder.heard())
    for start in range(0, 65_535, 4096):
        many = range(start, min(start + 4096, 65_535))
        requestor.say(b"".join(b"PUB help _I.%d 0\r\n\r\n" % at for at in many))
        responder.heard()
    responder.say(b"PUB %b more 2\r\nok\r\n" % first)
    answer = requestor.heard()
    requestor.say(_publish(_reply(answer), b"thanks"))

    assert answer.startswith(b"MSG _I.first 9 _R_.")
    assert b"MSG more 2 6\r\nthanks\r\n" == responder.heard()
    assert 1 == talk.core.totals().answers_dropped


def test_a_reply_to_an_answer_comes_back_to_who_answered(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    responder.say(b"SUB more 2\r\n")
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    responder.say(b"PUB %b more 2\r\nok\r\n" % _reply(responder.heard()))
    answer = requestor.heard()
    requestor.say(_publish(_reply(answer), b"thanks"))

    assert answer.startswith(b"MSG _I.1 9 _R_.")
    assert b"MSG more 2 6\r\nthanks\r\n" == responder.heard()


def test_acknowledgements_keep_their_subject(talk: Talk) -> None:
    _put(talk, A, _import())
    responder = _responder(talk)
    talk.core.publish(A, [(b"help", b"$JS.ACK.s.c.1", b"", b"x")])
    talk.turn()

    assert b"MSG svc 1 $JS.ACK.s.c.1 1\r\nx\r\n" == responder.heard()


def test_mappings_of_the_exporter_apply_to_requests(talk: Talk) -> None:
    _put(talk, A, _import())
    mapping = SubjectMapping(source="svc", destinations=(MappedDestination(subject="new"),))
    _put(talk, B, mappings=(mapping,))
    responder = _responder(talk, subject=b"new")
    _requestor(talk).say(b"PUB help 1\r\nx\r\n")

    assert b"MSG new 1 1\r\nx\r\n" == responder.heard()


def test_new_tables_take_imports_away_and_keep_response_mappings(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    reply = _reply(responder.heard())
    _put(talk, A)
    answered = requestor.ask(b"PUB help _I.2 0\r\n\r\n")
    responder.say(_publish(reply))

    assert b"NATS/1.0 503" in answered
    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


# ---- servers -------------------------------------------------------------------------------------


def test_a_request_goes_to_responders_behind_a_route_and_the_answer_comes_back(talk: Talk) -> None:
    _put(talk, A, _import())
    route = talk.route(accounts=[A, B])
    requestor = _requestor(talk)
    route.say(b"RS+ B svc\r\nRS+ B svc workers 1\r\n")
    route.heard()
    requestor.say(b"PUB help _I.1 3\r\nwhy\r\n")
    told, message, payload, _ = route.heard().split(b"\r\n")
    reply = message.split()[4]
    route.say(b"RMSG B %b 2\r\nok\r\n" % reply)

    assert told == b"RS+ B %b.>" % reply.rpartition(b".")[0]
    assert b"RMSG B svc + %b workers 3" % reply == message
    assert b"why" == payload
    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


def test_service_imports_are_no_interest_for_other_servers(talk: Talk) -> None:
    route = talk.route(accounts=[A, B])
    _put(talk, A, _import())

    assert b"" == route.heard()


def test_a_request_from_a_route_passed_its_import_there(talk: Talk) -> None:
    _put(talk, A, _import())
    responder, route = _responder(talk), talk.route(accounts=[A, B])
    route.say(b"RMSG A help _I.1 0\r\n\r\nRMSG B svc _R_.x.y 0\r\n\r\n")

    assert b"MSG svc 1 _R_.x.y 0\r\n\r\n" == responder.heard()


def test_an_answer_from_a_route_reaches_groups_and_other_servers(talk: Talk) -> None:
    _put(talk, A, _import(response=ResponseKind.STREAM))
    route, other = talk.route(accounts=[A, B]), talk.route(accounts=[A, B])
    route.say(b"RS+ B svc\r\n")
    other.say(b"RS+ A inbox\r\n")
    member = talk.client(account=A)
    member.say(b"SUB inbox workers 7\r\n")
    requestor = talk.client(account=A)
    requestor.say(b"PUB help inbox 0\r\n\r\n")
    reply = route.heard().rstrip().rpartition(b"\r\n")[2].split()[3]
    other.heard()
    route.say(b"RMSG B %b 2\r\nok\r\n" % reply)

    assert b"MSG inbox 7 2\r\nok\r\n" == member.heard()
    assert b"RMSG A inbox 2\r\nok\r\n" == other.heard()


# ---- who asks ------------------------------------------------------------------------------------


def _introduced(
    talk: Talk, *imports: tuple[int, ServiceImportRow], header: bytes = b""
) -> dict[str, Any]:
    talk.core.set_names(b"server-1", b"east")
    for account, imported in imports:
        _put(talk, account, imported)
    requestor, responder = _requestor(talk), _responder(talk, imports[-1][1].account)
    talk.core.set_client_info(requestor.link, b'{"acc":"A"}', b'{"acc":"A","name":"me"}')
    talk.turn()
    block = b"NATS/1.0\r\n%b\r\n" % header if header else b""
    if block:
        requestor.say(b"HPUB help %d %d\r\n%bhi\r\n" % (len(block), len(block) + 2, block))
    else:
        requestor.say(b"PUB help 2\r\nhi\r\n")
    line, _, rest = responder.heard().partition(b"\r\n")
    size, total = map(int, line.split()[-2:])
    assert len(rest) == total + 2
    assert b"hi\r\n" == rest[size:]
    fields = rest[:size].split(b"\r\n")
    assert fields[0] == b"NATS/1.0"
    assert [b"", b""] == fields[-2:]
    name, _, value = fields[-3].partition(b": ")
    assert name == b"Nats-Request-Info"
    assert 1 == rest.count(b"Nats-Request-Info")
    assert rest.startswith(b"NATS/1.0\r\n" + header.replace(b"Nats-Request-Info: x\r\n", b""))
    info: dict[str, Any] = json.loads(value)
    return info


def test_a_service_is_told_the_account_of_who_asks(talk: Talk) -> None:
    assert {"acc": "A"} == _introduced(talk, (A, _import()))


def test_a_request_that_is_shared_tells_all(talk: Talk) -> None:
    assert {"acc": "A", "name": "me"} == _introduced(talk, (A, _import(share=True)))


def test_a_service_of_the_system_is_told_the_server(talk: Talk) -> None:
    assert {"acc": "A", "server": "server-1", "cluster": "east"} == _introduced(
        talk, (A, _import(names_server=True))
    )


def test_through_a_chain_the_account_in_between_is_named(talk: Talk) -> None:
    assert {"acc": "A", "svc": "B"} == _introduced(
        talk, (A, _import("help", "middle", B)), (B, _import("middle", "svc", C))
    )


@pytest.mark.parametrize(
    ("puts", "served_by", "told"),
    [
        ([(A, "help", "svc", B)], B, b'{"acc":"A"}'),
        ([(A, "help", "middle", B), (B, "middle", "svc", C)], C, b'{"acc":"A","svc":"B"}'),
    ],
)
def test_a_port_asks_in_the_name_of_its_account(
    talk: Talk, puts: list[tuple[int, str, str, int]], served_by: int, told: bytes
) -> None:
    for account, to, subject, exporter in puts:
        _put(talk, account, _import(to, subject, exporter))
    responder = _responder(talk, served_by)
    outgoing = Outgoing()
    outgoing.add(A, b"help", b"hi", header=b"NATS/1.0\r\nNats-Request-Info: x\r\n\r\n")
    port = talk.core.open_port()
    assert port.publish(outgoing)

    heard = responder.heard()
    assert b"NATS/1.0\r\nNats-Request-Info: " + told + b"\r\n\r\nhi\r\n" in heard


def test_other_fields_stay_and_a_false_one_goes(talk: Talk) -> None:
    assert {"acc": "A"} == _introduced(
        talk, (A, _import()), header=b"Nats-Request-Info: x\r\nKey: value\r\n"
    )


def test_a_round_trip_that_is_known_is_told(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    talk.core.set_client_info(requestor.link, b'{"acc":"A"}', b'{"acc":"A"}')
    talk.turn(3.0)
    talk.turn(0.5)
    requestor.say(b"PONG\r\nPUB help 0\r\n\r\n")
    responder.heard()
    requestor.say(b"PUB help 0\r\n\r\n")

    assert b'Nats-Request-Info: {"acc":"A","rtt":500000000}\r\n' in responder.heard()


def test_large_payloads_are_told_too(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    talk.core.set_client_info(requestor.link, b'{"acc":"A"}', b'{"acc":"A"}')
    talk.turn()
    requestor.say(b"PUB help 100000\r\n" + b"x" * 100_000 + b"\r\n")

    assert responder.heard().endswith(
        b'NATS/1.0\r\nNats-Request-Info: {"acc":"A"}\r\n\r\n' + b"x" * 100_000 + b"\r\n"
    )


# ---- how long it took ----------------------------------------------------------------------------


def _samples(talk: Talk) -> list[LatencySampled]:
    return [event for event in talk.of(LatencySampled) if isinstance(event, LatencySampled)]


def test_an_answer_is_timed(talk: Talk) -> None:
    _put(talk, A, _import(latency=77, share=True))
    requestor, responder = _requestor(talk), _responder(talk)
    talk.core.set_client_info(requestor.link, b'{"acc":"A"}', b'{"name":"asks"}')
    talk.core.set_client_info(responder.link, b'{"acc":"B"}', b'{"name":"serves"}')
    talk.turn()
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    reply = _reply(_plain(responder.heard()))
    talk.turn(0.25)
    responder.say(_publish(reply) * 2)
    (sample,) = _samples(talk)

    assert (77, 200) == (sample.token, sample.status)
    assert 250_000_000 == sample.ended_ns - sample.started_ns
    assert (b'{"name":"asks"}', b'{"name":"serves"}') == (sample.requestor, sample.responder)
    assert b"" == sample.header


def _plain(heard: bytes) -> bytes:
    return heard.replace(b"HMSG", b"MSG")


def test_an_answer_from_a_route_is_timed_without_its_client(talk: Talk) -> None:
    _put(talk, A, _import(latency=77))
    route, requestor = talk.route(accounts=[A, B]), _requestor(talk)
    route.say(b"RS+ B svc\r\n")
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    reply = route.heard().rstrip().rpartition(b"\r\n")[2].split()[3]
    route.say(b"RMSG B %b 2\r\nok\r\n" % reply)

    assert [(200, b"")] == [(sample.status, sample.responder) for sample in _samples(talk)]


def test_an_answer_that_is_timed_comes_to_a_subject_that_names_this_server(talk: Talk) -> None:
    _put(talk, A, _import(latency=77), _import("plain", "plain"))
    talk.core.set_names(b"server-1", b"", b"NODE4567")
    route, requestor = talk.route(accounts=[A, B]), _requestor(talk)
    route.say(b"RS+ B svc\r\nRS+ B plain\r\n")
    requestor.say(b"PUB plain _I.1 0\r\n\r\nPUB help _I.2 0\r\n\r\n")
    lines = route.heard().splitlines()
    plain, timed = (line.split()[3] for line in lines if line.startswith(b"RMSG"))
    route.say(b"RMSG B %b 2\r\nok\r\nRMSG B %b 2\r\nok\r\n" % (plain, timed))
    (sample,) = _samples(talk)

    assert (22, 33) == (len(plain), len(timed))
    assert timed.endswith(b".NODE4567.T")
    assert (timed, b"") == (sample.reply, sample.responder)
    assert b"MSG _I.1 9 2\r\nok\r\nMSG _I.2 9 2\r\nok\r\n" == requestor.heard()


def test_an_answer_of_a_client_here_needs_no_other_server(talk: Talk) -> None:
    _put(talk, A, _import(latency=77))
    talk.core.set_names(b"server-1", b"", b"NODE4567")
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    responder.say(_publish(_reply(responder.heard())))

    assert [b""] == [sample.reply for sample in _samples(talk)]


def test_a_node_has_eight_characters(talk: Talk) -> None:
    with pytest.raises(ValueError, match="node must have 8 bytes"):
        talk.core.set_names(b"server-1", b"", b"short")


def test_a_request_that_finds_nobody_is_counted(talk: Talk) -> None:
    _put(talk, A, _import(latency=77))
    _requestor(talk).say(b"PUB help _I.1 0\r\n\r\n")

    assert [503] == [sample.status for sample in _samples(talk)]


def test_a_request_that_cannot_be_answered_is_counted(talk: Talk) -> None:
    _put(talk, A, _import(latency=77))
    _responder(talk)
    _requestor(talk).say(b"PUB help 0\r\n\r\n")

    assert [400] == [sample.status for sample in _samples(talk)]


def test_a_request_that_is_not_answered_in_time_is_counted(talk: Talk) -> None:
    _put(talk, A, _import(latency=77, threshold_s=1.0))
    _responder(talk)
    requestor = _requestor(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    talk.turn(1.5)

    assert [504] == [sample.status for sample in _samples(talk)]


def test_a_requestor_that_does_not_wait_is_counted(talk: Talk) -> None:
    _put(talk, A, _import(latency=77))
    _responder(talk)
    requestor = _requestor(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    requestor.say(b"UNSUB 9\r\n")
    talk.turn(0.2)

    assert [408] == [sample.status for sample in _samples(talk)]


def test_a_share_of_the_requests_is_sampled(talk: Talk) -> None:
    _put(talk, A, _import(latency=77, latency_percent=20))
    requestor = _requestor(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n" * 2000)

    assert 300 < len(_samples(talk)) < 500


@pytest.mark.parametrize(
    ("field", "sampled"),
    [
        (b"Uber-Trace-Id: 479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:1", True),
        (b"uber-trace-id: a:b:c:03", True),
        (b"Uber-Trace-Id: a:b:c:2", False),
        (b"Uber-Trace-Id: a:b:c:101", False),
        (b"Uber-Trace-Id: a:b:1", False),
        (b"Uber-Trace-Id: a:b:c:", False),
        (b"X-B3-Sampled: 1", True),
        (b"X-B3-Sampled: 0\r\nX-B3-TraceId: abc", False),
        (b"X-B3-TraceId: abc", True),
        (b"B3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1-05e3ac9a4f6e3b90", True),
        (b"B3: a-b-0-c", False),
        (b"B3: 0", False),
        (b"B3: 0-a", True),
        (b"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        (b"traceparent: 00-4bf9-00f0-00", False),
        (b"traceparent: 00-4bf9-00f0-81", False),
        (b"traceparent: 00-4bf9-01", False),
        (b"Other: 1", False),
    ],
)
def test_a_request_can_ask_for_a_sample(talk: Talk, field: bytes, *, sampled: bool) -> None:
    _put(talk, A, _import(latency=77, latency_percent=0))
    requestor = _requestor(talk)
    block = b"NATS/1.0\r\n%b\r\n\r\n" % field
    requestor.say(b"HPUB help _I.1 %d %d\r\n%b\r\n" % (len(block), len(block), block))

    assert [block] * sampled == [sample.header for sample in _samples(talk)]


def test_several_answers_are_not_timed(talk: Talk) -> None:
    _put(talk, A, _import(latency=77, response=ResponseKind.STREAM))
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    responder.say(_publish(_reply(responder.heard())))

    assert [] == _samples(talk)


# ---- inside the process --------------------------------------------------------------------------


def test_a_service_inside_the_process_answers(talk: Talk) -> None:
    _put(talk, A, _import())
    talk.core.subscribe_sink(B, b"svc")
    requestor = _requestor(talk)
    requestor.say(b"PUB help _I.1 3\r\nwhy\r\n")
    (event,) = talk.of(Delivered)
    ((subject, reply, _, payload),) = event.batch.detach()
    talk.core.publish(B, [(reply, b"", b"", b"ok")])
    talk.turn()

    assert (b"svc", b"why") == (subject, payload)
    assert b"MSG _I.1 9 2\r\nok\r\n" == requestor.heard()


def test_requests_of_the_process_itself_pass_too(talk: Talk) -> None:
    _put(talk, A, _import())
    responder = _responder(talk)
    talk.core.subscribe_sink(A, b"inbox")
    talk.core.publish(A, [(b"help", b"inbox", b"", b"why")])
    talk.turn()
    responder.say(_publish(_reply(responder.heard())))
    (event,) = talk.of(Delivered)

    assert [(b"inbox", b"", b"", b"ok")] == event.batch.detach()


# ---- accounts that go ----------------------------------------------------------------------------


def test_a_service_of_an_account_that_went_is_served_by_nobody(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    talk.core.remove_account(B)
    talk.turn()
    responder.heard()

    assert b"NATS/1.0 503" in requestor.ask(b"PUB help _I.2 0\r\n\r\n")


def test_an_account_that_went_asks_nobody_and_leaves_nothing(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    route = talk.route(accounts=[B])
    before = talk.core.totals().subscriptions
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    reply = _reply(responder.heard())
    talk.core.remove_account(A)
    talk.turn()
    responder.say(_publish(reply))

    assert before == talk.core.totals().subscriptions
    assert b"RS-" not in route.heard()


def test_an_exporter_that_goes_takes_its_reply_subject_back(talk: Talk) -> None:
    _put(talk, A, _import())
    requestor, responder = _requestor(talk), _responder(talk)
    route = talk.route(accounts=[B])
    requestor.say(b"PUB help _I.1 0\r\n\r\n")
    prefix = _reply(responder.heard()).rpartition(b".")[0]
    talk.core.remove_account(B)
    talk.turn()

    assert b"RS- B %b.>\r\n" % prefix in route.heard()


def test_tables_for_an_account_that_went_are_not_put_in_force(talk: Talk) -> None:
    talk.core.remove_account(A)
    _put(talk, A, _import())
    assert A == talk.core.add_account(b"A")
    talk.turn()
    responder = _responder(talk)
    _requestor(talk).say(b"PUB help 1\r\nx\r\n")

    assert b"" == responder.heard()


def test_of_a_header_that_asks_for_a_sample_no_more_than_its_beginning_is_kept(talk: Talk) -> None:
    _put(talk, A, _import(latency=5, latency_percent=0))
    requestor, responder = _requestor(talk), _responder(talk)
    block = b"NATS/1.0\r\nX-B3-Sampled: 1\r\n" + b"K: v\r\n" * 1_000 + b"\r\n"
    requestor.say(b"HPUB help _I.1 %d %d\r\n%b\r\n" % (len(block), len(block), block))
    responder.say(_publish(responder.heard().split()[3]))
    (sample,) = _samples(talk)

    assert 4_000 < len(sample.header) <= 4_096
    assert block.startswith(sample.header)
    assert sample.header.endswith(b"K: v\r\n")


def test_a_message_passes_so_many_imports_in_all(talk: Talk) -> None:
    accounts = [talk.core.add_account(b"%d" % number) for number in range(16)]
    for here, there in itertools.pairwise(accounts):
        ways = [(to, subject) for to in ("s.1", "s.2") for subject in ("s.1", "s.2")]
        _put(talk, here, *(_import(to, subject, there) for to, subject in ways))
    sink = talk.core.subscribe_sink(accounts[14], b">")
    talk.turn()
    talk.core.publish(accounts[0], [(b"s.1", b"", b"", b"x")])
    talk.turn()
    got = [len(event.batch) for event in talk.of(Delivered) if event.sink == sink]

    assert 1_000 < sum(got) < 4_096
    assert 0 < talk.core.totals().circles
