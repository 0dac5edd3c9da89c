"""The machine of the meta group: entries in, effects for one server out.

It never deletes on doubt. Data goes only where an entry removes or moves an asset; what a
snapshot does not mention, or what no entry has ever mentioned, is set aside with the reason.

Size: the cases of one state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from framework_jetstream.meta.assignments import ConsumerAssignment, record_from_bytes
from framework_jetstream.meta.effects import (
    Answer,
    ChangeAsset,
    Outcome,
    ServerPut,
    ServerRemoved,
    StartAsset,
    StopAsset,
    Why,
)
from framework_jetstream.meta.entries import (
    AssignConsumer,
    AssignRestored,
    AssignStream,
    CancelMove,
    Configure,
    FinishMove,
    Move,
    PutServer,
    RemoveServer,
    Scale,
    UnknownEntry,
    envelope_from_bytes,
    name_of,
    operation_from_envelope,
)
from framework_jetstream.meta.held import Held
from framework_jetstream.meta.snapshots import bytes_from_state, state_from_bytes
from framework_jetstream.meta.state import MetaState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework_jetstream.meta.assignments import (
        Asset,
        Assignment,
        Group,
        ServerRecord,
        StreamAssignment,
    )
    from framework_jetstream.meta.effects import Effect
    from framework_jetstream.meta.entries import Operation


_NEWER: Final = "a newer version of the server has changed it"


class MetaMachine:
    """Applies what was committed.

    Args:
        peer: This server's id in groups.
        start: Of this server; a number that no start before had, or 0 where nobody proposes.
    """

    def __init__(self, peer: str, start: int = 0) -> None:
        self.peer = peer
        self.state = MetaState()
        self.held = Held()
        self._start = start
        self._index = 0
        """Of the entry that is being applied."""
        self._effects: list[Effect] = []

    @property
    def is_behind(self) -> bool:
        """Whether entries wait for a newer version: it should not lead."""
        return bool(self.held.entries)

    def is_offline(self, asset: Asset) -> bool:
        """Return whether an asset waits for a newer version."""
        return bool(self.held.entries) and self.held.covers(name_of(asset))

    def runs_here(self, asset: Asset) -> bool:
        """Return whether this server has a replica of an asset, and knows what to do with it."""
        found = self.state.find(asset)
        return found is not None and self._is_mine(found.group) and not self.is_offline(asset)

    def assets_here(self) -> Iterator[tuple[Asset, Assignment]]:
        """Yield what runs here, each stream before its consumers."""
        for asset, found in self.state.assets():
            if self._is_mine(found.group) and not self.is_offline(asset):
                yield asset, found

    def apply(self, index: int, data: bytes) -> list[Effect]:
        """Apply an entry.

        Args:
            index: In the log of the group; the one behind the last. One that is not behind the
                last was applied before, and does nothing.
            data: The entry.
        """
        if index <= self.state.index:
            return []
        self.state.index = index
        self._effects = []
        self._apply(index, data)
        effects, self._effects = self._effects, []
        return effects

    def resume(self) -> list[Effect]:
        """Return what starts all that runs here, when the log has been read."""
        return [_start_of(self.state.index, *it) for it in self.assets_here()]

    def fork(self) -> MetaMachine:
        """Return a machine that stands where this one does, and goes its own way."""
        other = MetaMachine(self.peer, self._start)
        other.state = self.state.fork()
        for it in self.held.entries:
            other.held.add(it.index, it.data, it.about)
        return other

    def snapshot(self) -> bytes:
        """Return the state as bytes."""
        return bytes_from_state(self.state, self.held.entries)

    def restore(self, data: bytes) -> list[Effect]:
        """Go on from a snapshot; return what brings this server there from where it was.

        Raises:
            DamagedSnapshot: Nothing has changed; this server must not lead.
        """
        state, held = state_from_bytes(data)
        before, self.state, self.held = self._running(), state, Held()
        self._effects = []
        for entry in held:
            self._apply(entry.index, entry.data)
        self._effects = [it for it in self._effects if isinstance(it, Answer)]
        self._index = state.index
        self._compare(before)
        effects, self._effects = self._effects, []
        return effects

    # -- one entry -------------------------------------------------------------------------------

    def _apply(self, index: int, data: bytes) -> None:
        self._index = index
        try:
            envelope = envelope_from_bytes(data)
        except msgspec.MsgspecError:
            self._hold(index, data, ((),))
            return
        by = envelope.by
        if self.held.concerns_any(envelope.about):
            self._hold(index, data, envelope.about)
            outcome = Outcome.HELD
        else:
            try:
                outcome = self._carry_out(index, operation_from_envelope(envelope))
            except UnknownEntry:
                self._hold(index, data, envelope.about)
                outcome = Outcome.HELD
        if by.peer == self.peer and by.number and by.start == self._start:
            self._effects.append(Answer(by.number, outcome, index))

    def _hold(self, index: int, data: bytes, about: tuple[tuple[str, ...], ...]) -> None:
        """Keep an entry for a newer version, and stop what it is about."""
        running = self._running()
        self.held.add(index, data, about)
        for asset, found in reversed(running.items()):
            if self.is_offline(asset):
                stop = StopAsset(self._index, asset, found.group.name, Why.OFFLINE, _NEWER)
                self._effects.append(stop)

    def _carry_out(self, index: int, operation: Operation) -> Outcome:
        match operation:
            case PutServer():
                outcome = self._put_server(operation.server)
            case RemoveServer():
                outcome = self._remove_server(operation.peer)
            case AssignStream():
                outcome = self._assign_stream(index, operation.stream)
            case AssignRestored():
                outcome = self._assign_restored(index, operation)
            case AssignConsumer():
                outcome = self._assign_consumer(index, operation)
            case Configure() | Move() | CancelMove():
                outcome = self._change(index, operation)
            case FinishMove():
                outcome = self._finish_move(index, operation)
            case _:
                outcome = self._remove(operation.asset, operation.created_ns)
        return outcome

    def _put_server(self, server: ServerRecord) -> Outcome:
        is_new = server.peer not in self.state.servers
        self.state.servers[server.peer] = server
        self._effects.append(ServerPut(server.peer, is_new))
        return Outcome.DONE

    def _remove_server(self, peer: str) -> Outcome:
        server = self.state.servers.pop(peer, None)
        if server is None:
            return Outcome.GONE
        is_here = peer == self.peer
        self._effects.append(ServerRemoved(peer, server.name, server.cluster, is_here))
        return Outcome.DONE

    def _assign_stream(self, index: int, stream: StreamAssignment) -> Outcome:
        known = self.state.stream(stream.asset)
        if known is not None:
            return _same_or(known, stream)
        self._begin(stream.asset, replace(stream, revision=index))
        return Outcome.DONE

    def _assign_restored(self, index: int, assign: AssignRestored) -> Outcome:
        outcome, asset = self._assign_stream(index, assign.stream), assign.stream.asset
        if outcome is not Outcome.DONE:
            return outcome
        for data in assign.consumers:
            consumer = record_from_bytes(ConsumerAssignment, data)
            found = replace(consumer, revision=index)
            self._begin(asset._replace(consumer=consumer.name), found)
        return outcome

    def _assign_consumer(self, index: int, assign: AssignConsumer) -> Outcome:
        stream = self.state.stream(assign.asset)
        if stream is None or stream.created_ns != assign.stream_created_ns:
            return Outcome.GONE
        known = self.state.find(assign.asset)
        if known is not None:
            return _same_or(known, assign.consumer)
        self._begin(assign.asset, replace(assign.consumer, revision=index))
        return Outcome.DONE

    def _change(self, index: int, change: Configure | Move | CancelMove) -> Outcome:
        found = self.state.find(change.asset)
        if found is None:
            return Outcome.GONE
        if found.revision != change.revision:
            return Outcome.CHANGED
        before, config, level = found.group, found.config, found.level
        group = before
        match change:
            case CancelMove():
                if not before.target:
                    return Outcome.SAME
                config, level = before.config_before, before.level_before
                group = _brought_back(before)
            case Configure():
                if change.target:
                    group = _retargeted(found, change)
                config, level = change.config, change.level
            case Move():
                group = _retargeted(found, change)
        now = replace(found, config=config, level=level, group=group, revision=index)
        if isinstance(change, Scale) and isinstance(now, ConsumerAssignment):
            now = replace(now, replicas=change.replicas)
        reply = change.reply if isinstance(change, Configure) else ""
        self._follow(change.asset, now, before, reply)
        return Outcome.DONE

    def _finish_move(self, index: int, finish: FinishMove) -> Outcome:
        found = self.state.find(finish.asset)
        if found is None or found.created_ns != finish.created_ns:
            return Outcome.GONE
        before = found.group
        if not before.target or before.target != finish.target:
            return Outcome.CHANGED
        cluster = before.target_cluster or before.cluster
        group = replace(_settled(before), peers=before.target, cluster=cluster, is_moved=True)
        self._follow(finish.asset, replace(found, group=group, revision=index), before)
        return Outcome.DONE

    def _remove(self, asset: Asset, created_ns: int) -> Outcome:
        found = self.state.find(asset)
        if found is None or found.created_ns != created_ns:
            return Outcome.GONE
        if not asset.consumer:
            for name, consumer in self.state.consumers(asset).items():
                self._stop_here(asset._replace(consumer=name), consumer, Why.REMOVED)
        self._stop_here(asset, found, Why.REMOVED)
        self.state.drop(asset)
        return Outcome.DONE

    # -- this server -----------------------------------------------------------------------------

    def _is_mine(self, group: Group) -> bool:
        return self.peer in group.hosts

    def _begin(self, asset: Asset, found: Assignment) -> None:
        self.state.put(asset, found)
        if self._is_mine(found.group):
            self._effects.append(_start_of(self._index, asset, found))

    def _stop_here(self, asset: Asset, found: Assignment, why: Why) -> None:
        if self._is_mine(found.group):
            self._effects.append(StopAsset(self._index, asset, found.group.name, why))

    def _follow(self, asset: Asset, found: Assignment, before: Group, reply: str = "") -> None:
        """Put an assignment in place of the one before, and do here what that means."""
        self.state.put(asset, found)
        was_mine, is_mine = self._is_mine(before), self._is_mine(found.group)
        if is_mine and not was_mine:
            self._effects.append(_start_of(self._index, asset, found))
        elif was_mine and not is_mine:
            self._effects.append(StopAsset(self._index, asset, before.name, Why.MOVED))
        elif is_mine:
            self._effects.append(_change_of(asset, found, reply))

    def _running(self) -> dict[Asset, Assignment]:
        """Return what runs here."""
        return dict(self.assets_here())

    def _compare(self, before: dict[Asset, Assignment]) -> None:
        """Say what differs from before a snapshot was taken up."""
        after = self._running()
        for asset, found in reversed(before.items()):
            name = found.group.name
            if asset not in after or after[asset].group.name != name:
                why, detail = self._why_gone(asset, name)
                self._effects.append(StopAsset(self._index, asset, name, why, detail))
        for asset, found in after.items():
            known = before.get(asset)
            if known is None or known.group.name != found.group.name:
                self._effects.append(_start_of(self._index, asset, found))
            elif known.revision != found.revision:
                self._effects.append(_change_of(asset, found))

    def _why_gone(self, asset: Asset, group_name: str) -> tuple[Why, str]:
        """Return why an asset that ran does not run any more."""
        found = self.state.find(asset)
        if found is not None and found.group.name == group_name:
            if self.is_offline(asset):
                return Why.OFFLINE, _NEWER
            return Why.NOT_ASSIGNED, f"other servers have it since index {found.revision}"
        index = self.state.index
        return Why.NOT_ASSIGNED, f"the meta group's snapshot at index {index} does not know it"


def _same_or(known: Assignment, wanted: Assignment) -> Outcome:
    is_same = known.group.name == wanted.group.name and known.created_ns == wanted.created_ns
    return Outcome.SAME if is_same else Outcome.EXISTS


def _settled(group: Group) -> Group:
    return replace(
        group,
        target=(),
        target_cluster="",
        target_created_ns=0,
        config_before=b"",
        level_before=0,
        leaving=(),
    )


def _leaving(group: Group, target: tuple[str, ...]) -> tuple[str, ...]:
    """Return who is to have it no more, but may have been added already.

    They stay until the group has removed them: without them it could have lost its majority.
    """
    return tuple(it for it in group.hosts if it not in group.peers and it not in target)


def _brought_back(group: Group) -> Group:
    """Return a group that is to have who had it when it began to move."""
    leaving = _leaving(group, group.peers)
    if not leaving:
        return _settled(group)
    return replace(group, target=group.peers, target_cluster=group.cluster, leaving=leaving)


def _retargeted(found: Assignment, change: Configure | Move) -> Group:
    group = found.group
    leaving = _leaving(group, change.target)
    if change.target == group.peers and not leaving:
        return replace(_settled(group), preferred=change.preferred)
    is_moving = bool(group.target)
    return replace(
        group,
        target=change.target,
        target_cluster=change.cluster,
        target_created_ns=change.created_ns,
        preferred=change.preferred,
        config_before=group.config_before if is_moving else found.config,
        level_before=group.level_before if is_moving else found.level,
        leaving=leaving,
    )


def _start_of(index: int, asset: Asset, found: Assignment) -> StartAsset:
    group, created_ns = found.group, found.created_ns
    return StartAsset(index, asset, group, created_ns, found.config, found.level, found.asked)


def _change_of(asset: Asset, found: Assignment, reply: str = "") -> ChangeAsset:
    return ChangeAsset(asset, found.group, found.created_ns, found.config, found.level, reply)
