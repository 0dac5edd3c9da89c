"""Requests that make no sense: each is answered, and the server goes on."""

from __future__ import annotations

import json
import random

import pytest

NAMES = [
    *("../x", "..\\x", "a/b", "/etc/passwd", "C:", "x" * 256, "x" * 5000, "\u00e9", 'a"b'),
    *("\0", "%s%n", ">", "*", "a.b", " ", ""),
]
NUMBERS = [-1, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**40, 1.5, 1e300, "1", None, True]
FIELDS = [
    *("max_msgs", "max_bytes", "max_age", "max_msg_size", "max_consumers", "num_replicas"),
    *("max_msgs_per_subject", "duplicate_window", "first_seq", "subject_delete_marker_ttl"),
]
CONSUMER_FIELDS = [
    *("ack_wait", "max_deliver", "max_ack_pending", "max_waiting", "max_batch", "max_expires"),
    *("inactive_threshold", "opt_start_seq", "rate_limit_bps", "idle_heartbeat", "num_replicas"),
]


@pytest.fixture
def user(fleet, log_in, tmp_path):
    server = fleet.start(
        *("-js", "-sd", str(tmp_path / "store"), "-plugin", "framework_jetstream.plugin"),
        config="max_payload: 12MB\nmax_pending: 64MB",
    )
    with server.client() as client:
        user = log_in(client)
        stream = {"name": "S", "subjects": ["s.>"], "storage": "memory"}
        user.api("STREAM.CREATE.S", stream)
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "C"}})
        yield user
        assert user.api("STREAM.NAMES")["streams"] == ["S"]


def test_names_of_all_kinds(user):
    for name in NAMES:
        stream = {"name": name, "subjects": ["n"], "storage": "memory"}
        assert "error" in user.api("STREAM.CREATE.X", stream), name
        body = {"stream_name": "S", "config": {"durable_name": name, "name": name}}
        made = user.api("CONSUMER.CREATE.S.X", body)
        assert "error" in made or made["name"] == "X", name
    for name in ("a/b", "..\\x".replace(".", "_"), "x" * 300):
        stream = {"name": name, "subjects": ["n"], "storage": "memory"}
        assert "error" in user.api(f"STREAM.CREATE.{name}", stream)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b'{"config":' * 50_000])
def test_brackets_without_end(user, body):
    for request in ("STREAM.CREATE.S", "CONSUMER.CREATE.S.C", "STREAM.PURGE.S", "STREAM.RESTORE.T"):
        assert "error" in user.api(request, body)
    user.send("$JS.API.CONSUMER.MSG.NEXT.S.C", body)


def test_bodies_of_ten_megabytes(user):
    body = b'{"name":"' + b"x" * 10_000_000 + b'"}'

    for request in ("STREAM.CREATE.S", "STREAM.INFO.S", "STREAM.NAMES", "INFO"):
        assert user.api(request, body)["type"]


def test_numbers_of_streams(user):
    for field in FIELDS:
        for number in NUMBERS:
            stream = {"name": "N", "subjects": ["n"], "storage": "memory", field: number}
            if "error" not in user.api("STREAM.CREATE.N", stream):
                assert user.api("STREAM.INFO.N")["config"]["name"] == "N", (field, number)
                assert user.api("STREAM.DELETE.N")["success"]


def test_numbers_of_consumers(user):
    for field in CONSUMER_FIELDS:
        for number in NUMBERS:
            config = {"name": "N", "ack_policy": "explicit", field: number}
            answer = user.api("CONSUMER.CREATE.S.N", {"stream_name": "S", "config": config})
            if "error" not in answer and field != "inactive_threshold":  # it may have gone already
                assert user.api("CONSUMER.DELETE.S.N")["success"], (field, number)


def test_numbers_in_requests(user):
    fields = (
        *(("STREAM.PURGE.S", "seq"), ("STREAM.PURGE.S", "keep"), ("STREAM.MSG.GET.S", "seq")),
        *(("STREAM.MSG.DELETE.S", "seq"), ("STREAM.NAMES", "offset"), ("STREAM.LIST", "offset")),
        *(("STREAM.INFO.S", "offset"), ("CONSUMER.LIST.S", "offset")),
        ("STREAM.SNAPSHOT.S", "chunk_size"),
    )
    for number in NUMBERS:
        for request, field in fields:
            assert user.api(request, json.dumps({field: number}).encode())["type"]


@pytest.mark.parametrize("seed", range(3))
def test_bytes_by_chance(user, seed):
    chance = random.Random(seed)
    words = [b'{"', b"}", b"[", b'":', b"name", b"config", b"1e9", b"-", b"\\u0000", b"\xff", b","]
    requests = ["STREAM.CREATE.S", "STREAM.UPDATE.S", "CONSUMER.CREATE.S.C", "STREAM.MSG.GET.S"]

    for _ in range(150):
        body = b"".join(chance.choices(words, k=chance.randint(1, 30)))
        assert user.api(chance.choice(requests), body)["type"]
