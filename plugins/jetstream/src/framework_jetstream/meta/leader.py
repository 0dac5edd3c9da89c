"""What the meta leader decides: requests become entries, complete with who gets what.

It decides on a *forecast*: the state with all that it has proposed already applied. While it
leads, nobody else's entries come between, so what it foresees is what comes, index for index;
when it leads no more, the forecast goes with the office. A new leader begins when it has applied
all entries of the terms before, so none of them can surprise it.

Size: one method for each thing that can be asked of it.

Source: nats-server `jetstream_cluster.go`, `jsClusteredStreamRequest`,
`jsClusteredStreamUpdateRequest`, `jsClusteredConsumerRequest`, `processUpdateStreamAssignment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.meta.assignments import (
    Asset,
    ConsumerAssignment,
    Group,
    StreamAssignment,
    bytes_from_record,
)
from framework_jetstream.meta.choices import Choices, Rules, hosts_of
from framework_jetstream.meta.entries import (
    AssignConsumer,
    AssignRestored,
    AssignStream,
    CancelMove,
    Configure,
    FinishMove,
    Move,
    Origin,
    PutServer,
    Remove,
    RemoveServer,
    Scale,
    bytes_from_operation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from framework_jetstream.meta.assignments import Assignment, ServerRecord
    from framework_jetstream.meta.entries import Operation
    from framework_jetstream.meta.fleet import Fleet
    from framework_jetstream.meta.machine import MetaMachine
    from framework_jetstream.meta.state import MetaState
    from framework_jetstream.placement.records import PlacementRequest

_SHOWN_MAX: Final = 3


class Proposal(Struct, frozen=True):
    """An entry to be proposed, and whose answer waits for it."""

    number: int
    operation: Operation
    data: bytes


class Existing(Struct, frozen=True):
    """What was asked for is there already, just so: its leader answers."""

    asset: Asset


class MetaLeader:
    """Decides while it is in office.

    Args:
        machine: What was applied.
        start: As the machine was given.
        fleet: Who is there.
        rules: Of placement.
        draw: Returns 8 characters that no other group has.
        request_of: Returns what a stream asks of placement, without cluster and rules.
        follow: Returns a consumer as it has to be beside its stream as that is now: itself, or one
            with another number of replicas, and a configuration that says so.
    """

    def __init__(
        self,
        machine: MetaMachine,
        *,
        start: int,
        fleet: Fleet,
        rules: Rules,
        draw: Callable[[], str],
        request_of: Callable[[StreamAssignment], PlacementRequest],
        follow: Callable[
            [StreamAssignment, ConsumerAssignment], ConsumerAssignment
        ] = lambda _, consumer: consumer,
    ) -> None:
        self._machine = machine
        self._start = start
        self._choices = Choices(fleet, rules, request_of)
        self._draw = draw
        self._request_of = request_of
        self._follow = follow
        self._numbers = 0
        self._unix_ns = 0
        self._forecast: MetaMachine | None = None
        self._idle_at: tuple[int, frozenset[str]] | None = None
        """At which index of the state, and with whom there, nothing was to be done."""

    @property
    def is_in_office(self) -> bool:
        """Whether it decides."""
        return self._forecast is not None

    def take_office(self) -> bool:
        """Begin to decide: all entries of earlier terms are applied, and one of this term.

        Returns:
            False: This version does not know all entries, so another server should lead.
        """
        if self._machine.is_behind:
            return False
        self._forecast = self._machine.fork()
        self._idle_at = None
        return True

    def leave_office(self) -> None:
        """Decide no more: another server leads."""
        self._forecast = None

    def proposed(self, proposal: Proposal, index: int) -> None:
        """Take what was proposed for applied, until it is.

        Args:
            proposal: The last decision; there is none between it and this call.
            index: That the log gave it.
        """
        if self._forecast is not None:
            self._forecast.apply(index, proposal.data)

    def follow(self, index: int, data: bytes) -> None:
        """Take up an entry that is applied, where nothing was foreseen."""
        if self._forecast is not None:
            self._forecast.apply(index, data)

    def tell_time(self, now_ns: int, unix_ns: int = 0) -> None:
        """Say what time it is: by the clock of `Fleet`, and since 1970."""
        self._choices.tell_time(now_ns)
        self._unix_ns = unix_ns

    @property
    def state(self) -> MetaState:
        """What will be when all is applied that was proposed."""
        if self._forecast is None:
            raise failure(ErrCode.CLUSTER_NOT_AVAILABLE)
        return self._forecast.state

    # -- streams and consumers -------------------------------------------------------------------

    def create_stream(
        self, wanted: StreamAssignment, clusters: Sequence[str]
    ) -> Proposal | Existing:
        """Decide where a stream goes.

        Args:
            wanted: Its group has a storage, and nothing else.
            clusters: To be tried in this order: that of the configuration, or else the client's
                and those that its gateways lead to.

        Raises:
            ApiFailure: There is another one of that name, or no place.
        """
        known = self.state.find(wanted.asset)
        if known is not None:
            if (known.config, known.level) != (wanted.config, wanted.level):
                raise failure(ErrCode.STREAM_NAME_EXISTS)
            return Existing(wanted.asset)
        cluster, peers = self._choices.place(self.state, self._request_of(wanted), clusters)
        group = self._group("S", peers, wanted.group.storage, cluster)
        return self._propose(AssignStream(replace(wanted, group=group)))

    def plan(self, wanted: StreamAssignment, clusters: Sequence[str]) -> StreamAssignment:
        """Return who is to have a stream whose archive is about to come; nothing is decided yet.

        Args:
            wanted: As of `create_stream`.
            clusters: The same.

        Raises:
            ApiFailure: There is one of that name, or no place.
        """
        if self.state.find(wanted.asset) is not None:
            raise failure(ErrCode.STREAM_NAME_EXISTS_RESTORE)
        cluster, peers = self._choices.place(self.state, self._request_of(wanted), clusters)
        return replace(wanted, group=self._group("S", peers, wanted.group.storage, cluster))

    def adopt(
        self, planned: StreamAssignment, by: str, consumers: Sequence[ConsumerAssignment]
    ) -> Proposal | Existing:
        """Let what one server has taken of an archive be a stream, and be brought to the others.

        Args:
            planned: As `plan` returned it; `config_before` of its group is what it is with one
                replica.
            by: The server.
            consumers: Of the archive; their groups have a storage, and nothing else.

        Raises:
            ApiFailure: There is another one of that name.
        """
        known = self.state.find(planned.asset)
        if known is not None and known.group.name == planned.group.name:
            return Existing(planned.asset)
        if known is not None:
            raise failure(ErrCode.STREAM_NAME_EXISTS_RESTORE)
        stream = replace(planned, group=self._brought(planned.group, by, planned.group.peers))
        found = []
        for it in consumers:
            peers = self._choices.peers_of_consumer(self.state, stream, it, (by,))
            group = self._group("C", peers, it.group.storage, stream.group.cluster)
            group = self._brought(replace(group, config_before=it.config), by, peers)
            found.append(bytes_from_record(replace(it, group=group)))
        return self._propose(AssignRestored(stream, tuple(found)))

    def _brought(self, group: Group, by: str, peers: tuple[str, ...]) -> Group:
        """Return a group that one server has, and that is to be brought to others, if any."""
        if set(peers) == {by}:
            return replace(group, peers=(by,), config_before=b"")
        target = (by, *(it for it in peers if it != by))[: len(peers)]
        return replace(
            group,
            peers=(by,),
            target=target,
            target_cluster=group.cluster,
            target_created_ns=self._unix_ns,
        )

    def create_consumer(self, asset: Asset, wanted: ConsumerAssignment) -> Proposal | Existing:
        """Decide which servers of its stream get a consumer.

        Args:
            asset: Its name.
            wanted: Its group has a storage, and nothing else.

        Raises:
            ApiFailure: There is no such stream, or another consumer of that name.
        """
        stream = self.state.stream(asset)
        if stream is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        known = self.state.find(asset)
        if known is not None:
            if (known.config, known.level) != (wanted.config, wanted.level):
                raise failure(ErrCode.CONSUMER_ALREADY_EXISTS)
            return Existing(asset)
        peers = self._choices.peers_of_consumer(self.state, stream, wanted, ())
        group = self._group("C", peers, wanted.group.storage, stream.group.cluster)
        consumer = replace(wanted, group=group)
        return self._propose(AssignConsumer(asset, stream.created_ns, consumer))

    def configure(self, asset: Asset, config: bytes, level: int, reply: str = "") -> Proposal:
        """Change a configuration that leaves the replicas where they are.

        Args:
            asset: Its name.
            config: As in the assignment.
            level: The same.
            reply: Where who leads it answers, when it is so.

        Raises:
            ApiFailure: There is no such stream or consumer.
        """
        revision = self._find(asset).revision
        change = Configure(asset=asset, revision=revision, config=config, level=level, reply=reply)
        return self._propose(change)

    def scale_consumer(
        self, asset: Asset, config: bytes, replicas: int, order: Sequence[str], reply: str = ""
    ) -> Proposal:
        """Give a consumer more replicas, or fewer, at servers of its stream.

        Args:
            asset: Its name.
            config: As in the assignment; it says so.
            replicas: As in `ConsumerAssignment`.
            order: As in `scale`.
            reply: As in `configure`.

        Raises:
            ApiFailure: There is no such consumer, or it is being moved.
        """
        found = self._scalable(asset)
        assert isinstance(found, ConsumerAssignment)
        order = _led_first(order, found.group)
        change = self._scaled(asset, replace(found, config=config, replicas=replicas), order)
        self._choices.check_losses(self.state, asset, found, change.target or found.group.peers)
        return self._propose(replace(change, reply=reply))

    def _scaled(self, asset: Asset, wanted: ConsumerAssignment, order: Sequence[str]) -> Scale:
        """Return the change of a consumer to one with other replicas, at servers of its stream."""
        stream = self.state.stream(asset)
        assert stream is not None
        target = self._choices.peers_of_consumer(self.state, stream, wanted, order)
        stays = not wanted.group.target and set(target) == set(order)
        return Scale(
            asset=asset,
            revision=wanted.revision,
            config=wanted.config,
            level=wanted.level,
            target=() if stays else target,
            created_ns=self._unix_ns,
            cluster=wanted.group.cluster,
            preferred=_preferred(wanted.group, order),
            replicas=wanted.replicas,
        )

    def scale(self, wanted: StreamAssignment, order: Sequence[str], reply: str = "") -> Proposal:
        """Give a stream more replicas, or fewer.

        Args:
            wanted: With the new configuration.
            order: Peers, as far as they are known: who leads first, whose replica is damaged last.
                The last ones go.
            reply: As in `configure`.

        Raises:
            ApiFailure: There is no such stream, it is being moved, or there is no place.
        """
        found = self._scalable(wanted.asset)
        group = found.group
        order = _led_first(order, group)
        request = replace(self._request_of(wanted), existing=tuple(order))
        cluster, target = self._choices.place(self.state, request, [group.cluster])
        self._choices.check_losses(self.state, wanted.asset, found, target)
        preferred = _preferred(group, order)
        return self._retarget(found, wanted, target, cluster, preferred=preferred, reply=reply)

    def move(self, wanted: StreamAssignment, clusters: Sequence[str], reply: str = "") -> Proposal:
        """Move a stream to where its new placement says.

        Raises:
            ApiFailure: There is no such stream, it is being moved, or there is no place.
        """
        found = self._settled(wanted.asset)
        cluster, target = self._choices.place(self.state, self._request_of(wanted), clusters)
        return self._retarget(found, wanted, target, cluster, reply=reply)

    def evacuate(
        self, asset: Asset, peer: str = "", tags: Sequence[str] = (), reply: str = ""
    ) -> Proposal:
        """Let another server have a stream in place of one: `ACCOUNT.STREAM.MOVE`.

        Args:
            asset: The stream.
            peer: Who is to have it no more; empty: the first of those that have it.
            tags: That new servers must have, beside those of its placement.
            reply: As in `configure`.

        Raises:
            ApiFailure: There is no such stream, the server does not have it, it is being moved,
                or there is no place.
        """
        found = self.state.stream(asset)
        if found is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        hosts = hosts_of(found)
        if peer and peer not in hosts:
            raise failure(ErrCode.CLUSTER_PEER_NOT_MEMBER)
        request = self._request_of(found)
        request = replace(request, tags=(*request.tags, *tags))
        order = (peer or hosts[0], *(it for it in hosts if it != (peer or hosts[0])))
        home = found.group.target_cluster or found.group.cluster
        cluster, target = self._choices.evacuated(self.state, request, order, home)
        self._settled(asset)
        self._choices.check_losses(self.state, asset, found, target)
        return self._retarget(found, found, target, cluster, reply=reply)

    def replace_peer(self, asset: Asset, peer: str) -> Proposal:
        """Let another server have what one has: `STREAM.PEER.REMOVE`.

        Raises:
            ApiFailure: There is no such asset, the server does not have it, or no other can.
        """
        found = self._find(asset)
        if peer not in hosts_of(found):
            raise failure(ErrCode.CLUSTER_PEER_NOT_MEMBER)
        target = self._choices.without(self.state, asset, found, peer)
        if not target:
            raise failure(ErrCode.PEER_REMAP)
        self._choices.check_losses(self.state, asset, found, target)
        return self._move(asset, found, target)

    def cancel_move(self, asset: Asset) -> Proposal:
        """Let who had an asset keep it, and have the configuration that it had.

        Raises:
            ApiFailure: There is no such asset, or it is not being moved.
        """
        found = self._find(asset)
        if not found.group.target:
            raise failure(ErrCode.STREAM_MOVE_NOT_IN_PROGRESS)
        return self._propose(CancelMove(asset=asset, revision=found.revision))

    def finish_move(self, asset: Asset, created_ns: int, members: Sequence[str]) -> Proposal | None:
        """Take up that a group has the members of its target; None: nobody waits for it."""
        found = self.state.find(asset)
        if found is None or found.created_ns != created_ns:
            return None
        target = found.group.target
        if not target or set(target) != set(members):
            return None
        if not asset.consumer and not self._have_followed(asset, target):
            return None
        return self._propose(FinishMove(asset=asset, created_ns=created_ns, target=target))

    def _have_followed(self, stream: Asset, target: Sequence[str]) -> bool:
        """Return whether a stream's consumers are where it goes: else they would lose theirs."""
        consumers = self.state.consumers(stream).values()
        return all(not it.group.target and set(it.group.peers) <= set(target) for it in consumers)

    def remove(self, asset: Asset) -> Proposal:
        """Delete a stream with its consumers, or a consumer.

        Raises:
            ApiFailure: There is none.
        """
        return self._propose(Remove(asset=asset, created_ns=self._find(asset).created_ns))

    def retire(self, asset: Asset, created_ns: int) -> Proposal | None:
        """Delete a consumer that nobody has used for too long; None: that one is gone already."""
        found = self.state.find(asset)
        if found is None or found.created_ns != created_ns:
            return None
        return self._propose(Remove(asset=asset, created_ns=created_ns))

    # -- servers ---------------------------------------------------------------------------------

    def put_server(self, server: ServerRecord) -> Proposal | None:
        """Take up what a server says of itself; None: it is known."""
        if self.state.servers.get(server.peer) == server:
            return None
        return self._propose(PutServer(server))

    def remove_server(self, peer: str, name: str = "") -> Proposal:
        """Let a server belong to the group no more: `SERVER.REMOVE`.

        What only a server that is off had stays assigned to it, and is there again when it comes
        back; what others have too is placed anew, by `duties`.

        Args:
            peer: Its id; empty: `name` says who is meant.
            name: Of the server.

        Raises:
            ApiFailure: There is no such server, or it runs, and streams would stop without it.
        """
        found = peer or next(
            (it.peer for it in self.state.servers.values() if name and it.name == name), ""
        )
        if found not in self.state.servers:
            raise failure(ErrCode.CLUSTER_SERVER_NOT_MEMBER)
        if self._choices.is_online(found) and (
            lost := self._choices.stopped_without(self.state, found)
        ):
            shown = ", ".join(f"{it.account} > {it.stream}" for it in lost[:_SHOWN_MAX])
            more = f" and {len(lost) - _SHOWN_MAX} more" if len(lost) > _SHOWN_MAX else ""
            problem = f"streams would have no majority of their replicas left: {shown}{more}"
            raise failure(ErrCode.GENERIC, err=f"{problem}; scale or move them first")
        for asset, known in self.state.assets():
            others = [it for it in hosts_of(known) if it != found]
            self._choices.check_losses(self.state, asset, known, others)
        return self._propose(RemoveServer(found))

    def duty(self) -> Proposal | None:
        """Return what is to be done next without being asked; None: nothing, as far as is known.

        Cost: that of `duties`, but for when nothing has changed since there was nothing to do.
        """
        state = self.state
        online = frozenset(it for it in state.servers if self._choices.is_online(it))
        if self._idle_at == (state.index, online):
            return None
        found = next(self.duties(), None)
        self._idle_at = (state.index, online) if found is None else None
        return found

    def duties(self) -> Iterator[Proposal]:
        """Yield what is to be done without being asked, one after the other proposed.

        Assets of servers that belong to the group no more go to others; consumers follow their
        stream. It is all read from the state, so a new leader goes on where the last one was.
        """
        for asset, _ in list(self.state.assets()):
            found = self.state.find(asset)
            if change := self._followed(asset, found):
                yield self._propose(change)
                continue
            target = self._due(asset, found) if found is not None else ()
            if found is not None and target and set(target) != set(hosts_of(found)):
                yield self._move(asset, found, target)

    def _followed(self, asset: Asset, found: Assignment | None) -> Scale | None:
        """Return the change that lets a consumer have no more replicas than it may; None: none."""
        if not isinstance(found, ConsumerAssignment) or not found.replicas or found.group.target:
            return None
        stream = self.state.stream(asset)
        assert stream is not None
        wanted = self._follow(stream, found)
        if wanted.replicas == found.replicas:
            return None
        return self._scaled(asset, wanted, found.group.peers)

    def _due(self, asset: Asset, found: Assignment) -> tuple[str, ...]:
        """Return who is to have an asset; empty: who has it, or nobody better."""
        if isinstance(found, ConsumerAssignment):
            stream = self.state.stream(asset)
            assert stream is not None
            return self._choices.peers_of_consumer(self.state, stream, found, hosts_of(found))
        servers = self.state.servers
        gone = [it for it in hosts_of(found) if it not in servers]
        return self._choices.without(self.state, asset, found, gone[0]) if gone else ()

    def _retarget(
        self,
        found: Assignment,
        wanted: StreamAssignment,
        target: tuple[str, ...],
        cluster: str,
        *,
        preferred: str = "",
        reply: str = "",
    ) -> Proposal:
        change = Configure(
            asset=wanted.asset,
            revision=found.revision,
            config=wanted.config,
            level=wanted.level,
            target=target,
            created_ns=self._unix_ns,
            cluster=cluster,
            preferred=preferred,
            reply=reply,
        )
        return self._propose(change)

    # -- decisions -------------------------------------------------------------------------------

    def _propose(self, operation: Operation) -> Proposal:
        self._numbers += 1
        by = Origin(self._machine.peer, self._numbers, self._start)
        return Proposal(self._numbers, operation, bytes_from_operation(operation, by))

    def _move(self, asset: Asset, found: Assignment, target: tuple[str, ...]) -> Proposal:
        revision, now = found.revision, self._unix_ns
        return self._propose(Move(asset=asset, revision=revision, target=target, created_ns=now))

    def _find(self, asset: Asset) -> Assignment:
        found = self.state.find(asset)
        if found is None:
            code = ErrCode.CONSUMER_NOT_FOUND if asset.consumer else ErrCode.STREAM_NOT_FOUND
            raise failure(code)
        return found

    def _settled(self, asset: Asset) -> Assignment:
        found = self._find(asset)
        if found.group.target:
            raise failure(ErrCode.STREAM_MOVE_IN_PROGRESS)
        return found

    def _scalable(self, asset: Asset) -> Assignment:
        """Return what is settled, or is being scaled: who asks may think better of it."""
        found = self._find(asset)
        peers, target = set(found.group.peers), set(found.group.target)
        return found if peers <= target or target <= peers else self._settled(asset)

    def _group(self, letter: str, peers: tuple[str, ...], storage: str, cluster: str) -> Group:
        kind = storage[0].upper()
        name = f"{letter}-R{len(peers)}{kind}-{self._draw()}"
        return Group(
            name=name,
            peers=peers,
            storage="memory" if storage == "memory" else "file",
            cluster=cluster,
        )


def _led_first(order: Sequence[str], group: Group) -> list[str]:
    """Return who has a group or is to have it, in an order as of `scale`."""
    peers = dict.fromkeys((*(group.target or group.peers), *group.hosts))
    first = [it for it in order if it in peers]
    return [*first, *(it for it in peers if it not in first)]


def _preferred(group: Group, order: Sequence[str]) -> str:
    """Return who is to lead a group that is scaled: who has it alone."""
    if group.target:
        return group.preferred
    return order[0] if len(order) == 1 else ""
