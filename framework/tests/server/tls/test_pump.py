"""Bytes between a peer that speaks TLS and the plane, whoever is slow or goes first."""

from __future__ import annotations

import contextlib
import socket

import pytest

from framework.server.pump import limits
from framework.server.pump.limits import BATCH_BYTES
from framework.server.tls.terms import KindTerms
from framework.tests.server.conftest import settled
from framework.tests.server.tls.conftest import Outcome, secure
from framework.tests.sockets import WAIT_S, exactly, sending, tcp_pair

LARGE = bytes(range(256)) * 16_384
"""4 MiB: more than all sockets on the way hold."""


@pytest.fixture
def ends(handshaker, pump, settings, authority):
    """Give a TLS client, the plane's end, and the session between them."""
    with contextlib.ExitStack() as stack:

        def begin():
            ours, peer = tcp_pair()
            outcome = Outcome()
            handshaker.shake(ours, KindTerms(settings).for_accepted(is_first=False), outcome)
            join = secure(peer, authority.client_context())
            session, plane = pump.add(outcome.get().channel)
            plane.settimeout(WAIT_S)
            return stack.enter_context(join()), stack.enter_context(plane), session

        yield begin


@pytest.mark.parametrize("data", [b"x", LARGE], ids=["one byte", "4 MiB"])
def test_bytes_pass_in_both_directions(ends, data):
    client, plane, _ = ends()
    thread = sending(client, data)

    assert exactly(plane, len(data)) == data

    thread.join(WAIT_S)
    thread = sending(plane, data)

    assert exactly(client, len(data)) == data

    thread.join(WAIT_S)


def test_a_peer_is_heard_while_much_waits_for_it(ends):
    client, plane, _ = ends()
    thread = sending(plane, LARGE)
    client.sendall(b"hello")

    assert exactly(plane, 5) == b"hello"
    assert exactly(client, len(LARGE)) == LARGE

    thread.join(WAIT_S)


def test_what_came_with_the_handshake_is_not_lost(ends):
    client, plane, _ = ends()
    client.sendall(b"early")

    assert exactly(plane, 5) == b"early"


def test_the_plane_sees_the_end_of_a_peer_behind_all_it_has_said(ends):
    client, plane, _ = ends()
    client.sendall(b"last words")
    client.close()

    assert exactly(plane, 10) == b"last words"
    assert plane.recv(1) == b""


def test_the_peer_gets_all_that_the_plane_said_before_its_end(ends):
    client, plane, _ = ends()
    thread = sending(plane, LARGE)
    received = exactly(client, len(LARGE) // 2)
    thread.join(WAIT_S)
    plane.close()

    assert received + exactly(client, len(LARGE) - len(received)) == LARGE
    assert client.recv(1) == b""


def test_a_peer_that_takes_nothing_holds_the_plane_back(ends):
    client, plane, _ = ends()
    plane.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 64 << 20:
            sent += plane.send(LARGE[:BATCH_BYTES])

    assert sent < 64 << 20

    plane.settimeout(WAIT_S)

    assert exactly(client, sent) == (LARGE[:BATCH_BYTES] * (sent // BATCH_BYTES + 1))[:sent]


def test_a_plane_that_takes_nothing_holds_the_peer_back(ends):
    client, plane, _ = ends()
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.sendall(LARGE * 16)

    assert exactly(plane, BATCH_BYTES) == LARGE[:BATCH_BYTES]


def test_a_stuck_peer_is_dropped_at_once_when_the_plane_says_so(ends, pump):
    _, plane, session = ends()
    plane.settimeout(0.2)
    with pytest.raises(TimeoutError):
        plane.sendall(LARGE * 4)
    plane.close()
    settled(pump)

    assert session in pump.sessions

    pump.close(session, at_once=True)
    settled(pump)

    assert session not in pump.sessions


def test_a_stuck_peer_has_a_last_time(ends, pump, monkeypatch):
    monkeypatch.setattr(limits, "FLUSH_DEADLINE_S", 0.01)
    client, plane, session = ends()
    plane.settimeout(0.2)
    with pytest.raises(TimeoutError):
        plane.sendall(LARGE * 4)
    plane.close()
    pump.close(session, at_once=False)
    with pytest.raises((OSError, AssertionError)):
        exactly(client, 5 * len(LARGE))


def test_a_damaged_record_ends_the_connection(ends):
    client, plane, _ = ends()
    raw = socket.socket(fileno=client.detach())
    with raw:
        raw.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))

        assert plane.recv(1) == b""


def test_sessions_that_are_over_are_forgotten(ends, pump):
    for _ in range(3):
        client, plane, _ = ends()
        plane.close()

        assert client.recv(1) == b""
    settled(pump)

    assert not pump.sessions


def test_a_pump_that_stops_lets_peers_take_what_was_said(ends, pump):
    client, plane, _ = ends()
    plane.sendall(b"goodbye")
    plane.close()
    pump.stop(WAIT_S)

    assert client.recv(100) == b"goodbye"
    assert client.recv(1) == b""


def test_a_pump_that_stops_does_not_wait_for_ever(ends, pump, monkeypatch):
    monkeypatch.setattr(limits, "FLUSH_DEADLINE_S", 0.01)
    client, plane, _ = ends()
    pump.stop(WAIT_S)

    assert plane.recv(1) == b""
    assert client.recv(1) == b""
