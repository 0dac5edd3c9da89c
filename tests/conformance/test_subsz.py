"""`/subsz` of ours and of the real server, after the same session."""

from __future__ import annotations

import json
import tomllib
import urllib.request
from pathlib import Path

import pytest

from framework.testing import OURS

ALLOWED = tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8"))["subsz"]
SESSION = (
    b"SUB foo 1\r\nSUB foo.* 2\r\nSUB > 3\r\nSUB q.x g 4\r\nSUB q.x g 5\r\nSUB q.x h 6\r\n"
    b"PUB foo 1\r\nx\r\nPUB foo.a 1\r\nx\r\nPUB none.a 1\r\nx\r\nPUB q.x 1\r\nx\r\n"
    b"UNSUB 3\r\nPUB foo 1\r\nx\r\n"
    b"SUB foo 7\r\nUNSUB 7 2\r\nPUB foo 1\r\nx\r\nPUB foo.a 1\r\nx\r\nPUB foo 1\r\nx\r\n"
    b"PUB foo.a 1\r\nx\r\nPUB foo 1\r\nx\r\nSUB foo.* 8\r\nPUB foo 1\r\nx\r\nUNSUB 8\r\n"
)


def ask(server):
    url = f"http://127.0.0.1:{server.monitor_port}/subsz?acc=$G"
    with urllib.request.urlopen(url) as answer:
        document = json.load(answer)
    return {name: value for name, value in document.items() if isinstance(value, int | float)}


@pytest.mark.peer("2.15.2")
def test_counters_rise_as_those_of_the_real_server(fleet):
    rises = {}
    for kind in (OURS, "2.15.2"):
        server = fleet.start(kind=kind, config="http: 127.0.0.1:-1\n")
        with server.client() as client:
            client.log_in()
            before = ask(server)  # the real one has subscriptions of its own
            client.send(SESSION)
            client.flush()
            rises[kind] = {name: value - before[name] for name, value in ask(server).items()}
    differing = [name for name, rise in rises["2.15.2"].items() if rises[OURS].get(name) != rise]

    assert sorted(entry["field"] for entry in ALLOWED) == sorted(differing)
