"""Archives that become streams: of this server alone, or of those that the meta group assigns.

For a cluster an archive is taken as a whole first, under the name of the group that the stream is
to have. Then it is offered to the meta leader, again and again, until that has assigned it or says
that it is not to be. While it is neither, a stop leaves a stream that the log calls unfinished: if
it turns out to be assigned, its assignment is taken back, since nobody has been answered yet.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct

from framework.actors import Reply
from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.asker import Asker
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.records import RestoreRequest, StreamConfig
from framework_jetstream.api.requests import is_empty_request, read
from framework_jetstream.consumer.consumer import ASKED_NS
from framework_jetstream.consumer.rules import check_replicas, settle_ending
from framework_jetstream.consumer.rules import settled as settled_consumer
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.meta.assignments import bytes_from_record
from framework_jetstream.meta.letters import Restored
from framework_jetstream.stream.book import StreamEntry
from framework_jetstream.stream.rules import limits_of, settled
from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import ActorRef
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.api.saved import RestoredStream
    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.exchange import Exchange
    from framework_jetstream.host import Host
    from framework_jetstream.meta.assignments import Asset, StreamAssignment
    from framework_jetstream.meta.effects import StartAsset
    from framework_jetstream.snapshots.archive import ArchivedConsumer
    from framework_jetstream.snapshots.restore import Origin
    from framework_jetstream.stream.book import StreamBook

AGAIN_S: Final = 1.0
"""Until the meta leader is told again of what it has to decide."""
INTEREST_S: Final = 0.05
"""Until who asked is told where to send an archive: by then its server knows who listens there."""
DOUBT_S: Final = 10.0
"""So long what was offered before a start may still become assigned."""
RESTORES_MAX: Final = 64
"""Archives that a server takes at once, those included that wait for the meta leader."""
CONSUMERS_BYTES_MAX: Final = 1 << 22
"""Of their configurations: as much as an entry of the meta group may have."""


class Owner(Protocol):
    """The actor of all streams."""

    @property
    def actor_ref(self) -> ActorRef[Any]:
        """Where answers of the engine go."""

    def spawn(self, actor_class: type[Any], /, **arguments: Any) -> ActorRef[Any]:
        """Start a child."""

    def call_later(self, delay_s: float, then: Callable[[], object]) -> None:
        """Call something in a turn of the actor."""


class _Offered(Struct, kw_only=True):
    """An archive that is whole, and not assigned yet."""

    origin: Origin
    planned: bytes
    """The `StreamAssignment`."""
    consumers: list[ArchivedConsumer]
    reply: Reply[bytes | None]
    since_ns: int
    is_late: bool = False


class Archives:
    """Takes archives.

    Args:
        owner: The actor of all streams, in whose turns all of this runs.
        book: The streams of this server.
        link: The way to the engine.
        exchange: Takes the pieces.
        advisories: Publishes what happens.
        host: The server.
        check_room: Raises ApiFailure where an account has no room for a stream.
        begin: Makes the actor of a stream.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        owner: Owner,
        *,
        book: StreamBook,
        link: EngineLink,
        exchange: Exchange,
        advisories: Advisories,
        host: Host,
        check_room: Callable[..., None],
        begin: Callable[[StreamEntry], ActorRef[Stream]],
        clock: Callable[[], int],
    ) -> None:
        self._owner = owner
        self._book = book
        self._link = link
        self._exchange = exchange
        self._advisories = advisories
        self._host = host
        self._check_room = check_room
        self._begin = begin
        self._clock = clock
        self._taken: set[int] = set()
        """Numbers of the streams whose archives are not whole yet."""
        self._planned: dict[str, bytes] = {}
        """Assignments of archives that are being taken, by name of the group."""
        self._offered: dict[str, _Offered] = {}
        self._unfinished: dict[str, RestoredStream] = {}

    # -- of this server alone --------------------------------------------------------------------

    def restore(self, asker: Asker, config: StreamConfig, reply: Reply[bytes | None]) -> None:
        """Begin to take the archive of a stream that may be one; say where it is to be sent."""
        number = self._host.account_number(asker.account)
        self._take(asker, config, reply.set, account=number, created_ns=self._clock())

    def _adopt_alone(
        self, origin: Origin, consumers: list[ArchivedConsumer], made: Reply[bytes | None]
    ) -> None:
        """Let a restored stream be one of its account, unless another one has come meanwhile."""
        self._taken.discard(origin.number)
        account, config = origin.asker.account, origin.config
        try:
            if self._book.get(account, config.name) is not None:
                raise failure(ErrCode.STREAM_NAME_EXISTS_RESTORE)
            self._book.check_subjects(account, config)
            self._check_room(account, config, is_new=True)
        except ApiFailure as refusal:
            self._close(origin.number)
            made.set(refused("stream_create", refusal.error))
            return
        settled = _settled(consumers, config, is_clustered=False)
        self._begin(_entry_of(origin)).tell(Stream.Adopt(settled, made))

    # -- of a cluster ----------------------------------------------------------------------------

    def take(self, planned: StreamAssignment) -> None:
        """Begin to take an archive that the meta leader has planned, and say so to who asked."""
        config = msgspec.json.decode(planned.config, type=StreamConfig)
        asked = planned.asked
        try:
            number = self._host.account_number(planned.account)
        except KeyError:
            self._host.report(f"No archive is taken for account {planned.account}: it is not here")
            return
        name = planned.group.name
        self._planned[name] = bytes_from_record(planned)
        asker = Asker(planned.account, asked.client if asked else {})

        def say(said: bytes) -> None:
            if asked is not None and asked.reply:
                # Interest goes another way to the client's server than this answer.
                answer = partial(self._host.answer, asked.reply, said)
                self._owner.call_later(INTEREST_S, answer)

        created_ns = planned.created_ns
        self._take(asker, config, say, account=number, created_ns=created_ns, group=name)

    def _take(
        self,
        asker: Asker,
        config: StreamConfig,
        say: Callable[[bytes], object],
        *,
        account: int,
        created_ns: int,
        group: str = "",
    ) -> None:
        from framework_jetstream.snapshots.restore import (  # noqa: PLC0415 - few streams come so
            Origin,
            Restore,
        )

        name = config.name
        if len(self._taken) + len(self._offered) >= RESTORES_MAX:
            say(refused("stream_restore", failure(ErrCode.INSUFFICIENT_RESOURCES).error))
            return
        subject = f"$JS.SNAPSHOT.RESTORE.{name}.{self._advisories.next_id()}"
        origin = Origin(
            asker=asker,
            account_number=account,
            config=config,
            limits=limits_of(config),
            number=self._book.next_number(),
            created_ns=created_ns,
            subject=subject,
            body_max=self._host.max_payload(),
            group=group,
        )
        self._taken.add(origin.number)
        self._owner.spawn(
            Restore,
            origin=origin,
            link=self._link,
            exchange=self._exchange,
            advisories=self._advisories,
            finish=self._offer if group else self._adopt_alone,
            begun=lambda: say(answer("stream_restore", {"deliver_subject": subject})),
            given_up=self._forget,
            clock=self._clock,
        )
        fields = {"stream": name, "client": asker.client}
        words = f"STREAM.RESTORE_CREATE.{name}"
        self._advisories.say(asker.account, words, "restore_create", fields)

    def _forget(self, origin: Origin) -> None:
        self._taken.discard(origin.number)
        self._planned.pop(origin.group, None)

    def _offer(
        self, origin: Origin, consumers: list[ArchivedConsumer], made: Reply[bytes | None]
    ) -> None:
        """Let the meta leader know that an archive is whole."""
        self._taken.discard(origin.number)
        planned = self._planned.pop(origin.group)
        settled = _settled(consumers, origin.config, is_clustered=True)
        if sum(len(msgspec.json.encode(it.config)) for it in settled) > CONSUMERS_BYTES_MAX:
            self._close(origin.number)
            problem = "the archive has more consumers than one entry of the meta group may have"
            made.set(refused("stream_create", failure(ErrCode.STREAM_RESTORE, err=problem).error))
            return
        self._offered[origin.group] = _Offered(
            origin=origin,
            planned=planned,
            consumers=settled,
            reply=made,
            since_ns=self._clock(),
        )
        self._offer_again(origin.group)

    def _offer_again(self, group: str) -> None:
        it = self._offered.get(group)
        if it is None:
            return
        if not it.is_late and self._clock() - it.since_ns > ASKED_NS:
            it.is_late = True
            error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
            it.reply.set(refused("stream_create", error))
        consumers = tuple(msgspec.json.encode(each.config) for each in it.consumers)
        self._host.restored(Restored(it.planned, consumers, it.is_late))
        self._owner.call_later(AGAIN_S, lambda: self._offer_again(group))

    def refuse(self, group: str, error: ApiError) -> None:
        """Leave nothing of an archive that is not to be a stream."""
        it = self._offered.pop(group, None)
        if it is not None:
            self._close(it.origin.number)
            if not it.is_late:
                it.reply.set(refused("stream_create", error))

    def adopt(self, effect: StartAsset) -> bool:
        """Let an archive be the stream that is assigned; False: it is not from an archive."""
        it = self._offered.pop(effect.group.name, None)
        if it is None:
            return effect.group.name in self._unfinished and self._take_back(effect.asset)
        entry = _entry_of(it.origin)
        reply = Reply[bytes | None]() if it.is_late else it.reply
        self._begin(entry).tell(Stream.Adopt(it.consumers, reply))
        return True

    # -- after a stop ----------------------------------------------------------------------------

    def find(self, restored: RestoredStream) -> None:
        """Take up what was read, and is a stream only in part."""
        if restored.saved.group:
            self._unfinished[restored.saved.group] = restored
        else:
            self._close(restored.number)

    def is_unfinished(self, asset: Asset) -> bool:
        """Return whether this server has a stream only in part."""
        return any(
            (it.saved.account, it.saved.config.name) == (asset.account, asset.stream)
            for it in self._unfinished.values()
        )

    def _take_back(self, asset: Asset) -> bool:
        """Let the meta leader delete, again and again, what is assigned and not whole."""
        found = self._host.assigned((asset.account, asset.stream, ""))
        if found is not None and found.group.name in self._unfinished:
            self._host.retire(asset.account, asset.stream, "", found.created_ns)
        if self.is_unfinished(asset):
            self._owner.call_later(AGAIN_S, lambda: self._take_back(asset))
        return True

    def drop(self, group: str) -> None:
        """Leave nothing of a stream that this server has only in part, if it is one."""
        restored = self._unfinished.pop(group, None)
        if restored is not None:
            self._close(restored.number)

    def drop_unassigned(self) -> None:
        """Leave nothing of what is not assigned, a while after it is known what is."""
        self._owner.call_later(DOUBT_S, self._drop_unassigned)

    def _drop_unassigned(self) -> None:
        if not self._host.is_current():
            self.drop_unassigned()
            return
        for group, it in list(self._unfinished.items()):
            found = self._host.assigned((it.saved.account, it.saved.config.name, ""))
            if found is None or found.group.name != group:
                self.drop(group)

    def _close(self, number: int) -> None:
        actor = self._owner.actor_ref
        self._link.ask(actor, Verb.CLOSE_STREAM, number, then=lambda _: None)


def wanted_restore(payload: bytes, name: str, *, is_strict: bool) -> StreamConfig:
    """Return the stream that an archive is to be, by the request for it.

    Args:
        payload: Of the request.
        name: The stream that its subject names.
        is_strict: Unknown fields are refused.

    Raises:
        ApiFailure: It makes no sense, or is for another stream.
    """
    if is_empty_request(payload):
        raise failure(ErrCode.BAD_REQUEST)
    wanted = read(RestoreRequest, payload, is_strict=is_strict).config
    wanted.name = wanted.name or name
    if wanted.name != name:
        raise failure(ErrCode.STREAM_MISMATCH)
    return settled(wanted)


def _entry_of(origin: Origin) -> StreamEntry:
    return StreamEntry(
        number=origin.number,
        account=origin.asker.account,
        config=origin.config,
        created_ns=origin.created_ns,
        group=origin.group,
    )


def _settled(
    consumers: list[ArchivedConsumer], stream: StreamConfig, *, is_clustered: bool
) -> list[ArchivedConsumer]:
    """Return the consumers of an archive as they are here, without those that make no sense."""
    found: dict[str, ArchivedConsumer] = {}
    for archived in consumers:
        config = archived.config
        config.name = config.name or config.durable_name
        with suppress(ApiFailure):
            if config.name not in found:
                check_replicas(config, stream, is_clustered=is_clustered)
                settled = settled_consumer(config, stream)
                settle_ending(settled)
                found[config.name] = msgspec.structs.replace(archived, config=settled)
    return list(found.values())
