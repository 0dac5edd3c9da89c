"""Who gets a replica: placement, asked with what the meta leader knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.saved import words_of_ranges
from framework_jetstream.meta.assignments import Asset, Assignment, ConsumerAssignment
from framework_jetstream.placement.records import NoPlacement
from framework_jetstream.placement.rules import place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework_jetstream.meta.assignments import StreamAssignment
    from framework_jetstream.meta.fleet import Fleet
    from framework_jetstream.meta.state import MetaState
    from framework_jetstream.placement.records import PlacementPolicy, PlacementRequest


class Rules(Struct, frozen=True, kw_only=True):
    """What placement keeps to."""

    unique_tag: str = ""
    ha_assets_max: int = 0
    """Of a server; 0: any number."""
    policy: PlacementPolicy | None = None


def hosts_of(found: Assignment) -> tuple[str, ...]:
    """Return who has an asset, or is to have it."""
    return found.group.target or found.group.peers


class Choices:
    """Chooses servers.

    Args:
        fleet: Who is there.
        rules: Of placement.
        request_of: Returns what a stream asks of placement, without cluster and rules.
    """

    def __init__(
        self,
        fleet: Fleet,
        rules: Rules,
        request_of: Callable[[StreamAssignment], PlacementRequest],
    ) -> None:
        self._fleet = fleet
        self._rules = rules
        self._request_of = request_of
        self._now_ns = 0

    def tell_time(self, now_ns: int) -> None:
        """Say what time it is, by the clock of `Fleet`."""
        self._now_ns = now_ns

    def is_online(self, peer: str) -> bool:
        """Return whether a server is there."""
        return self._fleet.is_online(peer, self._now_ns)

    def _is_heard(self, peer: str) -> bool:
        return self._fleet.is_heard(peer, self._now_ns)

    def place(
        self, state: MetaState, request: PlacementRequest, clusters: Sequence[str]
    ) -> tuple[str, tuple[str, ...]]:
        """Return a cluster, and peers there.

        Raises:
            ApiFailure: There is no place; all that was wrong is said of the last cluster.
        """
        candidates = self._fleet.candidates(state, self._now_ns)
        rules = self._rules
        problem = "no suitable peers for placement"
        for cluster in clusters or [""]:
            asked = replace(
                request,
                cluster=cluster,
                unique_tag=rules.unique_tag,
                ha_assets_max=rules.ha_assets_max,
                ha_cost=int(request.replicas > 1),
            )
            try:
                return cluster, place(asked, candidates, rules.policy)
            except NoPlacement as none:
                problem = str(none)
        raise failure(ErrCode.GENERIC, err=problem)

    def without(
        self, state: MetaState, asset: Asset, found: Assignment, peer: str
    ) -> tuple[str, ...]:
        """Return who has an asset, with another server for one; empty: there is none."""
        hosts = hosts_of(found)
        stay = tuple(it for it in hosts if it != peer)
        if not stay:
            return ()  # what nobody else has can't be had from anybody
        if isinstance(found, ConsumerAssignment):
            stream = state.stream(asset)
            assert stream is not None
            others = [it for it in hosts_of(stream) if it not in hosts]
            return (*stay, *self._fewest_first(state, others)[:1]) if others else ()
        request = replace(
            self._request_of(found), existing=stay, replicas=len(hosts), ignored=(peer,)
        )
        try:
            cluster = found.group.target_cluster or found.group.cluster
            return self.place(state, request, [cluster])[1]
        except ApiFailure:
            return ()

    def evacuated(
        self, state: MetaState, request: PlacementRequest, hosts: Sequence[str], home: str
    ) -> tuple[str, tuple[str, ...]]:
        """Return a cluster, and who is to have a stream there without the first of its servers.

        Args:
            state: What is assigned.
            request: What the stream asks of placement.
            hosts: Who has it; who is to have it no more first.
            home: The cluster that it is in; if no other server can have it there, it goes
                elsewhere as a whole.

        Raises:
            ApiFailure: There is no place.

        Source: nats-server `jetstream_api.go`, `jsLeaderServerStreamMoveRequest`.
        """
        gone, *stay = hosts
        elsewhere = sorted({it.cluster for it in state.servers.values()} - {home})
        try:
            asked = replace(request, existing=tuple(stay), ignored=(gone,))
            return self.place(state, asked, [home])
        except ApiFailure:
            if not elsewhere:
                raise
        return self.place(state, request, elsewhere)

    def peers_of_consumer(
        self,
        state: MetaState,
        stream: StreamAssignment,
        consumer: ConsumerAssignment,
        hosts: Sequence[str],
    ) -> tuple[str, ...]:
        """Return who of a stream's servers has a consumer: those that have it already first."""
        there = hosts_of(stream)
        replicas = min(consumer.replicas or len(there), len(there))
        stay = [it for it in hosts if it in there]
        others = self._fewest_first(state, [it for it in there if it not in stay])
        if replicas == 1 and not stay:
            # Single replicas are no load that is counted: those of one stream are spread.
            many = Counter(it.group.peers[0] for it in state.consumers(stream.asset).values())
            others = tuple(sorted(others, key=lambda it: (not self._is_heard(it), many[it])))
        return (*stay, *others)[:replicas]

    def stopped_without(self, state: MetaState, peer: str) -> list[Asset]:
        """Return streams of which no majority would be there without a server."""
        servers = state.servers
        stopped = []
        for asset, stream in state.streams():
            hosts = hosts_of(stream)
            left = [it for it in hosts if it != peer and it in servers]
            if peer in hosts and self._online(left) < len(hosts) // 2 + 1:
                stopped.append(asset)
        return stopped

    def check_losses(
        self, state: MetaState, asset: Asset, found: Assignment, target: Sequence[str]
    ) -> None:
        """Raise ApiFailure where a whole replica would go, and one stay that is not whole.

        Its group would not let it go either (`raft/_losses.pyx`), but can't say why.
        """
        name, is_whole = found.group.name, self._fleet.is_whole
        peers = found.group.peers
        stay = [it for it in peers if it in target and not is_whole(it, name)]
        gone = [it for it in peers if it not in target and is_whole(it, name)]
        if not stay or not gone:
            return
        faulty, whole = (
            ", ".join(state.servers[it].name if it in state.servers else it for it in some)
            for some in (stay, gone)
        )
        what = " > ".join(filter(None, asset))
        ranges = sorted({run for it in stay for run in self._fleet.lost_at(it, name)})
        which = f" (sequences {words_of_ranges(ranges)})" if ranges else ""
        raise failure(
            ErrCode.GENERIC,
            err=f"something of {what} is lost at {faulty}{which}, and not given back yet: what"
            f" {whole} has of it could be lost with it; ask again when {faulty} is healthy",
        )

    def _online(self, peers: Sequence[str]) -> int:
        return sum(self._fleet.is_online(it, self._now_ns) for it in peers)

    def _fewest_first(self, state: MetaState, peers: Sequence[str]) -> tuple[str, ...]:
        """Return peers, those that are there and have the least to do first."""
        return tuple(
            sorted(
                peers,
                key=lambda it: (
                    not self._is_heard(it),
                    state.load(it).ha_assets,
                    state.load(it).streams,
                    it,
                ),
            )
        )
