"""Handshakes with peers that are good, bad, slow or gone."""

from __future__ import annotations

import ssl
from contextlib import ExitStack

import pytest
from msgspec.structs import replace

from framework.server.tls import handshaker as handshaker_module
from framework.server.tls.handshaker import HandshakeDone, HandshakeFailed, HandshakeTimedOut
from framework.server.tls.limits import HANDSHAKES_MAX
from framework.server.tls.terms import KindTerms
from framework.tests.server.tls.conftest import Outcome, secure
from framework.tests.sockets import tcp_pair


def accepted(settings, **changes):
    return replace(KindTerms(settings).for_accepted(is_first=False), **changes)


def test_both_ends_agree(handshaker, settings, authority):
    ours, peer = tcp_pair()
    outcome = Outcome()
    handshaker.shake(ours, accepted(settings), outcome)
    join = secure(peer, authority.client_context())
    done = outcome.get()
    with join() as theirs, done.channel.sock:
        assert isinstance(done, HandshakeDone)
        assert done.peer.version == theirs.version().removeprefix("TLSv")
        assert done.peer.cipher == theirs.cipher()[0]
        assert done.peer.certificates == ()


def test_we_dial_and_are_asked_for_our_certificate(handshaker, settings):
    terms = KindTerms(replace(settings, verify=True))
    here, there = tcp_pair()
    there.settimeout(0)
    dialed, served = Outcome(), Outcome()
    handshaker.shake(there, terms.for_accepted(is_first=False), served)
    handshaker.shake(here, terms.for_dialed("localhost"), dialed)
    with dialed.get().channel.sock, served.get().channel.sock:
        (shown,) = served.get().peer.certificates[:1]

        assert dialed.get().peer.certificates[0] == shown


def test_a_name_that_the_certificate_is_not_for(handshaker, settings):
    terms = KindTerms(settings)
    here, there = tcp_pair()
    there.settimeout(0)
    dialed, served = Outcome(), Outcome()
    handshaker.shake(there, terms.for_accepted(is_first=False), served)
    handshaker.shake(here, terms.for_dialed("elsewhere.test"), dialed)

    assert "failed to verify certificate: Hostname mismatch" in dialed.get().problem
    assert served.get().problem.startswith("remote error: tls: ")


def test_garbage_is_a_probe(handshaker, settings):
    ours, peer = tcp_pair()
    outcome = Outcome()
    with peer:
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        handshaker.shake(ours, accepted(settings), outcome)

        assert outcome.get() == HandshakeFailed(
            "tls: first record does not look like a TLS handshake", is_probe=True
        )


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["nothing", "half"])
def test_a_peer_that_goes_in_the_middle(handshaker, settings, said):
    ours, peer = tcp_pair()
    outcome = Outcome()
    handshaker.shake(ours, accepted(settings), outcome)
    with peer:
        peer.sendall(said)

    assert outcome.get() == HandshakeFailed("EOF")


def test_a_peer_that_stops_has_its_time(handshaker, settings):
    ours, peer = tcp_pair()
    outcome = Outcome()
    with peer:
        handshaker.shake(ours, accepted(settings, timeout_s=0.01), outcome)

        assert outcome.get() == HandshakeTimedOut()
        assert peer.recv(1) == b""


def test_one_that_is_given_up_reports_nothing(handshaker, settings):
    ours, peer = tcp_pair()
    outcome = Outcome()
    with peer:
        handshaker.shake(ours, accepted(settings), outcome).give_up()

        assert peer.recv(1) == b""


def test_those_beyond_the_limit_wait_for_a_place(handshaker, settings, authority, monkeypatch):
    monkeypatch.setattr(handshaker_module, "HANDSHAKES_MAX", 1)
    stuck, slow = tcp_pair()
    ours, peer = tcp_pair()
    first, second = Outcome(), Outcome()
    with slow:
        slow.sendall(b"\x16")
        handshaker.shake(stuck, accepted(settings), first)
        handshaker.shake(ours, accepted(settings), second)
        join = secure(peer, authority.client_context())
    with join(), second.get().channel.sock:
        assert first.get() == HandshakeFailed("EOF")


def test_who_says_nothing_takes_no_place(handshaker, settings, authority, monkeypatch):
    monkeypatch.setattr(handshaker_module, "HANDSHAKES_MAX", 1)
    silent, quiet = tcp_pair()
    ours, peer = tcp_pair()
    first, second = Outcome(), Outcome()
    with quiet:
        handshaker.shake(silent, accepted(settings), first)
        handshaker.shake(ours, accepted(settings), second)
        join = secure(peer, authority.client_context())
        with join(), second.get().channel.sock:
            pass
    assert first.get() == HandshakeFailed("EOF")


def test_many_who_stop_in_the_middle_do_not_keep_others_out(handshaker, settings, authority):
    count = 300
    assert count < HANDSHAKES_MAX
    with ExitStack() as stack:
        for _ in range(count):
            stuck, slow = tcp_pair()
            stack.enter_context(slow).sendall(b"\x16\x03")
            handshaker.shake(stuck, accepted(settings), Outcome())
        ours, peer = tcp_pair()
        outcome = Outcome()
        handshaker.shake(ours, accepted(settings), outcome)
        join = secure(peer, authority.client_context())
        with join(), outcome.get().channel.sock:
            pass


def test_one_that_waits_may_time_out_or_be_given_up(handshaker, settings, monkeypatch):
    monkeypatch.setattr(handshaker_module, "HANDSHAKES_MAX", 0)
    ours, peer = tcp_pair()
    others, other = tcp_pair()
    outcome = Outcome()
    with peer, other:
        for end in (peer, other):
            end.sendall(b"\x16")
        handshaker.shake(ours, accepted(settings, timeout_s=0.01), outcome)
        handshaker.shake(others, accepted(settings), Outcome()).give_up()

        assert outcome.get() == HandshakeTimedOut()
        with pytest.raises(ConnectionResetError):  # closed with a byte that nobody has read
            other.recv(1)


@pytest.mark.parametrize("said", [b"\x16", b"C", b""])
def test_the_first_byte_is_heard_and_left_where_it_is(handshaker, said):
    ours, peer = tcp_pair()
    outcome = Outcome()
    with ours, peer:
        handshaker.hear(ours, 10 if said else 0.01, outcome)
        peer.sendall(said)
        peeked = outcome.get()

        assert peeked.first_byte == said
        if said:
            assert peeked.sock.recv(10) == said


def test_a_hearing_that_is_given_up_closes_the_socket(handshaker):
    ours, peer = tcp_pair()
    with peer:
        handshaker.hear(ours, 10, Outcome()).give_up()

        assert peer.recv(1) == b""


def test_only_pinned_keys_pass(handshaker, settings, authority):
    issued = authority.issue("client")
    ours, peer = tcp_pair()
    outcome = Outcome()
    strict = replace(settings, verify=True, pinned=frozenset({"00" * 32}))
    handshaker.shake(ours, accepted(strict), outcome)
    join = secure(peer, authority.client_context(issued))

    assert outcome.get() == HandshakeFailed("tls: certificate not pinned")

    done = join()
    if isinstance(done, ssl.SSLSocket):
        done.close()
