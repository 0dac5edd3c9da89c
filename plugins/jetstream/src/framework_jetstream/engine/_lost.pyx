"""What damage has taken from streams: messages that are gone keep their sequences, and are reported by them.

Of an entry that is there in parts it is known which messages are not. Where whole entries are missing, a later one says which sequence was
the last when it was proposed; so those behind the gap get the sequences that their publishers were told.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

from framework.wire._crc32c cimport crc32c
from framework_jetstream.engine._groups cimport group_of
from framework_jetstream.engine._message_entries cimport HEAD_MIRRORED, BatchHead, CompressedHead, StagedHead
from framework_jetstream.engine._state cimport Group, Lost
from framework_jetstream.log._committed cimport log_read_of
from framework_jetstream.log._record cimport BATCH, COMPRESSED
from framework_jetstream.replication._replicas cimport replica_entry
from framework_jetstream.stream._messages cimport messages_skip_to


cdef void lose_range(Engine* engine, Slot* slot, uint64_t first, uint64_t last) noexcept nogil:
    """Remember that sequences are lost; `last` 0: nobody knows how many."""
    cdef Lost* made = &engine.lost[engine.lost_count - 1] if engine.lost_count else NULL
    slot.stream.losses += 1
    if made != NULL and made.group == slot.group.number and made.last + 1 == first and last:
        made.last = last
        return
    made = <Lost*> realloc(engine.lost, (engine.lost_count + 1) * sizeof(Lost))
    if made == NULL:
        return
    engine.lost = made
    engine.lost[engine.lost_count].group = slot.group.number
    engine.lost[engine.lost_count].first = first
    engine.lost[engine.lost_count].last = last
    engine.lost_count += 1


cdef bint part_is_good(const LogEntry* entry, uint32_t part, const char* chars) noexcept nogil:
    """Whether a part of an entry is what was written; only of a damaged entry this is a question."""
    return not entry.is_damaged or crc32c(0, chars, entry.parts[part].length) == entry.parts[part].crc


cdef void lose_next(Engine* engine, Slot* slot, uint64_t count) noexcept nogil:
    """Let the next messages of a stream be lost."""
    cdef uint64_t last = slot.stream.messages.last_seq
    lose_range(engine, slot, last + 1, last + count)
    messages_skip_to(&slot.stream.messages, last + count + 1)


cdef bint _next_of(Engine* engine, size_t* at, LogEntry* entry) noexcept nogil:
    """Make of an entry the next one of its group that was read, and is not applied yet; False: there is none.

    Args:
        at: 0 at first.
    """
    cdef Group* group = group_of(engine, entry.group)
    if group == NULL or group.replica == NULL:
        return log_read_of(engine.log, entry.group, at, entry)
    return replica_entry(group.replica, entry.index + 1, entry)


cdef bint _head_of(const LogEntry* entry, BatchHead* head) noexcept nogil:
    cdef size_t length = sizeof(CompressedHead) if entry.kind == COMPRESSED else sizeof(BatchHead)
    if entry.kind not in (BATCH, COMPRESSED) or entry.part_count == 0 or entry.parts[0].length != length:
        return False
    if not part_is_good(entry, 0, entry.chars):
        return False
    memcpy(head, entry.chars, sizeof(BatchHead))
    return True


cdef uint64_t _messages_in(const LogEntry* entry) noexcept nogil:
    cdef CompressedHead head
    if entry.kind == COMPRESSED and entry.parts[0].length == sizeof(head):
        memcpy(&head, entry.chars, sizeof(head))
        return head.count
    return entry.part_count - 1 if entry.kind == BATCH else 0


cdef uint64_t _messages_between(Engine* engine, const LogEntry* entry, uint64_t last_index) noexcept nogil:
    """Return how many messages the entries of a group have, from one on up to an index."""
    cdef LogEntry other = entry[0]
    cdef size_t at = 0
    cdef uint64_t count = 0
    cdef bint found = True
    while found and other.index <= last_index:
        count += _messages_in(&other)
        found = _next_of(engine, &at, &other)
    return count


cdef bint _anchor(Engine* engine, const LogEntry* entry, uint64_t* last_seq) noexcept nogil:
    """Find the last sequence before an entry by what entries from it on say; False: none says it."""
    cdef LogEntry other = entry[0]
    cdef BatchHead head
    cdef size_t at = 0
    cdef bint found = True
    while found:
        if _head_of(&other, &head) and head.applied + 1 >= entry.index:
            last_seq[0] = head.last_seq - _messages_between(engine, entry, head.applied)
            return True
        found = _next_of(engine, &at, &other)
    return False


cdef bint _mirrored(const LogEntry* entry, uint64_t* last_seq) noexcept nogil:
    """Find the same by the first message of an entry of a mirror, which has sequences of its own."""
    cdef StagedHead head
    cdef const char* chars = entry.chars + sizeof(BatchHead)
    if entry.kind != BATCH or entry.part_count < 2 or entry.parts[0].length != sizeof(BatchHead):
        return False
    if entry.parts[1].length < sizeof(head) or not part_is_good(entry, 1, chars):
        return False
    memcpy(&head, chars, sizeof(head))
    last_seq[0] = head.origin.previous_seq
    return head.head.header_length & HEAD_MIRRORED != 0


cdef void lose_entries_before(Engine* engine, Slot* slot, const LogEntry* entry) noexcept nogil:
    """Go on behind entries that are missing, with the sequence that this one had."""
    cdef uint64_t last = slot.stream.messages.last_seq, anchored = 0
    if not _mirrored(entry, &anchored) and not _anchor(engine, entry, &anchored):
        lose_range(engine, slot, last + 1, 0)
    elif anchored > last:
        lose_next(engine, slot, anchored - last)


cdef void lose_rest(Engine* engine, Slot* slot) noexcept nogil:
    """The last entries of a stream are missing: what they had is not known."""
    lose_range(engine, slot, slot.stream.messages.last_seq + 1, 0)
