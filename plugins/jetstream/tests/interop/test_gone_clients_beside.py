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


def settled(client, pending, seq=None):
    """Return where it stands when so much is pending, and `seq` is its own last sequence.

    That is heard a little later.
    """
    found = standing(client)
    for _ in range(LOOKS_MAX):
        is_there = seq in {None, found["delivered"]["consumer_seq"]}
        if found["num_pending"] == pending and is_there and not found["num_waiting"]:
            break
        found = standing(client)
    return found


def publish(client, names, pending=None):
    """Publish messages, and wait until so many of them are pending, all unless it is said.

    The real server stores them before it tells its consumers: until then, there is none.
    """
    for name in names:
        client.ask(f"s.{name}", name.encode())
    settled(client, len(names) if pending is None else pending)


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
        publish(client, "abcbab", 3 if filtered else 6)
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
        publish(client, "abc")
        first = client.fetch("S", "D", 2)
        client.ask(first[1][1].decode(), b"-NAK")
        before = standing(client)
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", {"batch": 1}, GONE)
        after = settled(client, before["num_pending"], 2)
        rest = client.fetch("S", "D", 2)
        told.append((after, numbers_of(first + rest)))

    assert told[1] == told[0]
    assert told[0][1][2][1][4:6] == [b"2", b"2"]


def test_redeliveries_and_new_messages_that_nobody_got_do_not_count(pair):
    told = []
    for client in pair:
        client.api("STREAM.CREATE.S", STREAM)
        client.api("CONSUMER.DURABLE.CREATE.S.D", consumer({"ack_policy": "explicit"}))
        publish(client, "abcde")
        first = client.fetch("S", "D", 3)
        for _, reply, _ in first[1:]:
            client.ask(reply.decode(), b"-NAK")
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", {"batch": 4}, GONE)
        after = settled(client, 2, 3)
        rest = client.fetch("S", "D", 4)
        # In another order: with nats-server the first one that could not be delivered waits again.
        told.append((after, sorted(body for *_, body in first + rest), standing(client)))

    assert told[1] == told[0]


@pytest.mark.parametrize("retention", ["interest", "workqueue"])
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_what_nobody_got_stays_where_nothing_is_acknowledged(pair, retention, storage):
    told = []
    for client in pair:
        wanted = {**STREAM, "retention": retention, "storage": storage}
        client.api("STREAM.CREATE.S", wanted)
        policy = "none" if retention == "interest" else "explicit"
        client.api("CONSUMER.DURABLE.CREATE.S.D", consumer({"ack_policy": policy}))
        publish(client, "abc")
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", {"batch": 2}, GONE)
        after = settled(client, 3)
        left = client.api("STREAM.INFO.S")["state"]["messages"]
        rest = client.fetch("S", "D", 3)
        for _, reply, _ in rest if policy == "explicit" else ():
            client.ask(reply.decode())
        for _ in range(LOOKS_MAX):
            empty = client.api("STREAM.INFO.S")["state"]["messages"]
            if not empty:
                break
        told.append((after, left, numbers_of(rest), empty))

    assert told[1] == told[0]
    assert told[0][1] == 3
    assert told[0][3] == 0


def test_what_nobody_got_is_new_behind_a_restart(fleet, log_in, tmp_path):
    server = fleet.start("-js", "-sd", str(tmp_path), *PLUGIN)
    with server.client() as it:
        client = log_in(it)
        client.api("STREAM.CREATE.S", STREAM)
        client.api("CONSUMER.DURABLE.CREATE.S.D", consumer({"ack_policy": "explicit"}))
        publish(client, "abc")
        inbox, subject = client.listen(), "$JS.API.CONSUMER.MSG.NEXT.S.D"
        for reply in (GONE, inbox):
            client.request(subject, {"batch": 1}, reply)
        got = client.heard(inbox)[1]
        before = settled(client, 2)
    server.stop()
    server = fleet.start("-js", "-sd", str(tmp_path), *PLUGIN)
    with server.client() as it:
        client = log_in(it)
        after = standing(client)
        rest = client.fetch("S", "D", 3)

    assert after == before
    assert (after["num_pending"], after["num_ack_pending"]) == (2, 1)
    # Whether the one who is gone or the other one was first is chance.
    fresh = {b"a": [b"b", b"c"], b"b": [b"a", b"c"]}
    assert [body for *_, body in rest[:2]] == fresh[got]
    assert [reply.split(b".")[4] for _, reply, _ in rest[:2]] == [b"1", b"1"]


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
        publish(user, "abcde")
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
        publish(client, "abcd")
        inbox = client.listen()
        body = {"batch": 9, "no_wait": True, "expires": 60 * 10**9, "idle_heartbeat": 10**8}
        client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", body, inbox)
        told.append([client.heard(inbox) for _ in range(3)])

    assert told[1] == told[0]
    assert told[0][2] == (b"NATS/1.0 404 No Messages\r\n\r\n", b"")


@pytest.mark.parametrize("kind", [None, "2.15.2"])
def test_clients_that_wait_are_told_that_the_server_stops(fleet, log_in, tmp_path, kind):
    more = PLUGIN if kind is None else ()
    server = fleet.start("-js", "-sd", str(tmp_path), *more, **({"kind": kind} if kind else {}))
    with server.client() as it:
        client = log_in(it)
        client.api("STREAM.CREATE.S", STREAM)
        client.api("CONSUMER.DURABLE.CREATE.S.D", consumer({"ack_policy": "explicit"}))
        client.ask("s.a", b"a")
        inboxes = [client.listen() for _ in range(3)]
        asked = [{"batch": 9}, {"batch": 2, "max_bytes": 900}, {}]
        for inbox, body in zip(inboxes, asked, strict=True):
            body["expires"] = 60 * 10**9
            client.request("$JS.API.CONSUMER.MSG.NEXT.S.D", body, inbox)
        payloads = [client.heard(inboxes[0])[1]]
        standing(client)
        server.stop()
        statuses = [client.heard(inbox)[0] for inbox in inboxes]

    pending = b"Nats-Pending-Messages: %d\r\nNats-Pending-Bytes: %d\r\n\r\n"
    assert payloads == [b"a"]
    assert statuses == [
        b"NATS/1.0 409 Server Shutdown\r\n" + pending % it for it in ((8, 0), (2, 900), (0, 0))
    ]
