"""What the meta group has, told by lists: each entry is looked at from the beginning."""

from __future__ import annotations

from framework_jetstream.meta import entries
from msgspec import Struct, field

_METHODS = {
    "Remove": "remove",
    "FinishMove": "finish_move",
    "CancelMove": "cancel_move",
    "Move": "move",
    "Configure": "configure",
    "Scale": "scale",
}


class Held(Struct):
    """An asset."""

    name: str
    created_ns: int
    config: bytes
    peers: tuple
    target: tuple
    before: bytes
    revision: int
    replicas: int = 0
    """That a consumer is to have; 0: as many as its stream."""
    added: set = field(default_factory=set)
    """Who was to have it since it began to move: they may be members of its group."""

    @property
    def hosts(self):
        return {*self.peers, *self.target, *self.added}

    def aim(self, target):
        """Let others be who is to have it; nobody waits where nobody was added."""
        self.added |= set(self.target)
        if target == self.peers and self.added <= set(self.peers):
            self.settle(self.peers)
        else:
            self.before, self.target = self.before or self.config, target

    def settle(self, peers):
        """Let these have it, and nobody else."""
        self.peers, self.target, self.before, self.added = peers, (), b"", set()


class MetaModel:
    def __init__(self):
        self.assets = {}
        self.servers = set()
        self.gone = {}
        """By group and peer: the index at which an entry said that its data may go."""

    def apply(self, index, data):
        if not data:
            return
        it = entries.operation_from_envelope(entries.envelope_from_bytes(data))
        before = {found.name: set(found.hosts) for found in self.assets.values()}
        self.carry_out(index, it)
        after = {found.name: set(found.hosts) for found in self.assets.values()}
        for name, hosts in before.items():
            for peer in hosts - after.get(name, set()):
                self.gone[name, peer] = index

    def carry_out(self, index, it):
        word = type(it).__name__
        if word == "PutServer":
            self.servers.add(it.server.peer)
        elif word == "RemoveServer":
            self.servers.discard(it.peer)
        elif word == "AssignStream":
            self.put(index, it.stream.asset, it.stream)
        elif word == "AssignConsumer":
            stream = self.assets.get(it.asset.of_stream)
            if stream and stream.created_ns == it.stream_created_ns:
                self.put(index, it.asset, it.consumer)
        elif found := self.assets.get(it.asset):
            if word in {"Remove", "FinishMove"} and found.created_ns != it.created_ns:
                return
            if (
                word in {"Configure", "Scale", "Move", "CancelMove"}
                and found.revision != it.revision
            ):
                return
            getattr(self, _METHODS[word])(index, found, it)

    def put(self, index, asset, wanted):
        if asset not in self.assets:
            group = wanted.group
            self.assets[asset] = Held(
                group.name, wanted.created_ns, wanted.config, group.peers, (), b"", index
            )
            self.assets[asset].replicas = getattr(wanted, "replicas", 0)

    def remove(self, index, found, it):
        for asset in [*self.assets]:
            if asset[: 3 if it.asset.consumer else 2] == it.asset[: 3 if it.asset.consumer else 2]:
                del self.assets[asset]

    def finish_move(self, index, found, it):
        if found.target and found.target == it.target:
            found.settle(it.target)
            found.revision = index

    def cancel_move(self, index, found, it):
        if found.target:
            found.config = found.before
            found.aim(found.peers)
            found.revision = index

    def move(self, index, found, it):
        found.aim(it.target)
        found.revision = index

    def configure(self, index, found, it):
        if it.target:
            self.move(index, found, it)
        found.config, found.revision = it.config, index

    def scale(self, index, found, it):
        self.configure(index, found, it)
        found.replicas = it.replicas

    def compare(self, state, demand):
        demand(set(state.servers) == self.servers, "servers")
        theirs = {
            asset: (
                *(it.group.name, it.config, it.group.peers, it.group.target, it.revision),
                getattr(it, "replicas", 0),
            )
            for asset, it in state.assets()
        }
        ours = {
            asset: (it.name, it.config, it.peers, it.target, it.revision, it.replicas)
            for asset, it in self.assets.items()
        }
        demand(theirs == ours, f"{theirs} is not {ours}")
        for peer in {*self.servers, *(p for it in self.assets.values() for p in it.hosts)}:
            mine = [(asset, it) for asset, it in self.assets.items() if peer in it.hosts]
            load = state.load(peer)
            demand(load.streams == sum(not asset.consumer for asset, _ in mine), "streams")
            demand(load.ha_assets == sum(len(it.hosts) > 1 for _, it in mine), "assets")
