"""Pull consumers beside the real server's: the same steps, from a seed, lead to the same.

Some things differ, and from then on only what is pending and stored is compared. Behind a purge of
a part the real server lets a consumer stand where the next message is, ours where it was.
Where messages are removed under the policy `all`, the real one takes all before them as
acknowledged, ours only those. What was given up moves its floor only with the next acknowledgement.
No purge follows on -NAK: the real one forgets to deliver again then until the ack wait is over.
Nothing is removed under the policy `last_per_subject`, where the real one's counts are not exact.
"""

from __future__ import annotations

import itertools
import json
import random

import pytest

pytestmark = pytest.mark.interop

SUBJECTS = ["s.a", "s.b", "s.b.c"]
FILTERS = ["", "s.>", "s.*", "s.a", "s.b.*", "none"]
ACKS = [b"", b"+ACK", b"-NAK", b"+TERM", b"+WPI"]
NUMBERS = itertools.count()
"""Of consumers: the real server may bring back the state of one of that name whose stream went."""
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
        "name": f"C{next(NUMBERS)}",
        "ack_policy": rng.choice(["explicit", "explicit", "none", "all"]),
        "deliver_policy": rng.choice(["all", "all", "new", "last", "last_per_subject"]),
        "max_ack_pending": rng.choice([0, 0, 3]),
        "max_deliver": rng.choice([0, 0, 0, 1, 2]),
        "inactive_threshold": 600_000_000_000,
    }
    chosen = rng.choice(FILTERS)
    if config["deliver_policy"] == "last_per_subject":
        chosen = chosen or "s.>"
    if chosen:
        config["filter_subject"] = chosen
    elif rng.random() < 0.3:
        config["filter_subjects"] = ["s.a", "s.b.>"]
    return config


def told(document, *, is_blurred=False):
    """Return what both have to say alike of a consumer."""
    if is_blurred:
        return {"num_pending": document["num_pending"]}
    found = {name: document.get(name) for name in SHOWN}
    for name in ("delivered", "ack_floor"):
        found[name].pop("last_active", None)
    return found


def settled(pair, name, *, is_blurred):
    """Return what both say of both; the real one counts what was stored a moment later."""
    for _ in range(200):
        ours, theirs = (
            (
                told(it.api(f"CONSUMER.INFO.S.{name}"), is_blurred=is_blurred),
                held(it.api("STREAM.INFO.S")),
            )
            for it in pair
        )
        if ours == theirs:
            break
    return ours, theirs


def held(document):
    """Return what both have to say alike of the stream."""
    state = document["state"]
    return {name: state[name] for name in ("messages", "first_seq", "last_seq")}


def without_time(reply):
    """Return where a message is acknowledged, without its time, and how many there were then."""
    return reply.split(b".")[:7]


class Steps:
    """Does the same to a consumer of both servers.

    Args:
        rng: Of the seed.
        pair: Clients of both.
    """

    def __init__(self, rng, pair):
        self.rng = rng
        self.pair = pair
        self.consumer = some_consumer(rng)
        self.name = self.consumer["name"]
        self.waiting = []
        self.is_blurred = self.has_naked = False
        self.is_of_last = self.consumer["deliver_policy"] == "last_per_subject"
        self.last = 0

    def each(self, what, payload=b""):
        return [it.api(what, payload) for it in self.pair]

    def create(self):
        storage = self.rng.choice(["memory", "file"])
        stream = {"name": "S", "subjects": ["s.>"], "storage": storage}
        stream["max_msgs"] = self.rng.choice([0, 0, 8])
        stream["max_msgs_per_subject"] = self.rng.choice([0, 0, 2])
        stream["retention"] = self.rng.choice(["limits", "limits", "interest", "workqueue"])
        if self.is_of_last:
            stream = {name: stream[name] for name in ("name", "subjects", "storage")}
        elif stream["retention"] == "workqueue":
            self.consumer |= {"ack_policy": "explicit", "deliver_policy": "all"}
        elif stream["retention"] == "interest" and self.consumer["ack_policy"] == "all":
            self.consumer["ack_policy"] = "explicit"
        has_limits = stream.get("max_msgs") or stream.get("max_msgs_per_subject")
        self.is_blurred = self.consumer["ack_policy"] == "all" and bool(has_limits)
        if self.consumer["ack_policy"] == "all":
            self.consumer["max_ack_pending"] = 0
        self.each("STREAM.CREATE.S", stream)
        self.publish()
        request = {"stream_name": "S", "config": self.consumer}
        return request, *map(told, self.each(f"CONSUMER.CREATE.S.{self.name}", request))

    def publish(self):
        for _ in range(self.rng.randint(1, 5)):
            subject = self.rng.choice(SUBJECTS)
            for it in self.pair:
                head, body = it.ask(subject, b"x")
                assert body, (head, it is self.pair[0])
                self.last = json.loads(body)["seq"]

    def fetch(self):
        room = self.consumer["max_ack_pending"] or 100
        room -= self.pair[1].api(f"CONSUMER.INFO.S.{self.name}")["num_ack_pending"]
        batch = min(self.rng.randint(1, 5), room)
        if batch < 1:  # the real server would say nothing, ours that there are none
            return None
        mine, theirs = (it.fetch("S", self.name, batch) for it in self.pair)
        replies = zip(mine, theirs, strict=False)
        self.waiting += [(a[1].decode(), b[1].decode()) for a, b in replies if a[1]]
        return batch, *(
            [(it[0], without_time(it[1]), it[2]) for it in got] for got in (mine, theirs)
        )

    def ack(self):
        policy = self.consumer["ack_policy"]
        if not self.waiting or policy == "none":
            return None
        replies = self.waiting.pop(self.rng.randrange(len(self.waiting)))
        word = self.rng.choice(ACKS if policy == "explicit" else ACKS[:2])
        if word == b"-NAK":
            self.has_naked = True
            self.is_blurred = self.is_blurred or self.consumer["max_deliver"] > 0
        for it, reply in zip(self.pair, replies, strict=True):
            it.ask(reply, word)
        return (replies[0], word), None, None

    def purge(self):
        if self.has_naked or self.is_of_last:
            return None
        request = self.rng.choice([
            {},
            {"filter": self.rng.choice(["s.a", "s.>", "s.*"])},
            {"seq": self.rng.randint(1, self.last + 1)},
            {"keep": 2},
        ])
        self.is_blurred = self.is_blurred or bool(request)
        return request, *self.each("STREAM.PURGE.S", request)

    def delete(self):
        if self.is_of_last:
            return None
        self.is_blurred = self.is_blurred or self.consumer["ack_policy"] == "all"
        seq = self.rng.randint(1, self.last)
        return seq, *self.each("STREAM.MSG.DELETE.S", {"seq": seq})


def play(rng, pair):
    """Do some things to both; yield what was done and what they answered."""
    steps = Steps(rng, pair)
    yield ("create", *steps.create())
    for _ in range(40):
        name = rng.choice(["publish", "publish", "fetch", "fetch", "ack", "ack", "delete", "purge"])
        done = getattr(steps, name)()
        if done is not None:
            yield (name, *done)
        yield ("info", name, *settled(pair, steps.name, is_blurred=steps.is_blurred))
    steps.each("STREAM.DELETE.S")


@pytest.mark.parametrize("seed", range(6))
def test_consumers_answer_as_the_real_ones(pair, seed):
    rng = random.Random(seed)
    done = []

    for _ in range(8):
        for what, terms, ours, theirs in play(rng, pair):
            done.append((what, terms))
            assert theirs == ours, (done[-8:], seed)
