"""Acknowledgements whose subjects nobody was given, beside the real server: they change nothing."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
ACCOUNTS = """
jetstream { store_dir: "%s" }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  B { jetstream: enabled, users: [{ user: b, password: b }] }
}
"""
TIME = 1_700_000_000_000_000_000
BEYOND = [2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 10**30]
NOT_ASKED = [
    # Other streams and consumers.
    *(f"T.C.1.3.3.{TIME}.0", f"S.D.1.3.3.{TIME}.0", f"s.c.1.3.3.{TIME}.0", f"C.S.1.3.3.{TIME}.0"),
    # Sequences that never were, or are still to come.
    *(f"S.C.1.{seq}.1.{TIME}.0" for seq in (0, 5, 6, 9, 10**6, *BEYOND)),
    # What is no number.
    *(f"S.C.1.{seq}.1.{TIME}.0" for seq in ("-1", "+1", "x", "1x", "0x1", "1e0", "%31", "\u0661")),
    # Tokens that are missing, or too many.
    *("S.C", "S", "S.C.1", "S.C.1.3", "S.C.1.3.3", f"S.C.1.3.3.{TIME}", f"S.C.1.3.3.{TIME}.0.x"),
    *(f"S.C.1.3.3.{TIME}.0.1.3.3.{TIME}.0", "S.C" + ".3" * 200),
    # With a domain and the hash of an account, which are others'.
    *(f"_.AAAAAAAA.S.C.1.3.3.{TIME}.0", f"hub.AAAAAAAA.S.C.1.3.3.{TIME}.0.x"),
]
KINDS = [b"", b"+ACK", b"-NAK", b'-NAK {"delay": 1}', b"+WPI", b"+TERM", b"+NXT", b"+NXT 5", b"?"]


def standing(client):
    """Return where the consumer stands, without times."""
    info = client.api("CONSUMER.INFO.S.C")
    numbers = {name: value for name, value in info.items() if name.startswith("num_")}
    for place in ("delivered", "ack_floor"):
        numbers[place] = {it: info[place][it] for it in ("consumer_seq", "stream_seq")}
    return numbers | {"messages": client.api("STREAM.INFO.S")["state"]["messages"]}


def prepare(client, policy, retention="limits"):
    """Let four of six messages be delivered, and two be acknowledged."""
    stream = {"name": "S", "subjects": ["s"], "storage": "file", "retention": retention}
    config = {"durable_name": "C", "ack_policy": policy, "ack_wait": 600 * 10**9}
    client.api("STREAM.CREATE.S", stream)
    client.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
    for number in range(6):
        client.ask("s", b"%d" % number)
    got = client.fetch("S", "C", 4)
    for _, reply, _ in got[:2]:
        client.ask(reply.decode(), b"+ACK")
    return got


@pytest.mark.parametrize("policy", ["explicit", "all", "none"])
def test_what_nobody_was_given_acknowledges_nothing(pair, policy):
    for client in pair:
        if policy == "none":
            stream = {"name": "S", "subjects": ["s"], "storage": "file"}
            config = {"durable_name": "C", "ack_policy": policy}
            client.api("STREAM.CREATE.S", stream)
            client.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
            client.ask("s", b"0")
        else:
            prepare(client, policy)
    before = [standing(client) for client in pair]
    for kind in KINDS:
        for forged in NOT_ASKED:
            for client in pair:
                client.send(f"$JS.ACK.{forged}", kind)
    after = [standing(client) for client in pair]

    assert before[0] == before[1]
    assert after[0] == before[0]
    assert after[1] == before[1]


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_what_nobody_was_given_removes_nothing(pair, retention):
    for client in pair:
        prepare(client, "explicit", retention)
    before = [standing(client) for client in pair]
    for kind in KINDS:
        for forged in NOT_ASKED:
            for client in pair:
                client.send(f"$JS.ACK.{forged}", kind)

    assert [standing(client) for client in pair] == before
    assert before[0] == before[1]


@pytest.mark.parametrize("policy", ["explicit", "all"])
def test_acknowledgements_of_what_is_settled_change_nothing(pair, policy):
    told = []
    for client in pair:
        got = prepare(client, policy)
        before = standing(client)
        # Twice, with other deliveries and times, and with consumer sequences of others.
        for kind in (b"+ACK", b"-NAK", b"+WPI", b"+TERM"):
            client.send(got[0][1].decode(), kind)
            client.send(f"$JS.ACK.S.C.7.1.1.{TIME}.9", kind)
            client.send(f"$JS.ACK.S.C.1.2.2.{TIME}.0", kind)
        assert standing(client) == before
        told.append(before)

    assert told[0] == told[1]


@pytest.mark.parametrize("kind", ["ours", "2.15.2"])
def test_another_account_acknowledges_nothing(fleet, log_in, tmp_path, kind):
    flags = PLUGIN if kind == "ours" else ()
    server = fleet.start(*flags, config=ACCOUNTS % tmp_path, kind=kind)
    with server.client() as one, server.client() as other:
        a = log_in(one, user="a", **{"pass": "a"})
        b = log_in(other, user="b", **{"pass": "b"})
        got = prepare(a, "explicit")
        # One of the same name, which has delivered nothing.
        b.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "file"})
        config = {"durable_name": "C", "ack_policy": "explicit"}
        b.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
        b.ask("s", b"of b")
        before = standing(a), standing(b)
        for word in KINDS[:6]:
            for _, reply, _ in got:
                b.send(reply.decode(), word)
        after = standing(a), standing(b)

    assert after == before
