"""A stream that is sent away: as an archive, or as a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from framework.wire.subject import is_literal
from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.records import (
    SnapshotRequest,
    StreamExportInfo,
    StreamExportRequest,
    StreamState,
    plain,
)
from framework_jetstream.api.requests import is_empty_request, read
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.stream.message_requests import MessageRequest
from framework_jetstream.stream.shown import state_from_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Component, Reply
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Exchange
    from framework_jetstream.exports.places import Places
    from framework_jetstream.exports.plan import ExportPlan
    from framework_jetstream.host import Host
    from framework_jetstream.snapshots.archive import ArchivedConsumer
    from framework_jetstream.stream.book import StreamEntry


class SnapshotAsked(MessageRequest, Protocol):
    """Who asks for a snapshot."""

    @property
    def asker(self) -> Asker:
        """Named in advisories."""

    @property
    def archived(self) -> tuple[ArchivedConsumer, ...]:
        """Consumers that this server has not."""


class Sending:
    """Begins to send a stream; each request raises ApiFailure.

    Args:
        owner: The actor of the stream, whose children do the rest.
        entry: The stream.
        link: The way to the engine.
        host: The server.
        advisories: Publishes what happens.
        exchange: Takes what is sent.
        places: Of exports and snapshots.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        owner: Component,
        *,
        entry: StreamEntry,
        link: EngineLink,
        host: Host,
        advisories: Advisories,
        exchange: Exchange,
        places: Places,
        clock: Callable[[], int],
    ) -> None:
        self._owner = owner
        self._entry = entry
        self._link = link
        self._host = host
        self._advisories = advisories
        self._exchange = exchange
        self._places = places
        self._clock = clock

    def snapshot(self, request: SnapshotAsked) -> None:
        """Begin to send the stream as an archive."""
        from framework_jetstream.snapshots.archive import (  # noqa: PLC0415 - few streams are sent
            ArchivedConsumer,
        )
        from framework_jetstream.snapshots.consumers import (  # noqa: PLC0415 - the same
            consumer_state,
        )

        if is_empty_request(request.payload):
            raise failure(ErrCode.BAD_REQUEST)
        wanted = read(SnapshotRequest, request.payload, is_strict=self._host.is_strict)
        if not is_literal(wanted.deliver_subject):
            raise failure(ErrCode.SNAPSHOT_DELIVER_SUBJECT_INVALID)
        consumers: list[ArchivedConsumer] = list(request.archived)
        known = {it.config.name for it in request.archived}
        here = [] if wanted.no_consumers else self._entry.consumers.values()
        entries = [it for it in here if it.config.name not in known]

        def take(entry: ConsumerEntry, told: EngineAnswer) -> None:
            if not told.status:
                consumers.append(ArchivedConsumer(entry.config, consumer_state(told)))

        for entry in entries:
            self._link.ask(
                self._owner.actor_ref, Verb.READ_CONSUMER, entry.number, then=partial(take, entry)
            )
        self._ask_state(partial(self._send_snapshot, request, wanted, consumers))

    def _send_snapshot(
        self,
        request: SnapshotAsked,
        wanted: SnapshotRequest,
        consumers: list[ArchivedConsumer],
        told: EngineAnswer,
    ) -> None:
        from framework_jetstream.snapshots.archive import (  # noqa: PLC0415 - as in `snapshot`
            archive_head,
        )
        from framework_jetstream.snapshots.snapshot import (  # noqa: PLC0415 - the same
            Snapshot,
            Target,
            sizes,
        )

        if not self._places.take():
            error = failure(ErrCode.INSUFFICIENT_RESOURCES).error
            request.reply.set(refused("stream_snapshot", error))
            return
        state = state_from_numbers(told.numbers, len(consumers))
        config, account = self._entry.config, self._entry.account
        chunk_bytes, chunks_max = sizes(wanted.chunk_size, wanted.window_size)
        fields = {"config": plain(config), "state": plain(state)}
        request.reply.set(answer("stream_snapshot", fields))
        advised = {"stream": config.name, "state": plain(state), "client": request.asker.client}
        subject = f"STREAM.SNAPSHOT_CREATE.{config.name}"
        self._advisories.say(account, subject, "snapshot_create", advised)
        self._owner.spawn(
            Snapshot,
            stream=config.name,
            number=self._entry.number,
            head=archive_head(state, consumers, self._clock()),
            range_=(state.first_seq, state.last_seq),
            target=Target(
                account=account,
                account_number=self._host.account_number(account),
                subject=wanted.deliver_subject,
                asker=request.asker,
                chunk_bytes=chunk_bytes,
                chunks_max=chunks_max,
            ),
            ack_subject=f"$JS.SNAPSHOT.ACK.{config.name}.{self._advisories.next_id()}",
            link=self._link,
            exchange=self._exchange,
            advisories=self._advisories,
            places=self._places,
            listens=self._host.listens,
            clock=self._clock,
        )

    def export(self, request: MessageRequest) -> None:
        """Begin to send what is asked for as a table."""
        from framework_jetstream.exports.plan import plan_of  # noqa: PLC0415 - few streams are sent

        wanted = read(StreamExportRequest, request.payload, is_strict=self._host.is_strict)

        def begin(told: EngineAnswer) -> None:
            state = state_from_numbers(told.numbers, self._entry.consumer_count)
            try:
                if not self._entry.is_leader and not 0 < wanted.up_to_seq <= state.last_seq:
                    raise failure(ErrCode.CLUSTER_NOT_AVAILABLE)  # who leads may have more
                plan = plan_of(wanted, state, self._host.max_payload())
                if not plan.is_empty and not self._places.take():
                    raise failure(ErrCode.INSUFFICIENT_RESOURCES)
            except ApiFailure as refusal:
                request.reply.set(refused("stream_export", refusal.error))
                return
            self._begin_export(plan, state, request.reply)

        self._ask_state(begin)

    def _begin_export(
        self, plan: ExportPlan, state: StreamState, reply: Reply[bytes | None]
    ) -> None:
        from framework_jetstream.exports.export import Export  # noqa: PLC0415 - as in `export`

        name, id_ = self._entry.config.name, self._advisories.next_id()
        info = StreamExportInfo(
            id="" if plan.is_empty else id_,
            columns=list(plan.table.names),
            first_seq=plan.first_seq,
            last_seq=plan.last_seq,
            max_frame_bytes=plan.frame_bytes,
            window=plan.window,
            created=text_from_ns(self._entry.created_ns),
            state=state,
            server=self._host.name,
        )
        text = answer("stream_export", plain(info))
        if plan.is_empty:
            reply.set(text)
            return
        self._owner.spawn(
            Export,
            number=self._entry.number,
            account=self._host.account_number(self._entry.account),
            subject=f"$JS.API.CONSUMER.MSG.NEXT.{name}.{id_}",
            plan=plan,
            begun=lambda: reply.set(text),
            link=self._link,
            exchange=self._exchange,
            places=self._places,
        )

    def _ask_state(self, then: Callable[[EngineAnswer], object]) -> None:
        self._link.ask(self._owner.actor_ref, Verb.STREAM_STATE, self._entry.number, then=then)
