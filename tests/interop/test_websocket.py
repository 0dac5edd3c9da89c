"""WebSocket: ours beside the real server, with raw sockets."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from framework.testing import OURS, RawClient
from framework.testing.certificates import Authority
from framework.testing.websocket import Opcode, deflated, frame_bytes, upgrade_bytes
from tests.interop.websockets import CONNECT, Port, open_port

__all__ = ["open_port"]

PMD = "permessage-deflate"
PMD_ANSWER = f"{PMD}; server_no_context_takeover; client_no_context_takeover"


# ---- handshakes

REFUSED = {
    "another method": (upgrade_bytes().replace(b"GET", b"POST"), 405),
    "no host": (upgrade_bytes(host=None), 400),
    "no upgrade": (upgrade_bytes(upgrade=None), 400),
    "another upgrade": (upgrade_bytes(upgrade="h2c"), 400),
    "no connection": (upgrade_bytes(connection="keep-alive"), 400),
    "no key": (upgrade_bytes(sec_websocket_key=None), 400),
    "a short key": (upgrade_bytes(sec_websocket_key="AAAA"), 400),
    "a key that is none": (upgrade_bytes(sec_websocket_key="?" * 24), 400),
    "another version": (upgrade_bytes(sec_websocket_version="8"), 400),
    "mqtt": (upgrade_bytes("/mqtt"), 404),
    "garbage": (b"\x00\x01\x02 not http\r\n\r\n", 400),
    "the protocol itself": (b'CONNECT {"verbose":false}\r\n\r\n', 400),
}


def test_what_is_no_upgrade_is_refused(open_port):
    port, found = open_port(), {}
    for what, (said, _) in REFUSED.items():
        with port.client() as client:
            found[what] = client.request(said)[0]
    with port.logged_in() as client:
        client.say(b"PING\r\n")
        client.expect(b"PONG")

    assert {what: status for what, (_, status) in REFUSED.items()} == found


def test_a_page_without_an_upgrade_learns_the_version(open_port):
    with open_port().client() as client:
        _, headers = client.request(upgrade_bytes(upgrade=None))

    assert headers["sec-websocket-version"] == "13"


UPGRADES = [
    ({}, {}),
    ({"connection": "keep-alive, Upgrade"}, {}),
    ({"upgrade": "WebSocket"}, {}),
    ({"sec_websocket_extensions": PMD}, {"sec-websocket-extensions": PMD_ANSWER}),
    (
        {"sec_websocket_extensions": f"{PMD}; client_max_window_bits, x"},
        {"sec-websocket-extensions": PMD_ANSWER},
    ),
    ({"sec_websocket_extensions": "x-webkit"}, {}),
    ({"nats_no_masking": "true"}, {"nats-no-masking": "true"}),
    ({"sec_websocket_protocol": "nats"}, {}),
]


def test_an_upgrade_is_answered(open_port):
    port = open_port("compression: true, headers { X-Here: there }")
    common = {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "x-here": "there",
    }
    for headers, expected in UPGRADES:
        with port.client() as client:
            assert (101, common | expected) == client.request(upgrade_bytes(**headers))


SAME = {
    "": 101,
    "http://here": 101,
    "http://HERE:80": 101,
    "https://here": 403,
    "http://there": 403,
    "http://here:8080": 403,
    "nonsense": 403,
}
ALLOWED = {
    "": 101,
    "http://a.com": 101,
    "https://b.com:8443": 101,
    "https://a.com": 403,
    "https://b.com": 403,
}


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("same_origin: true", SAME),
        ('allowed_origins: ["http://a.com", "https://b.com:8443"]', ALLOWED),
        ("", {"http://a.com": 101, "nonsense": 101}),
    ],
)
def test_pages_come_from_where_they_may(open_port, inside, expected):
    port, found = open_port(inside), {}
    for origin in expected:
        with port.client() as client:
            found[origin], _ = client.request(upgrade_bytes(origin=origin or None))

    assert expected == found


def test_a_handshake_that_takes_too_long_ends(open_port):
    port = open_port("handshake_timeout: 200ms")
    with port.client() as client:
        client.sock.sendall(upgrade_bytes()[:-4])

        assert b"" == client.sock.recv(1)


def test_headers_without_end_are_refused(open_port):
    port = open_port()
    with port.client() as client:
        said = b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"x" * 1_500_000
        try:
            status, _ = client.request(said)
        except ConnectionError:
            status = 0

    assert status in {0, 431}
    with port.logged_in():
        pass


# ---- clients


def test_a_client_is_one_like_others(open_port):
    port = open_port(top='http: "127.0.0.1:-1"')
    with port.client() as client, RawClient(port.server.port) as other:
        info = json.loads(client.begin(x_forwarded_for="203.0.113.9", user_agent="x")[5:])
        client.say(CONNECT + b"SUB a 1\r\nPING\r\n")
        assert b"PONG" == client.expect(b"PONG")
        client.expect(b"PONG")
        other.log_in()
        other.send(b"PUB a 2\r\nhi\r\n")

        client.expect(b"MSG a 1 2")
        assert (info["port"], info["client_ip"]) == (port.number, "127.0.0.1")
        assert not info.get("tls_required")
        rows = port.server.document("/connz")["connections"]
        assert ["nats", "websocket"] == sorted(row["type"] for row in rows)
        (row,) = [row for row in rows if row["type"] == "websocket"]
        assert (row["ip"], row["subscriptions"], row["out_msgs"]) == ("127.0.0.1", 1, 1)
    port.server.wait_log(r"203\.0\.113\.9/127\.0\.0\.1:\d+ - wid:\d+")
    block = port.server.document("/varz")["websocket"]
    assert (block["port"], block["no_tls"]) == (port.number, True)


def test_tls_comes_before_the_handshake(open_port, tmp_path):
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    tls = f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}" }}'
    port = open_port(tls=tls, top='http: "127.0.0.1:-1"', context=authority.client_context(None))
    with port.client() as client:
        info = json.loads(client.begin(connect=CONNECT)[5:])
        client.expect(b"PONG")
        (row,) = port.server.document("/connz")["connections"]

    assert info["tls_required"]
    assert row["tls_version"] == "1.3"
    with RawClient(port.server.port) as other:
        assert not other.expect(b"INFO").document.get("tls_required")


# ---- frames

FRAMES = {
    "a close": (frame_bytes((1000).to_bytes(2, "big") + b"bye", Opcode.CLOSE), 1000, b"bye"),
    "a close that says nothing": (frame_bytes(b"", Opcode.CLOSE), 1005, b""),
    "bad text": (
        frame_bytes((1000).to_bytes(2, "big") + b"\xff", Opcode.CLOSE),
        1007,
        b"invalid utf8 body in close frame",
    ),
    "reserved bits": (frame_bytes(b"", reserved=2), 1002, b"RSV2 and RSV3 must be clear"),
    "compressed": (
        frame_bytes(deflated(b"PING\r\n"), reserved=4),
        1002,
        b"compressed frame received without negotiated permessage-deflate",
    ),
    "no mask": (frame_bytes(b"PING\r\n", mask=b""), 1002, b"mask bit missing"),
    "a long ping": (
        frame_bytes(bytes(126), Opcode.PING),
        1002,
        b"control frame length bigger than maximum allowed of 125 bytes",
    ),
    "a cut ping": (
        frame_bytes(b"", Opcode.PING, final=False),
        1002,
        b"control frame does not have final bit set",
    ),
    "nothing to continue": (frame_bytes(b"x", 0), 1002, b"invalid continuation frame"),
    "a message in another": (
        frame_bytes(b"PI", final=False) + frame_bytes(b"NG\r\n"),
        1002,
        b"new message started before final frame for previous message was received",
    ),
    "an unknown opcode": (frame_bytes(b"", 3), 1002, b"unknown opcode 3"),
    "2^63 bytes": (frame_bytes(length=1 << 63), 1002, b"invalid 64-bit payload length"),
    "one byte of a close": (
        frame_bytes(b"x", Opcode.CLOSE),
        1002,
        b"close frame payload cannot be 1 byte",
    ),
}


def test_frames_end_a_connection_alike(open_port, kind):
    """The real server does not always get its close frame out."""
    port, found = open_port(), {}
    for what, (said, _, _) in FRAMES.items():
        with port.logged_in() as client:
            client.sock.sendall(said)
            _, frames = client.rest()
            found[what] = [(it.close_status, it.payload[2:]) for it in frames]
    with port.logged_in():
        pass

    expected = {what: [(status, text)] for what, (_, status, text) in FRAMES.items()}
    assert expected == {
        what: it or (expected[what] if kind != OURS else it) for what, it in found.items()
    }


ENDS = {
    "a wrong verb": (b"FOO\r\n", 1002),
    "a payload that is too large": (b"PUB a 9000\r\n", 1009),
    "a line that is too long": (b"PUB " + b"a" * 5_000 + b" 0\r\n", 1008),
}


def test_the_reason_of_an_end_is_in_the_close_frame(open_port, kind):
    """The real server does not always get its last words out."""
    port, found = open_port(top="max_payload: 8000"), {}
    for what, (said, _) in ENDS.items():
        with port.logged_in() as client:
            client.say(said)
            text, frames = client.rest()
            found[what] = [text[:5], *(frame.close_status for frame in frames)]

    expected = {what: [b"-ERR ", status] for what, (_, status) in ENDS.items()}
    if kind != OURS:
        found = {what: expected[what] if len(it) == 1 else it for what, it in found.items()}
    assert expected == found


def test_a_server_that_stops_says_so(open_port):
    port = open_port()
    with port.logged_in() as client:
        port.server.stop()
        _, (frame,) = client.rest()

    assert (1001, b"Server Shutdown") == (frame.close_status, frame.payload[2:])


@pytest.mark.parametrize("compression", ["true", "false"])
def test_messages_of_any_size_and_cut_arrive(open_port, compression):
    port = open_port(f"compression: {compression}")
    with port.logged_in(sec_websocket_extensions=PMD) as client:
        body = bytes(range(256)) * 1_000
        said = b"SUB a 1\r\nPUB a %d\r\n%b\r\nPING\r\n" % (len(body), body)
        if compression == "true":
            plain = deflated(said)
            client.sock.sendall(frame_bytes(plain[:500], reserved=4, final=False))
            client.sock.sendall(frame_bytes(b"", Opcode.PING))
            client.sock.sendall(frame_bytes(plain[500:], Opcode.CONTINUATION))
        else:
            client.say(said)
        client.expect(b"MSG a 1 256000")
        while client.expect(b"") != b"PONG":
            pass


def test_a_bomb_ends_its_sender_only(open_port):
    port = open_port("compression: true")
    with port.logged_in(sec_websocket_extensions=PMD) as client, port.logged_in() as other:
        client.sock.sendall(frame_bytes(deflated(b"\0" * 50_000_000), reserved=4))
        _, frames = client.rest()
        other.say(b"PING\r\n")

        other.expect(b"PONG")
        assert len(frames) <= 1


def test_a_reload_changes_certificates_alone(start_server, kind, tmp_path):
    def config(folder, more):
        (own := tmp_path / folder).mkdir()
        authority = Authority(own)
        issued = authority.issue("server")
        files = f'cert_file: "{issued.cert_file}", key_file: "{issued.key_file}"'
        contexts.append(authority.client_context(None))
        return f'websocket {{ listen: "127.0.0.1:-1", tls {{ {files} }}, {more} }}'

    contexts = []
    server = start_server(kind=kind, config=config("first", "compression: false"))
    port = Port(server, contexts[0])
    with port.logged_in() as client:
        server.reload(config("second", "compression: false"))
        port.context = contexts[1]
        with port.logged_in():
            pass
        path = Path(server.command[server.command.index("-c") + 1])
        path.write_text(config("third", "compression: true"))
        server.signal(signal.SIGHUP)
        server.wait_log(r"(?i)config reload not supported for websocket")
        client.say(b"PING\r\n")
        client.expect(b"PONG")
    with port.logged_in():
        pass


def test_lame_duck_mode_closes_the_port(open_port):
    port = open_port(top='lame_duck_duration: "30s", lame_duck_grace_period: "1s"')
    with port.logged_in() as client:
        port.server.signal(signal.SIGUSR2)
        port.server.wait_log("Entering lame duck mode")
        _, (frame,) = client.rest()

        assert frame.close_status == 1001
        with pytest.raises(ConnectionError):
            port.client()
