"""The replicated state of the meta group, and how much each of its servers has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from framework_jetstream.api.account_streams import AccountStreams, StreamShape
from framework_jetstream.meta.assignments import Asset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework_jetstream.meta.assignments import (
        Assignment,
        ConsumerAssignment,
        Group,
        ServerRecord,
        StreamAssignment,
    )


class Load(Struct):
    """What is assigned to a server."""

    streams: int = 0
    ha_assets: int = 0
    """Streams and consumers that other servers have as well."""
    memory_bytes: int = 0
    """Reserved by streams in memory."""
    storage_bytes: int = 0


class MetaState:
    """All of it: the same at the same index on each server."""

    def __init__(self) -> None:
        self.index = 0
        """Of the last entry."""
        self.servers: dict[str, ServerRecord] = {}
        """By peer."""
        self._streams: Final[dict[str, dict[Asset, StreamAssignment]]] = {}
        """By account."""
        self._consumers: dict[Asset, dict[str, ConsumerAssignment]] = {}
        self._loads: Final[dict[str, Load]] = {}
        self._kept: Final[dict[str, AccountStreams]] = {}
        """Of accounts that somebody has asked about."""
        self._changed: Final[dict[str, set[str]]] = {}
        """Streams that have changed since then, by account: entries are not read before that."""

    def fork(self) -> MetaState:
        """Return a copy that goes its own way; records are shared, since they never change."""
        other = MetaState()
        other.index = self.index
        other.servers = dict(self.servers)
        for asset, found in self.assets():
            other.put(asset, found)
        return other

    def find(self, asset: Asset) -> Assignment | None:
        """Return an assignment; None: there is none."""
        if asset.consumer:
            return self._consumers.get(asset.of_stream, {}).get(asset.consumer)
        return self._streams.get(asset.account, {}).get(asset)

    def stream(self, asset: Asset) -> StreamAssignment | None:
        """Return the stream of an asset; None: there is none."""
        return self._streams.get(asset.account, {}).get(asset.of_stream)

    def streams(self) -> Iterator[tuple[Asset, StreamAssignment]]:
        """Yield all streams."""
        for streams in self._streams.values():
            yield from streams.items()

    def streams_of(self, account: str) -> Mapping[Asset, StreamAssignment]:
        """Return the streams of an account."""
        return self._streams.get(account, {})

    def account(self, name: str) -> AccountStreams:
        """Return what may be asked of all streams of an account; valid until the next change.

        Cost: that of the changes since the last call, and of all streams for the first one.

        Raises:
            msgspec.MsgspecError: A configuration makes no sense.
        """
        if name not in self._streams:
            return AccountStreams()
        if name not in self._kept:
            self._kept[name] = AccountStreams()
            self._changed[name] = {it.stream for it in self._streams[name]}
        kept, changed = self._kept[name], self._changed[name]
        while changed:
            stream = changed.pop()
            found = self.stream(Asset(name, stream))
            if found is None:
                kept.remove(stream)
            else:
                kept.put(stream, msgspec.json.decode(found.config, type=StreamShape))
        return kept

    def consumers(self, stream: Asset) -> Mapping[str, ConsumerAssignment]:
        """Return the consumers of a stream, by name."""
        return self._consumers.get(stream.of_stream, {})

    def assets(self) -> Iterator[tuple[Asset, Assignment]]:
        """Yield all assignments: each stream before its consumers."""
        for asset, stream in self.streams():
            yield asset, stream
            if consumers := self._consumers.get(asset):
                for name, consumer in consumers.items():
                    yield asset._replace(consumer=name), consumer

    def put(self, asset: Asset, found: Assignment) -> None:
        """Add an assignment, or put it in place of the one that there is."""
        before = self.find(asset)
        if before is not None:
            self._count(asset, before, -1)
        if asset.consumer:
            self._consumers.setdefault(asset.of_stream, {})[asset.consumer] = found  # type: ignore[assignment]
        else:
            streams = self._streams.setdefault(asset.account, {})
            streams[asset] = found  # type: ignore[assignment]
            self._note(asset)
        self._count(asset, found, 1)

    def drop(self, asset: Asset) -> None:
        """Forget an assignment; a stream's consumers too."""
        found = self.find(asset)
        assert found is not None
        self._count(asset, found, -1)
        if not asset.consumer:
            for name in list(self.consumers(asset)):
                self.drop(asset._replace(consumer=name))
            del self._streams[asset.account][asset]
            self._note(asset)
            return
        consumers = self._consumers[asset.of_stream]
        del consumers[asset.consumer]
        if not consumers:
            del self._consumers[asset.of_stream]

    def _note(self, stream: Asset) -> None:
        """Remember that a stream has changed, for who asks about its account."""
        account = stream.account
        if not self._streams[account]:
            del self._streams[account]
            self._kept.pop(account, None)
            self._changed.pop(account, None)
        elif account in self._kept:
            self._changed[account].add(stream.stream)

    def load(self, peer: str) -> Load:
        """Return what is assigned to a server."""
        return self._loads.get(peer) or Load()

    def _count(self, asset: Asset, found: Assignment, by: int) -> None:
        group: Group = found.group
        reserved = getattr(found, "reserved_bytes", 0)
        for peer in group.hosts:
            load = self._loads.setdefault(peer, Load())
            load.streams += by * (not asset.consumer)
            load.ha_assets += by * (len(group.hosts) > 1)
            if group.storage == "memory":
                load.memory_bytes += by * reserved
            else:
                load.storage_bytes += by * reserved
            if load == Load():
                del self._loads[peer]
