"""What strangers say to the port for gateways: they are refused as by nats-server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, RawClient
from tests.interop.gateways import Supercluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing import Fleet

REAL = "2.15.2"
LOGIN = "authorization { user: gate, password: keeper }"


def connect(**fields: object) -> bytes:
    document = {"name": "NX", "gateway": "B", "user": "gate", "pass": "keeper", **fields}
    return b"CONNECT " + json.dumps(document).encode() + b"\r\n"


def info(**fields: object) -> bytes:
    document = {
        "server_id": "NX",
        "server_name": "x",
        "gateway": "B",
        "gateway_urls": ["127.0.0.1:1"],
        "gateway_nrp": True,
        "gateway_iom": True,
        **fields,
    }
    return b"INFO " + json.dumps(document).encode() + b"\r\n"


@pytest.fixture(params=[OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))], scope="module")
def victim(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supercluster]:
    from framework.testing import Fleet as Starter  # noqa: PLC0415 - for the whole module

    fleet: Fleet = Starter(tmp_path_factory.mktemp("gateway"))
    gateway = f"reject_unknown: true\n{LOGIN}"
    with Supercluster(
        fleet, [[request.param], [request.param]], gateway=gateway, order=["A0"]
    ) as cluster:
        yield cluster


def said_to(victim: Supercluster, data: bytes) -> list[bytes]:
    """Return what the gateway port of A says until it closes, but for INFO and PING."""
    with RawClient(victim.ports["A0"]) as peer:
        peer.expect(b"INFO")
        peer.send(data)
        return [it.line for it in peer.read_to_end() if it.verb not in {b"INFO", b"PING"}]


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (connect(**{"pass": "wrong"}), b"-ERR 'Authorization Violation'"),
        (connect(gateway=""), b"-ERR 'attempted to connect to gateway port'"),
        (connect(gateway="Z"), b"-ERR 'Connection to gateway \"A\" rejected'"),
        (info(), b"-ERR 'Authorization Violation'"),
        (b"SUB a 1\r\n", b"-ERR 'Authorization Violation'"),
        (b"PING\r\n", b"-ERR 'Authorization Violation'"),
    ],
)
def test_who_may_not_connect_is_told_so(victim: Supercluster, data: bytes, refusal: bytes) -> None:
    assert said_to(victim, data) == [refusal]


@pytest.mark.parametrize(
    "data",
    [
        connect() + info() + b"LS+ a\r\n",
        connect() + info() + b"SUB a 1\r\n",
        connect() + info() + b"RS+ $G a\r\n",
        connect() + info() + b"RMSG $G a x\r\n",
        connect() + info() + b"GARBAGE\r\n",
        connect() + info(server_name="A0"),
        b"CONNECT {\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n",
    ],
)
def test_who_says_what_no_gateway_says_is_closed(victim: Supercluster, data: bytes) -> None:
    said = said_to(victim, data)

    assert all(it.startswith((b"-ERR", b"RS+", b"RS-", b"PONG")) for it in said), said
    # Nobody else is disturbed.
    with victim.client("A0", b"a 1") as client:
        client.send(b"PUB a 2\r\nhi\r\n")

        assert client.read_until(b"MSG a")[-1].body == b"hi"


def test_a_peer_is_told_interest_between_its_marks(victim: Supercluster) -> None:
    with victim.client("A0", b"told 1", b"other g 2"), RawClient(victim.ports["A0"]) as peer:
        peer.expect(b"INFO")
        peer.send(connect() + info())
        lines = [it.line for it in peer.read_until(b"RS+ $G told") if it.verb != b"PING"]
        lines += [it.line for it in peer.read_until(b"INFO") if it.verb != b"PING"]

    commands = [json.loads(it[5:])["gateway_cmd"] for it in lines if it.startswith(b"INFO")]
    assert 2 in commands
    assert commands[-1] == 3


@pytest.mark.parametrize(
    ("subject", "is_subject_refused"),
    [
        (b"_GR_.aaaaaa.bbbbbb.x", True),
        (b"_GR_.x", True),
        (b"$GR.abcd.x", True),
        (b"_R_.aaaaaa.x", False),
    ],
)
def test_a_spoofed_answer_of_a_client_is_refused(
    victim: Supercluster, subject: bytes, *, is_subject_refused: bool
) -> None:
    """Who serves an import answers to `_R_`; as a reply nobody may ask for it."""
    with victim.client("A0", b"> 1") as other, victim.client("A0") as client:
        client.send(b"PUB %b 1\r\n1\r\nPUB a %b 1\r\n1\r\n" % (subject, subject))
        said = [it.line for it in client.flush()]
        as_subject = b"-ERR 'Permissions Violation for Publish to \"%b\"'" % subject
        as_reply = b"-ERR 'Permissions Violation for Publish with Reply of \"%b\"'" % subject

        assert said == ([as_subject] if is_subject_refused else []) + [as_reply]
        heard = [] if is_subject_refused else [b"MSG %b 1 1" % subject]
        assert [it.line for it in other.flush()] == heard


def test_an_answer_for_another_cluster_goes_to_nobody(victim: Supercluster) -> None:
    """What is not all of an address is a subject as others are."""
    with victim.client("A0", b"> 1") as client, RawClient(victim.ports["A0"]) as peer:
        peer.expect(b"INFO")
        peer.send(connect() + info(gateway_iom=True))
        peer.read_until(b"RS+ $G >")
        peer.send(b"RMSG $G _GR_.aaaaaa.bbbbbb.x 1\r\n1\r\nRMSG $G _GR_.x 1\r\n2\r\n")
        peer.send(b"RMSG $G _GR_.aaaaaa.x 1\r\n3\r\nRMSG $G seen 1\r\n4\r\n")

        got = [it.subject for it in client.read_until(b"MSG seen")]
        assert got == [b"_GR_.x", b"_GR_.aaaaaa.x", b"seen"]


def test_an_answer_of_another_cluster_that_nobody_asked_for_is_a_message_like_others(
    victim: Supercluster,
) -> None:
    """What was forged reaches who listens to all of its account, and no account that imports."""
    with victim.client("A0", b"> 1") as client, RawClient(victim.ports["A0"]) as peer:
        peer.expect(b"INFO")
        peer.send(connect() + info(gateway_iom=True))
        peer.read_until(b"RS+ $G >")
        peer.send(b"RMSG $G _R_.aaaaaa.x 1\r\n1\r\nRMSG NONE _R_.aaaaaa.y 1\r\n1\r\n")
        peer.send(b"RMSG $G a _GR_.aaaaaa.bbbbbb.z 1\r\n1\r\nRMSG $G seen 1\r\n2\r\n")
        got = [it.line for it in client.read_until(b"MSG seen")]

    # Clients see no address.
    assert got == [b"MSG _R_.aaaaaa.x 1 1", b"MSG a 1 z 1", b"MSG seen 1 1"]
