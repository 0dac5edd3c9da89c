"""Messages of a stream on their way into segments, and back.

Each segment has what came since the one before, as far as it still lives; and it says what lives of all before. So a message is written
once, what is gone before that never, and a file that has nothing that lives can go.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.store._block cimport HAS_HEADER, Block, Entry, block_entry, block_seq, body_bytes, entry_begin
from framework_jetstream.store._segment cimport LiveRun, SegmentMessage, segment_add, segment_lives, segment_next, segment_run
from framework_jetstream.store._subjects cimport Subject, subject_by_number, subject_chars
from framework_jetstream.stream._messages cimport messages_append, messages_skip_to


cdef void messages_save(Messages* messages, SegmentWriter* writer, uint64_t after) noexcept nogil:
    """Add the messages behind a sequence to a segment, and say which ones up to it live. Cost: O(messages)."""
    cdef LiveRun run
    cdef size_t at
    cdef uint32_t index
    cdef uint64_t seq
    cdef Block* block
    cdef Entry* entry
    cdef Subject* subject
    run.first_seq = run.count = 0
    for at in range(messages.block_begin, messages.block_end):
        block = messages.blocks[at].block
        for index in range(block.count):
            entry = block_entry(block, index)
            if entry.subject == 0:
                continue
            seq = block_seq(block, index)
            if seq <= after:
                if run.count and seq == run.first_seq + run.count:
                    run.count += 1
                    continue
                if run.count:
                    segment_lives(writer, run.first_seq, run.count)
                run.first_seq = seq
                run.count = 1
                continue
            subject = subject_by_number(&messages.subjects, entry.subject)
            segment_add(
                writer, seq, entry.subject, subject_chars(subject), subject.length, entry.offset & <uint32_t> HAS_HEADER,
                block.data + entry_begin(entry), body_bytes(block, index),
            )
    if run.count:
        segment_lives(writer, run.first_seq, run.count)


cdef bint messages_load(Messages* messages, SegmentReader* reader, const SegmentReader* last) noexcept nogil:
    """Append the messages of a segment that live; False: no memory. Segments come in the order of their sequences.

    Args:
        last: The last segment of the stream, which says what lives of this one; NULL: this is the last one.
    """
    cdef SegmentMessage message
    cdef LiveRun run
    cdef uint64_t number = 0
    run.first_seq = run.count = 0
    while segment_next(reader, &message):
        if last != NULL:
            while number < last.head.run_count and run.first_seq + run.count <= message.seq:
                run = segment_run(last, number)
                number += 1
            if message.seq < run.first_seq or message.seq >= run.first_seq + run.count:
                continue
        messages_skip_to(messages, message.seq)
        if messages_append(
            messages, message.subject, message.subject_length, message.chars, message.header_length, message.chars + message.header_length,
            message.payload_length, message.time_ns,
        ).seq == 0:
            return False
    return True
