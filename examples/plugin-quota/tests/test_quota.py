"""The whole plugin, in a real server; the fixtures are those of `framework.testing`."""

from __future__ import annotations

import subprocess
import sys

import pytest

CONFIG = """
http: "127.0.0.1:-1"
quota {{
  rules: [
    {{ name: all, per: user, messages: 1, burst_messages: 1000 }}
    {{ name: orders, per: address, subject: "orders.>", messages: 1, burst_messages: {burst},
       over: refuse }}
    {{ name: elsewhere, address: "10.0.0.0/8", messages: 1 }}
  ]
}}
"""


@pytest.fixture
def server(start_server):
    return start_server(config=CONFIG.format(burst=3))


def passed(server, subject, count):
    """Publish so often, and return how many messages came through and how many errors."""
    with server.client() as client:
        client.log_in()
        client.send(b"SUB > 1\r\n" + b"PUB %b 0\r\n\r\n" % subject * count)
        verbs = [it.verb for it in client.flush()]
    return verbs.count(b"MSG"), verbs.count(b"-ERR")


def rows(server):
    return {it["name"]: it for it in server.document("/quotaz")["quotas"]}


def test_what_is_over_a_rule_is_refused_and_the_rest_passes(server):
    got, errors = passed(server, b"orders.new", 50)

    assert 3 <= got < 10
    assert errors == 1
    assert passed(server, b"other", 50) == (50, 0)


def test_quotaz_shows_who_is_under_which_rule(server):
    with server.client() as client:
        client.log_in()
        client.flush()
        found = rows(server)

    assert set(found) == {"all", "orders"}
    assert (found["orders"]["who"], found["orders"]["subject"]) == ("127.0.0.1", "orders.>")
    assert (found["all"]["per"], found["all"]["connections"]) == ("user", 1)


def test_a_reload_changes_the_rules_of_who_is_connected(server):
    with server.client() as client:
        client.log_in()
        client.flush()
        server.reload(CONFIG.format(burst=40))

        assert rows(server)["orders"]["burst_messages"] == 40


def test_a_wrong_rule_is_refused_with_its_place(tmp_path):
    config = tmp_path / "wrong.conf"
    config.write_text("quota {\n  rules: [{ name: a, messages: 1, address: nowhere }]\n}\n")
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode != 0
    assert "wrong.conf:2" in result.stderr
    assert "nowhere" in result.stderr


def test_without_the_block_nobody_is_measured(start_server):
    assert passed(start_server(), b"orders.new", 50) == (50, 0)
