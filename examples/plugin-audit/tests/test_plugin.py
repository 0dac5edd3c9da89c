"""The whole plugin, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request

import pytest


@pytest.fixture
def file(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture
def server(start_server, file):
    config = f"audit {{ file: {json.dumps(str(file))}, subject: 'orders.>' }}"

    return start_server("-m", "-1", config=config)


@pytest.fixture
def served(server):
    """A server whose one client has come, has published two orders and a report, and has gone."""
    with server.client() as client:
        client.log_in(name="till-1")
        for subject in (b"orders.new", b"orders.paid", b"weather"):
            client.send(b"PUB %b 2\r\nhi\r\n" % subject)
        client.flush()
    return server


def auditz(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}/auditz") as answer:
        return json.load(answer)


def run(*words):
    command = [sys.executable, "-m", "framework", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_file_tells_who_came_and_went(served, file):
    served.stop()

    opened, closed = map(json.loads, file.read_text().splitlines())
    assert (opened["event"], opened["name"], opened["reason"]) == ("opened", "till-1", "")
    assert (closed["event"], closed["cid"], closed["reason"]) == (
        "closed",
        opened["cid"],
        "Client Closed",
    )


def test_the_endpoint_counts_what_the_tap_saw(served, file):
    summary = auditz(served)
    while summary["messages"] < 2 or summary["closed"] < 1:
        summary = auditz(served)

    assert summary == {"file": str(file), "opened": 1, "closed": 1, "messages": 2}


def test_a_request_that_only_the_tap_sees_has_no_responders(server):
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB answers 1\r\nPUB orders.get answers 0\r\n\r\n")
        *_, answer = client.read_until(b"HMSG")

    assert answer.body is not None
    assert answer.body.startswith(b"NATS/1.0 503")


def test_the_command_shows_the_end_of_the_file(served, file):
    served.stop()

    shown = run("audit", "tail", "-n", "1", str(file))

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.rstrip().endswith("till-1 Client Closed")


def test_without_the_block_it_does_nothing(start_server):
    server = start_server("-m", "-1")

    with pytest.raises(urllib.error.HTTPError, match="404"):
        auditz(server)


def test_a_wrong_subject_is_refused_with_its_place(tmp_path):
    config = tmp_path / "wrong.conf"
    config.write_text("audit {\n  subject: 'a..b'\n}\n")

    result = run("serve", "-t", "-c", str(config))

    assert result.returncode != 0
    assert "wrong.conf:2" in result.stderr
    assert "is no subject" in result.stderr


def test_framework_plugins_lists_it():
    assert "audit: framework-audit 0.1.0" in run("plugins").stdout
