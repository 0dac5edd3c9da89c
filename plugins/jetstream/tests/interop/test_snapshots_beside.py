"""Snapshots by the real CLI between servers of ours and the real one, in all directions."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.interop

SHOWN = (
    *("messages", "bytes", "first_seq", "last_seq", "num_subjects", "num_deleted"),
    "first_ts",
)
PLUGIN = ("-plugin", "framework_jetstream.plugin")
WAYS = [("ours", "2.15.2"), ("2.15.2", "ours"), ("ours", "ours")]


@pytest.fixture
def start(fleet, tmp_path):
    """Return a function that starts a server with JetStream."""

    def go(kind, name):
        plugin = PLUGIN if kind == "ours" else ()
        return fleet.start("-js", "-sd", str(tmp_path / name), *plugin, kind=kind)

    return go


@pytest.fixture
def backup(nats_cli, tmp_path):
    """Return a function that makes a backup, or restores the one that there is."""

    def go(word, server, *names):
        folder = str(tmp_path / "backup")
        nats_cli.run(server.url, "stream", word, *names, folder, "--no-progress")

    return go


def fill(user, *, with_holes):
    """Make a stream with messages of all forms, and consumers that have some of them."""
    stream = {"name": "S", "subjects": ["s.>"], "allow_direct": True}
    user.api("STREAM.CREATE.S", {**stream, "metadata": {"a": "b"}})
    for number in range(40):
        headers = [("Nats-Msg-Id", f"id{number}"), ("X", "y")] if number % 3 == 0 else []
        user.ask(f"s.{number % 4}", b"x" * number * 7, headers)
    for seq in (1, 5, 6, 17, 40) if with_holes else ():
        user.api("STREAM.MSG.DELETE.S", {"seq": seq})
    for config in (
        {"durable_name": "C", "ack_policy": "explicit", "filter_subject": "s.2"},
        {"durable_name": "N", "ack_policy": "none"},
    ):
        user.api(
            f"CONSUMER.CREATE.S.{config['durable_name']}"
            + (f".{config['filter_subject']}" if "filter_subject" in config else ""),
            {"stream_name": "S", "config": config},
        )
    taken = user.fetch("S", "C", 4)
    user.ask(taken[0][1].decode(), b"+ACK")
    user.ask(taken[2][1].decode(), b"+ACK")
    user.fetch("S", "N", 3)


def told(user):
    """Return all that is known of the stream."""
    info = user.api("STREAM.INFO.S", {"deleted_details": True, "subjects_filter": ">"})
    messages = [
        user.api("STREAM.MSG.GET.S", {"seq": seq}).get("message")
        for seq in range(1, info["state"]["last_seq"] + 1)
    ]
    consumers = {}
    for name in ("C", "N"):
        it = user.api(f"CONSUMER.INFO.S.{name}")
        for place in ("delivered", "ack_floor"):
            it.get(place, {}).pop("last_active", None)
        kept = ("config", "delivered", "ack_floor", "num_ack_pending", "num_pending", "error")
        consumers[name] = {field: it.get(field) for field in kept}
    state = {name: info["state"].get(name) for name in (*SHOWN, "deleted", "subjects")}
    return info["config"], state, messages, consumers


@pytest.mark.parametrize("with_holes", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_stream_goes_to_another_server_and_is_the_same(start, log_in, backup, way, with_holes):
    origin, target = start(way[0], "origin"), start(way[1], "target")
    with origin.client() as one, target.client() as other:
        here, there = log_in(one), log_in(other)
        fill(here, with_holes=with_holes)
        backup("backup", origin, "S")
        backup("restore", target)

        assert told(here) == told(there)
        if way[1] == "ours":  # the real one has forgotten its ids
            assert json.loads(there.ask("s.1", b"", [("Nats-Msg-Id", "id36")])[1])["duplicate"]
        assert json.loads(there.ask("s.1", b"new")[1])["seq"] == 41


def test_a_restored_stream_survives_the_end_of_its_server(start, fleet, log_in, backup):
    server = start("ours", "store")
    with server.client() as one:
        user = log_in(one)
        fill(user, with_holes=True)
        backup("backup", server, "S")
        user.api("STREAM.DELETE.S")
        backup("restore", server)
        before = told(user)
    server.kill()
    with fleet.restart(server).client() as one:
        assert told(log_in(one)) == before
