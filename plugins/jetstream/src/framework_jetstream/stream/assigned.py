"""Streams and consumers that the meta group has assigned to this server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from framework.actors import Reply
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.meta.assignments import StreamAssignment, record_from_bytes
from framework_jetstream.meta.effects import ChangeAsset, Confirmed, StartAsset, StopAsset, Why
from framework_jetstream.meta.letters import NotRestored, TakeArchive
from framework_jetstream.meta.lost import SetAside
from framework_jetstream.meta.peers import group_number, number_of
from framework_jetstream.stream.book import StreamEntry
from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import ActorRef
    from framework_jetstream.host import Host
    from framework_jetstream.meta.assignments import Asked, Asset
    from framework_jetstream.stream.archives import Archives
    from framework_jetstream.stream.book import StreamBook
    from framework_jetstream.stream.lost_and_found import LostAndFound


class AssignedAssets:
    """Carries out what the meta group wants of this server, again and again if need be.

    After a start effects come once more, for what was read from the log already: a group is known
    by its name, which never another one has.

    Args:
        book: The streams of this server.
        host: The server.
        archives: Taken here, of which some are assigned.
        lost: Sets aside what has no place here.
        begin: Makes the actor of a stream.
        close_offline: Leaves nothing of a stream that is in the log and not served.
    """

    def __init__(
        self,
        *,
        book: StreamBook,
        host: Host,
        archives: Archives,
        lost: LostAndFound,
        begin: Callable[[StreamEntry], ActorRef[Stream]],
        close_offline: Callable[[str, str], object],
    ) -> None:
        self._book = book
        self._host = host
        self._archives = archives
        self._lost = lost
        self._begin = begin
        self._close_offline = close_offline
        self._held: dict[tuple[str, str], list[StartAsset]] = {}
        """Of streams of which there is another one here, and their consumers."""

    def take_word(self, word: Confirmed | SetAside | TakeArchive | NotRestored) -> None:
        """Do what the meta leader says of an archive, or leave nothing of what is nobody's."""
        match word:
            case SetAside():
                self._set_aside(word)
            case TakeArchive(stream):
                try:
                    self._archives.take(record_from_bytes(StreamAssignment, stream))
                except msgspec.MsgspecError as error:
                    self._host.report(f"No archive is taken: {error}")
            case NotRestored(group, error):
                self._archives.refuse(group, error)
            case Confirmed():
                self._archives.drop_unassigned()

    def take(self, effect: StartAsset | StopAsset | ChangeAsset) -> None:
        """Carry out an effect."""
        match effect:
            case StartAsset():
                self._start(effect)
            case StopAsset():
                self._stop(effect)
            case ChangeAsset():
                self._change(effect)

    def _start(self, effect: StartAsset) -> None:
        asset = effect.asset
        entry = self._book.get(asset.account, asset.stream)
        held = self._held.get((asset.account, asset.stream))
        if held is not None:
            held.append(effect)
        elif (asset.account, asset.stream) in self._book.offline:
            pass  # it is in the log, which has said why it is not served
        elif not asset.consumer:
            if entry is None and not self._archives.adopt(effect):
                self._start_stream(effect)
            elif entry is None:
                pass  # it is there already
            elif entry.group != effect.group.name:
                self._hold(effect, entry.group)
            elif entry.stream is not None:
                entry.stream.tell(Stream.Look())  # it was there already, and may have to move
        else:
            self._start_consumer(effect, entry)

    def _start_consumer(self, effect: StartAsset, entry: StreamEntry | None) -> None:
        asset = effect.asset
        if entry is None and self._archives.is_unfinished(asset):
            return  # it goes with its stream
        if entry is None or entry.stream is None:
            self._host.report(f"consumer {asset.consumer} has no stream {asset.stream} here")
            return
        config = msgspec.json.decode(effect.config, type=ConsumerConfig)
        entry.stream.tell(
            Stream.StartConsumer(
                effect.group.name,
                self._replicas(effect),
                config,
                effect.created_ns,
                self._reply_to(effect.asked),
                effect.may_have_been,
            )
        )

    def _hold(self, effect: StartAsset, group: str) -> None:
        """Wait with a stream until another one of its name is set aside."""
        asset = effect.asset
        problem = f"stream {asset.stream} of account {asset.account} is another one here"
        self._host.report(f"{problem}: group {effect.group.name} waits until that is set aside")
        self._held[asset.account, asset.stream] = [effect]
        self._set_aside(SetAside(asset, group, f"its name belongs to group {effect.group.name}"))

    def _set_aside(self, found: SetAside) -> None:
        asset = found.asset
        self._lost.take(found, lambda: self._go_on(asset.account, asset.stream))

    def _go_on(self, account: str, stream: str) -> None:
        """Begin what has waited for a name, as it is wanted by now."""
        for effect in self._held.pop((account, stream), ()):
            found = self._host.assigned(effect.asset)
            if found is not None and found.group.name == effect.group.name:
                self._start(replace(effect, config=found.config))

    def _start_stream(self, effect: StartAsset) -> None:
        asset, group = effect.asset, effect.group
        try:
            account_number = self._host.account_number(asset.account)
        except KeyError:
            self._host.report(f"stream {asset.stream} is not served: no account {asset.account}")
            return
        replicas = self._replicas(effect)
        if effect.may_have_been and not replicas:
            self._host.report(
                f"stream {asset.stream} of account {asset.account} has no other replica: what was"
                " in the store of this server before is lost, and it begins empty"
            )
        entry = StreamEntry(
            number=self._book.next_number(),
            account=asset.account,
            config=msgspec.json.decode(effect.config, type=StreamConfig),
            created_ns=effect.created_ns,
            group=group.name,
            replicas=replicas,
            is_leader=not replicas,
            is_repaired=bool(replicas) and (effect.may_have_been or len(replicas) == 1),
        )
        reply = self._reply_to(effect.asked)
        self._begin(entry).tell(Stream.Open(account_number, reply))

    def _change(self, effect: ChangeAsset) -> None:
        """Let a stream or consumer be as was decided: its configuration, or who has it."""
        asset = effect.asset
        entry = self._book.get(asset.account, asset.stream)
        if entry is None or entry.stream is None:
            return
        if asset.consumer:
            config = msgspec.json.decode(effect.config, type=ConsumerConfig)
            reply = self._reply_at(effect.reply)
            entry.stream.tell(Stream.ChangeConsumer(effect.group.name, config, reply))
        else:
            entry.stream.tell(Stream.Look(effect.reply))

    def _replicas(self, effect: StartAsset) -> tuple[int, ...]:
        """Return the number of a group and of its servers, as the engine wants it.

        Nothing, where it is this server's alone. Only the number, where others add this one: a
        member is who was there when the group was founded, or was told so by its leader.
        """
        group = effect.group
        is_founder = self._host.peer in group.peers and not group.is_moved
        if is_founder and len(group.peers) == 1:
            return ()
        founders = group.peers if is_founder else ()
        return (group_number(group.name), *(number_of(it) for it in founders))

    def _stop(self, effect: StopAsset) -> None:
        """Have it no more; what may not be deleted stays as it is."""
        asset = effect.asset
        entry = self._book.get(asset.account, asset.stream)
        if effect.may_delete:
            self._archives.drop(effect.group_name)
        if (asset.account, asset.stream) in self._book.offline:
            if effect.may_delete and not asset.consumer:
                self._close_offline(asset.account, asset.stream)
            return
        if entry is None or entry.stream is None:
            return
        if effect.why is Why.NOT_ASSIGNED:
            self._set_aside(SetAside(asset, effect.group_name, effect.detail))
        elif not effect.may_delete:
            self._host.report(f"{_named(asset)} is kept, and not assigned: {effect.detail}")
        elif asset.consumer:
            entry.stream.tell(Stream.StopConsumer(effect.group_name, Reply()))
        elif entry.group == effect.group_name:
            # Another one of its name may be assigned at once.
            self._book.remove(entry)
            entry.stream.tell(Stream.Request("stream_delete", b"", Reply()))

    def _reply_to(self, asked: Asked | None) -> Reply[bytes | None]:
        """Return what is set with the answer for who has asked, if it is set here."""
        return self._reply_at(asked.reply if asked is not None else "")

    def _reply_at(self, subject: str) -> Reply[bytes | None]:
        reply = Reply[bytes | None]()
        if subject:

            def send(told: Reply[bytes | None]) -> None:
                text = told.get()
                if text is not None:
                    self._host.answer(subject, text)

            reply.when_done(send)
        return reply


def _named(asset: Asset) -> str:
    kind = "Consumer" if asset.consumer else "Stream"
    return f"{kind} {' > '.join(filter(None, asset))}"
