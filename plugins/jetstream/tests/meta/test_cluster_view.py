"""What a server says of the cluster of a stream, from what it has heard."""

from __future__ import annotations

from framework_jetstream.meta.assignments import Group, ServerRecord, StreamAssignment
from framework_jetstream.meta.fleet import OFFLINE_AFTER_NS, Sighting
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.meta.view import ClusterView, GroupState

HERE, THERE, GONE = "HERE", "THERE", "GONE"


def view_of(group):
    """Return the view of `HERE`, which leads a stream; `THERE` is there, `GONE` is not."""
    view = ClusterView(
        peer=HERE,
        cluster=lambda: "c",
        system_account=lambda: "$SYS",
        now_ns=lambda: OFFLINE_AFTER_NS,
        machine=MetaMachine(HERE, 1),
    )
    stream = StreamAssignment(account="A", name="S", created_ns=1, config=b"{}", group=group)
    view.machine.state.put(stream.asset, stream)
    for peer in (HERE, THERE, GONE):
        view.machine.state.servers[peer] = ServerRecord(peer=peer, name=peer.lower())
    view.fleet.hear(THERE, Sighting(heard_ns=OFFLINE_AFTER_NS))
    return view, stream.asset


def test_who_is_still_to_be_added_is_shown_as_it_is():
    view, asset = view_of(Group(name="g", peers=(HERE, THERE, GONE)))
    info = view.cluster_of(asset, GroupState(leader=HERE, is_leader=True))

    shown = {it.name: (it.current, bool(it.offline)) for it in info.replicas}
    assert shown == {"there": (False, False), "gone": (False, True)}


def test_who_was_removed_already_is_not_shown():
    view, asset = view_of(Group(name="g", peers=(HERE, THERE, GONE), target=(HERE,)))
    info = view.cluster_of(asset, GroupState(leader=HERE, is_leader=True))

    assert not info.replicas
