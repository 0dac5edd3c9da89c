"""Which change of the meta group's members is due: the leader adds servers, one at a time.

A server that has come is a learner until it has what the leader has, and votes then. One that
belongs to the meta group no more is removed, the leader itself by the next leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.raft.records import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from framework_jetstream.meta.view import GroupState


def next_change(
    state: GroupState, servers: Collection[str], is_online: Callable[[str], bool]
) -> tuple[Change, str] | None:
    """Return the change that is due, and of whom; None: none.

    Args:
        state: Of the group, which this server leads.
        servers: Peers that belong to the meta group.
        is_online: Whether one is there.
    """
    members = {it.peer: it for it in state.members}
    for peer in sorted(members):
        if peer not in servers and peer != state.leader:
            return Change.REMOVE, peer
    for peer in sorted(it for it in servers if is_online(it)):
        known = members.get(peer)
        if known is None:
            return Change.ADD_LEARNER, peer
        if not known.votes and known.match >= state.commit:
            return Change.PROMOTE, peer
    return None
