"""Who may get something new: servers that are there, and vote in the meta group."""

from __future__ import annotations

from framework_jetstream.meta.assignments import ServerRecord
from framework_jetstream.meta.fleet import Fleet, Sighting
from framework_jetstream.meta.state import MetaState

PEERS = ("a", "b", "c")


def known(fleet: Fleet) -> set[str]:
    """Return who is a candidate that placement may take."""
    state = MetaState()
    for peer in PEERS:
        state.servers[peer] = ServerRecord(peer=peer, name=peer, cluster="C")
        fleet.hear(peer, Sighting(heard_ns=1))
    return {it.peer for it in fleet.candidates(state, 2) if it.is_known}


def test_who_does_not_vote_yet_gets_nothing() -> None:
    fleet = Fleet()
    fleet.hear_voters(frozenset("ab"))
    assert known(fleet) == {"a", "b"}
    fleet.hear_voters(frozenset("abc"))
    assert known(fleet) == set(PEERS)


def test_where_some_never_vote_all_get_something() -> None:
    fleet = Fleet()
    fleet.hear_voters(frozenset("a"))
    fleet.hear_voters(None)
    assert known(fleet) == set(PEERS)
