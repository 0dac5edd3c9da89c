"""Which change brings a group to the servers that are to have it: one at a time, new ones first.

A server that has come learns until it has what the leader has, then it votes; only when all who are
to have the group vote do others leave it, and its leader last of all.

Voters of an even number outlive no more failures than one less, and of two none: so they come in
pairs, as far as they come at all, and a group of one has three voters a moment after it has two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_jetstream.meta.fleet import SILENT_AFTER_NS
from framework_jetstream.raft.records import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework_jetstream.meta.view import GroupState, Member

_NEAR: Final = 256
"""Entries that a learner lacks which votes soon: under load it has all only now and then."""


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
    if learners:
        ready = _next_voter(state, learners)
        return Step(ready.peer, Change.PROMOTE) if ready is not None else Waiting()
    others = [it for it in members if it not in wanted]
    for peer in others:
        if peer != state.leader:
            return Step(peer, Change.REMOVE)
    if others:
        return Step(_most_current(members[it] for it in wanted).peer)
    return Done()


def _next_voter(state: GroupState, learners: Sequence[Member]) -> Member | None:
    """Return which learner votes next; None: none has all, or it is to wait for a second one."""
    near = [it for it in learners if it.match and it.match + _NEAR >= state.commit]
    coming = [it for it in learners if it not in near and it.quiet_ns < SILENT_AFTER_NS]
    is_odd = sum(it.votes for it in state.members) % 2
    if is_odd and coming and len(near) == 1:
        return None
    return next((it for it in near if it.match >= state.commit), None)


def _most_current(members: Iterable[Member]) -> Member:
    return max(members, key=lambda it: it.match)
