"""What the entries of a group of several servers have led to, in place of them.

So the log gives up files, and a server that is far behind catches up. A stream is its head and its messages, as `stream/_whole.pyx`
writes them. A consumer that is led here is ahead of its entries: it is written as a whole in one more entry, and all before that are
needed no more. Where it is not led, it is what its entries say.

    stream    StreamState, what describes it, the head, then each message behind its length (4);
              of one that is larger, which segments it has, as `_segments.pyx` writes it
    consumer  as `consumer/_state.pyx` writes it; nothing: the next entry has all
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.consumer._state cimport state_read, state_size, state_write
from framework_jetstream.engine._arrivals cimport arrival_review
from framework_jetstream.engine._consumer_commands cimport consumers_restored
from framework_jetstream.engine._consumer_log cimport consumer_change
from framework_jetstream.engine._control_groups cimport control_restore
from framework_jetstream.engine._held_updates cimport update_followed
from framework_jetstream.engine._replicated cimport group_follow
from framework_jetstream.engine._segments cimport (
    SegmentsHead, files_are_needed, replica_is_held, segments_are_bad, segments_are_written, segments_leave_job, segments_of,
    segments_remove, tail_bytes,
)
from framework_jetstream.log._committed cimport entry_of
from framework_jetstream.log._record cimport CONSUMER
from framework_jetstream.raft._digests cimport digests_restored
from framework_jetstream.raft._state cimport RaftMembers
from framework_jetstream.replication._replica_log cimport placed_at, snapshot_read
from framework_jetstream.replication._replicas cimport Replica, replica_leave, replica_snapshot
from framework_jetstream.replication._schedule cimport replica_spoil
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._messages cimport Messages, Record, messages_next
from framework_jetstream.stream._usage cimport Usage, usage_add
from framework_jetstream.stream._whole cimport WholeMessage, whole_end, whole_read, whole_read_message, whole_size, whole_write

cdef enum:
    VERSION = 2
    MESSAGE_BYTES = 64
    # Of a message at least, beside what it has.


cdef packed struct StreamState:
    uint16_t version
    uint16_t reserved
    uint32_t description_bytes
    uint32_t whole_bytes
    uint32_t reserved_too
    uint64_t message_count


cdef bint _keep(Engine* engine, Replica* replica, uint64_t index, const char* state, size_t length) noexcept nogil:
    engine.has_appended = True
    return replica_snapshot(engine.replicas, replica, index, state, <uint32_t> length, 0)


# ---- streams -------------------------------------------------------------------------------------------------------------


cdef size_t _write_message(const Record* record, char* to) noexcept nogil:
    """Write a message behind its length; return the bytes of both. `to` NULL: only that."""
    cdef WholeMessage head
    cdef uint32_t length = <uint32_t> (sizeof(head) + record.subject.length + record.header_length + record.payload_length)
    if to == NULL:
        return 4 + length
    head.seq = record.seq
    head.time_ns = record.time_ns
    head.header_length = record.header_length
    head.subject_length = record.subject.length
    memcpy(to, &length, 4)
    memcpy(to + 4, &head, sizeof(head))
    memcpy(to + 4 + sizeof(head), subject_chars(record.subject), record.subject.length)
    memcpy(to + 4 + sizeof(head) + record.subject.length, record.chars, record.header_length + record.payload_length)
    return 4 + length


cdef size_t _write_messages(Messages* messages, char* to) noexcept nogil:
    """Write all messages; return their bytes. `to` NULL: only that."""
    cdef Record record = messages_next(messages, 0)
    cdef size_t used = 0
    while record.seq:
        used += _write_message(&record, to + used if to != NULL else NULL)
        record = messages_next(messages, record.seq + 1)
    return used


cdef char* stream_state(Slot* slot, const char* description, size_t description_bytes, size_t* length) noexcept nogil:
    """Return all of a stream whose bytes are all in memory, to be freed; NULL: no memory."""
    cdef StreamState head
    cdef size_t before
    cdef char* text
    memset(&head, 0, sizeof(head))
    head.version = VERSION
    head.description_bytes = <uint32_t> description_bytes
    head.whole_bytes = <uint32_t> whole_size(&slot.stream)
    head.message_count = slot.stream.messages.count
    before = sizeof(head) + head.description_bytes + head.whole_bytes
    length[0] = before + _write_messages(&slot.stream.messages, NULL)
    text = <char*> malloc(length[0])
    if text == NULL:
        return NULL
    memcpy(text, &head, sizeof(head))
    memcpy(text + sizeof(head), description, description_bytes)
    whole_write(&slot.stream, text + sizeof(head) + head.description_bytes)
    _write_messages(&slot.stream.messages, text + before)
    return text


cdef bint state_description(const LogEntry* entry, Text* description) noexcept nogil:
    """Return what describes a stream in a state of it; False: it makes no sense."""
    cdef StreamState head
    cdef SegmentsHead named
    if segments_of(entry.chars, entry.length, &named):
        description.chars = entry.chars + entry.length - named.description_bytes
        description.length = named.description_bytes
        return True
    if entry.length < sizeof(head):
        return False
    memcpy(&head, entry.chars, sizeof(head))
    description.chars = entry.chars + sizeof(head)
    description.length = head.description_bytes
    return head.version == VERSION and head.description_bytes <= entry.length - sizeof(head)


cdef bint stream_is_small(const Engine* engine, const Slot* slot) noexcept nogil:
    """Whether a stream may be in the log, and in memory, as a whole."""
    cdef const Messages* messages = &slot.stream.messages
    return messages.absent == 0 and messages.bytes + messages.count * MESSAGE_BYTES <= engine.small_bytes


cdef bint stream_is_kept(Engine* engine, Slot* slot) noexcept nogil:
    """Keep a stream as it is, if files are to be given up that have entries of it; False: not now."""
    cdef Replica* replica = slot.group.replica
    cdef char* text
    cdef size_t length
    cdef bint done
    replica_leave(engine.replicas, replica, tail_bytes(engine, slot))
    arrival_review(engine, slot)
    if slot.job == NULL and replica_is_held(engine, slot):
        # Its entries are held, and the files with them, until it is asked again.
        return True
    if slot.job != NULL or not stream_is_small(engine, slot):
        return segments_are_written(engine, slot)
    if not files_are_needed(engine, slot.group) and not segments_are_bad(engine, slot):
        return True
    text = stream_state(slot, slot.group.description, slot.group.description_bytes, &length)
    if text == NULL:
        return False
    done = _keep(engine, replica, replica.raft.applied, text, length)
    free(text)
    if done:
        segments_remove(engine, slot)
    return done


cdef bint _read_stream(Slot* slot, const char* at, const char* end) noexcept nogil:
    """Let a stream be as a state says; False: it makes no sense."""
    cdef const char* whole
    cdef StreamState head
    cdef uint32_t length
    if <size_t> (end - at) < sizeof(head):
        return False
    memcpy(&head, at, sizeof(head))
    if head.description_bytes > <size_t> (end - at) - sizeof(head):
        return False
    whole = at + sizeof(head) + head.description_bytes
    if head.version != VERSION or head.whole_bytes > <size_t> (end - whole) or not whole_read(&slot.stream, whole, head.whole_bytes):
        return False
    at = whole + head.whole_bytes
    while end - at >= 4:
        memcpy(&length, at, 4)
        if length > <size_t> (end - at - 4) or not whole_read_message(&slot.stream, at + 4, length):
            return False
        at += 4 + length
    whole_end(&slot.stream, whole)
    return slot.stream.messages.count == head.message_count


cdef void consumers_follow(Engine* engine, Slot* slot) noexcept nogil:
    """Let consumers go on when their stream has again what they have delivered."""
    cdef ConsumerSlot* consumer = slot.consumers
    cdef ConsumerSlot* following
    while consumer != NULL:
        following = consumer.next
        if consumer.opened != NULL:
            group_follow(engine, consumer.group)
        consumer = following


cdef void _restore_stream(Engine* engine, Slot* slot, const LogEntry* entry) noexcept nogil:
    cdef Usage* usage = slot.stream.messages.usage
    cdef SegmentsHead named
    update_followed(slot, entry.index, 0)
    if segments_of(entry.chars, entry.length, &named):
        # They were loaded; see `_loading.pyx`.
        return
    consumers_follow(engine, slot)
    segments_leave_job(engine, slot)
    segments_remove(engine, slot)
    if usage != NULL:
        usage_add(usage, -<int64_t> slot.stream.messages.bytes)
        slot.stream.messages.usage = NULL
    if not _read_stream(slot, entry.chars, entry.chars + entry.length):
        replica_spoil(engine.replicas, slot.group.replica)
    consumers_restored(slot)
    if usage != NULL:
        slot.stream.messages.usage = usage
        usage_add(usage, <int64_t> slot.stream.messages.bytes)


# ---- consumers -----------------------------------------------------------------------------------------------------------


cdef bint consumer_is_kept(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Keep a consumer as its entries have it, if files are to be given up that have some of them; False: not now."""
    cdef Group* group = consumer.group
    cdef char* state
    cdef size_t length
    cdef bint done
    if not files_are_needed(engine, group):
        return True
    if consumer.slot != NULL:
        if group.saved_at and group.saved_in >= engine.trim_before:
            return group.applied >= group.saved_at and _keep(engine, group.replica, group.saved_at - 1, NULL, 0)
        consumer.is_whole_due = 1
        consumer_change(engine, consumer)
        return False
    state = <char*> malloc(state_size(&consumer.machine, 0, True))
    if state == NULL:
        return False
    length = state_write(&consumer.machine, NULL, 0, True, consumer.last_delivered_ns, consumer.last_ack_ns, state)
    done = _keep(engine, group.replica, group.replica.raft.applied, state if group.is_created else NULL, length if group.is_created else 0)
    free(state)
    return done


cdef void _read_consumer(ConsumerSlot* consumer, const char* state, size_t length) noexcept nogil:
    if length:
        state_read(&consumer.machine, state, length, &consumer.last_delivered_ns, &consumer.last_ack_ns)


cdef void consumer_reads(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Let a consumer that was just made be what its group knows of it."""
    cdef Replica* replica = consumer.group.replica
    cdef RaftMembers members
    cdef LogEntry entry
    cdef size_t length
    cdef uint64_t index
    cdef const char* state = snapshot_read(engine.replicas, replica, &members, &length)
    if state != NULL:
        _read_consumer(consumer, state, length)
    for index in range(max(replica.placed_first, replica.raft.log.snapshot_index + 1), replica.given + 1):
        entry_of(&entry, placed_at(replica, index).record, placed_at(replica, index).place.file.number, 0)
        if entry.kind == CONSUMER and entry.part_count == 1:
            _read_consumer(consumer, entry.chars, entry.parts[0].length)


# ---- all of them ---------------------------------------------------------------------------------------------------------


cdef void replica_restore(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil:
    """Let a group be what entries have led to that are here no more."""
    group.applied = entry.index
    group.is_created = 1
    if group.control:
        control_restore(engine, group, entry)
    elif group.slot != NULL:
        _restore_stream(engine, group.slot, entry)
        digests_restored(group.slot.stream.digests, entry.index)
    elif group.consumer != NULL:
        _read_consumer(group.consumer, entry.chars, entry.length)
