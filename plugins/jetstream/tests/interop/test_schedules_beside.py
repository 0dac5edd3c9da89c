"""Messages that are published when their time has come, beside the real server's."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

pytestmark = pytest.mark.interop

_TIMES = re.compile(rb"(Nats-Time-Stamp|Nats-Schedule-Next): [0-9T:.Z-]+")
STORAGES = ["memory", "file"]
PATTERNS = [
    "@at 2099-01-01T00:00:00Z",
    "@every 1h",
    "0 0 * * * *",
    "@daily",
    "@every 1ms",
    "* * * * *",
    "x",
]
HEADERS = [
    ("Nats-Schedule-Target", "s.target"),
    ("Nats-Schedule-Target", "s.a"),
    ("Nats-Schedule-Target", "other"),
    ("Nats-Schedule-Target", "s.*"),
    ("Nats-Schedule-Source", "s.source"),
    ("Nats-Schedule-Source", "s.target"),
    ("Nats-Schedule-Source", "other"),
    ("Nats-Schedule-TTL", "1h"),
    ("Nats-Schedule-TTL", "x"),
    ("Nats-Schedule-Rollup", "sub"),
    ("Nats-Schedule-Rollup", "all"),
    ("Nats-Schedule-Next", "purge"),
    ("Nats-Schedule-Next", "now"),
    ("Nats-Scheduler", "s.a"),
    ("Nats-Scheduler", "s.c"),
    *(("Nats-Schedule-Time-Zone", name) for name in ("UTC", "Europe/Berlin", "no/such", "Local")),
    ("Nats-Rollup", "sub"),
    ("Nats-Rollup", "all"),
    ("X", "y"),
]


def told(document):
    for name in ("created", "ts", "cluster", "domain"):
        document.pop(name, None)
    document.get("message", {}).pop("time", None)
    for name in ("first_ts", "last_ts"):
        document.get("state", {}).pop(name, None)
    return document


def some_message(rng):
    headers = {"Nats-Schedule": rng.choice(PATTERNS)} if rng.random() < 0.7 else {}
    if headers and rng.random() < 0.8:
        headers["Nats-Schedule-Target"] = "s.target"
    for name, value in rng.sample(HEADERS, rng.choice([0, 0, 1, 2])):
        headers.setdefault(name, value)
    return rng.choice(["s.a", "s.b", "s.c"]), b"x", list(headers.items())


@pytest.mark.parametrize("seed", range(6))
def test_schedules_are_judged_as_there(pair, seed):
    rng = random.Random(f"{seed} schedules")

    for _ in range(3):
        config = {
            "name": "S",
            "subjects": ["s.>"],
            "storage": rng.choice(STORAGES),
            "allow_msg_schedules": rng.random() < 0.9,
            "allow_msg_ttl": rng.random() < 0.5,
        }
        ours, theirs = (told(it.api("STREAM.CREATE.S", config)) for it in pair)
        assert theirs == ours
        last = 0
        for _ in range(40):
            message = some_message(rng)
            ours, theirs = (json.loads(it.ask(*message)[1]) for it in pair)
            assert theirs == ours, (seed, message)
            last = max(last, theirs["seq"])
        for seq in range(1, last + 1):
            ours, theirs = (told(it.api("STREAM.MSG.GET.S", {"seq": seq})) for it in pair)
            assert theirs == ours
        for it in pair:
            it.api("STREAM.DELETE.S")


def heard(client, key):
    subject, header, payload = client.heard_with_subject(key)
    return subject, _TIMES.sub(rb"\1: t", header), payload


def scheduled(pair, storage, messages, count):
    """Publish to both; return what the first `count` messages on the target are."""
    keys = []
    for it in pair:
        keys.append(it.subscribe("re.target"))
        config = {
            "name": "S",
            "subjects": ["s.>"],
            "storage": storage,
            "allow_msg_schedules": True,
            "allow_msg_ttl": True,
            "republish": {"src": "s.>", "dest": "re.>"},
        }
        assert "error" not in it.api("STREAM.CREATE.S", config)
        for message in messages:
            assert "error" not in json.loads(it.ask(*message)[1])
    return [[heard(it, key) for _ in range(count)] for it, key in zip(pair, keys, strict=True)]


def soon():
    return (datetime.now(UTC) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("storage", STORAGES)
def test_a_message_is_published_when_its_time_has_come(pair, storage):
    headers = [
        ("Nats-Schedule", f"@at {soon()}"),
        ("Nats-Schedule-Target", "s.target"),
        ("Nats-Schedule-TTL", "5m"),
        ("X", "y"),
        ("Nats-Msg-Id", "one"),
    ]

    ours, theirs = scheduled(pair, storage, [("s.a", b"later", headers)], 1)

    assert theirs == ours
    ours, theirs = (told(it.api("STREAM.INFO.S", {"subjects_filter": ">"})) for it in pair)
    assert theirs == ours


@pytest.mark.parametrize("storage", STORAGES)
def test_a_schedule_publishes_again_and_again_what_its_source_has(pair, storage):
    headers = [
        ("Nats-Schedule", "@every 1s"),
        ("Nats-Schedule-Target", "s.target"),
        ("Nats-Schedule-Source", "s.source"),
    ]
    messages = [("s.source", b"value", [("Unit", "m")]), ("s.a", b"own", headers)]

    ours, theirs = scheduled(pair, storage, messages, 3)

    assert [it[::2] for it in theirs] == [it[::2] for it in ours]
    assert without_last(theirs) == without_last(ours)


def without_last(messages):
    """Return header blocks without sequences, which depend on when they were asked for."""
    return [re.sub(rb"Nats-(Last-)?Sequence: \d+", b"", header) for _, header, _ in messages]


ZONES = ["UTC", "Europe/Berlin", "America/Denver", "Asia/Kolkata", "Australia/Lord_Howe"]
_NEXT = re.compile(rb"Nats-Schedule-Next: ([0-9T:.Z-]+)")


def in_a_moment(zone):
    """Return a cron text that matches in a few seconds, and each day at that time."""
    moment = datetime.now(ZoneInfo(zone)) + timedelta(seconds=4)
    return f"{moment.second} {moment.minute} {moment.hour} * * *"


@pytest.mark.parametrize("storage", STORAGES)
def test_schedules_fire_by_the_clocks_of_their_zone(pair, storage):
    config = {
        "name": "S",
        "subjects": ["s.>"],
        "storage": storage,
        "allow_msg_schedules": True,
        "republish": {"src": "s.target.>", "dest": "re.>"},
    }
    for it in pair:
        assert "error" not in it.api("STREAM.CREATE.S", config)
    keys = [it.subscribe("re.>") for it in pair]
    messages = [
        (
            f"s.{at}",
            zone.encode(),
            [
                ("Nats-Schedule", in_a_moment(zone)),
                ("Nats-Schedule-Time-Zone", zone),
                ("Nats-Schedule-Target", f"s.target.{at}"),
            ],
        )
        for at, zone in enumerate(ZONES)
    ]
    answers = [[it.ask(*message)[1] for message in messages] for it in pair]
    fired = [
        sorted((payload, _NEXT.findall(head)) for _, head, payload in heard_all(it, key))
        for it, key in zip(pair, keys, strict=True)
    ]

    assert answers[1] == answers[0]
    assert fired[1] == fired[0]


def heard_all(client, key):
    return [client.heard_with_subject(key) for _ in ZONES]
