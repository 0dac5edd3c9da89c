"""What a group of Raft says and is told, as names and records: for tests and tools."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from msgspec import Struct


class Role(IntEnum):
    """What a server is in its group."""

    FOLLOWER = 0
    PRE_CANDIDATE = 1
    CANDIDATE = 2
    LEADER = 3


class EntryKind(IntEnum):
    """What an entry is; those above `DATA` are the caller's as well."""

    EMPTY = 0
    """The first one of a leader."""
    MEMBERS = 1
    """Who belongs to the group from here on."""
    DATA = 2


class MessageKind(IntEnum):
    """What a message is; `_messages.pyx` says what its fields are."""

    PRE_VOTE = 1
    PRE_VOTE_RESPONSE = 2
    VOTE = 3
    VOTE_RESPONSE = 4
    APPEND = 5
    APPEND_RESPONSE = 6
    HEARTBEAT = 7
    HEARTBEAT_RESPONSE = 8
    TIMEOUT_NOW = 9
    READ = 10
    READ_RESPONSE = 11
    FETCH = 12
    RANGE = 13
    SNAPSHOT_FETCH = 14
    SNAPSHOT_CHUNK = 15
    BEAT = 16


class Flag(IntFlag):
    """What else a message says."""

    REJECTED = 1
    MATCHED = 1
    """Of a heartbeat."""
    TRANSFER = 2
    HIBERNATE = 2
    """Of heartbeats and their answers; `TRANSFER` is of votes."""
    BEHIND = 4
    COMPACTED = 8
    LOST = 16
    BARRIER = 32
    FAULTY = 64
    BEGIN_ANEW = 128


class Change(IntEnum):
    """A change of one member."""

    ADD_LEARNER = 1
    PROMOTE = 2
    DEMOTE = 3
    REMOVE = 4


class Refused(IntEnum):
    """Why a call was refused."""

    NOT = 0
    NOT_LEADER = 1
    TRANSFERRING = 2
    BUSY = 3
    """Too much is not committed, or too many reads wait."""
    CHANGING = 4
    """The change before is not committed."""
    TOO_EARLY = 5
    """The leader has not committed an entry of its term."""
    MEMBERS = 6
    """There is no such member, or one too many, or it is that already."""
    BEHIND = 7
    """A learner that has not caught up."""
    NO_QUORUM = 8
    """What is left would not be heard by a majority."""
    MEMORY = 9
    LOST = 10
    """Who would stay has lost what was durable there."""


class FrameRefused(IntEnum):
    """Why a frame is refused, and nothing of it taken up."""

    NOT = 0
    CUT = 1
    FOREIGN = 2
    NEWER = 3
    LIES = 4


class PeerState(IntEnum):
    """How a leader sends entries to a member."""

    PROBE = 0
    REPLICATE = 1
    PULLS = 2


class Settings(Struct, frozen=True):
    """What a group keeps to."""

    election_ticks: int = 12
    """So long nobody votes who heard of a leader; elections begin after one to two of them."""
    heartbeat_ticks: int = 3
    lease_ticks: int = 9
    append_bytes_max: int = 1 << 18
    """Of entries in one message, but for a single one that is larger."""
    inflight_bytes_max: int = 1 << 22
    """Sent to one peer and not acknowledged."""
    uncommitted_bytes_max: int = 1 << 26
    window_bytes_max: int = 1 << 24
    """Of committed entries that are kept for peers a little behind."""
    window_entries_max: int = 4096
    unapplied_bytes_max: int = 1 << 26
    """Of committed entries that a follower has not applied yet: it takes no more meanwhile."""
    entry_bytes_max: int = 1 << 26
    """Of all groups of a server in memory: beyond it nothing is kept for who is behind."""
    range_bytes_max: int = 1 << 20
    compare_ticks: int = 24_000
    """So often a leader asks others what entries have led to there, of 25 ms: ten minutes; 0:
    never. It asks as well when nothing is appended any more."""
    takes: int = 0
    """The highest of the caller's kinds of entries that it takes up, where not all versions do."""


class Entry(Struct, frozen=True):
    """An entry of the log."""

    term: int
    kind: int
    data: bytes


class Message(Struct, frozen=True):
    """A message of one group; fields that its kind has not are 0."""

    kind: int
    group: int
    term: int
    index: int = 0
    log_term: int = 0
    commit: int = 0
    context: int = 0
    flags: int = 0
    entries: tuple[Entry, ...] = ()


class Members(Struct, frozen=True):
    """Who belongs to a group."""

    index: int
    """Of the entry that says so."""
    votes: dict[int, bool]
    """By id: whether it votes, or learns only."""


class Range(Struct, frozen=True):
    """What a peer fetches: entries behind `index` up to `last_index`, or a piece of a snapshot."""

    to: int
    index: int
    log_term: int
    last_index: int
    """Of a piece of a snapshot: its offset, in bytes."""
    bytes_max: int
    is_chunk: bool


class Chunk(Struct, frozen=True):
    """A piece of a snapshot that was fetched."""

    index: int
    """Of the snapshot."""
    offset: int
    data: bytes


class Write(Struct, frozen=True):
    """What is to be written, in this order."""

    number: int
    hard_state: tuple[int, int, bool] | None
    """Term, vote, and whether what was durable before is lost."""
    install: tuple[int, int, bool, dict[int, bool]] | None
    """Index and term of the snapshot that was fetched, whether the log behind stays, who votes."""
    cut_index: int
    """Entries from here on are void; 0: none."""
    first_index: int
    entries: list[Entry]


class Ready(Struct, frozen=True):
    """What is to be done, in this order."""

    chunk: Chunk | None
    write: Write | None
    frames: list[tuple[int, bytes]]
    """To whom, and what."""
    ranges: list[Range]
    apply_snapshot: int
    """Index; 0: none."""
    apply_first: int
    apply_last: int
    reads: list[tuple[int, int]]
    """Id and index, 0: ask again."""


class Peer(Struct, frozen=True):
    """A member, as its leader has it."""

    state: PeerState
    match: int
    next: int
    is_lost: bool
    """What was durable there is lost."""
    differs: int
    """Index at which entries have led to something else there; 0: nothing is known of that."""
