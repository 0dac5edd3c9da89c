"""What clients and routes may say, whole and in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.dataplane import Closed, ErrReceived, Greeting, LinkKind, PlaneLimits, PongReceived
from framework.tests.dataplane.conftest import SECOND_NS, Talk
from framework.wire.closed_state import ClosedState

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\n'

CLIENT_SCRIPTS = [
    CONNECT
    + b"SUB foo 1\r\nPUB foo 5\r\nhello\r\nPUB foo 5\r\nworld\r\nPUB foo 5\r\nagain\r\nPING\r\n",
    CONNECT
    + b"sub foo.* q 1\r\npub foo.a _R 0\r\n\r\nUNSUB 1 1\r\n"
    + b"Pub foo.b 1\r\nx\r\nPub foo.b 1\r\ny\r\n",
    CONNECT
    + b"SUB h 9\r\nHPUB h 12 14\r\nNATS/1.0\r\n\r\nhi\r\nHPUB h rep 12 12\r\nNATS/1.0\r\n\r\n\r\n",
    CONNECT + b"SUB > a\r\nPUB x.y 3\r\na\r\n\r\nPUB x.y 3\r\n\r\n\n\r\n+OK\r\nPONG\r\nPING\n",
    CONNECT + b"SUB _I.1 1\r\nPUB nobody _I.1 2\r\nhi\r\nPING\r\n",
    CONNECT + b"SUB\tfoo \t 1\r\nPUB foo\t\t2 \r\nab\r\nUNSUB 1\r\nUNSUB 1 7\r\nUNSUB 99\r\n",
    b"SUB foo 1\r\nPUB foo 2\r\nab\r\nCONNECT {}\r\nPUB foo 1\r\nz\r\n",
    CONNECT + b"PUB foo 99999999999\r\nPING\r\n",
    CONNECT + b"PUB foo 2\r\nabcd\r\nPING\r\n",
    CONNECT + b"SUB a..b 1\r\nSUB a.>.b 2\r\nSUB a b c d e\r\n",
    CONNECT + b"HPUB h 9 3\r\nabc\r\n",
    CONNECT + b"RS+ $G foo\r\n",
    b"SUB a 1\r\n-ERR 'no'\r\nPING\r\n",
    b"CONNECT\r\nPING\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    CONNECT + b"PUB big 70000\r\n" + b"z" * 70000 + b"\r\nPING\r\n",
]

ROUTE_SCRIPTS = [
    (
        b"RS+ $G foo\r\nRS+ $G bar.* q 3\r\nRMSG $G x 2\r\nhi\r\n"
        b"RS- $G foo\r\nRS- $G bar.* q\r\nPING\r\n"
    ),
    b"RMSG $G here r 2\r\nhi\r\nRMSG $G here | q 2\r\nhi\r\nRMSG $G here + r q 2\r\nhi\r\n",
    (
        b"HMSG $G here 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
        b"HMSG $G here + r q1 q 12 12\r\nNATS/1.0\r\n\r\n\r\n"
    ),
    b'INFO {"server_id":"X"} \r\nPONG\r\n-ERR \'no\'\r\nA+ acc\r\nA- acc\r\nPING\r\n',
    b"RMSG unknown x 2\r\nhi\r\nRS+ unknown x\r\nRS- unknown x\r\nPING\r\n",
    b"SUB foo 1\r\n",
    b"RS+ $G\r\n",
    b"RS+ $G a q\r\n",
    b"RS+ $G a q 0\r\n",
    b"RMSG $G x y z 2\r\nhi\r\n",
    b"RMSG $G\r\n",
]


def _run(script: bytes, cuts: list[int], kind: LinkKind) -> tuple[bytes, list[object]]:
    talk = Talk(PlaneLimits(ping_interval_s=1e6))
    listener = talk.client(headers=True)
    listener.say(b"SUB here 1\r\nSUB here q 2\r\nSUB x 3\r\n")
    peer = talk.route() if kind is LinkKind.ROUTE else talk.stranger()
    output = b""
    at = 0
    for cut in [*sorted(cuts), len(script)]:
        if cut > at:
            peer.say(script[at:cut])
            output += peer.heard()
        at = max(at, cut)
    return output + listener.heard(), [
        (
            type(event),
            getattr(event, "document", None),
            getattr(event, "text", None),
            getattr(event, "reason", None),
        )
        for event in talk.events
    ]


@pytest.mark.parametrize("script", CLIENT_SCRIPTS, ids=range(len(CLIENT_SCRIPTS)))
def test_a_client_byte_by_byte_is_a_client_in_one_piece(script: bytes) -> None:
    pieces = list(range(1, len(script))) if len(script) < 5000 else list(range(1, 200))

    assert _run(script, [], LinkKind.CLIENT) == _run(script, pieces, LinkKind.CLIENT)


@pytest.mark.parametrize("script", ROUTE_SCRIPTS, ids=range(len(ROUTE_SCRIPTS)))
def test_a_route_byte_by_byte_is_a_route_in_one_piece(script: bytes) -> None:
    pieces = list(range(1, len(script)))

    assert _run(script, [], LinkKind.ROUTE) == _run(script, pieces, LinkKind.ROUTE)


@settings(max_examples=60)
@given(data=st.data(), which=st.integers(0, len(CLIENT_SCRIPTS) - 1))
def test_any_cut_gives_the_same(data: st.DataObject, which: int) -> None:
    script = CLIENT_SCRIPTS[which]
    cuts = data.draw(st.lists(st.integers(1, len(script) - 1), max_size=8))

    assert _run(script, [], LinkKind.CLIENT) == _run(script, cuts, LinkKind.CLIENT)


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from([
            b"PUB",
            b"SUB",
            b"foo",
            b" ",
            b"\t",
            b"\r\n",
            b"1",
            b"-",
            b"HPUB",
            b"UNSUB",
            b">",
            b"PING",
            b"CONNECT {}",
            b"9999",
            b"\0",
        ])
        | st.binary(max_size=5),
        max_size=40,
    ).map(b"".join),
    st.lists(st.integers(1, 60), max_size=5),
)
def test_garbage_gives_the_same_in_pieces_and_never_more_than_an_error(
    script: bytes, cuts: list[int]
) -> None:
    inside = [cut for cut in cuts if cut < len(script)]

    assert _run(script, [], LinkKind.CLIENT) == _run(script, inside, LinkKind.CLIENT)


@pytest.mark.parametrize(
    ("said", "answer", "reason"),
    [
        (b"NOPE\r\n", b"-ERR 'Unknown Protocol Operation'\r\n", ClosedState.PROTOCOL_VIOLATION),
        (
            b"PUB foo 1048577\r\n",
            b"-ERR 'Maximum Payload Violation'\r\n",
            ClosedState.MAX_PAYLOAD_EXCEEDED,
        ),
        (
            b"SUB " + b"a" * 4095 + b" 1\r\n",
            b"-ERR 'maximum control line exceeded'\r\n",
            ClosedState.MAX_CONTROL_LINE_EXCEEDED,
        ),
        (
            b"SUB " + b"a" * 5000,
            b"-ERR 'maximum control line exceeded'\r\n",
            ClosedState.MAX_CONTROL_LINE_EXCEEDED,
        ),
        (b"PUB foo -1\r\n", b"-ERR 'Bad or Missing Size'\r\n", ClosedState.PROTOCOL_VIOLATION),
        (b"-ERR 'x'\r\n", b"", ClosedState.PARSE_ERROR),
    ],
)
def test_what_ends_a_client(talk: Talk, said: bytes, answer: bytes, reason: ClosedState) -> None:
    client = talk.client()

    assert answer == client.ask(said)
    assert [reason] == [event.reason for event in talk.of(Closed)]


def test_a_control_line_of_exactly_the_limit_is_taken(talk: Talk) -> None:
    client = talk.client()

    assert b"PONG\r\n" == client.ask(b"SUB " + b"a" * 4094 + b" 1\r\nPING\r\n")


def test_headers_need_to_be_asked_for(talk: Talk) -> None:
    client = talk.client(headers=False)

    assert b"-ERR 'message headers not supported'\r\n" == client.ask(
        b"HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n"
    )


def test_before_login_only_connect_is_taken_when_it_is_required() -> None:
    talk = Talk(PlaneLimits(auth_required=True))
    stranger = talk.stranger()

    assert b"-ERR 'Authorization Violation'\r\n" == stranger.ask(b"PING\r\n")


@pytest.mark.parametrize("said", [b"RMSG $G x 2\r\nhi\r\n", b"RS+ $G x\r\n", b"INFO {}\r\n"])
def test_an_accepted_route_begins_with_connect(talk: Talk, said: bytes) -> None:
    route = talk.route(registered=False)

    assert b"-ERR 'Authorization Violation'\r\n" == route.ask(said)


def test_a_route_is_parked_at_each_step_of_its_handshake(talk: Talk) -> None:
    route = talk.route(registered=False)
    route.say(b'CONNECT {"name":"B"}\r\nINFO {"server_id":"B"} \r\nRS+ $G foo\r\nPING\r\n')
    first = [(event.verb, event.parked) for event in talk.of(Greeting)]
    talk.core.resume(route.link)
    talk.turn()
    second = [(event.verb, event.parked) for event in talk.of(Greeting)]
    talk.core.register_peer(route.link)

    assert [("CONNECT", True)] == first
    assert [("CONNECT", True), ("INFO", True)] == second
    assert b"PING\r\nPONG\r\n" == route.heard()


def test_what_a_registered_route_reports(talk: Talk) -> None:
    route = talk.route()
    talk.turn(2.5)
    heard = route.heard()
    talk.now_ns += SECOND_NS // 1000
    route.say(b"PONG\r\n-ERR 'No route for account'\r\nINFO {\"ldm\":true} \r\n")

    assert b"PING\r\n" == heard
    assert [2501 * SECOND_NS // 1000] == [event.rtt_ns for event in talk.of(PongReceived)]
    assert [b"No route for account"] == [event.text for event in talk.of(ErrReceived)]
    assert [(b'{"ldm":true}', False)] == [
        (event.document, event.parked) for event in talk.of(Greeting)
    ]
