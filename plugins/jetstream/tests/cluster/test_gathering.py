"""Who is asked together with all others for what it does not have has nothing to say."""

from __future__ import annotations

import pytest
from framework_jetstream.api.asker import Asker
from framework_jetstream.cluster.gathering import is_of_others
from framework_jetstream.meta.assignments import Group, StreamAssignment
from framework_jetstream.meta.fleet import OFFLINE_AFTER_NS, Sighting
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.view import ClusterView
from framework_jetstream.stream.book import StreamBook

HERE, SECOND = "HERE", "SECOND"
SERVER, CLIENT = Asker("A", {"acc": "A"}), Asker("A", {"acc": "A", "user": "u"})
INFO = ("STREAM", "INFO", "S")


@pytest.fixture
def view():
    """Return a server's view of a cluster whose second server has the stream S."""
    view = ClusterView(
        peer=HERE,
        cluster=lambda: "c",
        system_account=lambda: "$SYS",
        now_ns=lambda: OFFLINE_AFTER_NS,
        machine=MetaMachine(HERE, 1),
    )
    assign(view, SECOND)
    view.fleet.hear(SECOND, Sighting(heard_ns=OFFLINE_AFTER_NS))
    return view


def assign(view, *peers):
    group = Group(name="g", peers=peers)
    stream = StreamAssignment(account="A", name="S", created_ns=1, config=b"{}", group=group)
    view.machine.state.put(stream.asset, stream)


@pytest.mark.parametrize(
    ("asker", "tokens", "is_theirs"),
    [
        (SERVER, INFO, True),
        (CLIENT, INFO, False),
        (SERVER, ("STREAM", "INFO", "T"), False),
        (SERVER, ("STREAM", "LIST"), False),
        (SERVER, ("STREAM", "PURGE", "S"), False),
        (SERVER, ("NOTHING",), False),
        (Asker("B", {"acc": "B"}), INFO, False),
    ],
)
def test_only_what_servers_gather_is_left_to_others(view, asker, tokens, is_theirs):
    assert is_of_others(view, StreamBook(), asker, tokens) is is_theirs


def test_who_has_it_too_answers(view):
    assign(view, SECOND, HERE)

    assert not is_of_others(view, StreamBook(), SERVER, INFO)


def test_somebody_says_that_nobody_is_there(view):
    view.fleet.lose(SECOND)

    assert not is_of_others(view, StreamBook(), SERVER, INFO)
