"""What the control plane asks of the engine; the numbers are those of `_state.pxd`."""

from __future__ import annotations

from enum import IntEnum


class Verb(IntEnum):
    """A command. Numbers and texts of each stand beside it."""

    OPEN_STREAM = 1
    """Account, whether it is a file's, first sequence; name, subjects one a line."""
    UPDATE_STREAM = 2
    """Subjects, one a line."""
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
    """Number of the stream, ack policy, ack wait, max deliver, max ack pending, max waiting, max
    batch, max expires, max bytes, headers only, deliver policy, start, idle heartbeat, inactive
    threshold, how many times of backoff; name and filters one a line, and where it pushes, with the
    times behind, 8 bytes each."""
    UPDATE_CONSUMER = 11
    CLOSE_CONSUMER = 12
    CONSUMER_STATE = 13
