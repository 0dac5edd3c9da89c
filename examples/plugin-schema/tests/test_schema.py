"""The whole plugin, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ORDER = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["item", "count"],
}


@pytest.fixture
def server(start_server, tmp_path):
    file = tmp_path / "order.json"
    file.write_text(json.dumps(ORDER))
    return start_server(config=f"schema {{ subject: 'orders.*', file: {json.dumps(str(file))} }}")


def heard(server, payload, *, subject=b"orders.new", reply=b""):
    """Publish, and return what came back before the PONG."""
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB %b 1\r\nSUB answers 2\r\n" % subject)
        client.flush()
        client.send(b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(payload), payload))
        return client.flush()


def test_what_fits_arrives(server):
    payload = b'{"item": "tea", "count": 2}'
    (message,) = heard(server, payload)

    assert message.body == payload


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"no JSON", b"Expecting value"),
        (b'{"item": "tea"}', b'"count" is a required property'),
        (b'{"item": "tea", "count": 0}', b"0 is less than the minimum of 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(server, payload, why):
    (error,) = heard(server, payload)
    (answer,) = heard(server, payload, reply=b"answers")

    assert error.line.startswith(b'-ERR \'Permissions Violation for Publish to "orders.new": ')
    assert why in error.line
    assert answer.body.startswith(b"NATS/1.0 422 ")
    assert why in answer.body


def test_other_subjects_need_not_fit(server):
    (message,) = heard(server, b"no JSON", subject=b"other")

    assert message.body == b"no JSON"


def test_a_schema_that_is_none_is_refused_with_its_place(tmp_path):
    (tmp_path / "order.json").write_text('{"type": 7}')
    config = tmp_path / "wrong.conf"
    config.write_text(f"schema {{\n  file: '{tmp_path}/order.json'\n}}\n")
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode != 0
    assert "wrong.conf:2" in result.stderr
    assert "is no JSON schema" in result.stderr
