"""The whole plugin, in real servers; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import pytest


@pytest.fixture
def server(start_server):
    return start_server("-m", "-1", config="dead_letter { subject: 'orders.>' }")


@pytest.fixture
def keeper(server):
    """Whoever keeps dead letters."""
    with server.client() as client:
        client.log_in(headers=True)
        client.send(b"SUB dead.> 1\r\n")
        client.flush()
        yield client


def test_what_nobody_receives_is_a_dead_letter(server, keeper):
    header = b"NATS/1.0\r\nkind: order\r\n\r\n"
    with server.client() as client:
        client.log_in(headers=True)
        client.send(b"HPUB orders.new %d %d\r\n%btea\r\n" % (len(header), len(header) + 3, header))
        letter = keeper.read()

    assert letter.subject == b"dead.orders.new"
    assert letter.body == header + b"tea"


def test_what_somebody_receives_is_none(server, keeper):
    with server.client() as client:
        client.log_in()
        client.send(b"SUB orders.paid 1\r\nPUB orders.paid 1\r\na\r\nPUB other 1\r\nb\r\n")
        client.send(b"PUB orders.new 1\r\nc\r\n")
        letter = keeper.read()

    assert (letter.subject, letter.body) == (b"dead.orders.new", b"c")


def test_who_asks_is_still_told_that_nobody_answers(server, keeper):
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB _INBOX.a 1\r\nPUB orders.get _INBOX.a 1\r\na\r\n")
        *_, answer = client.read_until(b"HMSG")

    assert answer.body.startswith(b"NATS/1.0 503")
    assert keeper.read().subject == b"dead.orders.get"


def test_a_dead_letter_that_nobody_keeps_is_no_new_one(server):
    with server.client() as client:
        client.log_in()
        client.send(b"PUB orders.new 1\r\na\r\n")
        client.flush()
    plugins = server.document("/pluginz")["plugins"]
    taps = next(it["taps"] for it in plugins if it["name"] == "dead_letter")

    assert [(it["kind"], it["subject"]) for it in taps] == [("unheard", "orders.>")]
    assert taps[0]["messages"] <= 1
