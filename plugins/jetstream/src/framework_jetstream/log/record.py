"""What a log has and says, as records and names."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from framework.errors import FrameworkError


class Kind(IntEnum):
    """What an entry or record is."""

    BATCH = 1
    """Messages of a stream."""
    OP = 2
    """A purge, a delete, a configuration."""
    CONSUMER = 3
    """State of a consumer."""
    HARD_STATE = 4
    """Term and vote of a group."""
    CUT = 5
    """Entries of the group from this index on are void."""
    SNAPSHOT = 6
    """Entries of the group up to this index live elsewhere."""
    GROUP = 7
    """A group was opened, described anew, or closed."""
    EMPTY = 8
    """The first entry of a leader."""
    MEMBERS = 9
    """Who belongs to a group from here on."""
    COMPRESSED = 10
    """Messages of a stream of several servers, compressed."""


class Effect(IntEnum):
    """What is to be done on the disk; files by their number."""

    RENAME = 1
    """Of a file, to another: a retired file is used again."""
    ALLOCATE = 2
    """Make a file, unless it is there, and make it so many bytes long at least."""
    SYNC_DIRECTORY = 3
    """Sync the directory."""
    WRITE = 4
    """Into a file, at an offset, bytes."""
    SYNC = 5
    """Sync a file."""
    REMOVE = 6
    """Remove a file."""
    KEEP = 7
    """Put a damaged file aside, for people."""


class Refused(IntEnum):
    """Why nothing was appended."""

    NOT = 0
    BUSY = 1
    """The round is full, or a file is being made: go on when a round is done."""
    FULL = 2
    """The disk is full; every further attempt looks again."""
    FAILED = 3
    """A write or a sync failed: the log has ended."""
    UNKNOWN = 4
    """The group is not open."""
    TOO_LARGE = 5
    """The entry has more than 1 GiB."""
    NOT_LEADER = 6
    """Another server proposes entries of this group."""


class DamageReason(IntEnum):
    """What was found bad, though it had been synced."""

    FILE_MISSING = 1
    FILE_HEAD = 2
    ROUND = 3
    """The head of a round; what could be read behind it was read."""
    RECORD = 4
    """The head of a record; `INDEX` says whose it was, if anything of this group comes later."""
    PART = 5
    """One message or more of the entry `first_index`, from `part` on; the entry is not given."""
    INDEX = 6
    """Entries `first_index` to `last_index` of `group` are nowhere."""


class Entry(Struct, frozen=True):
    """A durable entry."""

    group: int
    kind: Kind
    term: int
    index: int
    """1 for the first entry of a group."""
    parts: list[bytes]
    """What it was appended with."""
    file: int
    """Number of the file that it is in."""


class GroupState(Struct, frozen=True):
    """A group of the log."""

    last_index: int
    term: int
    vote: int
    snapshot_index: int
    """Entries up to it live elsewhere; 0: none."""
    description: bytes
    snapshot: bytes
    """What the group begins with, at `snapshot_index`."""
    has_lost: bool = False
    """What it had once is lost, and it began anew."""
    lacks: bool = False
    """Something is missing in the snapshot, which others may have."""
    is_doubted: bool = False
    """When the log was read, some of it was missing, or may have been."""


class Damage(Struct, frozen=True):
    """Something that had been synced, and is not what was written."""

    reason: DamageReason
    file: int
    offset: int
    """In bytes, in the file."""
    length: int
    """In bytes; 0: not known."""
    group: int
    """0: not known."""
    first_index: int
    last_index: int
    part: int
    """Of the entry `first_index`, from 0; -1: not known."""


class NewerVersionError(FrameworkError):
    """A newer version wrote the log; nothing of it was changed."""

    def __init__(self) -> None:
        super().__init__("the log was written by a newer version: use that one, or another folder")
