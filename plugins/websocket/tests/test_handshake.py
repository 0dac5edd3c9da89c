"""The upgrade as a machine: what it keeps, what it answers, what it knows afterwards."""

from __future__ import annotations

import tracemalloc

import pytest
from framework_websocket.config import Cookies, WebSocketConfig
from framework_websocket.handshake import Upgrade
from framework_websocket.limits import HEAD_BYTES_MAX, KEPT_BYTES_MAX

from framework.spec import (
    Admitted,
    Arrival,
    Credentials,
    LinkKind,
    WebSocketFrames,
)
from framework.testing.websocket import upgrade_bytes

CONFIG = WebSocketConfig("::", 0, cookies=Cookies("u", "p", "t", "j"), headers=(("X-A", "b"),))
PMD = "permessage-deflate"


def upgrade(*, compress=False, config=CONFIG, has_leafnodes=False):
    arrival = Arrival(host="127.0.0.1", port=1, is_tls=False)
    return Upgrade(config, arrival, can_compress=compress, has_leafnodes=has_leafnodes)


def status(step):
    return int(step.answer.split()[1])


def test_a_request_may_come_in_any_pieces():
    said = upgrade_bytes(cookie="u=ann", x="y" * 200)
    whole = upgrade().receive(said)
    for size in (1, 2, 7, 100):
        machine = upgrade()
        parts = [said[at : at + size] for at in range(0, len(said), size)]
        *before, last = [machine.receive(part) for part in parts]

        assert [None] * len(before) == before
        assert whole == last
    assert isinstance(whole, Admitted)
    assert whole.answer.startswith(b"HTTP/1.1 101 ")
    assert b"\r\nX-A: b\r\n" in whole.answer


def test_what_does_not_matter_is_forgotten_as_it_comes():
    machine = upgrade()
    lines = upgrade_bytes().removesuffix(b"\r\n")
    machine.receive(lines)
    for at in range(200):
        assert machine.receive(b"X-Number-%d: %b\r\n" % (at, b"x" * 200)) is None

    assert isinstance(machine.receive(b"\r\n"), Admitted)


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000,
        b"GET / HTTP/1.1\r\nCookie: " + b"x" * 1_000_000,
        b"GET /" + b"x" * 1_000_000,
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 100_000,
        b"GET / HTTP/1.1\r\n" + b"Cookie: b=c\r\n" * 100_000,
        b"\n" * 1_000_000,
    ],
)
def test_a_request_without_end_is_refused_before_it_takes_memory(said):
    machine = upgrade()
    tracemalloc.start()
    try:
        for at in range(0, len(said), 4_096):
            step = machine.receive(said[at : at + 4_096])
            held, _ = tracemalloc.get_traced_memory()
            if step is not None:
                break
            assert held < 2 * KEPT_BYTES_MAX + 4_096
    finally:
        tracemalloc.stop()

    assert status(step) in {400, 431}
    assert at <= HEAD_BYTES_MAX + 4_096


def test_nothing_may_follow_before_the_answer():
    step = upgrade().receive(upgrade_bytes() + b"\x81")

    assert status(step) == 400
    assert step.problem == "client sent data before handshake is complete"


@pytest.mark.parametrize(
    ("offer", "taken"),
    [
        (PMD, True),
        (f"{PMD}; client_max_window_bits; server_no_context_takeover", True),
        (f"{PMD}; server_max_window_bits=10", False),
        (f"{PMD}; server_max_window_bits=10, {PMD}", True),
        ("x-webkit-deflate-frame", False),
        ("", False),
    ],
)
def test_compression_is_taken_as_we_do_it(offer, taken):
    said = upgrade_bytes(sec_websocket_extensions=offer or None)

    assert upgrade(compress=True).receive(said).stages == (WebSocketFrames(is_compressed=taken),)
    assert upgrade().receive(said).stages == (WebSocketFrames(),)


def test_credentials_come_in_cookies():
    said = upgrade_bytes(cookie='a=b; u=ann; p="s=c"; t; j=eyJ')

    expected = Credentials(user="ann", password="s=c", jwt="eyJ")
    assert expected == upgrade().receive(said).credentials
    assert "s=c" not in repr(expected)


def test_cookies_that_nobody_named_are_no_credentials():
    config = WebSocketConfig("::", 0)

    step = upgrade(config=config).receive(upgrade_bytes(cookie="=ann; u=joe"))
    assert step.credentials == Credentials()


@pytest.mark.parametrize(
    ("said", "expected"),
    [("203.0.113.9", "203.0.113.9"), ("::1", "::1"), ("1.2.3.4, 5.6.7.8", ""), ("evil\t", "")],
)
def test_the_address_behind_a_proxy_is_one(said, expected):
    assert upgrade().receive(upgrade_bytes(x_forwarded_for=said)).forwarded_for == expected


@pytest.mark.parametrize("path", ["/leafnode", "/behind/a/proxy/leafnode"])
def test_leaf_nodes_come_where_there_are_any(path):
    step = upgrade(has_leafnodes=True).receive(upgrade_bytes(path, cookie="u=me"))
    other = upgrade(has_leafnodes=True).receive(upgrade_bytes("/leafnodes"))
    turned_away = upgrade().receive(upgrade_bytes(path))

    assert (status(step), step.kind) == (101, LinkKind.LEAF)
    assert (status(other), other.kind) == (101, None)
    assert turned_away.problem == "not configured to accept leaf node connections"
