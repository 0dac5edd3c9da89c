"""What is asked of all streams of an account together, kept so that nobody has to go over them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from framework_jetstream.api.subject_tree import SubjectTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self


class Shape(Protocol):
    """What of a stream's configuration matters to others: a `StreamConfig`, or a `StreamShape`."""

    @property
    def subjects(self) -> list[str] | None:
        """It takes."""

    @property
    def storage(self) -> str:
        """`file` or `memory`."""

    @property
    def num_replicas(self) -> int:
        """As it is written: 0 is 1."""

    @property
    def max_bytes(self) -> int:
        """It may have; no more than 0: it does not say."""


class StreamShape(Struct, frozen=True):
    """That of a configuration which is not read as a whole."""

    subjects: list[str] | None = None
    storage: str = "file"
    num_replicas: int = 0
    max_bytes: int = 0


class Reserved(Struct, frozen=True):
    """What streams of one storage and so many replicas reserve."""

    replicas: int
    storage: str
    streams: int
    bytes: int


class Reservations:
    """How many streams there are, and the bytes that they may have at most if they say so."""

    def __init__(self) -> None:
        self._streams: Final = Counter[tuple[int, str]]()
        self._bytes: Final = Counter[tuple[int, str]]()

    @classmethod
    def of(cls, shapes: Iterable[Shape]) -> Self:
        """Return what streams reserve."""
        found = cls()
        for it in shapes:
            found.add(it)
        return found

    @property
    def streams(self) -> int:
        """How many there are."""
        return self._streams.total()

    def add(self, shape: Shape) -> None:
        """Count a stream."""
        key = shape.num_replicas, shape.storage
        self._streams[key] += 1
        self._bytes[key] += max(shape.max_bytes, 0)

    def remove(self, shape: Shape) -> None:
        """Count a stream no more."""
        key = shape.num_replicas, shape.storage
        self._streams[key] -= 1
        self._bytes[key] -= max(shape.max_bytes, 0)
        if not self._streams[key]:
            del self._streams[key], self._bytes[key]

    def all(self) -> Iterator[Reserved]:
        """Yield what is reserved, by replicas and storage: at most some ten."""
        for (replicas, storage), streams in self._streams.items():
            yield Reserved(replicas, storage, streams, self._bytes[replicas, storage])

    def bytes_of(self, storage: str) -> int:
        """Return what is reserved in a storage."""
        return sum(it.bytes for it in self.all() if it.storage == storage)

    def without(self, shape: Shape | None) -> Reservations:
        """Return a copy in which a stream is not counted; None: all are."""
        other = Reservations()
        other._streams.update(self._streams)
        other._bytes.update(self._bytes)
        if shape is not None:
            other.remove(shape)
        return other


class AccountStreams:
    """The streams of one account by name. What a change costs does not depend on how many."""

    def __init__(self) -> None:
        self._shapes: Final[dict[str, Shape]] = {}
        self._names: Final[list[str]] = []
        self._tree: Final = SubjectTree()
        self.reserved: Final = Reservations()
        """By all of them."""

    @property
    def names(self) -> Sequence[str]:
        """Their names, sorted; whoever reads them later reads what is there then."""
        return self._names

    def put(self, name: str, shape: Shape) -> None:
        """Add a stream, or let it be otherwise; a shape that was put does not change."""
        if name in self._shapes:
            self._take(name)
        else:
            insort(self._names, name)
        self._shapes[name] = shape
        self.reserved.add(shape)
        for subject in shape.subjects or ():
            self._tree.add(subject, name)

    def remove(self, name: str) -> None:
        """Forget a stream, if it is there."""
        if name in self._shapes:
            self._take(name)
            del self._names[bisect_left(self._names, name)]

    def _take(self, name: str) -> None:
        shape = self._shapes.pop(name)
        self.reserved.remove(shape)
        for subject in shape.subjects or ():
            self._tree.remove(subject, name)

    def reserved_without(self, name: str) -> Reservations:
        """Return what all others reserve."""
        return self.reserved.without(self._shapes.get(name))

    def holding(self, subject: str) -> Sequence[str]:
        """Return the names of streams that have a subject which overlaps with one, sorted."""
        return sorted(set(self._tree.overlapping(subject)))

    def has_overlap(self, name: str, shape: Shape) -> bool:
        """Return whether another stream than `name` has subjects that overlap."""
        return any(
            it != name for subject in shape.subjects or () for it in self._tree.overlapping(subject)
        )
