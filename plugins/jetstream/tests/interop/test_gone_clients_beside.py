"""Clients that ask for messages and are gone when they come, beside the real server."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

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
