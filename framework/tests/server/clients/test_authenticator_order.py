"""The order of authenticators."""

from __future__ import annotations

import pytest

from framework.actors import Reply
from framework.server.clients.authenticator_order import check_order, in_order
from framework.spec import Authenticator
from framework.topology import TopologyErrors, read_server_conf


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return read_server_conf(path)

    return read_text


def named(*names):
    return [Authenticator(name=name, authenticate=lambda _: Reply()) for name in names]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", "abc"),
        ("authenticators: [c, a]", "cab"),
        ("authenticators: b", "bac"),
        ("authenticators: [x, c]", "cab"),
    ],
)
def test_those_not_named_come_last_as_they_were(read, text, order):
    assert [it.name for it in in_order(named(*"abc"), read(text))] == list(order)


def test_a_name_that_nobody_has_stops_the_start_at_its_place(read):
    with pytest.raises(TopologyErrors) as raised:
        check_order(named("a", "b"), read("authenticators: [b, x]"))

    assert str(raised.value).endswith(
        "server.conf:1:17: `authenticators`: there is no x; there are a, b"
    )
    check_order(named("a", "b"), read("authenticators: [b, a]"))


def test_a_name_says_that_somebody_must_log_in(read):
    with pytest.raises(TopologyErrors, match="nobody has to log in"):
        check_order([], read("authenticators: x"))
