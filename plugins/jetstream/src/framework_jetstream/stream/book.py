"""The streams of a server by account and name: what one may know of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from framework_jetstream.api.account_streams import AccountStreams, Reservations
from framework_jetstream.api.errors import ErrCode, failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from framework.actors import ActorRef
    from framework_jetstream.api.records import StreamConfig
    from framework_jetstream.api.saved import Offline
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.sourcing.entry import SourceEntry


FAULTY_MAX: Final = 256
"""Groups that a server says are not whole there."""
RANGES_MAX: Final = 16
"""Of sequences that are lost of one stream, as they are shown."""


class StreamEntry(Struct, kw_only=True):
    """A stream, as others see it."""

    number: int
    """By which the engine knows it; never another one's."""
    account: str
    config: StreamConfig
    """Of an entry in a book, `StreamBook.configure` changes it."""
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
    led_from_ns: int = 0
    """The same, by the clock of requests: those that came before were for somebody else."""
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


class _Account:
    """The streams of one account."""

    def __init__(self) -> None:
        self.entries: dict[str, StreamEntry] = {}
        self.kept = AccountStreams()


_NONE: Final = _Account()
"""Of accounts that have none."""


class StreamBook:
    """All streams."""

    def __init__(self) -> None:
        self._accounts: Final[dict[str, _Account]] = {}
        self._by_number: Final[dict[int, StreamEntry]] = {}
        self._number = 0
        self.reserved: Final = Reservations()
        """By the streams of all accounts."""
        self.offline: Final[dict[tuple[str, str], Offline]] = {}
        """Streams that are not served until the next start, by account and name."""
        self._offline_kept: Final[dict[str, AccountStreams]] = {}
        self._losses: Final[dict[tuple[str, str], list[tuple[int, int]]]] = {}
        """First and last sequences of messages that damage has taken here, in the order in which
        that was found, by account and name; a last one of 0: it is not known."""

        self._differing: Final[dict[tuple[str, str], tuple[str, ...]]] = {}
        """Names of servers at which a stream that this one leads has come to differ from what it is
        here, by account and name."""

        self.begun_anew = 0
        """Streams that came to differ here from what most servers have, since the start."""

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
        entry = self.get(account, name)
        if entry is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        return entry

    def get(self, account: str, name: str) -> StreamEntry | None:
        """Return a stream, or None."""
        return self._accounts.get(account, _NONE).entries.get(name)

    def numbered(self, number: int) -> StreamEntry | None:
        """Return the stream that the engine knows by a number, or None."""
        return self._by_number.get(number)

    def lacks(self, account: str, name: str, consumer: str) -> bool:
        """Return whether a stream, or a consumer of it, is not here, or not all of it."""
        entry = self.get(account, name)
        found = entry.consumers.get(consumer) if entry is not None and consumer else entry
        return found is None or found.is_repaired

    def lose(self, account: str, name: str, first: int, last: int) -> None:
        """Remember which messages of a stream damage has taken, as long as they are not back."""
        ranges = self._losses.setdefault((account, name), [])
        if ranges and ranges[-1][1] + 1 == first and last:
            ranges[-1] = ranges[-1][0], last
        elif len(ranges) < RANGES_MAX:
            ranges.append((first, last))

    def regain(self, account: str, name: str) -> None:
        """Forget what was lost of a stream: it is back, or the stream is gone."""
        self._losses.pop((account, name), None)

    def differ(self, account: str, name: str, servers: tuple[str, ...]) -> tuple[str, ...]:
        """Remember at which servers a stream has come to differ; return who was not among them."""
        before = self.differing(account, name)
        self._differing[account, name] = servers
        if not servers:
            del self._differing[account, name]
        return tuple(it for it in servers if it not in before)

    def differing(self, account: str, name: str) -> tuple[str, ...]:
        """Return the names of servers at which a stream has come to differ, if it is led here."""
        return self._differing.get((account, name), ())

    def all_differing(self) -> Iterable[tuple[tuple[str, str], tuple[str, ...]]]:
        """Return the streams for which there are any, by account and name, and these."""
        return self._differing.items()

    def losses(self, account: str, name: str) -> Sequence[tuple[int, int]]:
        """Return first and last sequences of messages that are lost here, as far as is known."""
        return self._losses.get((account, name), ())

    def faulty(self) -> list[dict[str, Any]]:
        """Return the names of streams and consumers of which something is lost here.

        With `lost`, sequences, where it is known which.
        """
        found: list[dict[str, Any]] = []
        for entry in self.all():
            lost = self._losses and self.losses(entry.account, entry.config.name)
            if not (lost or entry.is_repaired or entry.consumers):
                continue  # as almost all of thousands are
            consumers = [name for name, it in entry.consumers.items() if it.is_repaired]
            stream = {"account": entry.account, "stream": entry.config.name}
            if entry.is_repaired or lost:
                found.append({**stream, **({"lost": lost} if lost else {})})
            found += [{**stream, "consumer": name} for name in consumers]
        return found

    def faulty_groups(self) -> tuple[str, ...]:
        """Return the names of the groups of these, as far as one letter has room for them."""
        found = [it.group for it in self.all() if it.is_repaired]
        for entry in self.all():
            found += [it.group for it in entry.consumers.values() if it.is_repaired]
        return tuple(filter(None, found))[:FAULTY_MAX]

    def lost_of_groups(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return which messages are lost of streams of which others have them, by group."""
        found = {}
        for (account, name), ranges in self._losses.items():
            entry = self.get(account, name)
            if entry is not None and entry.group and entry.is_repaired:
                found[entry.group] = tuple(ranges)
        return dict(list(found.items())[:FAULTY_MAX])

    def put(self, entry: StreamEntry) -> None:
        """Add a stream; one of its name that was there is forgotten."""
        before = self.get(entry.account, entry.config.name)
        if before is not None:
            self.remove(before)
        account = self._accounts.setdefault(entry.account, _Account())
        account.entries[entry.config.name] = self._by_number[entry.number] = entry
        account.kept.put(entry.config.name, entry.config)
        self.reserved.add(entry.config)

    def remove(self, entry: StreamEntry) -> None:
        """Forget a stream, if it is there."""
        if not self._has(entry):
            return
        account = self._accounts[entry.account]
        del account.entries[entry.config.name], self._by_number[entry.number]
        account.kept.remove(entry.config.name)
        self.reserved.remove(entry.config)
        if not account.entries:
            del self._accounts[entry.account]
        self.regain(entry.account, entry.config.name)
        self.differ(entry.account, entry.config.name, ())

    def configure(self, entry: StreamEntry, config: StreamConfig) -> None:
        """Let a stream have another configuration; it may be one that is not there any more."""
        if self._has(entry):
            self.reserved.remove(entry.config)
            self.reserved.add(config)
            self._accounts[entry.account].kept.put(config.name, config)
        entry.config = config

    def _has(self, entry: StreamEntry) -> bool:
        return self._by_number.get(entry.number) is entry

    def names(self, account: str, subject: str = "") -> Sequence[str]:
        """Return names of an account's streams, sorted; with a subject, of those that hold it."""
        kept = self._accounts.get(account, _NONE).kept
        return kept.holding(subject) if subject else kept.names

    def streams(self, account: str) -> Sequence[StreamEntry]:
        """Return an account's streams by name."""
        return self.named(account, self.names(account))

    def named(self, account: str, names: Iterable[str]) -> Sequence[StreamEntry]:
        """Return streams that are there."""
        entries = self._accounts.get(account, _NONE).entries
        return [entries[name] for name in names]

    def all(self) -> Iterator[StreamEntry]:
        """Yield the streams of all accounts."""
        for account in self._accounts.values():
            yield from account.entries.values()

    def accounts(self) -> Sequence[str]:
        """Return the accounts that have streams."""
        return sorted(self._accounts)

    def config_of(self, account: str, name: str) -> StreamConfig | None:
        """Return the configuration of a stream, or None."""
        entry = self.get(account, name)
        return entry.config if entry is not None else None

    def reserved_by(self, account: str) -> Reservations:
        """Return what the streams of an account reserve."""
        return self._accounts.get(account, _NONE).kept.reserved

    def consumer_count(self, account: str) -> int:
        """Return how many consumers an account has here."""
        entries = self._accounts.get(account, _NONE).entries
        return sum(it.consumer_count for it in entries.values())

    def reserved_beside(self, account: str, name: str) -> tuple[Reservations, Reservations]:
        """Return what is reserved by all other streams: of an account, and of all accounts."""
        own = self.config_of(account, name)
        kept = self._accounts.get(account, _NONE).kept
        return kept.reserved.without(own), self.reserved.without(own)

    def check_subjects(self, account: str, config: StreamConfig) -> None:
        """Raise ApiFailure where another stream of the account has subjects of this one."""
        kept = self._accounts.get(account, _NONE).kept
        offline = self._offline_kept.get(account, _NONE.kept)
        if kept.has_overlap(config.name, config) or offline.has_overlap("", config):
            raise failure(ErrCode.STREAM_SUBJECTS_OVERLAP)

    def take_offline(self, streams: Iterable[Offline]) -> None:
        """Remember streams that are not served."""
        for it in streams:
            name = it.config.name
            self.offline[it.account, name] = it
            self._offline_kept.setdefault(it.account, AccountStreams()).put(name, it.config)

    def forget_offline(self, account: str, name: str) -> None:
        """Let a stream that is not served be deleted."""
        if self.offline.pop((account, name), None) is not None:
            self._offline_kept[account].remove(name)

    def check_online(self, account: str, name: str) -> None:
        """Raise ApiFailure for a stream that is not served."""
        offline = self.offline.get((account, name))
        if offline is not None:
            raise failure(ErrCode.STREAM_OFFLINE_REASON, err=offline.reason)
