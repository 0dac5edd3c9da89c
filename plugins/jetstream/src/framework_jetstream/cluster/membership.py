"""Which change of the meta group's members is due: the leader adds servers, one at a time.

A server that has come is a learner until it has what the leader has, and votes then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.raft.records import Change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework_jetstream.meta.view import GroupState


def next_change(state: GroupState, servers: Iterable[str]) -> tuple[Change, str] | None:
    """Return the change that is due, and of whom; None: none.

    Args:
        state: Of the group, which this server leads.
        servers: Peers that are there, and belong to the meta group.
    """
    members = {it.peer: it for it in state.members}
    for peer in sorted(servers):
        known = members.get(peer)
        if known is None:
            return Change.ADD_LEARNER, peer
        if not known.votes and known.match >= state.commit:
            return Change.PROMOTE, peer
    return None
