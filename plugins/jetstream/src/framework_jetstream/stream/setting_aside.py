"""`SettingAside`: writes a stream that has no place here to `lost+found`, then it may be closed.

nats-server deletes such streams when a fresh meta leader does not know them; with a damaged
snapshot that is all of them (Jepsen's report of NATS 2.12.1, issue 7556).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.wire.s2 import Encoder
from framework_jetstream.api.records import plain
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.engine.link import EngineAnswers
from framework_jetstream.engine.verbs import TAKES_NOTHING, GroupOf, Verb
from framework_jetstream.meta.view import group_state
from framework_jetstream.snapshots.archive import END, ArchivedConsumer, archive_head
from framework_jetstream.snapshots.consumers import consumer_state
from framework_jetstream.snapshots.lost_folder import LostFolder, Reason, Writing
from framework_jetstream.snapshots.snapshot import READ_BYTES
from framework_jetstream.stream.shown import state_from_numbers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from framework_jetstream.api.records import StreamState
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.stream.book import StreamEntry

APPLIED_S: Final = 0.05
"""Until it is looked again whether all is applied."""
LOOKS_MAX: Final = 1200
"""A minute: segments of large streams are loaded meanwhile."""
AGAIN_S: Final = 30.0
"""Until it is tried again, where the disk had no room, or a message could not be read."""


class SettingAside(Component):
    """Write one stream.

    Args:
        entry: The stream.
        reason: Why it has no place here.
        server: Name of this server.
        folder: Where it goes.
        link: The way to the engine.
        is_wanted: Returns whether it still has no place here.
        report: Told where it is, or why it can't be written.
        done: Called at the end, with whether it is there, durably; False: it is to stay.
        clock: Returns the Unix time in nanoseconds.
    """

    class _Found(Struct, frozen=True):
        outcome: Any

    class _Begun(Struct, frozen=True):
        outcome: Any

    class _Wrote(Struct, frozen=True):
        outcome: Any

    class _Finished(Struct, frozen=True):
        outcome: Any

    class _Look(Struct, frozen=True):
        """More may be applied by now."""

    class _Again(Struct, frozen=True):
        """The disk may have room by now."""

    def __init__(
        self,
        *,
        entry: StreamEntry,
        reason: str,
        server: str,
        folder: LostFolder,
        link: EngineLink,
        is_wanted: Callable[[], bool],
        report: Callable[[str], object],
        done: Callable[[bool], object],
        clock: Callable[[], int],
    ) -> None:
        super().__init__()
        self._entry = entry
        self._why = reason
        self._server = server
        self._folder = folder
        self._link = link
        self._is_wanted = is_wanted
        self._report = report
        self._done = done
        self._clock = clock
        self._consumers: list[ArchivedConsumer] = []
        self._state: StreamState | None = None
        self._encoder = Encoder()
        self._writing: Writing | None = None
        self._next = 0
        self._is_read = False
        self._told = ""
        self._looks = 0

    @override
    def on_start(self) -> None:
        self._begin()

    @override
    def on_stop(self) -> None:
        if self._writing is not None:
            self._writing.drop()

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case SettingAside._Found(outcome):
                self._take(outcome, self._look)
            case SettingAside._Begun(outcome):
                self._take(outcome, self._start)
            case SettingAside._Wrote(outcome):
                self._take(outcome, lambda _: self._read())
            case SettingAside._Finished(outcome):
                self._take(outcome, self._end)
            case SettingAside._Look():
                self._await_applied()
            case SettingAside._Again():
                self._begin()
            case _:
                super().on_receive(message)
        return None

    def _take(self, outcome: object, then: Callable[[Any], object]) -> None:
        """Go on with what came of work on the disk, or keep the stream where it is for now."""
        if isinstance(outcome, OSError):
            self._put_off(outcome.strerror or str(outcome))
        elif isinstance(outcome, BaseException):
            self._put_off(repr(outcome))
        else:
            then(outcome)

    def _put_off(self, problem: str) -> None:
        name = f"stream {self._entry.config.name} of account {self._entry.account}"
        where = f"it can't be written to {self._folder.path}: {problem}"
        if problem != self._told:
            self._told = problem
            self._report(f"{name} has no place here, and stays in the log, since {where}")
        if self._writing is not None:
            self._writing.drop()
            self._writing = None
        self.tell_later(AGAIN_S, SettingAside._Again())

    # -- what it is ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Let the stream take nothing more, and see what is in it."""
        if not self._is_wanted():
            self._leave(is_there=False)  # it takes messages again after the next start
            return
        self._looks = 0
        ask = partial(self._link.ask, self.actor_ref, then=lambda _: None)
        ask(Verb.REFUSE_STREAM, self._entry.number, numbers=(TAKES_NOTHING,))
        for number, of in self._groups():
            ask(Verb.SET_ASIDE, number, numbers=(of,))
        self._await_applied()

    def _groups(self) -> list[tuple[int, GroupOf]]:
        """Return the groups of several servers, by the engine's numbers."""
        found = [(self._entry.number, GroupOf.STREAM)] if self._entry.replicas else []
        consumers = self._entry.consumers.values()
        return found + [(it.number, GroupOf.CONSUMER) for it in consumers if it.replicas]

    def _await_applied(self) -> None:
        """Go on when all is applied that groups have here, committed or not."""
        waits: list[int] = []
        groups = self._groups()

        def take(number: int, told: EngineAnswer) -> None:
            if not told.status:
                state = group_state(told.numbers, told.data)
                if state.applied < state.last_index:
                    waits.append(number)

        def look(_: EngineAnswer) -> None:
            self._looks += 1
            if not waits:
                self._ask_state()
            elif self._looks < LOOKS_MAX:
                self.tell_later(APPLIED_S, SettingAside._Look())
            else:
                self._put_off("what the log has of it can't all be read")

        for number, of in groups:
            ask = partial(self._link.ask, self.actor_ref, Verb.GROUP_STATE, number)
            ask(numbers=(of,), then=partial(take, number))
        self._link.ask(self.actor_ref, Verb.STREAM_STATE, self._entry.number, then=look)

    def _ask_state(self) -> None:
        self._consumers = []
        ask = partial(self._link.ask, self.actor_ref)
        number = self._entry.number

        def take(entry: ConsumerEntry, told: EngineAnswer) -> None:
            if not told.status:
                self._consumers.append(ArchivedConsumer(entry.config, consumer_state(told)))

        for it in self._entry.consumers.values():
            ask(Verb.READ_CONSUMER, it.number, then=partial(take, it))
        ask(Verb.STREAM_STATE, number, then=self._find)

    def _find(self, told: EngineAnswer) -> None:
        if told.status:
            self._leave(is_there=False)  # it is closed already
            return
        self._state = state_from_numbers(told.numbers, len(self._consumers))
        self.run_blocking(self._folder.find, self._reason(), answer=SettingAside._Found)

    def _reason(self) -> Reason:
        entry, state = self._entry, self._state
        assert state is not None
        return Reason(
            reason=self._why,
            set_aside=text_from_ns(self._clock()),
            server=self._server,
            group=entry.group,
            account=entry.account,
            stream=entry.config.name,
            created=text_from_ns(entry.created_ns),
            messages=state.messages,
            bytes=state.bytes,
            first_seq=state.first_seq,
            last_seq=state.last_seq,
            consumers=sorted(it.config.name for it in self._consumers),
            is_whole=not entry.is_repaired,
        )

    def _look(self, found: Path | None) -> None:
        if found is not None:  # it was written before a stop
            self._end(found)
            return
        self.run_blocking(self._folder.begin, self._entry.group, answer=SettingAside._Begun)

    # -- its messages ----------------------------------------------------------------------------

    def _start(self, writing: Writing) -> None:
        assert self._state is not None
        self._writing = writing
        self._encoder = Encoder()
        self._next, self._is_read = self._state.first_seq, False
        self._write(archive_head(self._state, self._consumers, self._clock()))

    def _write(self, data: bytes) -> None:
        writing, encoder = self._writing, self._encoder
        assert writing is not None

        def write() -> None:
            writing.write(encoder.encode(data))

        self.run_blocking(write, answer=SettingAside._Wrote)

    def _read(self) -> None:
        if self._is_read:
            self._finish()
            return
        assert self._state is not None
        self._link.ask(
            self.actor_ref,
            Verb.READ_ARCHIVE,
            self._entry.number,
            numbers=(self._next, self._state.last_seq, READ_BYTES),
            then=self._take_read,
        )

    def _take_read(self, told: EngineAnswer) -> None:
        if told.status:
            self._put_off(f"message {self._next} can't be read")
            return
        self._next, self._is_read = told.numbers[0], bool(told.numbers[2])
        self._write(told.data + (END if self._is_read else b""))

    def _finish(self) -> None:
        writing, state = self._writing, self._state
        assert writing is not None
        assert state is not None
        backup = {"config": plain(self._entry.config), "state": plain(state)}
        data = msgspec.json.encode(backup)
        self.run_blocking(writing.finish, data, self._reason(), answer=SettingAside._Finished)

    def _end(self, where: Path) -> None:
        self._writing = None
        entry = self._entry
        self._report(
            f"stream {entry.config.name} of account {entry.account} has no place here:"
            f" {self._why}. What this server had of it is in {where}"
        )
        self._leave(is_there=True)

    def _leave(self, *, is_there: bool) -> None:
        self._done(is_there)
        self.stop()
