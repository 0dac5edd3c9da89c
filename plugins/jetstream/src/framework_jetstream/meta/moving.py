"""Which change brings a group to the servers that are to have it: one at a time, new ones first.

A server that has come learns until it has what the leader has, then it votes; only when all who are
to have the group vote do others leave it, and its leader last of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework_jetstream.raft.records import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework_jetstream.meta.view import GroupState, Member


class Step(Struct, frozen=True):
    """What is due."""

    peer: str
    """Whom it concerns."""
    change: Change | None = None
    """Of the members; None: the peer is to lead."""


class Waiting(Struct, frozen=True):
    """Nothing can be done until a server has caught up."""


class Done(Struct, frozen=True):
    """The members are those that are wanted."""


def next_step(state: GroupState, wanted: Sequence[str]) -> Step | Waiting | Done:
    """Return what is due.

    Args:
        state: Of the group, which this server leads.
        wanted: Peers that are to have it.
    """
    members = {it.peer: it for it in state.members}
    for peer in wanted:
        if peer not in members:
            return Step(peer, Change.ADD_LEARNER)
    learners = [members[it] for it in wanted if not members[it].votes]
    for learner in learners:
        if learner.match >= state.commit:
            return Step(learner.peer, Change.PROMOTE)
    if learners:
        return Waiting()
    others = [it for it in members if it not in wanted]
    for peer in others:
        if peer != state.leader:
            return Step(peer, Change.REMOVE)
    if others:
        return Step(_most_current(members[it] for it in wanted).peer)
    return Done()


def _most_current(members: Iterable[Member]) -> Member:
    return max(members, key=lambda it: it.match)
