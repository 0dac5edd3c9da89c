"""The service, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import zlib

import pytest

from framework.testing.contract import PortContract


class TestContract(PortContract):
    """What every plugin with a port that answers must do."""

    PLUGIN = "port-crc"
    REQUEST = b"util.crc32"


@pytest.fixture
def client(start_server):
    with start_server().client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB answers 1\r\n")
        yield client


@pytest.mark.parametrize("payload", [b"", b"hello", bytes(range(256)) * 100])
def test_a_request_is_answered(client, payload):
    client.send(b"PUB util.crc32 answers %d\r\n%b\r\n" % (len(payload), payload))
    *_, answer = client.read_until(b"MSG")

    assert answer.body == b"%08x" % zlib.crc32(payload)


def test_many_requests_are_answered_in_order(client):
    payloads = [b"%d" % number for number in range(20_000)]
    requests = [b"PUB util.crc32 answers %d\r\n%b\r\n" % (len(it), it) for it in payloads]
    client.send(b"".join(requests))
    answers = []
    while len(answers) < len(payloads):
        answers += [it.body for it in client.read_until(b"MSG") if it.verb == b"MSG"]

    assert answers == [b"%08x" % zlib.crc32(it) for it in payloads]


def test_what_asks_for_no_reply_is_passed_over(client):
    client.send(b"PUB util.crc32 1\r\nx\r\nPUB util.crc32 answers 1\r\ny\r\n")
    *_, answer = client.read_until(b"MSG")

    assert answer.body == b"%08x" % zlib.crc32(b"y")
