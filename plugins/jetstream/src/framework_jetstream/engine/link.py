"""The way between actors and the engine: commands one way, answers in batches the other."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framework.wire.event_ids import EventIds
from framework_jetstream.engine._engine import Engine
from framework_jetstream.engine._segment_jobs import SegmentThread
from framework_jetstream.engine.refusals import refusal_texts
from framework_jetstream.engine.verbs import CONTROL_GROUP, Event, Verb
from framework_jetstream.log.folder import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import ActorRef
    from framework.spec import Port
    from framework.sublist.transform import Program
    from framework_jetstream.api.saved import Restored
    from framework_jetstream.config import JetStreamConfig
    from framework_jetstream.engine._port_memory import PortMemory
    from framework_jetstream.log import Log
    from framework_jetstream.log.folder import LogFolder
    from framework_jetstream.raft.records import Settings
    from framework_jetstream.storage.folder import KeptFolder
    from framework_jetstream.storage.storage import Storage

THREAD: Final = "jetstream-engine"
SEGMENT_THREAD: Final = "jetstream-segments"
_SOURCES: Final = 1 << 40
"""Events of sources are told with numbers above those of consumers, as `_state.pxd` says it."""
_STORE: Final = 1 << 41
"""Events of what is stored are told with this number."""
_SERVER: Final = 1 << 42
"""Events of no consumer are told with this number, as `_staging.pyx` says it."""
_STREAMS: Final = 1 << 43
"""Events of a stream's group are told with its number above this."""
_CONTROL: Final = 1 << 44
"""Those of a control group likewise."""
_SECOND_NS: Final = 1_000_000_000
_PREFIX_CHARS: Final = 12
"""Of ids of events, which differ between servers."""


_MAY_HAVE_BEEN: Final = 256
"""As `_replicated.pxd` has it."""


def replica_numbers(replicas: tuple[int, ...], *, may_have_been: bool = False) -> tuple[int, ...]:
    """Return how a command says who has something, behind its first four numbers.

    Args:
        replicas: Number of the group at all servers, and theirs; empty: it is this one's alone.
        may_have_been: Whether this server may have had it, in a store that is lost since.
    """
    lost = _MAY_HAVE_BEEN * may_have_been
    return (replicas[0], len(replicas) - 1 + lost, *replicas[1:]) if replicas else ()


class EngineAnswer(Struct, frozen=True):
    """What the engine says to a command."""

    status: int
    """0: it was done; 1: what it is about is not there; 2: there is no memory; 3: the disk is full,
    or the log has ended."""
    numbers: tuple[int, ...]
    data: bytes
    payload: PortMemory | None = None
    """Of a message that is to be published; None: there is none."""


class EngineAnswers(Struct, frozen=True):
    """Answers for one actor, in order."""

    answers: list[tuple[EngineAnswer, Callable[[EngineAnswer], object]]]
    """With what who asked does with each, in its own turn."""

    def use(self) -> None:
        """Do what was to be done with each; called in the turn of the actor that asked."""
        for answer, then in self.answers:
            then(answer)


class EngineEvent(Struct, frozen=True):
    """What the engine says of a consumer or a source without being asked."""

    kind: Event
    numbers: tuple[int, ...]
    data: bytes
    about: Any = None
    """What who listens has given with it."""


class ScrubPass(Struct, frozen=True):
    """Reading once what the log and segments have, to see whether it is as it was written."""

    began_ns: int
    """Unix time."""
    ended_ns: int
    """The same; 0: it has not."""
    bytes: int
    files: int
    damages: int
    """Places that were not as they were written."""
    errors: int
    """Reads that failed."""


class EngineLink:
    """One engine of a server, its thread, and who waits for its answers.

    All but the thread runs in the control loop.

    Args:
        domain: Of JetStream, for PubAcks and advisories; empty: none.
    """

    def __init__(self, domain: str = "") -> None:
        rng = random.SystemRandom()
        prefix = EventIds(rng).next()[:_PREFIX_CHARS].encode()
        self._engine = Engine(refusal_texts(), rng.getrandbits(63), domain.encode(), prefix)
        self._folder: LogFolder | None = None
        self._segments: SegmentThread | None = None
        self._storage: Storage | None = None
        self._segment_thread: threading.Thread | None = None
        self._listening: dict[int, tuple[ActorRef[Any], Any]] = {}
        self._consumers = 0
        self._sources = 0
        self._waiting: dict[int, tuple[ActorRef[Any], Callable[[EngineAnswer], object]]] = {}
        self._lost: Callable[[int, int, int], object] | None = None
        self._mended: Callable[[int, int, int, int], object] | None = None
        self._thread: threading.Thread | None = None
        self._peers: Port | None = None
        self._use_replicas: Callable[[], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def use_log(
        self,
        folder: LogFolder,
        restore: Callable[[Engine, Log, KeptFolder], Restored],
        config: JetStreamConfig,
        storage: Storage,
    ) -> Restored:
        """Keep streams in a log and segments, and return those that are there.

        Called once, before `start`.

        Args:
            folder: Of the log.
            restore: Reads what is there.
            config: Says how much stays in memory, and how often segments are read again.
            storage: Kinds that keep segments.

        Raises:
            StoreError: The segments can't be read.
        """
        self._folder = folder
        segments = storage.begin(folder.folder, folder.log.salt)
        self._storage = storage
        storage.fetched = self._read_again
        self._engine.use_log(folder.log, folder.thread, folder.wake_fd)
        if self._use_replicas is not None:
            self._use_replicas()
        try:
            segments.make()
            self._segments = SegmentThread(segments.folder, folder.wake_fd, storage.asks_fd)
            self._engine.use_segments(
                self._segments,
                cache_bytes=config.block_cache_bytes,
                scrub_bytes_per_s=config.scrub_rate if config.scrub_interval_s else 0,
                scrub_interval_ns=round(config.scrub_interval_s * _SECOND_NS),
                log_bytes=config.log_bytes,
            )
            restored = restore(self._engine, folder.log, segments)
        except OSError as error:
            raise StoreError(f"{segments.folder} can't be used for streams: {error}") from error
        self._consumers = max(
            (it.number for stream in restored.streams for it in stream.consumers), default=0
        )
        return restored

    def use_replicas(
        self,
        port: Port,
        *,
        server: int,
        account: int,
        prefix: bytes,
        seed: int,
        settings: Settings,
    ) -> None:
        """Have groups that other servers have too; before `use_log`, as `Engine.use_replicas`.

        Args:
            port: By which servers hear of each other; it is closed when the engine has ended.
            server: Number of this one.
            account: Number of the account of the port's subjects.
            prefix: Of these subjects.
            seed: Of random numbers.
            settings: Of all groups.
        """
        self._peers = port
        self._use_replicas = partial(
            self._engine.use_replicas,
            port.capsule(),
            server=server,
            account=account,
            prefix=prefix,
            seed=seed,
            settings=settings,
        )

    def start(self, port: Port) -> None:
        """Let the engine use a port, on a thread of its own."""
        self._engine.open(port.capsule())
        if self._folder is not None:
            self._folder.start()
        if self._segments is not None:
            self._segment_thread = threading.Thread(
                target=self._segments.run, name=SEGMENT_THREAD, daemon=True
            )
            self._segment_thread.start()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._engine.fileno(), self._take)
        if self._storage is not None and self._storage.read_fd >= 0:
            self._loop.add_reader(self._storage.read_fd, self._storage.hear)
        self._thread = threading.Thread(target=self._engine.run, name=THREAD, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the thread has ended; its port was closed. Callable from any thread."""
        if self._thread is not None:
            self._thread.join()
        if self._peers is not None:
            self._peers.close()
        if self._segments is not None and self._segment_thread is not None:
            self._segments.stop()
            self._segment_thread.join()
        if self._storage is not None:
            self._storage.close()
            if self._loop is None:
                self._storage.close_pipe()
        if self._folder is not None:
            self._folder.close()

    def _read_again(self) -> None:
        """Let the engine read what is here again."""
        assert self._folder is not None
        self._engine.read_again()
        os.eventfd_write(self._folder.wake_fd, 1)

    def trouble(self) -> str:
        """Return why nothing is stored, or why the log gets longer; empty: all is well."""
        trouble = self._folder.trouble() if self._folder is not None else ""
        if not trouble and self._engine.segment_error:
            why = os.strerror(self._engine.segment_error)
            return f"segments can't be written, and the log gets longer: {why}"
        if not trouble and self._engine.read_error:
            why = os.strerror(self._engine.read_error)
            return f"segments can't be read, and consumers wait: {why}"
        return trouble

    def close(self) -> None:
        """Listen to answers no more."""
        if self._loop is not None:
            self._loop.remove_reader(self._engine.fileno())
            if self._storage is not None and self._storage.read_fd >= 0:
                self._loop.remove_reader(self._storage.read_fd)
                if self._thread is None or not self._thread.is_alive():
                    self._storage.close_pipe()
            self._loop = None

    def ask(
        self,
        owner: ActorRef[Any],
        verb: Verb,
        number: int,
        *,
        then: Callable[[EngineAnswer], object],
        numbers: tuple[int, ...] = (),
        limits: Mapping[str, int] | None = None,
        terms: Mapping[str, int] | None = None,
        first: bytes = b"",
        second: bytes = b"",
        third: bytes = b"",
        programs: list[Program] | None = None,
    ) -> None:
        """Ask the engine; `then` gets its answer in a turn of `owner`."""
        asked = self._engine.command(
            verb,
            number,
            numbers=numbers,
            limits=dict(limits) if limits is not None else None,
            terms=dict(terms) if terms is not None else None,
            first=first,
            second=second,
            third=third,
            programs=programs,
        )
        self._waiting[asked] = (owner, then)

    def tell_peer(self, connection: int, server: int) -> None:
        """Say to which server a connection leads, by its number; 0: it is gone."""
        self._engine.command(Verb.LINK_PEER, 0, numbers=(connection, server))

    def next_consumer(self) -> int:
        """Return a number that no consumer has had."""
        self._consumers += 1
        return self._consumers

    def next_source(self) -> int:
        """Return a number that no source has had."""
        self._sources += 1
        return self._sources

    def listen(self, consumer: int, owner: ActorRef[Any], about: Any = None) -> None:
        """Tell `owner` an `EngineEvent` for each thing that the engine says of a consumer.

        Args:
            consumer: Its number.
            owner: An actor.
            about: Stands in these events.
        """
        self._listening[consumer] = owner, about

    def listen_to_source(self, source: int, owner: ActorRef[Any]) -> None:
        """Tell `owner` an `EngineEvent` for each thing that the engine says of a source."""
        self.listen(_SOURCES + source, owner)

    def listen_to_server(self, owner: ActorRef[Any]) -> None:
        """Tell `owner` an `EngineEvent` for each thing that is of no consumer."""
        self.listen(_SERVER, owner)

    def listen_to_stream(self, number: int, owner: ActorRef[Any]) -> None:
        """Tell `owner` an `EngineEvent` for each thing that the engine says of a stream's group."""
        self.listen(_STREAMS + number, owner)

    def forget_stream(self, number: int) -> None:
        """Tell nobody of a stream any more."""
        self.forget(_STREAMS + number)

    def listen_to_control_groups(self, owner: ActorRef[Any]) -> None:
        """Tell `owner` an `EngineEvent` for each thing of the control group."""
        self.listen(_CONTROL + CONTROL_GROUP, owner)

    def forget_source(self, source: int) -> None:
        """Tell nobody of a source any more."""
        self.forget(_SOURCES + source)

    def forget(self, consumer: int) -> None:
        """Tell nobody of a consumer any more."""
        self._listening.pop(consumer, None)

    def hear_of_losses(
        self,
        lost: Callable[[int, int, int], object],
        mended: Callable[[int, int, int, int], object],
    ) -> None:
        """Tell of damage.

        Args:
            lost: It has taken messages: the stream's number, first and last sequence.
            mended: It has taken nothing, and what it is in is written again: the stream's number,
                group and file of the segment, a `SegmentReason`; group 0: it is a file of the log.
        """
        self._lost, self._mended = lost, mended

    def scrubs(self) -> list[ScrubPass]:
        """Return how files were read again: the pass that is on, and the last one before it.

        Those that have not been are left out.
        """
        current, last = (ScrubPass(*it) for it in self._engine.scrubs)
        passes = [last] if current == last else [current, last]
        return [it for it in passes if it.began_ns]

    def _take(self) -> None:
        batches: dict[ActorRef[Any], EngineAnswers] = {}
        for asked, status, numbers, data, payload in self._engine.answers():
            if asked == -_STORE:
                self._take_damage(Event(status), numbers)
                continue
            if asked < 0:
                if -asked in self._listening:
                    owner, about = self._listening[-asked]
                    owner.tell(EngineEvent(Event(status), numbers, data, about))
                continue
            owner, then = self._waiting.pop(asked)
            batch = batches.setdefault(owner, EngineAnswers([]))
            batch.answers.append((EngineAnswer(status, numbers, data, payload), then))
        for owner, batch in batches.items():
            if owner.is_alive():  # who has ended meanwhile has no use for them
                owner.tell(batch)

    def _take_damage(self, event: Event, numbers: tuple[int, ...]) -> None:
        if event == Event.LOST and self._lost is not None:
            self._lost(*numbers[:3])
        elif event == Event.MENDED and self._mended is not None:
            self._mended(*numbers[:4])
