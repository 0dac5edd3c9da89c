"""Archives that are to be streams of a cluster: who takes them, and what becomes of them.

One server takes an archive as a whole before anything of it is assigned. Then one entry makes a
stream of it, with its consumers, that this server has alone at first; others are added to it as
when a stream is scaled. What goes wrong before leaves nothing.

Source: nats-server `jetstream_cluster.go`, `jsClusteredStreamRestoreRequest`, which assigns first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from framework_jetstream.api.errors import ApiError, ErrCode, api_error, failure
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.cluster.limits import check_stream_shared
from framework_jetstream.cluster.office import asked_of, unplaced
from framework_jetstream.consumer.rules import replicas_of
from framework_jetstream.meta.assignments import (
    ConsumerAssignment,
    StreamAssignment,
    bytes_from_record,
    record_from_bytes,
)
from framework_jetstream.meta.effects import Outcome
from framework_jetstream.meta.letters import NotRestored, Restored, TakeArchive
from framework_jetstream.stream.archives import wanted_restore
from framework_jetstream.stream.rules import check_create

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.office import Office
    from framework_jetstream.cluster.stream_requests import StreamRequests
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.leader import Existing, Proposal


class RestoreRequests:
    """Lets servers take archives, and makes streams of them, as the meta leader.

    Args:
        office: By which it decides.
        streams: Judges whether there is room.
        send: Sends a letter to a peer, also to this one.
    """

    def __init__(
        self,
        office: Office,
        streams: StreamRequests,
        send: Callable[[str, TakeArchive | NotRestored], object],
    ) -> None:
        self._office = office
        self._streams = streams
        self._send = send

    def begin(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let a server take an archive; it answers where that is to be sent."""
        office = self._office
        config = self._wanted(request, found.stream)
        wanted = StreamAssignment(
            account=request.account,
            name=found.stream,
            created_ns=office.clock(),
            config=msgspec.json.encode(config),
            group=unplaced(config.storage),
            asked=asked_of(request),
            reserved_bytes=max(config.max_bytes, 0),
        )
        self._streams.check_room(wanted.asset, config, is_new=True)
        cluster = config.placement.cluster if config.placement else ""
        own = str(request.asker.client.get("cluster") or "")
        planned = office.leader.plan(wanted, [cluster or own])
        peers = planned.group.peers
        here = office.view.peer
        taker = here if here in peers else next(filter(office.view.is_heard, peers), peers[0])
        self._send(taker, TakeArchive(bytes_from_record(planned)))
        office.owed.owe_by(request, found.kind, taker)
        request.reply.set(None)

    def _wanted(self, request: JetStream.ApiRequest, name: str) -> StreamConfig:
        """Return the stream that an archive is to be; raises ApiFailure."""
        office = self._office
        config = wanted_restore(request.payload, name, is_strict=office.host.is_strict)
        check_create(config, is_clustered=True)
        check_stream_shared(config)
        self._streams.check_origins(request.account, config)
        return config

    def take(self, sender: str, letter: Restored) -> None:
        """Let there be what a server has taken, or say that it is not to be.

        Raises:
            msgspec.MsgspecError: The letter makes no sense.
        """
        planned = record_from_bytes(StreamAssignment, letter.stream)
        config = msgspec.json.decode(planned.config, type=StreamConfig)
        consumers = [msgspec.json.decode(it, type=ConsumerConfig) for it in letter.consumers]

        def refuse(error: ApiError) -> None:
            self._send(sender, NotRestored(planned.group.name, error))

        def done(outcome: Outcome | Existing | None) -> None:
            if outcome is Outcome.EXISTS:
                refuse(api_error(ErrCode.STREAM_NAME_EXISTS_RESTORE))

        decide = partial(
            self._adopted, planned, config, consumers, by=sender, is_late=letter.is_late
        )
        self._office.decisions.decide(decide, done, refuse)

    def _adopted(
        self,
        planned: StreamAssignment,
        config: StreamConfig,
        consumers: list[ConsumerConfig],
        *,
        by: str,
        is_late: bool,
    ) -> Proposal | Existing | None:
        """Decide on an archive that is whole; raises ApiFailure."""
        leader = self._office.leader
        known = leader.state.find(planned.asset)
        if known is None or known.group.name != planned.group.name:
            if is_late:
                raise failure(ErrCode.CLUSTER_NOT_AVAILABLE)
            if known is None:
                self._streams.check_room(planned.asset, config, is_new=True)
        alone = msgspec.structs.replace(config, num_replicas=1)
        group = msgspec.structs.replace(planned.group, config_before=msgspec.json.encode(alone))
        assigned = [self._consumer(it, config) for it in consumers]
        whole = msgspec.structs.replace(planned, group=group, asked=None)
        return leader.adopt(whole, by, assigned)

    def _consumer(self, config: ConsumerConfig, stream: StreamConfig) -> ConsumerAssignment:
        is_in_memory = stream.storage == "memory" or config.mem_storage
        return ConsumerAssignment(
            name=config.name,
            created_ns=self._office.clock(),
            config=msgspec.json.encode(config),
            group=unplaced("memory" if is_in_memory else "file"),
            replicas=replicas_of(config, stream),
        )
