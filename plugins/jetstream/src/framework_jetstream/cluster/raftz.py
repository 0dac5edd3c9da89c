"""What `/raftz` and `RAFTZ` show: the Raft groups of a server.

Source: nats-server `monitor.go`, `Raftz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Struct

from framework.spec import InQuery
from framework_jetstream.api.records import StreamState, plain
from framework_jetstream.api.times import ZERO, go_duration, text_from_ns
from framework_jetstream.counts import slices
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.view import group_state
from framework_jetstream.raft.records import Role

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from framework_jetstream.counts import Counts
    from framework_jetstream.meta.view import ClusterView, GroupState
    from framework_jetstream.stream.book import StreamEntry
    from framework_jetstream.stream.census import ConsumerCount, StreamCount

META_NAME: Final = "_meta_"
_STATES: Final = {Role.LEADER: "LEADER", Role.CANDIDATE: "CANDIDATE"}
"""All others follow, for nats-server."""
_AT_ONCE: Final = 16
"""Groups that are shown together: less than a millisecond's work."""


class RaftzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/raftz`."""

    account: Annotated[str, InQuery("acc")] = ""
    """Whose groups; empty: the system account's, which is the meta group."""
    group: str = ""
    """Only that of this name."""


class Raftz:
    """Shows groups by their names.

    Args:
        view: Of the cluster.
        counts: Says how streams and consumers are.
        system_account: In which groups talk.
        name: Of the only one that is shown; empty: all are.
    """

    def __init__(self, view: ClusterView, counts: Counts, system_account: str, name: str) -> None:
        self._view = view
        self._counts = counts
        self._system_account = system_account
        self._name = name

    def meta_group(self) -> dict[str, Any]:
        """Return the meta group, where there is one by now."""
        view = self._view
        return self._group(META_NAME, view.state, view.leader_since_ns) if view.is_founded else {}

    async def groups_of(
        self, streams: Sequence[StreamEntry]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the groups of streams and of their consumers, some at a time."""
        for some in slices(streams, _AT_ONCE):
            shown: dict[str, Any] = {}
            for stream in await self._counts.of_streams(some):
                it = stream.entry
                shown |= self._group_of((it.account, it.config.name, ""), stream)
            yield shown
        for it in streams:
            for consumers in slices(tuple(it.consumers.values()), _AT_ONCE):
                shown = {}
                for consumer in await self._counts.of_consumers(consumers):
                    name = consumer.entry.config.name
                    shown |= self._group_of((it.account, it.config.name, name), consumer)
                yield shown

    def _group_of(
        self, name: tuple[str, str, str], count: StreamCount | ConsumerCount
    ) -> dict[str, Any]:
        if count.group is None:
            return {}
        state = group_state(count.group.numbers, count.group.data)
        return self._group(self._view.group_name(Asset(*name)), state, count.entry.leads_since_ns)

    def _group(self, name: str, state: GroupState, since_ns: int) -> dict[str, Any]:
        if not name or self._name not in {"", name}:
            return {}
        return {name: _shown(self._view, state, since_ns, self._system_account)}


def _shown(
    view: ClusterView, state: GroupState, since_ns: int, system_account: str
) -> dict[str, Any]:
    voters = sum(it.votes for it in state.members) or len(state.members)
    servers = view.machine.state.servers
    peers = {}
    for it in state.members:
        if it.peer == view.peer:
            continue
        server = servers.get(it.peer)
        last = {"last_replicated_index": it.match} if it.match else {}
        quiet_ns = it.quiet_ns if state.is_leader else state.heard_ns
        is_heard = state.is_leader or it.peer == state.leader
        seen = {"last_seen": go_duration(quiet_ns)} if is_heard else {}
        name = server.name if server is not None else it.peer
        peers[it.peer] = {"name": name, "known": True, **last, **seen}
    wal = StreamState(
        messages=max(0, state.last_index - state.first_index + 1),
        bytes=0,
        first_seq=state.first_index,
        first_ts=ZERO,
        last_seq=state.last_index,
        last_ts=ZERO,
        consumer_count=0,
    )
    return {
        "id": view.peer,
        "state": _STATES.get(Role(state.role), "FOLLOWER"),
        "size": voters,
        "quorum_needed": voters // 2 + 1,
        "committed": state.commit,
        "applied": state.applied,
        **({"catching_up": True} if state.is_catching_up else {}),
        **({"faulty": True} if state.is_faulty else {}),
        **({"lost": True} if state.is_lost else {}),
        **({"leader": state.leader} if state.leader else {}),
        **({"leader_since": text_from_ns(since_ns)} if since_ns else {}),
        "ever_had_leader": bool(state.leader or state.term),
        "term": state.term,
        **({"voted_for": state.vote} if state.vote else {}),
        "pterm": state.last_term,
        "pindex": state.last_index,
        "system_account": True,
        "traffic_account": system_account,
        "ipq_proposal_len": 0,
        "ipq_entry_len": 0,
        "ipq_resp_len": 0,
        "ipq_apply_len": 0,
        "wal": plain(wal),
        "peers": peers,
    }
