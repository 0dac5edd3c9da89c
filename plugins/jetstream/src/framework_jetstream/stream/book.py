"""The streams of a server by account and name: what one may know of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.stream.rules import find_overlap, holds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.actors import ActorRef
    from framework_jetstream.api.records import StreamConfig
    from framework_jetstream.api.saved import Offline
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.sourcing.entry import SourceEntry


FAULTY_MAX: Final = 256
"""Groups that a server says are not whole there."""


class StreamEntry(Struct, kw_only=True):
    """A stream, as others see it."""

    number: int
    """By which the engine knows it; never another one's."""
    account: str
    config: StreamConfig
    created_ns: int
    group: str = ""
    """Name of its group, where the meta group has assigned it; empty: it is this server's alone."""
    replicas: tuple[int, ...] = ()
    """Number of the group at all servers, and theirs; empty: there is one replica."""
    is_logged: bool = False
    """It is in memory, and the log hears of it nevertheless, since others are to have it."""
    revision: int = 0
    """Of what the meta group says, from which `config` is."""
    is_leader: bool = True
    """Whether this server answers for it."""
    leads_since_ns: int = 0
    """Unix time since when it leads its group; 0: it does not, or there is none."""
    stream: ActorRef[Any] | None = None
    consumers: dict[str, ConsumerEntry] = field(default_factory=dict)
    """By name; the actor of the stream changes them."""
    sources: list[SourceEntry] = field(default_factory=list)
    """Or the origin that it mirrors."""
    offline: str = ""
    """Why its storage kind fails; empty: it is well."""
    is_repaired: bool = False
    """Something of it is lost here, and comes from other servers."""

    @property
    def consumer_count(self) -> int:
        """How many consumers there are."""
        return len(self.consumers)


class StreamBook:
    """All streams."""

    def __init__(self) -> None:
        self._accounts: Final[dict[str, dict[str, StreamEntry]]] = {}
        self._number = 0
        self.offline: Final[dict[tuple[str, str], Offline]] = {}
        """Streams that are not served until the next start, by account and name."""

    def next_number(self) -> int:
        """Return a number that no stream has had."""
        self._number += 1
        return self._number

    def use_number(self, number: int) -> None:
        """Give no stream this number, or a lower one, any more."""
        self._number = max(self._number, number)

    def find(self, account: str, name: str) -> StreamEntry:
        """Return a stream.

        Raises:
            ApiFailure: There is none.
        """
        entry = self._accounts.get(account, {}).get(name)
        if entry is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        return entry

    def get(self, account: str, name: str) -> StreamEntry | None:
        """Return a stream, or None."""
        return self._accounts.get(account, {}).get(name)

    def lacks(self, account: str, name: str, consumer: str) -> bool:
        """Return whether a stream, or a consumer of it, is not here, or not all of it."""
        entry = self.get(account, name)
        found = entry.consumers.get(consumer) if entry is not None and consumer else entry
        return found is None or found.is_repaired

    def faulty(self) -> list[dict[str, str]]:
        """Return the names of streams and consumers of which something is lost here."""
        found = []
        for entry in self.all():
            stream = {"account": entry.account, "stream": entry.config.name}
            if entry.is_repaired:
                found.append(stream)
            consumers = (name for name, it in entry.consumers.items() if it.is_repaired)
            found += [{**stream, "consumer": name} for name in consumers]
        return found

    def faulty_groups(self) -> tuple[str, ...]:
        """Return the names of the groups of these, as far as one letter has room for them."""
        found = [it.group for it in self.all() if it.is_repaired]
        for entry in self.all():
            found += [it.group for it in entry.consumers.values() if it.is_repaired]
        return tuple(filter(None, found))[:FAULTY_MAX]

    def put(self, entry: StreamEntry) -> None:
        """Add a stream."""
        self._accounts.setdefault(entry.account, {})[entry.config.name] = entry

    def remove(self, entry: StreamEntry) -> None:
        """Forget a stream."""
        streams = self._accounts.get(entry.account, {})
        if streams.get(entry.config.name) is entry:
            del streams[entry.config.name]
        if not streams:
            self._accounts.pop(entry.account, None)

    def streams(self, account: str, subject: str = "") -> Sequence[StreamEntry]:
        """Return an account's streams by name; where there is a subject, those that hold it."""
        found = sorted(self._accounts.get(account, {}).values(), key=lambda it: it.config.name)
        return [it for it in found if not subject or holds(it.config, subject)]

    def all(self) -> Iterator[StreamEntry]:
        """Yield the streams of all accounts."""
        for streams in self._accounts.values():
            yield from streams.values()

    def accounts(self) -> Sequence[str]:
        """Return the accounts that have streams."""
        return sorted(self._accounts)

    def config_of(self, account: str, name: str) -> StreamConfig | None:
        """Return the configuration of a stream, or None."""
        entry = self.get(account, name)
        return entry.config if entry is not None else None

    def check_subjects(self, account: str, config: StreamConfig) -> None:
        """Raise ApiFailure where another stream of the account has subjects of this one."""
        for other in self._accounts.get(account, {}).values():
            if other.config.name != config.name and find_overlap(
                config.subjects or (), other.config.subjects or ()
            ):
                raise failure(ErrCode.STREAM_SUBJECTS_OVERLAP)
        for it in self.offline.values():
            if it.account == account and find_overlap(
                config.subjects or (), it.config.subjects or ()
            ):
                raise failure(ErrCode.STREAM_SUBJECTS_OVERLAP)

    def forget_offline(self, account: str, name: str) -> None:
        """Let a stream that is not served be deleted."""
        self.offline.pop((account, name), None)

    def check_online(self, account: str, name: str) -> None:
        """Raise ApiFailure for a stream that is not served."""
        offline = self.offline.get((account, name))
        if offline is not None:
            raise failure(ErrCode.STREAM_OFFLINE_REASON, err=offline.reason)
