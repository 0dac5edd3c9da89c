"""The API of a cluster: whose affair a request is, and what the meta leader says to it.

What a stream's or consumer's leader is asked goes on to the actors that answer it alone, too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from framework.actors import Reply
from framework_jetstream.api.answers import SYSTEM, refused
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.forms import check_before_all
from framework_jetstream.api.records import SnapshotRequest, StreamExportRequest
from framework_jetstream.api.requests import check_level, read
from framework_jetstream.api.subjects import SYSTEM_WORDS, subject_of
from framework_jetstream.cluster.account_requests import AccountRequests
from framework_jetstream.cluster.consumer_requests import ConsumerRequests
from framework_jetstream.cluster.leader_watch import LeaderWatch, Seen
from framework_jetstream.cluster.leadership import Leadership
from framework_jetstream.cluster.listing import Listing
from framework_jetstream.cluster.move_requests import MoveRequests, is_move
from framework_jetstream.cluster.office import Office, consumer_of, whole_subject
from framework_jetstream.cluster.restore_requests import RestoreRequests
from framework_jetstream.cluster.stream_requests import StreamRequests
from framework_jetstream.cluster.unanswered_reads import UnansweredReads
from framework_jetstream.engine.verbs import CONTROL_GROUP, GroupOf, Verb
from framework_jetstream.meta.answering import LATE_NS, Part, View, part_of, verdict
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.peers import peer_of
from framework_jetstream.meta.view import group_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.api.tracking import ApiTracking
    from framework_jetstream.cluster.consumer_states import ConsumerStates
    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.letters import NotRestored, Restored, TakeArchive
    from framework_jetstream.snapshots.archive import ArchivedConsumer
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
_BEFORE: Final = "whoever led when the request came"


class ClusterApi:
    """Answers requests, or leaves them to other servers.

    Args:
        office: By which the meta leader decides.
        states: Asks where consumers of other servers stand.
        book: The streams of this server.
        forward: Lets the actors of streams of this server answer.
        tracking: Sees what is answered late.
        ask: Asks the engine, as `EngineLink.ask` does.
        send: Sends a letter to a peer, also to this one.
        later: Calls something after so many seconds.
    """

    def __init__(
        self,
        *,
        office: Office,
        states: ConsumerStates,
        book: StreamBook,
        forward: Callable[[JetStream.ApiRequest], object],
        tracking: ApiTracking,
        ask: Callable[..., object],
        send: Callable[[str, TakeArchive | NotRestored], object],
        later: Callable[[float, Callable[[], object]], object],
    ) -> None:
        view, host = office.view, office.host
        self._view = view
        self._leader = office.leader
        self._states = states
        self._book = book
        self._host = host
        self._forward = forward
        self._tracking = tracking
        self._ask = ask
        self._later = later
        self._watch = LeaderWatch(view, ask, later)
        self.unanswered: Final = UnansweredReads(view, office.owed.refuse)
        self._streams, self._accounts = StreamRequests(office), AccountRequests(office)
        self._moves = MoveRequests(office)
        self._restores = RestoreRequests(office, self._streams, send)
        self._leadership = Leadership(
            view=view, book=book, host=host, ask=ask, set_aside=self._set_aside, later=later
        )
        self._handlers = _handlers(office, self._streams, self._accounts, self._restores)

    def take(self, request: JetStream.ApiRequest) -> None:
        """Answer a request, or leave it to whoever is meant."""
        found = subject_of(request.tokens)
        kind = found.kind if found else SYSTEM
        is_system = request.tokens[0] in SYSTEM_WORDS
        try:
            if found is not None and is_move(request, self._host.system_account()):
                self._only_leader(request, kind)
                self._moves.take(request, found)
            elif request.account == self._host.system_account():
                self._take_of_system(request, found)
            elif found is None or is_system:
                self._only_leader(request, kind)
                raise failure(ErrCode.BAD_REQUEST)
            else:
                self._dispatch(request, found)
        except ApiFailure as refusal:
            request.reply.set(refused(kind, refusal.error))
        except _NotMineError:
            request.reply.set(None)

    def take_restored(self, sender: str, letter: Restored) -> None:
        """Make a stream of what a server has taken of an archive, as the meta leader."""
        self._restores.take(sender, letter)

    def refuse(self, request: JetStream.ApiRequest) -> None:
        """Answer without a say in the meta group: others do, but for what is led here."""
        found = subject_of(request.tokens)
        entry = self._book.get(request.account, found.stream) if found else None
        is_led = found is not None and entry is not None and entry.is_leader
        error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
        request.reply.set(refused(found.kind, error) if found and is_led else None)

    # -- who answers -----------------------------------------------------------------------------

    def _only_leader(self, request: JetStream.ApiRequest, kind: str) -> None:
        is_early = _is_early(request, kind, self._view.led_from_ns)
        if is_early or not self._leader.is_in_office:
            raise _NotMineError

    def _dispatch(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        kind = found.kind
        asset = Asset(request.account, found.stream, consumer_of(found))
        if part_of(kind) is Part.META:
            self._judge(request, found, asset, _Led(CONTROL_GROUP, GroupOf.CONTROL))
            return
        if kind == "stream_export" and (sender := self._sender(request, asset)):
            if sender == self._view.peer:
                self._forward(request)
            else:
                request.reply.set(None)
            return
        led = self._led(request, found, asset)
        if led.leader or not led.number:
            self._judge(request, found, asset, led)
        else:
            self._ask_who_leads(request, found, asset, led)

    def _led(self, request: JetStream.ApiRequest, found: ApiSubject, asset: Asset) -> _Led:
        """Return what this server has of an asset, and whether it leads that."""
        entry = self._book.get(asset.account, asset.stream)
        number, is_leader, of = 0, False, GroupOf.STREAM
        if entry is not None:
            of = GroupOf.CONSUMER if part_of(found.kind) is Part.CONSUMER else of
            led = entry.consumers.get(asset.consumer) if of is GroupOf.CONSUMER else entry
            if led is not None:
                is_early = _is_early(request, found.kind, led.led_from_ns)
                number, is_leader = led.number, led.is_leader and not is_early
        elif (asset.account, asset.stream) in self._book.offline:
            known = self._view.machine.state.find(asset.of_stream)
            # Nobody else could say so.
            is_leader = known is not None and known.group.hosts == (self._view.peer,)
        return _Led(number, of, self._view.peer if is_leader else "")

    def _ask_who_leads(
        self, request: JetStream.ApiRequest, found: ApiSubject, asset: Asset, led: _Led
    ) -> None:
        """Ask the engine who leads what this server does not lead, and go on then."""

        def told(said: EngineAnswer) -> None:
            leader = "" if said.status else group_state(said.numbers, said.data).leader
            leader = "" if leader == self._view.peer else leader
            try:
                self._judge(request, found, asset, msgspec.structs.replace(led, leader=leader))
            except ApiFailure as refusal:
                request.reply.set(refused(found.kind, refusal.error))

        self._ask(Verb.GROUP_STATE, led.number, then=told, numbers=(led.of,))

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
        is_early = _is_early(request, found.kind, view.led_from_ns)
        meta_leader = _BEFORE if view.state.is_leader and is_early else view.state.leader
        judged = verdict(
            view.machine,
            found.kind,
            asset,
            View(meta_leader=meta_leader, leader=led.leader, is_offline=is_offline),
        )
        if judged.is_mine:
            self._answer(request, found, asset)
        elif judged.refusal is None and led.number and not led.is_looked_at:
            seen = partial(self._look_after, self._set_aside(request), found, asset, led)
            self._watch.watch(led.number, led.of, seen)
        elif judged.refusal is None:
            if known is not None and not led.number and found.kind in _READS:
                is_consumer = part_of(found.kind) is Part.CONSUMER
                hosts = known.group.hosts
                self.unanswered.keep(request, found.kind, hosts, is_consumer=is_consumer)
            request.reply.set(None)
        elif judged.is_late and not led.is_looked_at:
            refuse = partial(self._refuse_late, self._set_aside(request), found, asset)
            self._later(_LATE_S, partial(refuse, refused(found.kind, judged.refusal)))
        else:
            request.reply.set(refused(found.kind, judged.refusal))

    def _refuse_late(
        self, request: JetStream.ApiRequest, found: ApiSubject, asset: Asset, text: bytes
    ) -> None:
        """Refuse what nobody could answer for a while; what only reads is looked at once more."""
        led = msgspec.structs.replace(self._led(request, found, asset), is_looked_at=True)
        if found.kind not in _READS or not led.number:
            request.reply.set(text)
            return
        try:
            if led.leader:
                self._judge(request, found, asset, led)
            else:
                self._ask_who_leads(request, found, asset, led)
        except ApiFailure as refusal:
            request.reply.set(refused(found.kind, refusal.error))

    def _set_aside(self, request: JetStream.ApiRequest) -> JetStream.ApiRequest:
        """Return a request that is answered much later, if at all, and lets others go on.

        A server works on few requests at a time (`ANSWERS_AT_ONCE_EACH`).
        """
        reply = Reply[bytes | None]()

        def say(told: Reply[bytes | None]) -> None:
            text = told.get()
            if text is not None and request.subject:
                self._tracking.answered(
                    request.asker, whole_subject(request), request.payload, text
                )
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
            self._leadership.step_down(request, GroupOf.STREAM, asset)
        elif kind == "consumer_leader_stepdown":
            self._leadership.step_down(request, GroupOf.CONSUMER, asset)
        elif kind == "stream_snapshot":
            self._snapshot(request, asset)
        elif part_of(kind) is not Part.META:
            self._forward(request)
        else:
            check_level(request.headers)
            check_before_all(kind, request.payload, is_strict=self._host.is_strict)
            if self._host.limits(request.account) is None:
                raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
            if kind not in self._handlers:
                raise _unsupported()
            self._handlers[kind](request, found)

    def _snapshot(self, request: JetStream.ApiRequest, asset: Asset) -> None:
        """Let a stream be sent as an archive, with consumers as who leads them knows them."""
        if read(SnapshotRequest, request.payload, is_strict=self._host.is_strict).no_consumers:
            self._forward(request)
            return

        def gathered(consumers: tuple[ArchivedConsumer, ...], missing: list[str]) -> None:
            if missing:
                problem = f"nobody answers who leads consumer {', '.join(sorted(missing))}"
                error = failure(ErrCode.STREAM_SNAPSHOT, err=problem).error
                request.reply.set(refused("stream_snapshot", error))
            else:
                self._forward(msgspec.structs.replace(request, archived=consumers))

        self._states.gather(asset, gathered)

    def _take_of_system(self, request: JetStream.ApiRequest, found: ApiSubject | None) -> None:
        """Answer a user of the system account, as the meta leader; all others are silent."""
        self._only_leader(request, found.kind if found else SYSTEM)
        if found is None:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        if found.kind == "meta_server_remove":
            self._accounts.remove_server(request, found)
        elif found.kind == "account_purge":
            self._accounts.purge(request, found.stream)
        elif found.kind == "meta_leader_stepdown":
            self._leadership.step_down_meta(request, found.kind)
        elif request.tokens[0] in SYSTEM_WORDS:
            raise _unsupported()
        else:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)


class _Led(Struct, frozen=True):
    """Who leads what a request is about, as far as this server knows."""

    number: int
    """By which the engine knows its group; 0: it is not here."""
    of: GroupOf
    leader: str = ""
    is_looked_at: bool = False
    """The request has waited for its leader already."""


def _is_early(request: JetStream.ApiRequest, kind: str, led_from_ns: int) -> bool:
    """Return whether a request was for whoever led before, who may have carried it out.

    Done twice, it would be done to what has come since: a purge, or a deletion.
    """
    return kind not in _READS and request.came_ns < led_from_ns


class _NotMineError(Exception):
    """Another server answers."""


def _handlers(
    office: Office,
    streams: StreamRequests,
    accounts: AccountRequests,
    restores: RestoreRequests,
) -> dict[str, Callable[[JetStream.ApiRequest, ApiSubject], None]]:
    """Return who carries out what the meta leader is asked by users of an account."""
    consumers, listing = ConsumerRequests(office), Listing(office)
    return {
        "stream_create": streams.create,
        "stream_update": streams.update,
        "stream_restore": restores.begin,
        "stream_remove_peer": streams.remove_peer,
        "stream_cancel_move": streams.cancel_move,
        "stream_delete": streams.delete,
        "stream_names": listing.name_streams,
        "stream_list": listing.list_streams,
        "consumer_create": consumers.create,
        "consumer_remove_peer": streams.remove_peer,
        "consumer_delete": streams.delete,
        "consumer_names": listing.name_consumers,
        "consumer_list": listing.list_consumers,
        "consumer_pause": consumers.pause,
        "account_info": accounts.tell,
    }


def _unsupported() -> ApiFailure:
    return failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)
