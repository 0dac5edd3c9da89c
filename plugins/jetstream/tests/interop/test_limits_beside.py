"""What accounts and servers may store, when messages come, beside the real server."""

from __future__ import annotations

import json
import random

import pytest

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
ACCOUNT = """
jetstream { store_dir: "%s" }
accounts {
  A {
    jetstream { max_mem: 1000, max_store: 1500 }
    users: [{ user: a, password: a }]
  }
}
"""
SERVER = """
jetstream { store_dir: "%s", max_mem: 900, max_file: 1200 }
accounts { A { jetstream: enabled, users: [{ user: a, password: a }] } }
"""


@pytest.fixture
def limited(fleet, log_in, tmp_path):
    """Return a function that returns clients of ours and of a real one with a configuration."""
    open_clients = []

    def start(config):
        found = []
        for kind, more in ((None, PLUGIN), ("2.15.2", ())):
            folder = tmp_path / str(kind)
            chosen = {} if kind is None else {"kind": kind}
            server = fleet.start(*more, config=config % folder, **chosen)
            client = server.client()
            open_clients.append(client)
            found.append(log_in(client, user="a", **{"pass": "a"}))
        return found

    yield start
    for client in open_clients:
        client.close()


@pytest.mark.parametrize("storage", ["memory", "file"])
@pytest.mark.parametrize("config", [ACCOUNT, SERVER])
@pytest.mark.parametrize("seed", range(2))
def test_messages_are_refused_that_are_too_much(limited, storage, config, seed):
    rng = random.Random(f"{seed} limits")
    pair = limited(config)
    for name in ("S", "T"):
        stream = {"name": name, "subjects": [f"{name}.>"], "storage": storage}
        for it in pair:
            assert "error" not in it.api(f"STREAM.CREATE.{name}", stream)

    refused = 0
    for number in range(60):
        name = rng.choice("ST")
        if number % 20 == 19:
            ours, theirs = (it.api(f"STREAM.PURGE.{name}") for it in pair)
        else:
            headers = [("Nats-Msg-Id", str(rng.randint(0, 9)))] if rng.random() < 0.3 else []
            message = f"{name}.a", b"x" * rng.choice([1, 40, 120]), headers
            ours, theirs = (json.loads(it.ask(*message)[1]) for it in pair)
            refused += "error" in theirs
        assert theirs == ours, number
    assert refused


def test_other_limits_count_after_a_reload(fleet, log_in, tmp_path):
    server = fleet.start(*PLUGIN, config=ACCOUNT % tmp_path)
    with server.client() as client:
        ask = log_in(client, user="a", **{"pass": "a"})
        ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
        before = json.loads(ask.ask("s", b"x" * 2000)[1])

        server.reload((ACCOUNT % tmp_path).replace("max_mem: 1000", "max_mem: 5000"))
        ask.api("STREAM.INFO.S")  # goes the same way as the new limits, behind them
        after = json.loads(ask.ask("s", b"x" * 2000)[1])

    assert before["error"]["err_code"] == 10002
    assert after["seq"] == 1
