"""What `/raftz` and `RAFTZ` show: the Raft groups of a server.

Source: nats-server `monitor.go`, `Raftz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Struct

from framework.spec import InQuery
from framework_jetstream.api.records import StreamState, plain
from framework_jetstream.api.times import ZERO, go_duration, text_from_ns
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.view import group_state
from framework_jetstream.raft.records import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.meta.view import ClusterView, GroupState
    from framework_jetstream.stream.census import StreamCount

META_NAME: Final = "_meta_"
_STATES: Final = {Role.LEADER: "LEADER", Role.CANDIDATE: "CANDIDATE"}
"""All others follow, for nats-server."""


class RaftzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/raftz`."""

    account: Annotated[str, InQuery("acc")] = ""
    """Whose groups; empty: the system account's, which is the meta group."""
    group: str = ""
    """Only that of this name."""


def raft_groups(
    view: ClusterView, counts: Iterable[StreamCount], system_account: str, options: RaftzOptions
) -> dict[str, Any]:
    """Return the document: account, group, how it is.

    Args:
        view: Of the cluster.
        counts: The streams of this server, with their consumers.
        system_account: In which groups talk.
        options: As asked for.
    """
    account = options.account or system_account
    meta = (META_NAME, view.state, view.leader_since_ns)
    found = [meta] if account == system_account and view.is_founded else []
    mine = [it for it in counts if it.entry.account == account]
    groups = {
        name: _shown(view, state, since_ns, system_account)
        for name, state, since_ns in (*found, *_groups(view, mine))
        if name and options.group in {"", name}
    }
    return {account: groups} if groups else {}


def _groups(
    view: ClusterView, counts: Iterable[StreamCount]
) -> Iterator[tuple[str, GroupState, int]]:
    for count in counts:
        entry = count.entry
        stream = Asset(entry.account, entry.config.name)
        if count.group is not None:
            yield view.group_name(stream), _state_of(count.group), entry.leads_since_ns
        for name, told in count.consumer_groups.items():
            consumer = entry.consumers.get(name)
            since_ns = consumer.leads_since_ns if consumer is not None else 0
            yield view.group_name(stream._replace(consumer=name)), _state_of(told), since_ns


def _state_of(told: EngineAnswer) -> GroupState:
    return group_state(told.numbers, told.data)


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
