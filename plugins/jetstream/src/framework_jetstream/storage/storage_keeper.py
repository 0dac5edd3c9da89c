"""`StorageKeeper`: brings segments to one storage kind, and back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component, Reply
from framework_jetstream.storage.asks import Ask, What
from framework_jetstream.storage.records import StorageProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Timer
    from framework_jetstream.storage.folder import Kept
    from framework_jetstream.storage.storage import Storage

RETRY_S: Final = 1.0
COPIES_MAX: Final = 4
"""Segments that stay here as well: the last ones that were written or read."""

Place = tuple[int, int]
"""Group and file of a segment."""


class StorageKeeper(Component):
    """Do one thing after the other with a kind, and say when it fails.

    What is to be read goes first, then what is to be kept, then what is to be removed. What failed
    is tried again each second.

    Args:
        storage: Has the kind.
        kind: Its name.
        told: Is called with a problem when the kind begins to fail, and with an empty one when it
            is well again.
    """

    class Asked(Struct, frozen=True):
        """The thread of segments wants something."""

        asks: list[Ask]

    class _Done(Struct, frozen=True):
        """The kind has answered."""

        finish: Callable[[Any], None]
        result: object

    class _Overdue(Struct, frozen=True):
        """The kind has not answered in time."""

    class _Again(Struct, frozen=True):
        """What failed may be tried again."""

    def __init__(self, *, storage: Storage, kind: str, told: Callable[[str], object]) -> None:
        super().__init__()
        self._storage = storage
        self._kind = kind
        self._told = told
        self._wanted: dict[What, dict[Place, None]] = {it: {} for it in What}
        self._copies: dict[Place, None] = {}
        self._problem = ""
        self._is_busy = False
        self._overdue: Timer | None = None

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case StorageKeeper.Asked(asks):
                self._add(asks)
                self._go_on()
            case StorageKeeper._Done(finish, result):
                self._settle(finish, result)
            case StorageKeeper._Overdue():
                self._say(f"has not answered for {self._storage.answer_s:g} s")
            case StorageKeeper._Again():
                self._is_busy = False
                self._go_on()
            case _:
                super().on_receive(message)
        return None

    def _add(self, asks: list[Ask]) -> None:
        for ask in asks:
            place = (ask.group, ask.file)
            if ask.what == What.REMOVE:
                self._wanted[What.KEEP].pop(place, None)
                self._wanted[What.FETCH].pop(place, None)
            self._wanted[ask.what][place] = None

    def _go_on(self) -> None:
        """Begin with what is most urgent, unless something is going on."""
        if self._is_busy:
            return
        fetches, keeps, removes = (self._wanted[it] for it in (What.FETCH, What.KEEP, What.REMOVE))
        if fetches:
            self._fetch(next(iter(fetches)))
        elif keeps:
            self._keep(next(iter(keeps)))
        elif removes:
            self._remove(list(removes))

    def _perform(self, work: Callable[[], object], finish: Callable[[Any], None]) -> None:
        """Do something on the kind's thread, and hear what came of it."""
        reply = Reply[object]()
        self._is_busy = True
        self._overdue = self.tell_later(self._storage.answer_s, StorageKeeper._Overdue())
        self.await_reply(reply, answer=partial(StorageKeeper._Done, finish))
        self._storage.call(self._kind, work, reply.set)

    def _settle(self, finish: Callable[[Any], None], result: object) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
        if isinstance(result, BaseException):
            is_known = isinstance(result, StorageProblemError | OSError)
            self._say(str(result) if is_known else f"{type(result).__name__}: {result}")
            self.tell_later(RETRY_S, StorageKeeper._Again())
            return
        finish(result)
        self._say("")
        self._is_busy = False
        self._go_on()

    def _say(self, problem: str) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        self._storage.say(self._kind, problem)
        self._told(problem)

    # -- what is done ----------------------------------------------------------------------------

    def _keep(self, place: Place) -> None:
        folder, kind = self._storage.folder, self._storage.kinds[self._kind]
        assert folder is not None
        name = self._storage.name_of(*place)

        def finish(kept: Kept | None) -> None:
            self._wanted[What.KEEP].pop(place, None)
            if kept is not None:
                folder.kept[place] = kept
                self._has_copy(place)

        self._perform(lambda: folder.hand_over(kind, *place, name), finish)

    def _fetch(self, place: Place) -> None:
        folder, kind = self._storage.folder, self._storage.kinds[self._kind]
        assert folder is not None
        kept = folder.kept.get(place)
        if kept is None:
            del self._wanted[What.FETCH][place]
            self._go_on()
            return

        def finish(_: None) -> None:
            self._wanted[What.FETCH].pop(place, None)
            self._has_copy(place)
            self._storage.fetched()

        self._perform(lambda: folder.bring_back(kind, *place, kept), finish)

    def _remove(self, places: list[Place]) -> None:
        folder, kind = self._storage.folder, self._storage.kinds[self._kind]
        assert folder is not None
        names = {it: self._storage.name_of(*it) for it in places}

        def finish(_: None) -> None:
            for place in places:
                self._wanted[What.REMOVE].pop(place, None)
                folder.kept.pop(place, None)
                self._copies.pop(place, None)

        self._perform(lambda: folder.forget(kind, names), finish)

    def _has_copy(self, place: Place) -> None:
        """Let a segment stay here, and in its place the one go that was used first."""
        folder = self._storage.folder
        assert folder is not None
        self._copies.pop(place, None)
        self._copies[place] = None
        while len(self._copies) > COPIES_MAX:
            oldest = next(iter(self._copies))
            del self._copies[oldest]
            folder.let_go(*oldest)
