from __future__ import annotations

import pytest

from framework.topology import Reload, diff_configs, read_server_conf


@pytest.fixture
def diff(write, schema):
    def diff_texts(old, new):
        return diff_configs(
            read_server_conf(write("old.conf", old), schema),
            read_server_conf(write("new.conf", new), schema),
        )

    return diff_texts


def test_nothing_changes_by_another_spelling(diff):
    assert diff("listen: 127.0.0.1:1\nnet: ::1", "host: ::1\nport: 1").changes == ()


def test_changes_are_sorted_by_what_they_need(diff):
    found = diff("debug: true\nport: 1", "port: 2\nmax_payload: 2048")

    assert [change.path for change in found.live] == ["debug", "max_payload"]
    assert [(change.path, change.old, change.new) for change in found.restart] == [("port", 1, 2)]


def test_changes_inside_a_block(diff):
    found = diff(
        "cluster { port: 1, routes: [nats://a:1], permissions { x: 1 } }",
        "cluster { port: 1, routes: [], permissions { x: 2 }, authorization { user: u } }",
    )

    assert [(change.path, change.reload) for change in found.changes] == [
        ("cluster.routes", Reload.LIVE),
        ("cluster.permissions", Reload.RESTART),
        ("cluster.authorization", Reload.RESTART),
    ]


@pytest.mark.parametrize(("old", "new"), [("", "cluster { port: 1 }"), ("cluster { port: 1 }", "")])
def test_a_block_that_comes_or_goes_is_one_change(diff, old, new):
    (change,) = diff(old, new).changes

    assert (change.path, change.reload) == ("cluster", Reload.RESTART)
    assert (change.old is None) is (old == "")


def test_a_free_block_is_compared_by_what_it_says(diff):
    assert diff("accounts { A {} }", "accounts {\n  A { }\n}").changes == ()
    assert [c.path for c in diff("accounts { A {} }", "accounts { B {} }").changes] == ["accounts"]
