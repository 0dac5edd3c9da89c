"""`Storage`: the storage kinds of one server, and what they have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from framework_jetstream.storage.asks import Ask, What, read_asks
from framework_jetstream.storage.folder import KeptFolder, read_kept
from framework_jetstream.storage.kind_thread import KindThread
from framework_jetstream.storage.records import StorageProblemError, number_of
from framework_jetstream.storage.storage_keeper import StorageKeeper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from framework.actors import ActorRef
    from framework_jetstream.storage.folder import Kept
    from framework_jetstream.storage.records import StorageKind

T = TypeVar("T")
_FOLDER: Final = "storage"
"""Beside the log; each kind has one of its own in it."""
_MODE: Final = 0o750
_CLOSE_S: Final = 2.0


class Storage:
    """Kinds, the thread of each, and where their segments stand.

    Args:
        kinds: By name.
        answer_s: Seconds that one may take for one thing.
        report: Is told, for people, when a kind begins to fail, and when it is well again.
    """

    def __init__(
        self,
        kinds: Mapping[str, StorageKind],
        *,
        answer_s: float,
        report: Callable[[str], object],
    ) -> None:
        self.kinds: Final = kinds
        self.answer_s: Final = answer_s
        self._report = report
        self._threads = {name: KindThread(name) for name in kinds}
        self._numbers = {number_of(name): name for name in kinds}
        self._keepers: dict[str, ActorRef[StorageKeeper]] = {}
        self._opened: set[str] = set()
        self._parent: Path | None = None
        self._salt = 0
        self._asks = (-1, -1)
        self.folder: KeptFolder | None = None
        self.problems: dict[str, str] = {}
        """Of kinds that fail now, by name."""
        self.fetched: Callable[[], object] = lambda: None
        """Is called when a segment is here again."""

    @property
    def asks_fd(self) -> int:
        """Where the thread of segments asks; below 0: there are no kinds."""
        return self._asks[1]

    @property
    def read_fd(self) -> int:
        """Becomes readable when something is asked; below 0: never."""
        return self._asks[0]

    def begin(self, log_folder: Path, salt: int) -> KeptFolder:
        """Return the folder of segments; once.

        Args:
            log_folder: Is there.
            salt: What tells the log from all others.
        """
        self._parent, self._salt = log_folder / _FOLDER, salt
        self.folder = KeptFolder(log_folder, self._fetch)
        if self.kinds:
            self._asks = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        return self.folder

    def name_of(self, group: int, file: int) -> str:
        """Return how kinds know a segment."""
        return f"{self._salt:016x}-{group:010}-{file:010}"

    # -- calling kinds ---------------------------------------------------------------------------

    def _fetch(self, kept: Kept) -> bytes:
        """Return a segment at once, while the server starts."""
        kind = self.kinds.get(kept.kind)
        if kind is None:
            raise StorageProblemError(f"storage kind {kept.kind}: no plugin brings it")
        work = self._opened_first(kind, lambda: read_kept(kind, kept))
        try:
            return self._threads[kept.kind].wait(work, self.answer_s)
        except StorageProblemError as problem:
            raise StorageProblemError(f"storage kind {kept.kind}: {problem}") from problem

    def call(
        self, name: str, work: Callable[[], T], then: Callable[[T | BaseException], object]
    ) -> None:
        """Do something on the thread of a kind, which is open then.

        Args:
            name: Of the kind.
            work: May block.
            then: Gets what came of it, on that thread.
        """
        self._threads[name].begin(self._opened_first(self.kinds[name], work), then)

    def _opened_first(self, kind: StorageKind, work: Callable[[], T]) -> Callable[[], T]:
        def attempt() -> T:
            if kind.name not in self._opened:
                self._open(kind)
            return work()

        return attempt

    def _open(self, kind: StorageKind) -> None:
        assert self._parent is not None
        folder = self._parent / kind.name
        folder.mkdir(mode=_MODE, parents=True, exist_ok=True)
        try:
            kind.open(folder)
        except Exception as error:  # whatever a plugin raises
            raise StorageProblemError(f"opening it: {type(error).__name__}: {error}") from error
        self._opened.add(kind.name)

    def close(self) -> None:
        """Close all kinds that answer soon; who hangs is left behind. Callable from any thread."""
        for name in self._opened:
            self._threads[name].end(self.kinds[name].close, _CLOSE_S)

    def close_pipe(self) -> None:
        """Hear no more: nobody listens, and nobody asks."""
        for fd in self._asks:
            if fd >= 0:
                os.close(fd)
        self._asks = (-1, -1)

    # -- who works for kinds ---------------------------------------------------------------------

    def serve(self, kind: str, keeper: ActorRef[StorageKeeper]) -> None:
        """Let an actor hear what is asked of a kind."""
        self._keepers[kind] = keeper

    def hear(self) -> None:
        """Pass on what the thread of segments asks."""
        by_kind: dict[str, list[Ask]] = {}
        for ask in read_asks(self.read_fd):
            name = self._kind_of(ask)
            if name in self._keepers:
                by_kind.setdefault(name, []).append(ask)
        for name, asks in by_kind.items():
            self._keepers[name].tell(StorageKeeper.Asked(asks))

    def go_on(self, groups: Mapping[int, str]) -> None:
        """Let kinds do what was left undone when the server ended.

        Args:
            groups: The kind of each stream by its group in the log; empty: none.
        """
        assert self.folder is not None
        asks: dict[str, list[Ask]] = {}
        for group, file in self.folder.here():
            if kind := groups.get(group, ""):
                asks.setdefault(kind, []).append(Ask(What.KEEP, 0, group, file))
        for group, file in self.folder.unneeded:
            kind = self.folder.kept[group, file].kind
            asks.setdefault(kind, []).append(Ask(What.REMOVE, 0, group, file))
        for kind, wanted in asks.items():
            if kind in self._keepers:
                self._keepers[kind].tell(StorageKeeper.Asked(wanted))

    def _kind_of(self, ask: Ask) -> str:
        assert self.folder is not None
        if ask.what == What.KEEP:
            return self._numbers.get(ask.kind, "")
        kept = self.folder.kept_of(ask.group, ask.file)
        return kept.kind if kept is not None else ""

    def say(self, kind: str, problem: str) -> None:
        """Say that a kind fails from now on, or is well again: an empty problem."""
        if problem:
            self.problems[kind] = f"storage kind {kind}: {problem}"
            self._report(f"Storage kind {kind} fails, its streams are refused: {problem}")
        elif self.problems.pop(kind, ""):
            self._report(f"Storage kind {kind} is well again, its streams go on")
