"""Entries that are committed, and what they do: sequences, duplicates, expectations and limits are decided here, by the entry alone.

The same function applies an entry that has just been synced and one that was read from the log; who is to be answered is known only of
the first.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from framework_jetstream.consumer._state cimport state_read
from framework_jetstream.engine._accounts cimport message_arrived
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._archives cimport archive_apply
from framework_jetstream.engine._carrying cimport waiting_run
from framework_jetstream.engine._compressing cimport batch_read
from framework_jetstream.engine._consumer_commands cimport consumer_say, consumers_late_begin
from framework_jetstream.engine._control_groups cimport control_apply
from framework_jetstream.engine._groups cimport STATUS_NOT_THERE, group_applied, group_describe, group_closed, group_of
from framework_jetstream.engine._held_updates cimport opened_is, update_followed, update_is_held
from framework_jetstream.engine._loading cimport load_is_held
from framework_jetstream.engine._lost cimport lose_entries_before, lose_next, lose_rest, part_is_good
from framework_jetstream.engine._message_entries cimport (
    HEAD_FIRST, HEAD_LENGTH, HEAD_MIRRORED, HEAD_SOURCED, MARK_BITS, BatchHead, MessageHead, OriginHead, StagedHead,
)
from framework_jetstream.engine._operations cimport (
    OP_CREATE, OP_DELETE, OP_EXPIRE, OP_PURGE, OP_REMOVE, OP_RESTORE, OP_SKIP, OP_STATE, OP_UPDATE, OperationHead,
)
from framework_jetstream.engine._outbox cimport outbox_add, outbox_flush
from framework_jetstream.engine._publishing cimport publish_apply
from framework_jetstream.engine._reading cimport reading_removed
from framework_jetstream.engine._replica_states cimport replica_restore
from framework_jetstream.engine._retention cimport retention_told
from framework_jetstream.engine._segments cimport segments_look, segments_remove
from framework_jetstream.engine._serving cimport slot_lead, slot_serve
from framework_jetstream.engine._state cimport Command, ConsumerSlot, Group, Proposal, Slot, command_free, ready_add
from framework_jetstream.engine._stream_commands cimport (
    slot_close, slot_end_old, slot_expire, stream_deleted, stream_purged, stream_update,
)
from framework_jetstream.log._record cimport BATCH, CLOSED, COMPRESSED, CONSUMER, GROUP, OP, SNAPSHOT
from framework_jetstream.raft._digests cimport digests_keep
from framework_jetstream.stream._digesting cimport digest_entry
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.sourcing._commands cimport source_skipped
from framework_jetstream.sourcing._inputs cimport inputs_applied
from framework_jetstream.stream._machine cimport GIVEN_BY_ORIGIN, GIVEN_BY_SOURCE, Publish, stream_delete
from framework_jetstream.stream._whole cimport whole_end, whole_read, whole_read_message

cdef enum:
    SAID_MAX = 8192
    # Answers that are gathered before they are said.
    SAID_BYTES_MAX = 1 << 24
    # Of them, and of messages that are published again.
    UNSAID_BYTES_MAX = 1 << 16
    # Of messages of one entry whose publishers do not know it yet.


cdef Text _next_reply(Proposal* proposal, size_t* at) noexcept nogil:
    """Return the next reply of a proposal, empty where there is none."""
    cdef Text reply
    cdef uint16_t length
    reply.chars = NULL
    reply.length = 0
    if proposal == NULL or at[0] >= proposal.length:
        return reply
    memcpy(&length, <char*> (proposal + 1) + at[0], 2)
    reply.chars = <char*> (proposal + 1) + at[0] + 2
    reply.length = length
    at[0] += length + 2
    return reply


# ---- streams ---------------------------------------------------------------------------------------------------------------


cdef void _read_origin(Publish* publish, uint32_t flags, const char* chars) noexcept nogil:
    """Read what a message was elsewhere."""
    cdef OriginHead origin
    memcpy(&origin, chars, sizeof(origin))
    publish.giver = GIVEN_BY_ORIGIN if flags & HEAD_MIRRORED else GIVEN_BY_SOURCE
    publish.is_first = 1 if flags & HEAD_FIRST else 0
    publish.seq = origin.seq
    publish.previous_seq = origin.previous_seq
    publish.time_ns = origin.time_ns
    publish.input = origin.input


cdef bint _read_message(Publish* publish, const char* chars, uint32_t length) noexcept nogil:
    """Take a part apart; False: it makes no sense."""
    cdef MessageHead head
    memset(publish, 0, sizeof(Publish))
    if length < sizeof(head):
        return False
    memcpy(&head, chars, sizeof(head))
    if head.header_length & (HEAD_SOURCED | HEAD_MIRRORED):
        if length < sizeof(StagedHead):
            return False
        _read_origin(publish, head.header_length, chars + sizeof(head))
        head.header_length &= HEAD_LENGTH
        chars += sizeof(OriginHead)
        length -= <uint32_t> sizeof(OriginHead)
    publish.reply.length = head.flags >> MARK_BITS
    if <uint64_t> head.subject_length + publish.reply.length + head.header_length + sizeof(head) > length:
        return False
    publish.marks = head.flags & ((1 << MARK_BITS) - 1)
    publish.subject.chars = chars + sizeof(head)
    publish.subject.length = head.subject_length
    publish.reply.chars = publish.subject.chars + head.subject_length
    publish.header.chars = publish.reply.chars + publish.reply.length
    publish.header.length = head.header_length
    publish.payload.chars = publish.header.chars + head.header_length
    publish.payload.length = <uint32_t> (chars + length - publish.payload.chars)
    return True


cdef void _apply_batch(Engine* engine, Slot* slot, const LogEntry* entry, Proposal* proposal) noexcept nogil:
    """Store messages, and answer their publishers: of a long entry the first before the last is stored, so that they go on meanwhile."""
    cdef Publish publish
    cdef BatchHead head
    cdef const char* chars = entry.chars
    cdef size_t replied = 0
    cdef size_t unsaid = 0
    cdef uint32_t at
    cdef Text reply
    if entry.part_count == 0 or entry.parts[0].length != sizeof(head):
        return
    if not part_is_good(entry, 0, chars):
        lose_next(engine, slot, entry.part_count - 1)
        return
    memcpy(&head, chars, sizeof(head))
    chars += sizeof(head)
    for at in range(1, entry.part_count):
        reply = _next_reply(proposal, &replied)
        if not part_is_good(entry, at, chars):
            lose_next(engine, slot, 1)
        elif _read_message(&publish, chars, entry.parts[at].length):
            message_arrived(slot, &publish)
            publish_apply(engine, slot, &publish, reply, head.time_ns)
        chars += entry.parts[at].length
        unsaid += entry.parts[at].length
        if unsaid >= UNSAID_BYTES_MAX and not engine.outbox.is_blocked:
            outbox_flush(&engine.outbox)
            unsaid = 0


cdef void _apply_compressed(Engine* engine, Slot* slot, const LogEntry* entry, Proposal* proposal) noexcept nogil:
    cdef LogEntry plain
    if batch_read(engine, entry, &plain):
        _apply_batch(engine, slot, &plain, proposal)
    else:
        lose_rest(engine, slot)


cdef void _remove(Slot* slot, const char* chars, uint32_t length) noexcept nogil:
    cdef uint64_t seq
    cdef uint32_t at
    for at in range(0, length - length % 8, 8):
        memcpy(&seq, chars + at, 8)
        stream_delete(&slot.stream, seq)


cdef void _read_state(Engine* engine, Slot* slot, const LogEntry* entry, const char* whole) noexcept nogil:
    """Let a stream be as it was written as a whole."""
    cdef const char* chars = whole
    cdef uint32_t at
    if entry.part_count < 3 or not part_is_good(entry, 2, whole) or not whole_read(&slot.stream, whole, entry.parts[2].length):
        lose_rest(engine, slot)
        return
    chars += entry.parts[2].length
    for at in range(3, entry.part_count):
        if part_is_good(entry, at, chars):
            whole_read_message(&slot.stream, chars, entry.parts[at].length)
        else:
            lose_next(engine, slot, 1)
        chars += entry.parts[at].length
    whole_end(&slot.stream, whole)


cdef void _apply_operation(Engine* engine, Slot* slot, const LogEntry* entry, Proposal* proposal) noexcept nogil:
    """Change a stream; who asked is answered."""
    cdef OperationHead head
    cdef const char* text = entry.chars + sizeof(head)
    cdef Command* command = proposal.command if proposal != NULL else NULL
    if entry.part_count < 2 or entry.parts[0].length != sizeof(head) or not part_is_good(entry, 0, entry.chars):
        return
    memcpy(&head, entry.chars, sizeof(head))
    if head.operation == OP_STATE:
        slot.group.is_created = 1
        if engine.is_replaying:
            _read_state(engine, slot, entry, text + entry.parts[1].length)
    elif entry.is_damaged:
        return
    elif head.operation == OP_CREATE:
        slot.group.is_created = 1
        update_followed(slot, entry.index, head.time_ns)
        if command != NULL:
            slot_serve(engine, slot, command)
            answer_made(engine, command.id, 0, 0)
        elif slot.group.leads_term:
            slot_lead(engine, slot)
    elif head.operation == OP_UPDATE:
        if command != NULL:
            group_describe(slot.group, text, entry.parts[1].length)
            stream_update(engine, slot, command, head.time_ns)
            if slot.group.replica != NULL:
                proposal.command = NULL
                opened_is(slot, command)
        else:
            update_followed(slot, entry.index, head.time_ns)
    elif head.operation == OP_PURGE:
        stream_purged(engine, slot, text, entry.parts[1].length, head.first, head.second, command)
    elif head.operation == OP_DELETE:
        stream_deleted(engine, slot, head.first, command)
    elif head.operation == OP_RESTORE:
        archive_apply(engine, slot, text, entry.parts[1].length, head.first, head.second, command)
    elif head.operation == OP_SKIP:
        source_skipped(engine, slot, head.first, command)
    elif head.operation == OP_REMOVE:
        _remove(slot, text, entry.parts[1].length)
        reading_removed(engine, slot)
    elif head.operation == OP_EXPIRE:
        slot_end_old(engine, slot, head.time_ns, <int64_t> head.first)
        slot.is_expiring = 0
        slot_expire(engine, slot)


cdef void _look_at_requests(Engine* engine, Slot* slot) noexcept nogil:
    """Let consumers serve requests that have waited for this entry."""
    cdef ConsumerSlot* consumer = slot.consumers
    if slot.group.applied > slot.behind:
        return
    while consumer != NULL:
        if consumer.first != NULL:
            ready_add(engine, consumer)
        consumer = consumer.next


# ---- consumers -------------------------------------------------------------------------------------------------------------


cdef void _apply_state(Engine* engine, Group* group, const LogEntry* entry, Proposal* proposal) noexcept nogil:
    """Take up where a consumer stands, if it was read; answer acknowledgements, and who has opened or changed it."""
    cdef ConsumerSlot* consumer = group.consumer
    cdef size_t replied = 0
    cdef Text reply = _next_reply(proposal, &replied)
    cdef uint64_t floor_seq = consumer.machine.floor_seq
    group.is_created = 1
    if consumer.is_restored and entry.kind == CONSUMER and entry.part_count == 1 and not entry.is_damaged:
        if state_read(&consumer.machine, entry.chars, entry.parts[0].length, &consumer.last_delivered_ns, &consumer.last_ack_ns):
            retention_told(engine, consumer, floor_seq, entry.chars)
    while reply.length and consumer.slot != NULL:
        outbox_add(&engine.outbox, consumer.slot.account, reply.chars, reply.length)
        reply = _next_reply(proposal, &replied)
    if proposal != NULL and proposal.command != NULL:
        consumer_say(engine, consumer, proposal.command.id)


# ---- all of them -----------------------------------------------------------------------------------------------------------


cdef bint entry_is_update(const LogEntry* entry, Text* description) noexcept nogil:
    """Whether an entry has a configuration, which Python has to read."""
    cdef OperationHead head
    if entry.kind != OP or entry.part_count == 0 or not part_is_good(entry, 0, entry.chars):
        return False
    description.chars = entry.chars
    description.length = entry.parts[0].length
    if entry.part_count == 1:
        return True
    description.chars = entry.chars + sizeof(head)
    description.length = entry.parts[1].length
    if entry.parts[0].length != sizeof(head) or not part_is_good(entry, 1, entry.chars + sizeof(head)):
        return False
    memcpy(&head, entry.chars, sizeof(head))
    return head.operation in (OP_UPDATE, OP_STATE) or (head.operation == OP_CREATE and description.length != 0)


cdef void entry_apply(Engine* engine, const LogEntry* entry) noexcept nogil:
    """Do what an entry says."""
    cdef Group* group = group_of(engine, entry.group)
    cdef Proposal* proposal
    if group == NULL:
        return
    if entry.kind == GROUP and entry.flags & CLOSED:
        if group.slot != NULL:
            segments_remove(engine, group.slot)
            slot_close(engine, group.slot)
        group_closed(engine, group)
        return
    if update_is_held(engine, group, entry) or load_is_held(engine, group, entry):
        return
    if entry.kind == SNAPSHOT and group.replica != NULL:
        replica_restore(engine, group, entry)
    if entry.kind not in (BATCH, OP, CONSUMER, COMPRESSED):
        return
    if group.slot != NULL and (entry.is_behind_gap or (entry.index > group.applied + 1 and group.replica == NULL)):
        lose_entries_before(engine, group.slot, entry)
    if group.needed_from == 0:
        # What came before is in the state that was kept.
        group.needed_from = entry.file
    proposal = group_applied(engine, group, entry.index, entry.term)
    if group.control:
        control_apply(engine, group, entry, proposal)
    elif group.consumer != NULL:
        _apply_state(engine, group, entry, proposal)
    elif group.slot != NULL:
        if group.slot.stream.digests != NULL:
            digests_keep(group.slot.stream.digests, entry.index)
        if entry.kind == BATCH:
            _apply_batch(engine, group.slot, entry, proposal)
        elif entry.kind == COMPRESSED:
            _apply_compressed(engine, group.slot, entry, proposal)
        elif entry.kind == OP:
            _apply_operation(engine, group.slot, entry, proposal)
            segments_look(engine, group.slot)
        if group.slot.stream.digests != NULL:
            digest_entry(&group.slot.stream, entry.index)
        inputs_applied(engine, group.slot)
        waiting_run(engine, group.slot)
        consumers_late_begin(engine, group.slot)
        _look_at_requests(engine, group.slot)
    elif proposal != NULL and proposal.command != NULL:
        answer_made(engine, proposal.command.id, STATUS_NOT_THERE, 0)
    if proposal != NULL:
        command_free(proposal.command)
        free(proposal)


cdef bint apply_committed(Engine* engine) noexcept nogil:
    """Apply what is committed; False: the port takes no more answers now, and some is left."""
    cdef LogEntry entry
    while (engine.outbox.count < SAID_MAX and engine.outbox.bytes < SAID_BYTES_MAX) or outbox_flush(&engine.outbox):
        if not engine.committer.committed(engine.committer.self, &entry):
            return True
        engine.took_ns = engine.now_ns
        entry_apply(engine, &entry)
    return False
