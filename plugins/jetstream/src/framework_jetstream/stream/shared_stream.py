"""A stream that the meta group has assigned: it becomes what that says, and goes where that says.

Only who leads it changes it; all others follow its entries.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from framework.actors import Reply
from framework_jetstream.api.records import StreamConfig
from framework_jetstream.api.saved import SavedStream, saved_from_text
from framework_jetstream.consumer.consumer import ASKED_NS
from framework_jetstream.engine.moving import LATER_S, Moving, share
from framework_jetstream.engine.verbs import GroupOf, Verb
from framework_jetstream.meta.peers import group_number, number_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import ActorRef
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.host import Host
    from framework_jetstream.meta.assignments import Group
    from framework_jetstream.stream.book import StreamBook, StreamEntry

_WAITING_MAX: Final = 64
"""Who wait for an answer; the first go."""


class Owner(Protocol):
    """The actor of the stream."""

    @property
    def actor_ref(self) -> ActorRef[Any]:
        """Where answers of the engine go."""

    def describe(
        self, verb: Verb, then: Callable[[EngineAnswer], object], numbers: tuple[int, ...] = ()
    ) -> None:
        """Let the engine have the configuration."""

    def ask_open(self, account_number: int, then: Callable[[EngineAnswer], object]) -> None:
        """Let other servers be added."""

    def changed(self, reply: Reply[bytes | None]) -> None:
        """Say that it is as configured."""

    def configured(self) -> None:
        """Do what else its configuration says."""

    def call_later(self, delay_s: float, then: Callable[[], object]) -> None:
        """Call something in a turn of the actor."""


class SharedStream:
    """Lets a stream follow its assignment.

    Args:
        owner: The actor of the stream, in whose turns all of this runs.
        entry: What others know of it; it is changed here.
        book: All streams.
        link: The way to the engine.
        host: The server.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        owner: Owner,
        *,
        entry: StreamEntry,
        book: StreamBook,
        link: EngineLink,
        host: Host,
        clock: Callable[[], int],
    ) -> None:
        self._owner = owner
        self._entry = entry
        self._book = book
        self._link = link
        self._host = host
        self._clock = clock
        self._waiting: list[tuple[int, str]] = []
        self._is_changing = False
        self._asset = (entry.account, entry.config.name, "")

    def look(self, reply: str = "") -> None:
        """Do what is due, if this server leads the stream.

        Args:
            reply: Where to answer when it is as the meta group says; empty: nobody waits.
        """
        entry = self._entry
        if reply:
            self._waiting = [*self._waiting, (self._clock(), reply)][-_WAITING_MAX:]
        if not entry.group or not entry.is_leader or self._is_changing:
            return
        found = self._host.assigned(self._asset)
        if found is None:
            self._owner.call_later(LATER_S, self.look)
            return
        if not entry.replicas and found.group.target:
            self._share(found.group)
            return
        config = msgspec.json.decode(found.config, type=StreamConfig)
        if found.revision > entry.revision and config != entry.config:
            self._change(config, found.revision)
            return
        self._answer()
        if entry.replicas:
            self._moving.look()

    def hold(self) -> None:
        """Do nothing until it is the stream that was assigned."""
        self._is_changing = True

    def go_on(self) -> None:
        """Do what is due."""
        self._is_changing = False
        self.look()

    def follow(self, index: int, description: bytes) -> None:
        """Be what an entry says that another server has proposed."""
        saved = saved_from_text(description)
        assert isinstance(saved, SavedStream)
        self._book.configure(self._entry, saved.config)
        self._entry.revision = saved.revision
        self._waiting.clear()  # who has proposed it answers
        self._owner.describe(Verb.FOLLOW_UPDATE, lambda _: None, (index,))

    @cached_property
    def _moving(self) -> Moving:
        """Made when there are other servers: most streams never have any."""
        owner, entry, asset = self._owner, self._entry, self._asset
        link, host = self._link, self._host
        return Moving(
            of=GroupOf.STREAM,
            ask=lambda verb, numbers, then: link.ask(
                owner.actor_ref, verb, entry.number, then=then, numbers=numbers
            ),
            assigned=lambda: host.assigned(asset),
            moved=lambda created_ns, members: host.moved(asset, created_ns, members),
            later=owner.call_later,
        )

    def _change(self, config: StreamConfig, revision: int) -> None:
        entry = self._entry
        before, before_revision = entry.config, entry.revision
        self._book.configure(entry, config)
        entry.revision = revision
        self._is_changing = True

        def changed(told: EngineAnswer) -> None:
            self._is_changing = False
            if told.status:
                if entry.revision == revision:
                    self._book.configure(entry, before)
                    entry.revision = before_revision
                self._owner.call_later(LATER_S, self.look)
            else:
                self._owner.configured()
                self.look()

        self._owner.describe(Verb.UPDATE_STREAM, changed)

    def _share(self, group: Group) -> None:
        """Let other servers be added to a stream that only this one has."""
        entry = self._entry
        self._link.listen_to_stream(entry.number, self._owner.actor_ref)
        share(
            entry,
            (group_number(group.name), number_of(self._host.peer)),
            is_logged=entry.config.storage != "memory" or entry.is_logged,
            ask_open=partial(self._owner.ask_open, self._host.account_number(entry.account)),
            refused=partial(self._owner.call_later, LATER_S, self.look),
        )

    def _answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for asked_ns, subject in waiting:
            if self._clock() - asked_ns <= ASKED_NS:
                reply = Reply[bytes | None]()
                reply.when_done(partial(self._send, subject))
                self._owner.changed(reply)

    def _send(self, subject: str, told: Reply[bytes | None]) -> None:
        text = told.get()
        if text is not None:
            self._host.answer(subject, text)
