"""Bytes between two planes through codecs, whoever is slow or goes first; also over TLS."""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import threading

import pytest

from framework.server.compression.codec_channel import CodecChannel
from framework.server.pump import Pump, limits
from framework.server.pump.limits import BATCH_BYTES
from framework.server.tls.contexts import make_client_context, make_server_context
from framework.server.tls.tls_channel import TlsChannel
from framework.testing.certificates import Authority
from framework.tests.server.compression.codecs import DEFLATE, HISTORY, frame
from framework.tests.server.conftest import settled
from framework.tests.server.tls.conftest import make_settings
from framework.tests.sockets import WAIT_S, exactly, sending, tcp_pair

LARGE = random.Random(1).randbytes(1 << 20) + bytes(1 << 20)


@pytest.fixture
def pumps():
    """Two threads of codecs and two of TLS, one of each for either side."""
    failures = []
    found = [Pump(name, failed=failures.append) for name in ("a", "b", "tls a", "tls b")]
    for pump in found:
        pump.start()
    yield found
    for pump in found:
        assert pump.stop(WAIT_S)
        assert not pump.sessions
    assert not failures


def ignore(_problem):
    pass


def quick_pair():
    """Return ends that both never block."""
    one, other = tcp_pair()
    other.settimeout(0)
    return one, other


def tls_pair(folder, pumps):
    """Return ends of two TLS sessions that have shaken hands, as the plane has them."""
    settings = make_settings(Authority(folder))
    one, other = quick_pair()
    client = TlsChannel(one, make_client_context(settings), "localhost")
    server = TlsChannel(other, make_server_context(settings), None)
    done = 0
    while done < 2:
        done = 0
        for here, there in ((client, server), (server, client)):
            with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
                here.tls.do_handshake()
                done += 1
            there.incoming.write(here.outgoing.read())
    return [pump.add(secured)[1] for pump, secured in zip(pumps[2:], (client, server), strict=True)]


@pytest.fixture(params=["plain", "tls"])
def ends(request, pumps, tmp_path):
    """Give two planes' ends, with a codec each and a connection between."""
    with contextlib.ExitStack() as stack:

        def begin(codec=DEFLATE):
            pair = quick_pair() if request.param == "plain" else tls_pair(tmp_path, pumps)
            found = []
            for pump, sock in zip(pumps, pair, strict=False):
                session, plane = pump.add(CodecChannel(sock, codec, b""))
                plane.settimeout(WAIT_S)
                found += [stack.enter_context(plane), session]
            return found

        yield begin


@pytest.fixture
def peer(pumps):
    """Give a plane's end, and a socket that may say anything to its codec."""
    with contextlib.ExitStack() as stack:

        def begin(refused):
            ours, theirs = tcp_pair()
            session, plane = pumps[0].add(CodecChannel(ours, DEFLATE, b""), refused=refused)
            plane.settimeout(WAIT_S)
            return stack.enter_context(theirs), stack.enter_context(plane), session

        yield begin


def filled(sock):
    """Send until nothing more is taken; return how much was."""
    sock.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 1 << 27:
            sent += sock.send(LARGE[:BATCH_BYTES])
    sock.settimeout(WAIT_S)
    return sent


@pytest.mark.parametrize("codec", [DEFLATE, HISTORY], ids=lambda it: it.name)
@pytest.mark.parametrize("data", [b"x", LARGE], ids=["one byte", "2 MiB"])
def test_bytes_pass_in_both_directions_at_once(ends, codec, data):
    one, _, other, _ = ends(codec)
    threads = [sending(one, data), sending(other, data)]

    assert exactly(other, len(data)) == data
    assert exactly(one, len(data)) == data

    for thread in threads:
        thread.join(WAIT_S)


def test_many_small_flushes_keep_their_order(ends):
    one, _, other, _ = ends()
    lines = [b"%d\r\n" % at for at in range(3000)]
    thread = sending(one, *lines)

    assert exactly(other, sum(map(len, lines))) == b"".join(lines)

    thread.join(WAIT_S)


def test_who_takes_nothing_holds_the_other_back(ends):
    one, _, other, _ = ends()
    sent = filled(one)

    assert sent < 1 << 27

    other.sendall(b"heard all the same")

    assert exactly(one, 18) == b"heard all the same"
    assert exactly(other, sent) == (LARGE[:BATCH_BYTES] * (sent // BATCH_BYTES + 1))[:sent]


def test_nothing_turns_while_a_side_is_stuck(ends, pumps):
    one, _, _, _ = ends()
    filled(one)
    turns = [0, 0]
    for at, pump in enumerate(pumps[:2]):
        perform = pump._perform

        def count(action, at=at, perform=perform):
            turns[at] += 1
            perform(action)

        pump._perform = count
    for _ in range(50):
        for pump in pumps[:2]:
            settled(pump)

    assert turns[0] <= 160
    assert turns[1] <= 160


def test_the_other_side_sees_the_end_behind_all_that_was_said(ends):
    one, _, other, _ = ends()
    one.sendall(b"last words")
    one.close()

    assert exactly(other, 10) == b"last words"
    assert other.recv(1) == b""


def test_a_peer_that_goes_in_the_middle_of_a_frame_ends_the_link(peer):
    theirs, plane, _ = peer(ignore)
    theirs.sendall(frame(b"whole") + frame(b"half of it")[:-3])
    theirs.close()

    assert exactly(plane, 5) == b"whole"
    assert plane.recv(1) == b""


def test_a_bad_frame_stops_a_link_behind_the_good_ones_and_leaves_others_alone(peer, ends, pumps):
    problems = []
    theirs, plane, session = peer(problems.append)
    one, _, other, _ = ends()
    theirs.sendall(frame(b"good") + frame(b"bad", checksum=0) + frame(b"never"))

    assert exactly(plane, 4) == b"good"

    one.sendall(b"undisturbed")
    assert exactly(other, 11) == b"undisturbed"

    while not problems:
        settled(pumps[0])

    assert problems == ["codec deflate: bad checksum"]
    assert session in pumps[0].sessions

    pumps[0].close(session, at_once=True)

    assert theirs.recv(1) == b""


def test_a_flood_of_tiny_frames_that_stand_for_much_is_held_back(peer):
    bomb = frame(bytes(BATCH_BYTES))
    theirs, plane, _ = peer(ignore)
    theirs.settimeout(0.2)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 1 << 24:
            sent += theirs.send(bomb * 100)

    assert len(bomb) < BATCH_BYTES // 200
    assert sent < 1 << 24
    assert exactly(plane, 4 * BATCH_BYTES) == bytes(4 * BATCH_BYTES)


def test_a_flood_gives_others_their_turn(peer, ends):
    theirs, plane, _ = peer(ignore)
    one, _, other, _ = ends()
    over = threading.Event()

    def swallow():
        while not over.is_set() and plane.recv(BATCH_BYTES):
            pass

    swallowing = threading.Thread(target=swallow)
    swallowing.start()
    flooding = sending(theirs, frame(bytes(BATCH_BYTES)) * 5000)
    for at in range(20):
        one.sendall(b"%d" % (at % 10))

        assert other.recv(1) == b"%d" % (at % 10)

    over.set()
    theirs.shutdown(socket.SHUT_RDWR)
    flooding.join(WAIT_S)
    swallowing.join(WAIT_S)


def test_a_pump_that_stops_lets_peers_take_what_was_said(ends, pumps):
    one, _, other, _ = ends()
    one.sendall(b"goodbye")
    one.close()
    assert pumps[0].stop(WAIT_S)

    assert exactly(other, 7) == b"goodbye"


def test_a_pump_that_stops_does_not_wait_for_ever(ends, pumps, monkeypatch):
    monkeypatch.setattr(limits, "FLUSH_DEADLINE_S", 0.01)
    one, _, _, _ = ends()
    filled(one)
    assert pumps[0].stop(WAIT_S)

    with contextlib.suppress(ConnectionResetError):  # it had said more than was read
        assert one.recv(1) == b""
