"""A difference that is planted: one server applies one entry otherwise than all others.

As a bit does that flips in memory behind all sums, or a version that decides otherwise: the entry
is good, and Raft takes it for that of the others, since it knows entries by index and term.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from framework_jetstream.log.record import Kind
from framework_jetstream.raft.records import MessageKind

from framework.wire._crc32c import checksum

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME_HEAD, MESSAGE_HEAD = struct.Struct("<IHHIIQQ"), struct.Struct("<IBBHIIQQQQQQ")
ENTRY_HEAD, RECORD_HEAD = struct.Struct("<QIHH"), struct.Struct("<IIHHIIIQQ")
PART_HEAD, MARKS = struct.Struct("<II"), struct.Struct("<H")
MARKS_AT = 6
"""In a message, as `MessageHead` of `engine/_message_entries.pxd` says."""
SERVER_FULL = 1
"""Of its marks: it is not stored."""
KINDS_AFTER = 1
ENTRIES = MessageKind.APPEND, MessageKind.RANGE


def batches(frame: bytes, group: int) -> Iterator[tuple[int, int]]:
    """Return index and place of each entry of messages that a frame has of a group."""
    at = FRAME_HEAD.size
    while at < len(frame):
        length, sort, _, _, count, _, of, _, index, *_ = MESSAGE_HEAD.unpack_from(frame, at)
        entry = at + MESSAGE_HEAD.size
        for _ in range(count):
            index += 1
            _, entry_length, kind, _ = ENTRY_HEAD.unpack_from(frame, entry)
            entry += ENTRY_HEAD.size
            if sort in ENTRIES and of == group and kind == Kind.BATCH + KINDS_AFTER:
                yield index, entry
            entry += entry_length
        at += length


class Planted:
    """A difference at one server.

    Args:
        difference: "payload": of a message another byte is stored; "less": it is not stored.
        server: Where.
        group: The stream's, at all servers.
        first: From this entry on, the first that comes to the server in a frame.
    """

    def __init__(self, difference: str, server: int, group: int, first: int) -> None:
        self.difference, self.server, self.group = difference, server, group
        self.first = first
        self.index = 0
        """Of the entry; 0: it has not come yet."""

    def frame(self, to: int, frame: bytes) -> bytes:
        """Return a frame as it arrives."""
        if to != self.server:
            return frame
        made = bytearray(frame)
        for index, at in batches(frame, self.group):
            if index == self.index or (not self.index and index >= self.first):
                self.index = index
                self._change(made, at)
        return bytes(made)

    def _change(self, made: bytearray, record: int) -> None:
        """Change the first message of an entry, and its sum."""
        part_count = RECORD_HEAD.unpack_from(made, record)[4]
        parts = record + RECORD_HEAD.size
        at = parts + part_count * PART_HEAD.size + PART_HEAD.unpack_from(made, parts)[0]
        length, _ = PART_HEAD.unpack_from(made, parts + PART_HEAD.size)
        if self.difference == "payload":
            made[at + length - 1] ^= 1
        else:
            MARKS.pack_into(made, at + MARKS_AT, SERVER_FULL)
        PART_HEAD.pack_into(made, parts + PART_HEAD.size, length, checksum(made[at : at + length]))
