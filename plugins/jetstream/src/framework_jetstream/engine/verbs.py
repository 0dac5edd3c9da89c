"""What the control plane asks of the engine; the numbers are those of `_state.pxd`."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

NOT_LOGGED: Final = 3
"""Status of an answer: the disk is full, or the log has ended."""
NOT_LEADER: Final = 16
"""Another server leads what it is about; or did, and nobody knows whether it was done."""
OFFLINE: Final = 17
"""What is wanted is with a storage kind that fails."""
NOT_NOW: Final = 18
"""Other servers can't have it, too, for now, or lead it."""
CONTROL_GROUP: Final = 1
"""The number by which the engine knows the one control group that there is: the meta group."""
NOT_STORED: Final = "no space left on device"
"""How that is said."""


class Verb(IntEnum):
    """A command. Numbers and texts of each stand beside it."""

    OPEN_STREAM = 1
    """Account, whether it is a file's, first sequence, none; where several servers have it: the
    number of its group, how many servers, and theirs; name, subjects one a line, what the log is to
    know."""
    UPDATE_STREAM = 2
    """Account; name, subjects one a line, what the log is to know."""
    CLOSE_STREAM = 3
    STREAM_STATE = 4
    LIST_SUBJECTS = 5
    """A pattern."""
    LIST_DELETED = 6
    PURGE = 7
    """Sequence, how many to keep; a pattern."""
    GET_MESSAGE = 8
    """Sequence, whether the last one of a subject is meant; a pattern."""
    DELETE_MESSAGE = 9
    """Sequence."""
    OPEN_CONSUMER = 10
    """Number of the stream, how many times of backoff, two of nothing, then as of a stream; name
    and filters, one a line; where it
    pushes and its priority groups, one a line, with the times behind, 8 bytes each; what
    the log is to know, empty if it is in memory only."""
    UPDATE_CONSUMER = 11
    CLOSE_CONSUMER = 12
    CONSUMER_STATE = 13
    RESET_CONSUMER = 14
    """Sequence; 0: behind what was acknowledged."""
    UNPIN_CONSUMER = 15
    LIMIT_SERVER = 32
    """Most bytes in memory and in files; messages of a batch, batches of a stream and of the
    server, nanoseconds that one may wait; batches of a stream and of the server that are stored
    as they come; whether subjects of acknowledgements have domain and account. Bytes below 0: no
    limit."""
    LIMIT_ACCOUNT = 33
    """By the account's number: most bytes in memory and in files, below 0: no limit; the hash of
    its name, 8 characters."""
    REFUSE_STREAM = 34
    """Whether its storage kind fails: then it takes no messages, and nobody waits for what is not
    here. `TAKES_NOTHING`: it takes no messages until the next start, and is read as ever."""
    FOLLOW_UPDATE = 35
    """Account and index of an entry that waits for it, as `Event.UPDATE` has told it; texts as of
    UPDATE_STREAM."""
    LEAVE_CLIENTS = 36
    """The server stops: who waits for messages is told."""
    CLOSE_ABANDONED = 37
    """Of the log: the number of a group that was read and belongs to nothing that is served."""
    TOTALS = 38
    """Whether those of one account are meant, which has the command's number; else of all. The
    answer has bytes of messages in memory and in files, and messages, these of all alone."""
    READ_ARCHIVE = 64
    """First and last sequence, how many bytes are enough."""
    RESTORE_ARCHIVE = 65
    """The longest body, the last sequence, the most messages; entries of an archive."""
    READ_CONSUMER = 66
    RESTORE_CONSUMER = 67
    """Delivered and acknowledged, in the consumer's sequences and the stream's; what waits."""
    READ_TABLE = 68
    """Numbers as in `_export.pyx`; the metadata of a batch, patterns, one a line."""
    OPEN_SOURCE = 96
    """Number of the source, whether it is the origin of a mirror, whether direct gets of that are
    answered; name of the stream there, filter and destination; programs."""
    SOURCE_STATE = 97
    """Number of the source, as of those below."""
    FOLLOW_SOURCE = 98
    """The last sequence that the consumer there has passed; its name, where it delivers, and the
    identity of its stream."""
    LEAVE_SOURCE = 99
    CLOSE_SOURCE = 100
    OPEN_GROUP = 112
    """Of a control group, by a number of its own: four of nothing, then as of a stream; none, none,
    what the log is to know."""
    PROPOSE = 113
    """To a control group: an entry; the answer has its index."""
    SNAPSHOT_GROUP = 114
    """Index; what the entries of a control group up to it have led to."""
    CLOSE_GROUP = 115
    GROUP_STATE = 116
    """Of what: a `GroupOf`. The answer has term, leader, last index, commit, applied, role, the
    index of the snapshot, ticks since its leader was heard, and after how many others may be
    elected; behind them server, match, ticks since it was heard, and whether it votes, of each
    member."""
    STEP_DOWN = 117
    """Of what: a `GroupOf`; to whom, 0: to whoever has most."""
    CHANGE_MEMBER = 118
    """Of what: a `GroupOf`; a `Change` of `raft.records`, and of whom. The answer has the index of
    the entry; one that is refused has a `Refused` there."""
    LINK_PEER = 119
    """Id of a connection, and number of the server to which it leads, 0: it is gone. There is no
    answer."""
    RESIGN = 120
    """Of what: a `GroupOf`. This server neither votes nor leads there until it is started again."""
    NAME_CONSUMERS = 121
    """Of a stream: the question, as `Event.UNSURE` has told it; numbers of the groups of all its
    consumers, 8 bytes each."""
    SET_ASIDE = 122
    """Of what: a `GroupOf`. Until the next start it hears no other server, and all that it has here
    is applied, committed or not."""


class Event(IntEnum):
    """What the engine says of a consumer without being asked."""

    INACTIVE = 1
    """Nobody has used it for as long as it may be unused."""
    RESUMED = 2
    """Its pause has ended."""
    PINNED = 3
    """To a client; bytes: group and id, one a line."""
    UNPINNED = 4
    """Its client has asked for nothing for too long; bytes: the group."""
    SOURCE_LOST = 5
    """A source is followed no more; number: a `SourceLoss`."""
    LOST = 6
    """Of no consumer: damage has taken messages; numbers: the stream's, first and last sequence."""
    OUT_OF_STORAGE = 7
    """Of no consumer: the disk is full, and messages are refused; bytes: the stream whose message
    was the first."""
    LEADS = 8
    """Of a stream or consumer that several servers have: this one leads it; number: the term."""
    FOLLOWS = 9
    """It does no more."""
    ENTRY = 10
    """Of a control group: an entry to be applied; numbers: index and term."""
    STATE = 11
    """Of a control group: what entries have led to, in place of them; number: the last index."""
    UPDATE = 12
    """Of a stream that several servers have: an entry describes it anew, as bytes; it is applied
    when FOLLOW_UPDATE says what that means. Number: its index."""
    REKEYED = 13
    """Of no consumer: all files that were not written with the key of now are given up."""
    UNSURE = 14
    """Of a control group: which consumers a stream has is to be known; numbers: the stream's, and
    of the question. NAME_CONSUMERS answers it."""
    REPAIRS = 15
    """Of what several servers have: something of it is lost here, and comes from others; number 0:
    it is whole again, `REPAIRS_LOSS`: it counts for nothing until it is, `REPAIRS_OTHER`: it has
    come to differ from what most servers have."""
    SAVE = 16
    """Of a control group: the log can't give up files, since they have entries of it; number: the
    index of the last one that is committed and was told, if it is told. SNAPSHOT_GROUP lets them
    go."""
    MENDED = 17
    """Of no consumer: damage has taken nothing, and what it is in is written again; numbers: the
    stream's, group and file of the segment, a `SegmentReason`. Group 0: it is a file of the log."""
    DIFFERS = 18
    """Of a stream that several servers have, and this one leads: entries have led to something else
    at these servers; bytes: their numbers, 8 bytes each. None: at nobody any more."""
    WAITS = 19
    """Of a consumer that several servers have: this one should lead it, and its stream does not get
    here what was delivered."""


TAKES_NOTHING: Final = 2
"""Of `Verb.REFUSE_STREAM`."""
REPAIRS_LOSS: Final = 2
REPAIRS_OTHER: Final = 3
"""Of `Event.REPAIRS`, as `_state.pxd` has them."""


class GroupOf(IntEnum):
    """Whose group it is."""

    STREAM = 0
    CONSUMER = 1
    CONTROL = 2


class SourceLoss(IntEnum):
    """Why a source is followed no more."""

    GAP = 1
    """Messages are missing."""
    SILENCE = 2
    """Nothing has come for too long."""
    REFUSED = 3
    """The stream does not store a message."""
