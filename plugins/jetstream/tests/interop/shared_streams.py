"""Streams with messages of all forms on servers that share them, and all that is known of one."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count

from plugins.jetstream.tests.interop.shared_clusters import until

SHOWN = (
    *("messages", "bytes", "first_seq", "last_seq", "num_subjects", "num_deleted", "deleted"),
    *("subjects", "consumer_count"),
)


LOOKS_A_REQUEST = 25
"""So often it is looked who leads before it is asked again to step down."""


def made(api, what, wanted):
    """Make something; a real cluster does not know all its servers at once."""

    def ask():
        said = api(what, wanted)
        return said if said.get("error", {}).get("err_code") != 10005 else None

    found = until(ask)
    assert "error" not in found, found
    return found


def stored(api, subject, payload, number):
    """Store a message, as often as need be; return its sequence."""

    def ask():
        with suppress(TimeoutError):
            headers = [("Nats-Msg-Id", f"id{number}"), ("X", "y")] if number % 3 == 0 else []
            return json.loads(api.requests.ask(subject, payload, headers)[1] or b"{}").get("seq")
        return None

    return until(ask)


def fill(api, name, *, keep_one=True, **config):
    """Make a stream with messages of all forms, and consumers that have some of them.

    With `keep_one`, also a consumer with one replica. Return the names of consumers.
    """
    wanted = {"name": name, "subjects": [f"{name}.>"], "metadata": {"a": "b"}, **config}
    made(api, f"STREAM.CREATE.{name}", wanted)
    for number in range(30):
        stored(api, f"{name}.{number % 4}", b"x" * number * 7, number)
    is_queue = config.get("retention") == "workqueue"
    for seq in () if is_queue else (1, 5, 6, 17, 30):
        assert api(f"STREAM.MSG.DELETE.{name}", {"seq": seq})["success"]
    more = {"filter_subject": f"{name}.2"}
    explicit = {"durable_name": "C", "ack_policy": "explicit", "ack_wait": 10**12, **more}
    consumers = [explicit]
    if not is_queue:
        consumers.append({"durable_name": "N", "ack_policy": "none"})
    if keep_one and not is_queue:
        consumers.append({"durable_name": "ONE", "ack_policy": "explicit", "num_replicas": 1})
    for it in consumers:
        where = f"{name}.{it['durable_name']}" + (f".{name}.2" if "filter_subject" in it else "")
        made(api, f"CONSUMER.CREATE.{where}", {"stream_name": name, "config": it})
    taken = pulled(api, name, "C", 4)
    for at in (0, 2):
        api.requests.ask(taken[at][1].decode(), b"+ACK")
    if not is_queue:
        pulled(api, name, "N", 3)
    if keep_one and not is_queue:
        pulled(api, name, "ONE", 2)
    return [it["durable_name"] for it in consumers]


def pulled(api, name, consumer, count):
    """Return what a pull brings, as soon as that is so much."""

    def ask():
        with suppress(TimeoutError):
            got = [it for it in api.requests.fetch(name, consumer, count) if it[1]]
            return got if len(got) == count else None
        return None

    return until(ask)


def told(api, name, consumers):
    """Return all that is known of a stream."""
    info = api(f"STREAM.INFO.{name}", {"deleted_details": True, "subjects_filter": ">"})
    messages = [
        api(f"STREAM.MSG.GET.{name}", {"seq": seq}).get("message")
        for seq in range(1, info["state"]["last_seq"] + 1)
    ]
    found = {}
    for consumer in consumers:
        it = api(f"CONSUMER.INFO.{name}.{consumer}")
        for place in ("delivered", "ack_floor"):
            it.get(place, {}).pop("last_active", None)
        kept = ("config", "delivered", "ack_floor", "num_ack_pending", "num_pending", "error")
        found[consumer] = {field: it.get(field) for field in kept}
    state = {field: info["state"].get(field) for field in SHOWN}
    return info["config"], state, messages, found


def step_down(api, what, name):
    """Let another server lead a `STREAM` or `CONSUMER`; if nobody takes over, ask again."""
    before = until(lambda: led_by(api, what, name))
    looks = count()

    def has_moved():
        now = led_by(api, what, name)
        # A real server that is asked all the time is elected again, before others have caught up.
        if now == before and next(looks) % LOOKS_A_REQUEST == 0:
            api(f"{what}.LEADER.STEPDOWN.{name}")
        return now and now != before

    until(has_moved)


def led_by(api, what, name):
    """Return who leads; nothing, if nobody does now."""
    return (api(f"{what}.INFO.{name}").get("cluster") or {}).get("leader")


def is_whole(api, name, replicas):
    """Whether a stream has all its replicas, and they have all of it."""
    cluster = api(f"STREAM.INFO.{name}")["cluster"]
    others = cluster.get("replicas") or []
    is_current = all(it.get("current") for it in others)
    return "desired" not in cluster and len(others) == replicas - 1 and is_current
