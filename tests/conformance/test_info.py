"""What a server says of itself in INFO."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from framework.testing import OURS

ALLOWED = tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8"))["info"]


def test_the_fields_that_clients_rely_on(fleet, kind):
    server = fleet.start("--name", "n1", kind=kind)
    with server.client() as client:
        info = client.expect(b"INFO").document

    assert re.fullmatch("N[A-Z2-7]{55}", info["server_id"])
    assert info["server_name"] == "n1"
    assert info["version"] == "2.15.2"
    assert info["proto"] == 1
    assert info["host"] == "127.0.0.1"
    assert info["port"] == server.port
    assert info["headers"] is True
    assert info["max_payload"] == 1_048_576
    assert info["client_ip"] == "127.0.0.1"
    assert info["client_id"] > 0
    assert "auth_required" not in info
    assert "tls_required" not in info


def test_client_ids_rise_and_are_never_used_again(fleet, kind):
    server = fleet.start(kind=kind)
    ids = []
    for _ in range(5):
        with server.client() as client:
            ids.append(client.log_in()["client_id"])

    assert sorted(set(ids)) == ids


def test_it_ends_with_a_blank_before_crlf(fleet, kind):
    """Clients that scan for it do exist."""
    server = fleet.start(kind=kind)
    with server.client() as client:
        line = client.expect(b"INFO ").line

    assert line.endswith(b"} ")


def test_options_show(fleet, kind):
    config = "max_payload: 2048\nclient_advertise: example.test:99\nno_header_support: true\n"
    server = fleet.start(kind=kind, config=config)
    with server.client() as client:
        info = client.expect(b"INFO").document

    assert info["max_payload"] == 2048
    assert (info["host"], info["port"]) == ("example.test", 99)
    assert not info["headers"]


def test_a_payload_without_a_limit(fleet, kind):
    size = 3 * 1024 * 1024
    server = fleet.start(kind=kind, config="max_payload: -1\n")
    with server.client() as client:
        info = client.log_in()
        client.send(b"SUB a 1\r\nPUB a %d\r\n%b\r\n" % (size, b"x" * size))
        message = client.read_until(b"MSG")[-1]

    assert info["max_payload"] == -1
    assert len(message.body) == size


@pytest.mark.peer("2.15.2")
def test_ours_has_the_fields_of_the_real_one(fleet):
    fields = {}
    for kind in (OURS, "2.15.2"):
        with fleet.start(kind=kind).client() as client:
            info = client.expect(b"INFO").document
            fields[kind] = {name: type(value) for name, value in info.items()}
    missing = {entry["field"] for entry in ALLOWED}

    assert missing == fields["2.15.2"].keys() - fields[OURS].keys()
    assert {n: t for n, t in fields["2.15.2"].items() if n not in missing} == fields[OURS]
