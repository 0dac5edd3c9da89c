"""The whole plugin, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def server(start_server):
    return start_server("-m", "-1", config="redact { subject: 'orders.>', mark: '****' }")


def exchanged(server, subject, payload):
    """Publish to a subject, and return what a subscriber gets."""
    with server.client() as client:
        client.log_in()
        client.send(b"SUB %b 1\r\nPUB %b %d\r\n%b\r\n" % (subject, subject, len(payload), payload))
        *_, message = client.read_until(b"MSG")
    return message.body


def test_what_matches_is_blotted_out(server):
    payload = b"card 4111111111111111, or 5500005555555559"

    assert exchanged(server, b"orders.new", payload) == b"card ****, or ****"


def test_the_rest_stays_as_it_is(server):
    assert exchanged(server, b"orders.new", b"card 4111") == b"card 4111"
    assert exchanged(server, b"other", b"4111111111111111") == b"4111111111111111"


def test_pluginz_says_what_the_gate_did(server):
    exchanged(server, b"orders.new", b"4111111111111111")
    exchanged(server, b"orders.new", b"nothing")
    plugins = server.document("/pluginz")["plugins"]
    (gate,) = next(it["gates"] for it in plugins if it["name"] == "redact")

    assert (gate["messages"], gate["changed"], gate["passed"]) == (2, 1, 1)
    assert gate["without_verdict"] == "refuse"


def test_a_wrong_pattern_is_refused_with_its_place(tmp_path):
    config = tmp_path / "wrong.conf"
    config.write_text("redact {\n  pattern: '('\n}\n")
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode != 0
    assert "wrong.conf:2" in result.stderr
    assert "is no regular expression" in result.stderr


def test_without_the_block_it_does_nothing(start_server):
    assert exchanged(start_server(), b"orders.new", b"4111111111111111") == b"4111111111111111"
