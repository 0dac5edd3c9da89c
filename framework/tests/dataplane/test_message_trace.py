"""What the plane reports of messages that ask what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.dataplane import Delivered, LinkKind, MessageTraced, StepKind, TraceFault, TraceStep
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.dataplane.tables import (
    AccountTables,
    MappedDestination,
    ServiceImportRow,
    StreamImportRow,
    SubjectMapping,
)

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk

A, B, C = 1, 2, 3
"""Accounts; A imports of B, and B of C, in most tests."""
DEST = b"Nats-Trace-Dest: here\r\n"
ONLY = DEST + b"Nats-Trace-Only: true\r\n"
SAMPLED = b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"


@pytest.fixture
def talk(talk: Talk) -> Talk:
    assert [A, B, C] == [talk.core.add_account(name) for name in (b"A", b"B", b"C")]
    talk.turn()
    return talk


def _put(talk: Talk, account: int, **tables: Any) -> None:
    talk.core.set_account_tables(account, AccountTables(**tables))
    talk.turn()


def _message(
    subject: bytes, fields: bytes = DEST, *, reply: bytes = b"", verb: bytes = b"HPUB "
) -> bytes:
    block = b"NATS/1.0\r\n%b\r\n" % fields
    words = subject + (b" " + reply if reply else b"")
    return b"%b%b %d %d\r\n%bhi\r\n" % (verb, words, len(block), len(block) + 2, block)


def _traces(talk: Talk) -> list[MessageTraced]:
    return [event for event in talk.of(MessageTraced) if isinstance(event, MessageTraced)]


def _trace(talk: Talk) -> MessageTraced:
    (traced,) = _traces(talk)
    return traced


def _shown(traced: MessageTraced) -> list[object]:
    """Return the steps as what is told apart in them."""
    shown: list[object] = []
    for step in traced.steps:
        match step:
            case TraceStep(StepKind.MAPPED):
                shown.append(("mapped", step.subject))
            case TraceStep(StepKind.STREAM):
                shown.append(("stream", step.account, step.subject))
            case TraceStep(StepKind.SERVICE):
                shown.append(("service", step.account, step.subject, step.other))
            case TraceStep(StepKind.SENT, link_kind=LinkKind.ROUTE):
                shown.append(("server", step.hop, step.fault))
            case _:
                shown.append((step.subject, step.other, step.account, step.fault))
    return shown


def _subscriber(talk: Talk, *lines: bytes, **options: Any) -> Peer:
    peer = talk.client(**options)
    peer.say(b"".join(b"SUB %b\r\n" % line for line in lines))
    return peer


OK = TraceFault.NONE


# ---- one server ----------------------------------------------------------------------------------


def test_a_message_is_reported_with_all_that_got_it(talk: Talk) -> None:
    near = _subscriber(talk, b"s.* 1", b"s.a workers 2")
    client = talk.client()
    client.say(_message(b"s.a"))
    traced = _trace(talk)

    assert (client.link, LinkKind.CLIENT, 2, 0) == (
        traced.link,
        traced.kind,
        traced.cid,
        traced.account,
    )
    assert (b"here", b"s.a", b"NATS/1.0\r\n%b\r\n" % DEST) == (
        traced.destination,
        traced.subject,
        traced.header,
    )
    assert (len(traced.header) + 2, 0, OK) == (traced.size, traced.hops, traced.fault)
    assert [(b"s.*", b"", None, OK), (b"s.a", b"workers", None, OK)] == _shown(traced)
    assert {(near.link, 1)} == {(step.link, step.cid) for step in traced.steps}
    assert 2 == near.heard().count(DEST)


def test_what_is_traced_only_reaches_no_client(talk: Talk) -> None:
    near = _subscriber(talk, b"s 1")
    near.say(b"UNSUB 1 1\r\n")
    client = talk.client(no_responders=True)
    client.say(b"SUB _I 9\r\n")
    client.say(_message(b"s", ONLY, reply=b"_I") * 2)

    assert [[(b"s", b"", None, OK)]] * 2 == [_shown(traced) for traced in _traces(talk)]
    assert b"" == near.heard() + client.heard()
    assert 0 == talk.core.totals().out_msgs


@pytest.mark.parametrize("word", [b"1", b"on", b"On", b"TRUE", b"true"])
def test_words_that_mean_trace_only(talk: Talk, word: bytes) -> None:
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", DEST + b"Nats-Trace-Only: %b\r\n" % word))

    assert b"" == near.heard()


@pytest.mark.parametrize("word", [b"0", b"off", b"yes", b"truth", b""])
def test_words_that_do_not(talk: Talk, word: bytes) -> None:
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", DEST + b"Nats-Trace-Only: %b\r\n" % word))

    assert b"HMSG s" in near.heard()


@pytest.mark.parametrize(
    "fields",
    [
        b"",
        b"Key: value\r\n",
        b"nats-trace-dest: here\r\n",
        b"Nats-Trace-Dest: \r\n",
        b"Nats-Trace-Dest: trace disabled\r\n",
        b"Nats-Trace-Dest: no subject\r\n",
        b"Nats-Trace-Dest: a.*\r\n",
        b"Nats-Trace-Destination: here\r\n",
        b"Nats-Trace-Only: 1\r\n",
        b"N\r\nt\r\ntraceparent\r\n",
        SAMPLED,
    ],
)
def test_others_are_delivered_and_not_reported(talk: Talk, fields: bytes) -> None:
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", fields))

    assert [] == _traces(talk)
    assert b"NATS/1.0\r\n%b\r\nhi" % fields in near.heard()


def test_a_bad_destination_of_a_message_to_be_traced_only_ends_it(talk: Talk) -> None:
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", b"Nats-Trace-Dest: a.>\r\nNats-Trace-Only: 1\r\n"))

    assert b"" == near.heard()


def test_a_mapping_is_a_step(talk: Talk) -> None:
    mapping = SubjectMapping(source="s.*", destinations=(MappedDestination(subject="t.$1"),))
    _put(talk, 0, mappings=(mapping,))
    _subscriber(talk, b"t.a 1")
    talk.client().say(_message(b"s.a"))

    assert b"s.a" == _trace(talk).subject
    assert [("mapped", b"t.a"), (b"t.a", b"", None, OK)] == _shown(_trace(talk))


def test_why_a_client_does_not_get_it(talk: Talk) -> None:
    client = _subscriber(talk, b"s 1", echo=False)
    client.say(_message(b"s"))

    assert [(b"s", b"", None, TraceFault.NO_ECHO)] == _shown(_trace(talk))


def test_a_subscriber_that_may_not_hear_it(talk: Talk) -> None:
    rights = talk.core.add_permissions(Permissions(subscribe=SubjectRules(deny=("s.secret",))))
    _subscriber(talk, b"s.* 1", permissions=rights)
    talk.client().say(_message(b"s.secret"))

    assert [(b"s.*", b"", None, TraceFault.DENIED)] == _shown(_trace(talk))


def test_a_publisher_that_may_not_say_it(talk: Talk) -> None:
    rights = talk.core.add_permissions(Permissions(publish=SubjectRules(deny=("s",))))
    near = _subscriber(talk, b"s 1")
    talk.client(permissions=rights).say(_message(b"s"))

    assert (TraceFault.PUBLISH, b"s") == (_trace(talk).fault, _trace(talk).refused)
    assert [] == _shown(_trace(talk))
    assert b"" == near.heard()


def test_a_destination_that_the_publisher_may_not_use_ends_the_message(talk: Talk) -> None:
    rights = talk.core.add_permissions(Permissions(publish=SubjectRules(deny=("here",))))
    near = _subscriber(talk, b"s 1")
    client = talk.client(permissions=rights)

    assert b"-ERR 'Permissions Violation for Publish to \"here\"'" in client.ask(_message(b"s"))
    assert [] == _traces(talk)
    assert b"" == near.heard()


def test_a_reply_that_is_refused_is_reported(talk: Talk) -> None:
    talk.client().say(_message(b"s", reply=b"_R_.x"))

    assert (TraceFault.REPLY, b"_R_.x") == (_trace(talk).fault, _trace(talk).refused)


def test_subscribers_inside_the_process_are_no_step(talk: Talk) -> None:
    talk.core.subscribe_sink(0, b"s")
    talk.client().say(_message(b"s"))

    assert [] == _shown(_trace(talk))
    assert 1 == len(talk.of(Delivered))


def test_what_the_process_publishes_is_not_traced(talk: Talk) -> None:
    talk.core.publish(0, [(b"s", b"", b"NATS/1.0\r\n%b\r\n" % DEST, b"hi")])
    talk.turn()

    assert [] == _traces(talk)


# ---- other accounts ------------------------------------------------------------------------------


def _service(account: int, *, allow: bool) -> ServiceImportRow:
    return ServiceImportRow(account=account, subject="svc", to="help", allow_trace=allow)


def test_a_request_to_another_account_is_traced_where_that_allows_it(talk: Talk) -> None:
    _put(talk, A, service_imports=(_service(B, allow=True),))
    responder = _subscriber(talk, b"svc 1", account=B)
    talk.client(account=A).say(_message(b"help"))

    assert [("service", B, b"help", b"svc"), (b"svc", b"", B, OK)] == _shown(_trace(talk))
    assert (A, b"here") == (_trace(talk).account, _trace(talk).destination)
    assert b"Nats-Trace-Dest: _R_." in responder.heard()


def test_a_request_is_delivered_untraced_where_it_does_not(talk: Talk) -> None:
    _put(talk, A, service_imports=(_service(B, allow=False),))
    responder = _subscriber(talk, b"svc 1", account=B)
    talk.client(account=A).say(_message(b"help"))

    assert [("service", B, b"help", b"svc")] == _shown(_trace(talk))
    assert b"Nats-Trace-Dest: trace disabled\r\n" in responder.heard()


def test_a_request_to_be_traced_only_ends_where_nobody_may_look(talk: Talk) -> None:
    _put(talk, A, service_imports=(_service(B, allow=False),))
    responder = _subscriber(talk, b"svc 1", account=B)
    talk.client(account=A).say(_message(b"help", ONLY))

    assert [("service", B, b"help", b"svc")] == _shown(_trace(talk))
    assert b"" == responder.heard()


def test_a_chain_of_services_is_traced_through(talk: Talk) -> None:
    _put(talk, A, service_imports=(_service(B, allow=True),))
    imported = ServiceImportRow(account=C, subject="far", to="svc", allow_trace=True)
    _put(talk, B, service_imports=(imported,))
    _subscriber(talk, b"far 1", account=C)
    talk.client(account=A).say(_message(b"help", ONLY))

    assert [
        ("service", B, b"help", b"svc"),
        ("service", C, b"svc", b"far"),
        (b"far", b"", C, OK),
    ] == _shown(_trace(talk))


@pytest.mark.parametrize("allow", [True, False])
@pytest.mark.parametrize("fields", [DEST, ONLY])
def test_importers_of_a_stream_are_traced_where_that_allows_it(
    talk: Talk, *, allow: bool, fields: bytes
) -> None:
    imported = StreamImportRow(account=B, subject="s", to="mine", allow_trace=allow)
    _put(talk, A, stream_imports=(imported,))
    importer = _subscriber(talk, b"mine 1", account=A)
    talk.client(account=B).say(_message(b"s", fields))
    seen = [(b"s", b"", A, OK)] if allow else []

    assert [("stream", A, b"mine"), *seen] == _shown(_trace(talk))
    assert (fields is DEST) == (b"HMSG mine 1" in importer.heard())


# ---- other servers -------------------------------------------------------------------------------


def test_each_server_gets_a_number_to_report_under(talk: Talk) -> None:
    first, second = talk.route(), talk.route()
    for route in (first, second):
        route.say(b"RS+ $G s\r\n")
    talk.client().say(_message(b"s", ONLY))
    hops = sorted(
        route.heard().partition(b"Nats-Trace-Hop: ")[2].partition(b"\r\n")[0]
        for route in (first, second)
    )

    assert [b"1", b"2"] == hops
    assert [("server", b"1", OK), ("server", b"2", OK)] == _shown(_trace(talk))
    assert 2 == _trace(talk).hops


def test_a_server_reports_what_came_by_a_route(talk: Talk) -> None:
    near, route = _subscriber(talk, b"s 1"), talk.route()
    fields = ONLY + b"Nats-Trace-Hop: 1\r\n"
    route.say(_message(b"s", fields, verb=b"HMSG $G "))

    assert (route.link, LinkKind.ROUTE, 0) == (
        _trace(talk).link,
        _trace(talk).kind,
        _trace(talk).account,
    )
    assert [(b"s", b"", None, OK)] == _shown(_trace(talk))
    assert b"" == near.heard()


def test_a_second_hop_goes_under_the_first(talk: Talk) -> None:
    _put(talk, A, service_imports=(_service(B, allow=True),))
    route, other = talk.route(), talk.route()
    route.say(b"RS+ B svc\r\n")
    other.say(b"RS+ A inbox\r\n")
    requestor = talk.client(account=A)
    requestor.say(b"PUB help inbox 0\r\n\r\n")
    reply = route.heard().rstrip().rpartition(b"\r\n")[2].split()[3]
    other.heard()
    fields = DEST + b"Nats-Trace-Hop: 7\r\n"
    route.say(_message(reply, fields, verb=b"HMSG B "))

    assert b"Nats-Trace-Hop: 7.1\r\n" in other.heard()
    assert ("server", b"7.1", OK) in _shown(_trace(talk))


def test_a_server_that_cannot_trace_is_not_sent_what_is_to_be_traced_only(talk: Talk) -> None:
    route = talk.route(traces=False)
    route.say(b"RS+ $G s\r\n")
    client = talk.client()
    client.say(_message(b"s", ONLY))
    first = route.heard()
    client.say(_message(b"s"))

    assert b"" == first
    assert b"HMSG $G s" in route.heard()
    assert [
        [("server", b"1", TraceFault.ONLY_NO_SUPPORT)],
        [("server", b"1", TraceFault.NO_SUPPORT)],
    ] == [_shown(traced) for traced in _traces(talk)]


def test_reports_of_other_servers_find_their_way_back_through_an_import(talk: Talk) -> None:
    _put(talk, A, service_imports=(_service(B, allow=True),))
    route = talk.route()
    route.say(b"RS+ B svc\r\n")
    client = _subscriber(talk, b"here 5", account=A)
    client.say(_message(b"help", ONLY))
    heard = route.heard()
    reply = heard.partition(b"Nats-Trace-Dest: ")[2].partition(b"\r\n")[0]
    client.heard()
    route.say(b"RMSG B %b 1\r\nx\r\nRMSG B %b 1\r\ny\r\n" % (reply, reply))

    assert reply.startswith(b"_R_.")
    assert b"MSG here 5 1\r\nx\r\nMSG here 5 1\r\ny\r\n" == client.heard()


# ---- traces that others ask for ------------------------------------------------------------------


def test_a_sampled_traceparent_asks_where_the_account_has_a_destination(talk: Talk) -> None:
    _put(talk, 0, trace_destination="traces")
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", SAMPLED.replace(b"traceparent", b"TraceParent")))

    assert (b"traces", [(b"s", b"", None, OK)]) == (
        _trace(talk).destination,
        _shown(_trace(talk)),
    )
    assert b"HMSG s 1" in near.heard()


@pytest.mark.parametrize("flags", [b"00", b"81", b"1", b"zz"])
def test_one_that_is_not_sampled_does_not(talk: Talk, flags: bytes) -> None:
    _put(talk, 0, trace_destination="traces")
    talk.client().say(_message(b"s", b"traceparent: 00-a-b-%b\r\n" % flags))

    assert [] == _traces(talk)


def test_a_share_of_them_is_traced_and_others_nowhere_else_either(talk: Talk) -> None:
    _put(talk, 0, trace_destination="traces", trace_percent=25)
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", SAMPLED) * 2000)
    disabled = near.heard().count(b"Nats-Trace-Dest: trace disabled\r\n")

    assert 400 < len(_traces(talk)) < 600
    assert 2000 == disabled + len(_traces(talk))


def test_a_header_of_old_servers_ends_the_trace(talk: Talk) -> None:
    near = _subscriber(talk, b"s 1")
    talk.client().say(_message(b"s", DEST + b"Nats-Trace-Origin-Account: A\r\n"))

    assert [] == _traces(talk)
    assert b"Nats-Trace-Dest: trace disabled\r\n" in near.heard()
