"""Clients that ask for messages and are gone when they come, beside the real server."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
STREAM = {"name": "S", "subjects": ["s.*"], "storage": "file"}
GONE = "_INBOX.gone"
LOOKS_MAX = 500


def consumer(more):
    return {"stream_name": "S", "config": {"durable_name": "D", "ack_wait": 60 * 10**9, **more}}


def standing(client):
    """Return where the consumer stands, without the times of it."""
    info = client.api("CONSUMER.INFO.S.D")
    numbers = {name: value for name, value in info.items() if name.startswith("num_")}
    for place in ("delivered", "ack_floor"):
        numbers[place] = {it: info[place][it] for it in ("consumer_seq", "stream_seq")}
    return numbers


def settled(client, pending):
    """Return where it stands when so much is pending, which is heard a little later."""
    found = standing(client)
    for _ in range(LOOKS_MAX):
        if found["num_pending"] == pending and not found["num_waiting"]:
            break
        found = standing(client)
    return found


def numbers_of(got):
    """Return what acknowledgements and payloads of messages say, without their times."""
    return [(subject, reply.split(b".")[:7], body) for subject, reply, body in got]


@pytest.mark.parametrize("policy", ["explicit", "all", "none"])
@pytest.mark.parametrize("filtered", ["", "s.b"])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_what_nobody_got_is_pending_again(pair, policy, filtered, batch):
    told = []
    for client in pair:
        client.api("STREAM.CREATE.S", STREAM)
        more = {"filter_subject": filtered} if filtered else {}
        client.api("CONSUMER.DURABLE.CREATE.S.D", consumer({"ack_policy": policy, **more}))
        for name in "abcbab":
            client.ask(f"s.{name}", name.encode())
        first = client.fetch("S", "D", 1)
        pending = standing(client)["num_pending"]
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", {"batch": batch}, GONE)
        after = settled(client, pending)
        rest = client.fetch("S", "D", pending)
        if policy == "none" and batch > 1:
            # Which message was delivered before several is not remembered.
            del after["delivered"]["stream_seq"], after["ack_floor"]["stream_seq"]
        told.append((pending, after, numbers_of(first + rest), standing(client)))

    assert told[1] == told[0]


@pytest.mark.parametrize("more", [{}, {"max_deliver": 2}, {"max_deliver": 3, "backoff": [10**11]}])
def test_a_redelivery_that_nobody_got_does_not_count(pair, more):
    told = []
    for client in pair:
        client.api("STREAM.CREATE.S", STREAM)
        config = consumer({"ack_policy": "explicit", **more})
        client.api("CONSUMER.DURABLE.CREATE.S.D", config)
        for name in "abc":
            client.ask(f"s.{name}", name.encode())
        first = client.fetch("S", "D", 2)
        client.ask(first[1][1].decode(), b"-NAK")
        before = standing(client)
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", {"batch": 1}, GONE)
        after = settled(client, before["num_pending"])
        rest = client.fetch("S", "D", 2)
        # Ours has counted the delivery that nobody got among those of the consumer.
        for place in ("delivered", "ack_floor"):
            del after[place]["consumer_seq"]
        told.append((after, [numbers_of([it])[0][1][:6] for it in first + rest]))

    assert told[1] == told[0]
    assert told[0][1][2][4:6] == [b"2", b"2"]


@pytest.mark.parametrize("policy", ["explicit", "all", "none"])
def test_a_subscriber_that_leaves_in_the_middle_leaves_the_rest_pending(
    fleet, log_in, tmp_path, policy
):
    server = fleet.start("-js", "-sd", str(tmp_path), *PLUGIN)
    with server.client() as one, server.client() as another:
        user = log_in(one)
        another.log_in()
        user.api("STREAM.CREATE.S", STREAM)
        config = consumer({"ack_policy": policy, "deliver_subject": "d"})
        user.api("CONSUMER.DURABLE.CREATE.S.D", config)
        for name in "abcde":
            user.ask(f"s.{name}", name.encode())
        another.send(b"SUB d 1\r\nUNSUB 1 2\r\n")
        another.flush()
        after = settled(user, 3)
        inbox = user.subscribe("d")
        rest = [user.heard_with_subject(inbox) for _ in range(3)]
        last = settled(user, 0)

    assert after["num_ack_pending"] == (0 if policy == "none" else 2)
    assert after["num_pending"] == 3
    assert after["delivered"] == {"consumer_seq": 2, "stream_seq": 2}
    assert [body for *_, body in rest] == [b"c", b"d", b"e"]
    assert last["num_redelivered"] == 0
    assert last["delivered"] == {"consumer_seq": 5, "stream_seq": 5}


def test_what_does_not_wait_ends_with_a_heartbeat_where_acknowledgements_hold_it(pair):
    told = []
    for client in pair:
        client.api("STREAM.CREATE.S", STREAM)
        config = consumer({"ack_policy": "explicit", "max_ack_pending": 2})
        client.api("CONSUMER.DURABLE.CREATE.S.D", config)
        for name in "abcd":
            client.ask(f"s.{name}", name.encode())
        inbox = client.listen()
        body = {"batch": 9, "no_wait": True, "expires": 60 * 10**9, "idle_heartbeat": 10**8}
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", body, inbox)
        told.append([client.heard(inbox) for _ in range(3)])

    assert told[1] == told[0]
    assert told[0][2] == (b"NATS/1.0 404 No Messages\r\n\r\n", b"")
