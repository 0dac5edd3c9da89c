"""Connections that a server does not bear: too many, too slow, silent."""

from __future__ import annotations

import json
import urllib.request

from framework.testing import RawClient


def varz(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}/varz") as answer:
        return json.load(answer)


def test_one_client_too_many_is_told_so(fleet, kind):
    server = fleet.start(kind=kind, config="max_connections: 2")
    with server.client() as first, server.client() as second:
        first.log_in()
        second.log_in()
        with server.client() as third:
            refused = [operation.line for operation in third.read_to_end()]

        assert refused[-1] == b"-ERR 'maximum connections exceeded'"
        assert first.messages() == []


def test_a_place_becomes_free_again(fleet, kind):
    server = fleet.start(kind=kind, config="max_connections: 1")
    for _ in range(3):
        with server.client() as client:
            client.log_in()
            client.send(b"nonsense\r\n")
            client.read_to_end()


def test_a_client_that_does_not_answer_pings_is_stale(fleet, kind):
    server = fleet.start(kind=kind, config='ping_interval: "100ms"\nping_max: 1')
    with RawClient(server.port, answers_pings=False) as client:
        client.send(b'CONNECT {"verbose":false}\r\n')
        verbs = [operation.line for operation in client.read_to_end()]

    assert verbs[1:] == [b"PING", b"-ERR 'Stale Connection'"]


def test_a_client_that_answers_pings_lives(fleet, kind):
    server = fleet.start(kind=kind, config='ping_interval: "500ms"\nping_max: 3')
    with RawClient(server.port, answers_pings=False) as client:
        client.send(b"CONNECT {}\r\n")
        client.read_until(b"+OK")
        for _ in range(5):  # more than it may leave unanswered
            client.expect(b"PING")
            client.send(b"PONG\r\n")


def test_a_reader_that_reads_nothing_is_cut_off_and_others_get_all(fleet, kind):
    config = "max_pending: 1mb\nhttp: 127.0.0.1:-1"
    server = fleet.start(kind=kind, config=config)
    payload = b"x" * 65_536
    message = b"PUB flood %d\r\n%b\r\n" % (len(payload), payload)
    count = 400
    with (
        RawClient(server.port, receive_buffer_bytes=4096) as slow,
        server.client() as healthy,
        server.client() as publisher,
    ):
        slow.log_in()
        slow.send(b"SUB flood 1\r\n")
        slow.flush()
        healthy.log_in()
        healthy.send(b"SUB flood 1\r\n")
        healthy.flush()
        publisher.log_in()
        for _ in range(count):
            publisher.send(message)
            assert healthy.expect(b"MSG flood").body == payload
        publisher.flush()
        got = slow.read_to_end()

        assert len(got) < count
        assert varz(server)["slow_consumers"] == 1
        assert healthy.messages() == []


def test_the_server_lives_through_a_crowd_of_half_open_talks(fleet, kind):
    server = fleet.start(kind=kind)
    crowd = [server.client() for _ in range(200)]
    for number, client in enumerate(crowd):
        client.send([b"", b"PU", b"PUB foo 10\r\nabc", b"SUB a", b"CONNECT {"][number % 5])
    for client in crowd:
        client.close()
    with server.client() as client:
        client.log_in()

        assert client.messages() == []
