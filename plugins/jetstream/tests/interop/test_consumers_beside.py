"""Pull consumers beside the real server's: the same steps, from a seed, lead to the same.

Left out: where a consumer stands behind a purge, and what the policy `all` makes of messages that
are removed (the real server takes all before them as acknowledged); counts are exact there too.
"""

from __future__ import annotations

import json
import random

import pytest

pytestmark = pytest.mark.interop

SUBJECTS = ["s.a", "s.b", "s.b.c"]
FILTERS = ["", "s.>", "s.*", "s.a", "s.b.*", "none"]
ACKS = [b"", b"+ACK", b"-NAK", b"+TERM", b"+WPI"]
SHOWN = (
    "delivered",
    "ack_floor",
    "num_ack_pending",
    "num_redelivered",
    "num_waiting",
    "num_pending",
)


def some_consumer(rng):
    config = {
        "name": "C",
        "ack_policy": rng.choice(["explicit", "explicit", "none", "all"]),
        "deliver_policy": rng.choice(["all", "all", "new", "last"]),
        "max_ack_pending": rng.choice([0, 0, 3]),
        "inactive_threshold": 600_000_000_000,
    }
    chosen = rng.choice(FILTERS)
    if chosen:
        config["filter_subject"] = chosen
    elif rng.random() < 0.3:
        config["filter_subjects"] = ["s.a", "s.b.>"]
    return config


def told(document):
    """Return what both have to say alike of a consumer."""
    found = {name: document.get(name) for name in SHOWN}
    for name in ("delivered", "ack_floor"):
        found[name].pop("last_active", None)
    return found


def settled(pair):
    """Return what both say of the consumer; the real one counts what was stored a moment later."""
    for _ in range(200):
        ours, theirs = (told(it.api("CONSUMER.INFO.S.C")) for it in pair)
        if ours == theirs:
            break
    return ours, theirs


def without_time(reply):
    """Return where a message is acknowledged, without its time, and how many there were then."""
    return reply.split(b".")[:7]


def play(rng, pair):
    """Do some things to both; yield what was done and what they answered."""
    stream = {"name": "S", "subjects": ["s.>"], "storage": "memory"}
    consumer = some_consumer(rng)
    if consumer["ack_policy"] != "all":
        stream["max_msgs"] = rng.choice([0, 0, 8])
        stream["max_msgs_per_subject"] = rng.choice([0, 0, 2])
    for it in pair:
        it.api("STREAM.CREATE.S", stream)
    last = 0

    def publish(count):
        for _ in range(count):
            subject = rng.choice(SUBJECTS)
            for it in pair:
                seq = json.loads(it.ask(subject, b"x")[1])["seq"]
        return seq

    last = publish(rng.randint(1, 6))
    request = {"stream_name": "S", "config": consumer}
    yield ("create", request, *(told(it.api("CONSUMER.CREATE.S.C", request)) for it in pair))
    waiting = []
    for _ in range(40):
        kind = rng.choice(["publish", "publish", "fetch", "fetch", "ack", "ack", "delete"])
        if kind == "publish":
            last = publish(rng.randint(1, 4))
        elif kind == "fetch":
            room = request["config"]["max_ack_pending"] or 100
            room -= pair[1].api("CONSUMER.INFO.S.C")["num_ack_pending"]
            batch = min(rng.randint(1, 5), room)
            if batch < 1:  # the real server would say nothing, ours that there are none
                continue
            mine, theirs = (it.fetch("S", "C", batch) for it in pair)
            shown = [
                [(subject, without_time(reply), body) for subject, reply, body in messages]
                for messages in (mine, theirs)
            ]
            yield ("fetch", batch, *shown)
            waiting += [
                (a[1].decode(), b[1].decode()) for a, b in zip(mine, theirs, strict=True) if a[1]
            ]
        elif kind == "ack" and waiting and request["config"]["ack_policy"] != "none":
            replies = waiting.pop(rng.randrange(len(waiting)))
            word = rng.choice(ACKS if request["config"]["ack_policy"] == "explicit" else ACKS[:2])
            for it, reply in zip(pair, replies, strict=True):
                it.ask(reply, word)
            yield ("ack", (replies[0], word), None, None)
        elif kind == "delete" and request["config"]["ack_policy"] != "all":
            seq = rng.randint(1, last)
            answers = [it.api("STREAM.MSG.DELETE.S", {"seq": seq}) for it in pair]
            yield ("delete", seq, *answers)
        yield ("info", kind, *settled(pair))
    for it in pair:
        it.api("STREAM.DELETE.S")


@pytest.mark.parametrize("seed", range(4))
def test_consumers_answer_as_the_real_ones(pair, seed):
    rng = random.Random(seed)
    done = []

    for _ in range(8):
        for what, terms, ours, theirs in play(rng, pair):
            done.append((what, terms))
            assert theirs == ours, (done[-8:], seed)
