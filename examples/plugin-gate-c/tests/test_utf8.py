"""The gate, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import random

import pytest


@pytest.fixture
def server(start_server):
    return start_server("-m", "-1", config="utf8 { subject: 'texts.>' }")


@pytest.fixture
def client(server):
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB texts.> 1\r\nSUB answers 2\r\n")
        client.flush()
        yield client


def published(payload, reply=b""):
    return b"PUB texts.a %b%d\r\n%b\r\n" % (reply and reply + b" ", len(payload), payload)


def is_utf8(payload):
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_what_is_utf8_passes_in_order_and_the_rest_does_not(client):
    draw = random.Random(5)
    alphabet = [
        b"a",
        "\u00e4".encode(),
        "\u20ac".encode(),
        "\U0001f600".encode(),
        b"\x80",
        b"\xed\xa0\x80",
    ]
    payloads = [b"".join(draw.choices(alphabet, [9, 9, 9, 9, 1, 1], k=20)) for _ in range(5000)]
    client.send(b"".join(published(payload) for payload in payloads))
    said = client.flush()

    assert [it.body for it in said if it.verb == b"MSG"] == [it for it in payloads if is_utf8(it)]
    refused = [it.line for it in said if it.verb == b"-ERR"]
    assert len(refused) == sum(not is_utf8(it) for it in payloads)
    assert refused[0] == b"-ERR 'Permissions Violation for Publish to \"texts.a\": not UTF-8'"


def test_every_sequence_of_two_bytes_is_judged_as_python_does(client):
    payloads = [bytes((first, second)) for first in range(256) for second in range(256)]
    client.send(b"".join(published(payload) for payload in payloads))
    heard = [it.body for it in client.flush() if it.verb == b"MSG"]

    assert heard == [payload for payload in payloads if is_utf8(payload)]


@pytest.mark.parametrize("point", [0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF])
def test_the_edges_pass_and_what_lies_beyond_them_does_not(client, point):
    good = chr(point).encode()
    client.send(
        published(good)
        + published(good[:-1])
        + published(b"\xf0\x80\x80\x80")
        + published(b"\xf4\x90\x80\x80")
    )

    assert [it.body for it in client.flush() if it.verb == b"MSG"] == [good]


def test_a_request_that_is_refused_gets_a_status(client, server):
    client.send(published(b"\xff", reply=b"answers"))
    answer = next(it for it in client.flush() if it.verb == b"HMSG")
    plugins = server.document("/pluginz")["plugins"]
    (gate,) = next(it["gates"] for it in plugins if it["name"] == "gate-utf8")

    assert answer.body == b"NATS/1.0 400 Not UTF-8\r\n\r\n"
    assert (gate["port"], gate["messages"], gate["refused"]) == ("utf8", 1, 1)


def test_without_the_block_all_pass(start_server):
    with start_server().client() as client:
        client.log_in()
        client.send(b"SUB texts.a 1\r\n" + published(b"\xff"))

        assert [it.body for it in client.flush() if it.verb == b"MSG"] == [b"\xff"]
