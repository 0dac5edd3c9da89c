"""The API of a cluster: whose affair a request is, and what the meta leader says to it.

What a stream's or consumer's leader is asked goes on to the actors that answer it alone, too.

Size: one handler for each request that the meta leader answers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from framework.actors import Reply
from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.answers import LIST_MAX, NAMES_MAX, SYSTEM, answer, page, refused
from framework_jetstream.api.errors import ApiFailure, ErrCode, api_error, failure
from framework_jetstream.api.forms import check_before_all
from framework_jetstream.api.records import (
    ConsumerConfig,
    ConsumerPauseRequest,
    PagedRequest,
    StreamConfig,
    StreamConfigRequest,
    StreamExportRequest,
    StreamNamesRequest,
)
from framework_jetstream.api.requests import check_account_name, check_level, is_empty_request, read
from framework_jetstream.api.subjects import SYSTEM_WORDS, subject_of
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.cluster.changes import ConsumerChanges
from framework_jetstream.cluster.leader_watch import LeaderWatch, Seen
from framework_jetstream.cluster.limits import (
    check_can_be_shared,
    check_stream_shared,
)
from framework_jetstream.cluster.usage import account_stats, usage_subject
from framework_jetstream.consumer.consumer import time_from_request
from framework_jetstream.consumer.rules import replicas_of, settle_metadata
from framework_jetstream.engine.verbs import CONTROL_GROUP, GroupOf, Verb
from framework_jetstream.meta.answering import LATE_NS, Part, View, part_of, verdict
from framework_jetstream.meta.assignments import (
    Asked,
    Asset,
    ConsumerAssignment,
    Group,
    StreamAssignment,
)
from framework_jetstream.meta.effects import Outcome
from framework_jetstream.meta.peers import number_of, peer_of
from framework_jetstream.meta.requests import next_leader, remove_peer, remove_server
from framework_jetstream.meta.view import group_state
from framework_jetstream.sourcing.rules import check_origins
from framework_jetstream.sourcing.served import check_identity
from framework_jetstream.stream.account_limits import check_stream, fill_in_window
from framework_jetstream.stream.book import StreamEntry
from framework_jetstream.stream.rules import check_create, find_overlap, holds, settled, updated
from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.api.tracking import ApiTracking
    from framework_jetstream.cluster.decisions import Decisions
    from framework_jetstream.cluster.gathering import Gathering
    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.host import Host
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.assignments import ServerRecord
    from framework_jetstream.meta.leader import Existing, MetaLeader
    from framework_jetstream.meta.state import MetaState
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook

_LATE_S: Final = LATE_NS / 1e9
_READS: Final = frozenset({
    "account_info",
    "consumer_info",
    "consumer_list",
    "consumer_names",
    "stream_info",
    "stream_list",
    "stream_msg_get",
    "stream_names",
})
"""Who leads only since a request came answers none but these: others may have been carried out."""


class ClusterApi:
    """Answers requests, or leaves them to other servers.

    Args:
        view: Of the cluster.
        leader: Of the meta group, if this server leads it.
        decisions: The leader's.
        gathering: Asks who leads streams and consumers.
        book: The streams of this server.
        host: The server.
        forward: Lets the actors of streams of this server answer.
        tracking: Sees what is answered late.
        ask: Asks the engine, as `EngineLink.ask` does.
        later: Calls something after so many seconds.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        *,
        view: ClusterView,
        leader: MetaLeader,
        decisions: Decisions,
        gathering: Gathering,
        book: StreamBook,
        host: Host,
        forward: Callable[[JetStream.ApiRequest], object],
        tracking: ApiTracking,
        ask: Callable[..., object],
        later: Callable[[float, Callable[[], object]], object],
        clock: Callable[[], int],
    ) -> None:
        self._view = view
        self._leader = leader
        self._decisions = decisions
        self._gathering = gathering
        self._book = book
        self._host = host
        self._forward = forward
        self._tracking = tracking
        self._ask = ask
        self._later = later
        self._clock = clock
        self._watch = LeaderWatch(view, ask, later)
        self._handlers: dict[str, Callable[[JetStream.ApiRequest, ApiSubject], None]] = {
            "stream_create": self._create_stream,
            "stream_update": self._update_stream,
            "stream_remove_peer": self._remove_peer,
            "stream_cancel_move": self._cancel_move,
            "consumer_remove_peer": self._remove_peer,
            "stream_delete": self._delete,
            "stream_names": self._name_streams,
            "stream_list": self._list_streams,
            "consumer_create": self._create_consumer,
            "consumer_delete": self._delete,
            "consumer_names": self._name_consumers,
            "consumer_list": self._list_consumers,
            "consumer_pause": self._pause_consumer,
            "account_info": self._tell_of_account,
        }

    def take(self, request: JetStream.ApiRequest) -> None:
        """Answer a request, or leave it to whoever is meant."""
        found = subject_of(request.tokens)
        kind = found.kind if found else SYSTEM
        is_system = request.tokens[0] in SYSTEM_WORDS
        try:
            if request.account == self._host.system_account():
                self._take_of_system(request, found)
            elif found is None or is_system:
                self._only_leader()
                raise failure(ErrCode.BAD_REQUEST)
            else:
                self._dispatch(request, found)
        except ApiFailure as refusal:
            request.reply.set(refused(kind, refusal.error))
        except _NotMineError:
            request.reply.set(None)

    def refuse(self, request: JetStream.ApiRequest) -> None:
        """Answer without a say in the meta group: others do, but for what is led here."""
        found = subject_of(request.tokens)
        entry = self._book.get(request.account, found.stream) if found else None
        is_led = found is not None and entry is not None and entry.is_leader
        error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
        request.reply.set(refused(found.kind, error) if found and is_led else None)

    # -- who answers -----------------------------------------------------------------------------

    def _only_leader(self) -> None:
        if not self._leader.is_in_office:
            raise _NotMineError

    def _dispatch(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        kind = found.kind
        asset = Asset(request.account, found.stream, _consumer_of(found))
        if part_of(kind) is Part.META:
            if self._repeats(request, found):
                return
            self._judge(request, found, asset, _Led(CONTROL_GROUP, GroupOf.CONTROL))
            return
        if kind == "stream_export" and (sender := self._sender(request, asset)):
            if sender == self._view.peer:
                self._forward(request)
            else:
                request.reply.set(None)
            return
        entry = self._book.get(asset.account, asset.stream)
        number, is_leader, of = 0, False, GroupOf.STREAM
        if entry is not None:
            number, is_leader = entry.number, entry.is_leader
            if part_of(kind) is Part.CONSUMER:
                consumer = entry.consumers.get(asset.consumer)
                number, of = (consumer.number if consumer else 0), GroupOf.CONSUMER
                is_leader = consumer is not None and consumer.is_leader
        if is_leader or not number:
            leader = self._view.peer if is_leader else ""
            self._judge(request, found, asset, _Led(number, of, leader))
            return

        def told(said: EngineAnswer) -> None:
            leader = "" if said.status else group_state(said.numbers, said.data).leader
            leader = "" if leader == self._view.peer else leader
            try:
                self._judge(request, found, asset, _Led(number, of, leader))
            except ApiFailure as refusal:
                request.reply.set(refused(kind, refusal.error))

        self._ask(Verb.GROUP_STATE, number, then=told, numbers=(of,))

    def _sender(self, request: JetStream.ApiRequest, asset: Asset) -> str:
        """Return the peer that is to send a table: a replica that was named, and is there.

        Empty: who leads the stream sends it.
        """
        known = self._view.machine.state.find(asset.of_stream)
        try:
            name = read(StreamExportRequest, request.payload, is_strict=False).server
        except ApiFailure:
            return ""  # who leads refuses it
        peer = peer_of(name) if name else ""
        is_replica = known is not None and peer in known.group.hosts
        return peer if is_replica and self._view.is_online(peer) else ""

    def _judge(
        self, request: JetStream.ApiRequest, found: ApiSubject, asset: Asset, led: _Led
    ) -> None:
        """Do what this server has to do with a request; raises ApiFailure."""
        view = self._view
        known = view.machine.state.find(
            asset if part_of(found.kind) is Part.CONSUMER else asset.of_stream
        )
        is_offline = known is not None and not any(map(view.is_online, known.group.hosts))
        judged = verdict(
            view.machine,
            found.kind,
            asset,
            View(meta_leader=view.state.leader, leader=led.leader, is_offline=is_offline),
        )
        if judged.is_mine:
            self._answer(request, found, asset)
        elif judged.refusal is None and led.number and not led.is_looked_at:
            seen = partial(self._look_after, self._set_aside(request), found, asset, led)
            self._watch.watch(led.number, led.of, seen)
        elif judged.refusal is None:
            request.reply.set(None)
        elif judged.is_late:
            text = refused(found.kind, judged.refusal)
            self._later(_LATE_S, partial(self._set_aside(request).reply.set, text))
        else:
            request.reply.set(refused(found.kind, judged.refusal))

    def _set_aside(self, request: JetStream.ApiRequest) -> JetStream.ApiRequest:
        """Return a request that is answered much later, if at all, and lets others go on.

        A server works on few requests at a time (`ANSWERS_AT_ONCE_EACH`).
        """
        reply = Reply[bytes | None]()

        def say(told: Reply[bytes | None]) -> None:
            text = told.get()
            if text is not None and request.subject:
                self._tracking.answered(request.asker, _whole(request), request.payload, text)
                self._host.answer(request.subject, text)

        reply.when_done(say)
        request.reply.set(None)
        return msgspec.structs.replace(request, reply=reply)

    def _look_after(
        self,
        request: JetStream.ApiRequest,
        found: ApiSubject,
        asset: Asset,
        led: _Led,
        seen: Seen,
    ) -> None:
        """Answer what was left to a leader that had just died: what only reads, in its place."""
        if seen is Seen.ELSEWHERE:
            request.reply.set(None)
        elif seen is Seen.HERE and found.kind in _READS:
            now = _Led(led.number, led.of, self._view.peer, is_looked_at=True)
            try:
                self._judge(request, found, asset, now)
            except ApiFailure as refusal:
                request.reply.set(refused(found.kind, refusal.error))
        else:
            error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
            request.reply.set(refused(found.kind, error))

    def _answer(self, request: JetStream.ApiRequest, found: ApiSubject, asset: Asset) -> None:
        kind = found.kind
        if kind == "stream_leader_stepdown":
            self._step_down(request, GroupOf.STREAM, asset)
        elif kind == "consumer_leader_stepdown":
            self._step_down(request, GroupOf.CONSUMER, asset)
        elif part_of(kind) is not Part.META:
            consumers = self._view.machine.state.consumers(asset).values()
            if kind == "stream_snapshot" and not all(map(self._can_archive, consumers)):
                raise _unsupported()
            self._forward(request)
        else:
            check_level(request.headers)
            check_before_all(kind, request.payload, is_strict=self._host.is_strict)
            if self._host.limits(request.account) is None:
                raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
            if kind not in self._handlers:
                raise _unsupported()
            self._handlers[kind](request, found)

    def _can_archive(self, consumer: ConsumerAssignment) -> bool:
        """Return whether an archive of this server has all of a consumer; those in memory go."""
        return self._view.peer in consumer.group.hosts or consumer.group.storage == "memory"

    def _repeats(self, request: JetStream.ApiRequest, found: ApiSubject) -> bool:
        """Answer a request for a stream that there is and is led here; False: it is another one.

        It has not been deleted: who leads it answers that, too.
        """
        entry = self._book.get(request.account, found.stream)
        if found.kind != "stream_create" or entry is None or not entry.group:
            return False
        if not entry.is_leader:
            return False
        try:
            is_repeated = self._wanted_stream(request, found.stream) == entry.config
        except ApiFailure:
            return False  # the meta leader refuses it
        if is_repeated:
            assert entry.stream is not None
            entry.stream.tell(Stream.Request("stream_create", b"", request.reply))
        return is_repeated

    # -- streams ---------------------------------------------------------------------------------

    def _wanted_stream(self, request: JetStream.ApiRequest, name: str) -> StreamConfig:
        wanted = read(StreamConfigRequest, request.payload, is_strict=self._host.is_strict)
        if wanted.name != name:
            raise failure(ErrCode.STREAM_MISMATCH)
        fill_in_window(self._host.config, wanted)
        config = settled(wanted)
        check_create(config, is_clustered=True)
        check_origins(config, partial(_config_of, self._view.machine.state, request.account))
        return config

    def _create_stream(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        config = self._wanted_stream(request, found.stream)
        check_stream_shared(config)
        wanted = StreamAssignment(
            account=request.account,
            name=found.stream,
            created_ns=self._clock(),
            config=msgspec.json.encode(config),
            group=_unplaced(config.storage),
            asked=_asked(request),
            reserved_bytes=max(config.max_bytes, 0),
        )
        cluster = config.placement.cluster if config.placement else ""
        own = str(request.asker.client.get("cluster") or "")

        def decide() -> Any:
            self._check_room(wanted.asset, config, is_new=True)
            return self._leader.create_stream(wanted, [cluster or own])

        self._decide(request, found.kind, decide)

    def _update_stream(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Change a stream, and who has it if that changes with it; who leads it answers."""
        wanted = read(StreamConfigRequest, request.payload, is_strict=self._host.is_strict)
        if wanted.name != found.stream:
            raise failure(ErrCode.STREAM_MISMATCH)
        fill_in_window(self._host.config, wanted)
        asset = Asset(request.account, found.stream)
        before, after = self._changed_stream(asset, wanted)

        def decide(order: Sequence[str] = ()) -> Any:
            before, config = self._changed_stream(asset, wanted)
            self._check_room(asset, config, is_new=False)
            known = self._leader.state.stream(asset)
            assert known is not None
            data, reply = msgspec.json.encode(config), request.subject
            changed = msgspec.structs.replace(known, config=data)
            if before.placement != config.placement and config.placement is not None:
                cluster = config.placement.cluster or known.group.cluster
                return self._leader.move(changed, [cluster], reply)
            if before.num_replicas != config.num_replicas:
                peers = known.group.peers
                first = [it for it in order if it in peers]
                return self._leader.scale(
                    changed, [*first, *(it for it in peers if it not in first)], reply
                )
            return self._leader.configure(asset, data, known.level, reply)

        if before.num_replicas == after.num_replicas and before.placement == after.placement:
            self._decide(request, found.kind, decide)
        else:
            self._ask_leader(request, found, decide)

    def _changed_stream(
        self, asset: Asset, wanted: StreamConfig
    ) -> tuple[StreamConfig, StreamConfig]:
        """Return how a stream is configured, and will be; raises ApiFailure."""
        known = self._leader.state.stream(asset)
        if known is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        before = msgspec.json.decode(known.config, type=StreamConfig)
        config = updated(before, wanted, is_clustered=True)
        check_origins(config, partial(_config_of, self._leader.state, asset.account))
        check_stream_shared(config)
        return before, config

    def _ask_leader(
        self,
        request: JetStream.ApiRequest,
        found: ApiSubject,
        decide: Callable[[Sequence[str]], Any],
    ) -> None:
        """Decide who gets a stream when it is known who leads it, and how large it is."""
        asset = Asset(request.account, found.stream)

        def told(infos: list[dict[str, Any]], _: list[str]) -> None:
            try:
                order = self._order_of(asset, infos[0] if infos else {})
            except ApiFailure as refusal:
                self._refuse(request, found.kind, refusal.error)
                return
            self._decide(request, found.kind, lambda: decide(order))

        subject = f"$JS.API.STREAM.INFO.{found.stream}"
        self._gathering.ask(request.account, {found.stream: subject}, told)

    def _order_of(self, asset: Asset, info: dict[str, Any]) -> list[str]:
        """Return the peers of a stream of which something is known, who leads it first."""
        if not info:
            raise failure(ErrCode.CLUSTER_NOT_AVAILABLE)
        state = self._leader.state
        check_can_be_shared(info, state.consumers(asset).values())
        cluster = info.get("cluster") or {}
        current = [it["name"] for it in cluster.get("replicas") or () if it.get("current")]
        peers = {it.name: it.peer for it in state.servers.values()}
        return [peers[it] for it in (cluster.get("leader"), *current) if it in peers]

    def _remove_peer(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let another server have what one has."""
        asset = Asset(request.account, found.stream, _consumer_of(found))
        is_strict = self._host.is_strict
        self._confirm(
            request,
            found.kind,
            lambda: remove_peer(self._leader, asset, request.payload, is_strict=is_strict),
        )

    def _cancel_move(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        asset = Asset(request.account, found.stream)
        self._confirm(request, found.kind, lambda: self._leader.cancel_move(asset))

    def _confirm(self, request: JetStream.ApiRequest, kind: str, decide: Callable[[], Any]) -> None:
        """Let something be decided, and answer whether it is."""

        def done(outcome: Outcome | Existing | None) -> None:
            if outcome is Outcome.DONE:
                request.reply.set(answer(kind, {"success": True}))
            else:
                self._say_outcome(request, kind, outcome)

        self._decisions.decide(decide, done, partial(self._refuse, request, kind))

    def _check_room(self, asset: Asset, config: StreamConfig, *, is_new: bool) -> None:
        """Raise ApiFailure where a stream takes subjects, or room, that its account has not."""
        others = []
        for known, found in self._leader.state.streams():
            if known.account == asset.account and known != asset:
                other = msgspec.json.decode(found.config, type=StreamConfig)
                if find_overlap(config.subjects or (), other.subjects or ()):
                    raise failure(ErrCode.STREAM_SUBJECTS_OVERLAP)
                others.append(
                    StreamEntry(number=0, account=known.account, config=other, created_ns=0)
                )
        tiers = self._host.limits(asset.account)
        if tiers is None:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        check_stream(tiers, config, others, is_new=is_new)

    def _delete(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        if not is_empty_request(request.payload):
            raise failure(ErrCode.NOT_EMPTY_REQUEST)
        asset = Asset(request.account, found.stream, _consumer_of(found))
        self._confirm(request, found.kind, lambda: self._leader.remove(asset))

    def _name_streams(self, request: JetStream.ApiRequest, _: ApiSubject) -> None:
        wanted = read(StreamNamesRequest, request.payload, is_strict=self._host.is_strict)
        names = self._stream_names(request.account, wanted.subject)
        request.reply.set(answer("stream_names", page(names, wanted.offset, NAMES_MAX, "streams")))

    def _stream_names(self, account: str, subject: str) -> list[str]:
        """Return names of an account's streams; where there is a subject, of those that hold it."""
        return sorted(
            it.stream
            for it, found in self._view.machine.state.streams()
            if it.account == account
            and (
                not subject or holds(msgspec.json.decode(found.config, type=StreamConfig), subject)
            )
        )

    def _list_streams(self, request: JetStream.ApiRequest, _: ApiSubject) -> None:
        wanted = read(StreamNamesRequest, request.payload, is_strict=self._host.is_strict)
        names = self._stream_names(request.account, wanted.subject)
        self._list(request, ("streams", "STREAM.INFO."), names, wanted.offset)

    def _list(
        self, request: JetStream.ApiRequest, what: tuple[str, str], names: list[str], offset: int
    ) -> None:
        """Answer with what leaders say of a page of streams or consumers."""
        kind, subject = what
        begin = min(max(offset, 0), len(names))
        shown = names[begin : begin + LIST_MAX]

        def done(infos: list[dict[str, Any]], missing: list[str]) -> None:
            paged = {"total": len(names), "offset": begin, "limit": LIST_MAX, kind: infos}
            more = {"missing": missing} if missing else {}
            request.reply.set(answer(f"{kind[:-1]}_list", {**paged, **more}))

        subjects = {name: f"$JS.API.{subject}{name}" for name in shown}
        self._gathering.ask(request.account, subjects, done)

    # -- consumers -------------------------------------------------------------------------------

    def _changes(self, stream: StreamConfig) -> ConsumerChanges:
        return ConsumerChanges(
            self._host.config,
            stream,
            consumers_max=stream.max_consumers,
            is_strict=self._host.is_strict,
        )

    def _create_consumer(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let a stream have a consumer, or one that it has be another way."""
        asset = Asset(request.account, found.stream)

        def decide() -> Any:
            stream = self._leader.state.stream(asset)
            if stream is None:
                raise failure(ErrCode.STREAM_NOT_FOUND)
            config = msgspec.json.decode(stream.config, type=StreamConfig)
            known = {
                name: msgspec.json.decode(it.config, type=ConsumerConfig)
                for name, it in self._leader.state.consumers(asset).items()
            }
            wanted = self._changes(config).wanted(request.payload, found, known)
            if wanted.direct or wanted.sourcing:
                check_identity(request.headers, stream.created_ns)
            target = asset._replace(consumer=wanted.name)
            if wanted.name in known:
                # Who leads it answers when it has heard of this, and so of all that was before.
                text = msgspec.json.encode(wanted)
                return self._leader.configure(target, text, 0, request.subject)
            is_in_memory = config.storage == "memory" or wanted.mem_storage
            return self._leader.create_consumer(
                target,
                ConsumerAssignment(
                    name=wanted.name,
                    created_ns=self._clock(),
                    config=msgspec.json.encode(wanted),
                    group=_unplaced("memory" if is_in_memory else "file"),
                    asked=_asked(request),
                    replicas=replicas_of(wanted, config),
                ),
            )

        self._decide(request, found.kind, decide)

    def _pause_consumer(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        wanted = read(ConsumerPauseRequest, request.payload, is_strict=self._host.is_strict)
        until_ns = time_from_request(wanted.pause_until)
        asset = Asset(request.account, found.stream, _consumer_of(found))

        def decide() -> Any:
            if self._leader.state.stream(asset) is None:
                raise failure(ErrCode.STREAM_NOT_FOUND)
            known = self._leader.state.find(asset)
            if known is None:
                raise failure(ErrCode.CONSUMER_NOT_FOUND)
            config = msgspec.json.decode(known.config, type=ConsumerConfig)
            config.pause_until = text_from_ns(until_ns) if until_ns else None
            settle_metadata(config)
            return self._leader.configure(asset, msgspec.json.encode(config), 0)

        def done(outcome: Outcome | Existing | None) -> None:
            if outcome is not Outcome.DONE:
                self._say_outcome(request, found.kind, outcome)
                return
            left_ns = max(until_ns - self._clock(), 0)
            fields = {"paused": left_ns > 0, "pause_until": text_from_ns(until_ns)}
            also = {"pause_remaining": left_ns} if left_ns else {}
            request.reply.set(answer(found.kind, {**fields, **also}))

        self._decisions.decide(decide, done, partial(self._refuse, request, found.kind))

    def _name_consumers(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        wanted = read(PagedRequest, request.payload, is_strict=self._host.is_strict)
        state, asset = self._view.machine.state, Asset(request.account, found.stream)
        if state.stream(asset) is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        names = sorted(state.consumers(asset))
        paged = page(names, wanted.offset, NAMES_MAX, "consumers")
        request.reply.set(answer("consumer_names", paged))

    def _list_consumers(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        wanted = read(PagedRequest, request.payload, is_strict=self._host.is_strict)
        state, asset = self._view.machine.state, Asset(request.account, found.stream)
        if state.stream(asset) is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        what = ("consumers", f"CONSUMER.INFO.{found.stream}.")
        self._list(request, what, sorted(state.consumers(asset)), wanted.offset)

    def _tell_of_account(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Say what the streams of an account take on all servers that are there."""
        account, view = request.account, self._view

        def say(said: list[dict[str, Any]], _: list[str]) -> None:
            fields = account_stats(
                account,
                view.machine.state,
                self._host.limits(account) or {},
                said,
                domain=self._host.config.domain,
                level=JETSTREAM_API_LEVEL,
            )
            request.reply.set(answer(found.kind, fields))

        peers = [it for it in view.machine.state.servers if view.is_online(it)]
        self._gathering.ask(account, {it: usage_subject(it) for it in peers}, say)

    # -- decisions -------------------------------------------------------------------------------

    def _decide(self, request: JetStream.ApiRequest, kind: str, decide: Callable[[], Any]) -> None:
        self._decisions.decide(
            decide,
            partial(self._say_outcome, request, kind),
            partial(self._refuse, request, kind),
        )

    def _say_outcome(
        self, request: JetStream.ApiRequest, kind: str, outcome: Outcome | Existing | None
    ) -> None:
        """Answer what came of a decision, unless who leads the asset does."""
        match outcome:
            case Outcome.EXISTS:
                is_stream = kind.startswith("stream")
                code = ErrCode.STREAM_NAME_EXISTS if is_stream else ErrCode.CONSUMER_ALREADY_EXISTS
                self._refuse(request, kind, api_error(code))
            case Outcome.GONE:
                is_stream = kind.startswith("stream") or kind == "consumer_create"
                code = ErrCode.STREAM_NOT_FOUND if is_stream else ErrCode.CONSUMER_NOT_FOUND
                self._refuse(request, kind, api_error(code))
            case _:
                request.reply.set(None)

    def _refuse(self, request: JetStream.ApiRequest, kind: str, error: ApiError) -> None:
        request.reply.set(refused(kind, error))

    # -- who leads -------------------------------------------------------------------------------

    def _step_down(self, request: JetStream.ApiRequest, of: GroupOf, asset: Asset) -> None:
        kind = "consumer_leader_stepdown" if of is GroupOf.CONSUMER else "stream_leader_stepdown"
        entry = self._book.find(asset.account, asset.stream)
        found = self._view.machine.state.find(asset)
        number = entry.consumers[asset.consumer].number if asset.consumer else entry.number
        assert found is not None
        servers = self._view.machine.state.servers
        members = {it: servers[it] for it in found.group.peers if it in servers}
        to = self._next_leader(request.payload, members)
        if len(found.group.peers) == 1:
            request.reply.set(answer(kind, {"success": True}))
        else:
            self._hand_over(request, kind, number, of, to)

    def _next_leader(self, payload: bytes, members: Mapping[str, ServerRecord]) -> str:
        return next_leader(
            payload,
            self._view.peer,
            members,
            self._view.is_online,
            is_strict=self._host.is_strict,
        )

    def _hand_over(
        self, request: JetStream.ApiRequest, kind: str, number: int, of: GroupOf, to: str
    ) -> None:
        """Let another server lead a group; `to` is its peer, empty: whoever has most."""

        def told(said: EngineAnswer) -> None:
            error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
            done = answer(kind, {"success": True})
            request.reply.set(refused(kind, error) if said.status else done)

        numbers = (of, number_of(to) if to else 0)
        self._ask(Verb.STEP_DOWN, number, then=told, numbers=numbers)

    def _take_of_system(self, request: JetStream.ApiRequest, found: ApiSubject | None) -> None:
        """Answer a user of the system account, as the meta leader; all others are silent."""
        self._only_leader()
        if found is None:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        if found.kind == "meta_server_remove":
            is_strict = self._host.is_strict
            self._confirm(
                request,
                found.kind,
                lambda: remove_server(self._leader, request.payload, is_strict=is_strict),
            )
            return
        if found.kind == "account_purge":
            self._purge_account(request, found.stream)
            return
        if found.kind != "meta_leader_stepdown":
            if request.tokens[0] in SYSTEM_WORDS:
                raise _unsupported()
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        to = self._next_leader(request.payload, self._view.machine.state.servers)
        self._hand_over(request, found.kind, CONTROL_GROUP, GroupOf.CONTROL, to)

    def _purge_account(self, request: JetStream.ApiRequest, account: str) -> None:
        """Delete all streams of an account, one after the other; who asks hears that it begins."""
        check_account_name(account)
        for asset, _ in self._leader.state.streams():
            if asset.account == account:
                self._decisions.decide(partial(self._leader.remove, asset))
        request.reply.set(answer("account_purge", {"initiated": True}))


class _Led(Struct, frozen=True):
    """Who leads what a request is about, as far as this server knows."""

    number: int
    """By which the engine knows its group; 0: it is not here."""
    of: GroupOf
    leader: str = ""
    is_looked_at: bool = False
    """The request has waited for its leader already."""


class _NotMineError(Exception):
    """Another server answers."""


def _unsupported() -> ApiFailure:
    return failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)


def _config_of(state: MetaState, account: str, name: str) -> StreamConfig | None:
    """Return the configuration of a stream of an account; None: there is none."""
    known = state.stream(Asset(account, name))
    return msgspec.json.decode(known.config, type=StreamConfig) if known is not None else None


def _consumer_of(found: ApiSubject) -> str:
    return found.rest[0] if found.kind.startswith("consumer_") and found.rest else ""


def _unplaced(storage: str) -> Group:
    return Group(name="", peers=(), storage="memory" if storage == "memory" else "file")


def _asked(request: JetStream.ApiRequest) -> Asked:
    return Asked(
        client=dict(request.asker.client),
        subject=_whole(request),
        reply=request.subject,
    )


def _whole(request: JetStream.ApiRequest) -> str:
    return ".".join(("$JS.API", *request.tokens))
