"""Messages of a stream on their way into segments, and back.

A save has a stream as it was at one moment. What it needs of it is *held*, and read by another thread while the stream goes on: messages
may come behind what is in a held block, and who removes one changes a copy. So the stream waits for nobody, and no message is copied that
stays.

Each segment has what came since the one before, as far as it still lives; and the last one says what lives in all of them. So a message is
written once, what is gone before that never, and a file that has nothing that lives can go. Only where of a file little is left, or it was
small, what lives of it is written again, together with its neighbours.

Size: what is planned and what is read again, side by side, so that they agree.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from framework_jetstream.store._block cimport (
    DATA_SLACK, HAS_HEADER, Block, Entry, block_entry, block_last_seq, block_release, block_seq, entry_begin, held_bytes,
)
from framework_jetstream.store._bodies cimport bodies_read
from framework_jetstream.store._segment cimport (
    SegmentMessage, buffer_add, segment_add, segment_begin, segment_bytes, segment_decides, segment_drop, segment_end, segment_lives,
    segment_next, segment_rest, segment_run,
)
from framework_jetstream.store._subjects cimport AHEAD, SubjectText, subject_chars, subjects_expect, subjects_hold, subjects_release
from framework_jetstream.stream._evicting cimport messages_lean
from framework_jetstream.stream._messages cimport messages_place
from framework_jetstream.stream._whole cimport whole_add, whole_size, whole_write

cdef enum:
    SPARSE_BELOW = 4
    # A file of which less than one part of so many lives is written again.
    SMALL_BELOW = 8
    # And one that has less than such a part of what a file may have.


# ---- what lives, and what is to be written ---------------------------------------------------------------------------------


cdef void _put(Save* save, Buffer* buffer, const void* source, size_t length) noexcept nogil:
    if buffer_add(buffer, source, length) == NULL:
        save.has_failed = True


cdef void _add_run(Save* save, uint64_t first_seq, uint64_t count) noexcept nogil:
    cdef LiveRun run
    cdef LiveRun* last
    if save.runs.used:
        last = <LiveRun*> (save.runs.chars + save.runs.used) - 1
        if last.first_seq + last.count == first_seq:
            last.count += count
            return
    run.first_seq = first_seq
    run.count = count
    _put(save, &save.runs, &run, sizeof(run))


cdef void _take_runs(Save* save, const Messages* messages) noexcept nogil:
    """Find out what lives. Cost: O(1) where nothing is missing between the first and the last; O(blocks), and O(messages) of blocks with
    holes."""
    cdef size_t at
    cdef uint32_t index
    cdef Block* block
    if messages.count and messages.count == messages.last_seq + 1 - messages.first_seq:
        _add_run(save, messages.first_seq, messages.count)
        return
    for at in range(messages.block_begin, messages.block_end):
        block = messages.blocks[at].block
        if block.live == block.count and block.places == NULL:
            if block.count:
                _add_run(save, block.first_seq, block.count)
            continue
        for index in range(block.count if block.live else 0):
            if block_entry(block, index).subject:
                _add_run(save, block_seq(block, index), 1)


cdef uint64_t _living(const Save* save, const SegmentRow* row, size_t* at) noexcept nogil:
    """Return how many messages of a segment live.

    Args:
        at: 0 for the first segment; the number of a run that is not before it.
    """
    cdef const LiveRun* runs = <const LiveRun*> save.runs.chars
    cdef size_t count = save.runs.used // sizeof(LiveRun)
    cdef uint64_t found = 0, first, end
    while at[0] < count and runs[at[0]].first_seq <= row.last_seq:
        first = max(runs[at[0]].first_seq, row.first_seq)
        end = min(runs[at[0]].first_seq + runs[at[0]].count, row.last_seq + 1)
        if first < end:
            found += end - first
        if runs[at[0]].first_seq + runs[at[0]].count > row.last_seq + 1:
            break
        at[0] += 1
    return found


cdef void _plan_span(Save* save, uint64_t first_seq, uint64_t last_seq) noexcept nogil:
    """Let messages be written, together with those before if they are as well."""
    cdef SegmentRow row
    cdef SegmentRow* before = NULL
    if save.plan.used:
        before = <SegmentRow*> (save.plan.chars + save.plan.used) - 1
    if before != NULL and before.file == 0:
        before.last_seq = last_seq
        return
    memset(&row, 0, sizeof(row))
    row.first_seq = first_seq
    row.last_seq = last_seq
    _put(save, &save.plan, &row, sizeof(row))


cdef bint _is_small(const Save* save, Messages* messages, const SegmentRow* row) noexcept nogil:
    """Whether a segment has little, or is to be written again in any case; how well it is compressed says nothing of that."""
    cdef const Block* block
    cdef uint64_t first, end, bytes = 0, most = save.file_bytes // SMALL_BELOW
    cdef size_t at = messages_place(messages, row.first_seq)
    while at < messages.block_end and messages.blocks[at].block.first_seq <= row.last_seq and bytes < most:
        block = messages.blocks[at].block
        if block.count and block_last_seq(block) >= row.first_seq:
            first = max(block.first_seq, row.first_seq)
            end = min(block_last_seq(block), row.last_seq) + 1
            # Of a block that has messages of others as well, as much as its share of sequences is.
            bytes += block.used * (end - first) // (block_last_seq(block) + 1 - block.first_seq)
        at += 1
    return row.bytes == 0 or bytes < most


cdef void _plan(Save* save, Messages* messages, const SegmentRow* rows, size_t row_count) noexcept nogil:
    """Decide which segments stay, and what is to be written."""
    cdef size_t at, run = 0
    cdef uint64_t living, after = 0
    cdef uint32_t rewrites = 0
    cdef bint keeps = save.keeps_all
    cdef bint is_sparse, rewrites_sparse = False, keeps_sparse = False
    for at in range(row_count):
        living = _living(save, &rows[at], &run)
        after = rows[at].last_seq
        if living == 0:
            continue
        is_sparse = living < rows[at].count // SPARSE_BELOW
        if not keeps and (is_sparse or _is_small(save, messages, &rows[at])):
            rewrites += 1
            rewrites_sparse = rewrites_sparse or is_sparse
            keeps = rewrites == save.rewrites_max
            _plan_span(save, rows[at].first_seq, rows[at].last_seq)
        else:
            keeps_sparse = keeps_sparse or is_sparse
            _put(save, &save.plan, &rows[at], sizeof(SegmentRow))
    save.leaves_sparse = rewrites_sparse and keeps_sparse
    # The last one is always written: it says what lives.
    _plan_span(save, after + 1, max(after, messages.last_seq))


# ---- holding ---------------------------------------------------------------------------------------------------------------


cdef void _hold_block(Save* save, Block* block) noexcept nogil:
    cdef HeldBlock* held = &save.held[save.held_count]
    held.block = block
    held.data = block.data
    held.is_own = 0
    held.count = block.count
    held.used = block.used
    block.is_held = 1
    save.held_count += 1


cdef void _hold(Save* save, Messages* messages) noexcept nogil:
    """Hold the blocks that have messages to be written, each once."""
    cdef const SegmentRow* plan = <const SegmentRow*> save.plan.chars
    cdef size_t at = messages.block_begin, span
    cdef Block* block
    save.held = <HeldBlock*> malloc((messages.block_end - messages.block_begin + 1) * sizeof(HeldBlock))
    save.has_failed = save.has_failed or save.held == NULL
    if save.has_failed:
        return
    for span in range(save.plan.used // sizeof(SegmentRow)):
        if plan[span].file:
            continue
        at = max(at, messages_place(messages, plan[span].first_seq))
        while at < messages.block_end and messages.blocks[at].block.first_seq <= plan[span].last_seq:
            block = messages.blocks[at].block
            if block.live and block_last_seq(block) >= plan[span].first_seq:
                _hold_block(save, block)
            at += 1


cdef bint save_begin(Save* save, Stream* stream, const SegmentRow* rows, size_t row_count) noexcept nogil:
    """Take a stream as it is now; False: no memory, and it is not held. Cost: O(segments + subjects + what is to be written), and that of
    `_take_runs`.

    Args:
        save: Zeros, but for its first fields up to `keeps_all`.
        rows: The segments that it has, in order.
    """
    cdef Messages* messages = &stream.messages
    save.state_bytes = whole_size(stream)
    save.state = <char*> malloc(save.state_bytes)
    save.has_failed = save.state == NULL
    if not save.has_failed:
        whole_write(stream, save.state)
    _take_runs(save, messages)
    _plan(save, messages, rows, row_count)
    if row_count:
        _put(save, &save.sources, rows, row_count * sizeof(SegmentRow))
    save.number_end = messages.subjects.number_end
    save.subjects = subjects_hold(&messages.subjects)
    save.has_failed = save.has_failed or save.subjects == NULL
    messages.is_spoiled = 0
    _hold(save, messages)
    if save.has_failed:
        save_end(save, messages)
    return not save.has_failed


cdef void save_end(Save* save, Messages* messages) noexcept nogil:
    """Let go of a stream, and forget all but what the save has come to."""
    cdef size_t at
    cdef Block* block
    for at in range(save.held_count):
        block = save.held[at].block
        block.is_held = 0
        block_release(block)
        _drop_bytes(&save.held[at])
    save.held_count = 0
    subjects_release(&messages.subjects)
    free(save.held)
    free(<void*> save.subjects)
    free(save.state)
    free(save.runs.chars)
    free(save.plan.chars)
    free(save.sources.chars)
    save.held = NULL
    save.subjects = NULL
    save.state = NULL
    save.runs.chars = save.plan.chars = save.sources.chars = NULL


# ---- writing ---------------------------------------------------------------------------------------------------------------


cdef bint _have_bytes(Save* save, HeldBlock* held, BodyReader* reader) noexcept nogil:
    """Have the bytes of a block that are in an earlier segment alone; False: they can't be read now."""
    if held.data != NULL:
        return True
    held.data = <char*> malloc(held.used + DATA_SLACK)
    held.is_own = 1
    save.error = ENOMEM
    if held.data != NULL:
        save.error = bodies_read(
            reader, save.group, <const SegmentRow*> save.sources.chars, save.sources.used // sizeof(SegmentRow), held, held.data,
            &save.lost,
        )
    return save.error == 0


cdef void _drop_bytes(HeldBlock* held) noexcept nogil:
    """Forget what was read."""
    if held.is_own:
        free(held.data)
        held.data = NULL
        held.is_own = 0


cdef bint _is_lost(const Save* save, uint64_t seq) noexcept nogil:
    """Whether a message could not be read back."""
    cdef const LiveRun* runs = <const LiveRun*> save.lost.chars
    cdef size_t at
    for at in range(save.lost.used // sizeof(LiveRun)):
        if runs[at].first_seq <= seq < runs[at].first_seq + runs[at].count:
            return True
    return False


cdef void _add(Save* save, SegmentWriter* writer, const HeldBlock* held, const Entry* entry) noexcept nogil:
    cdef const Subject* subject = save.subjects[entry.subject]
    segment_add(
        writer, block_seq(held.block, save.at_index), entry.subject, subject_chars(subject), subject.length,
        entry.offset & <uint32_t> HAS_HEADER, held.data + entry_begin(entry), held_bytes(held, save.at_index),
    )


cdef bint _is_piece(const Save* save, const SegmentWriter* writer) noexcept nogil:
    """Whether what was made of a file is to be taken before it goes on."""
    return save.piece_bytes != 0 and writer.out.used >= save.piece_bytes


cdef uint64_t _write_span(
    Save* save, SegmentWriter* writer, const SegmentRow* span, uint64_t first_seq, BodyReader* reader
) noexcept nogil:
    """Add messages from a sequence on, up to the end of their span, or of a piece; return where the next file begins, 0: nowhere."""
    cdef HeldBlock* held
    cdef const Entry* entry
    cdef uint64_t seq
    while save.at_held < save.held_count:
        held = &save.held[save.at_held]
        while save.at_index < held.count:
            entry = block_entry(held.block, save.at_index)
            seq = block_seq(held.block, save.at_index)
            if seq > span.last_seq:
                return 0
            if entry.subject and seq >= first_seq:
                if writer.message_count and writer.plain_bytes + writer.columns.used >= save.file_bytes:
                    return seq
                if _is_piece(save, writer) or not _have_bytes(save, held, reader):
                    return 0
                if not _is_lost(save, seq):
                    _add(save, writer, held, entry)
            save.at_index += 1
        _drop_bytes(held)
        segment_rest(writer)
        save.at_held += 1
        save.at_index = 0
    return 0


cdef void _begin_file(Save* save, SegmentWriter* writer, const SegmentRow* planned) noexcept nogil:
    save.row = planned[0]
    save.row.file = save.next_file
    save.next_file += 1
    save.is_writing = True
    segment_begin(writer, save.salt, save.group, save.row.file, save.coding, save.number_end)
    writer.is_encrypted = save.is_encrypted


cdef void _end_file(Save* save, SegmentWriter* writer, SegmentRow* planned, uint64_t next_seq) noexcept nogil:
    """End a file; where it was full, what was planned goes on in the next one."""
    save.is_writing = False
    if next_seq:
        save.row.last_seq = next_seq - 1
        planned.first_seq = next_seq
    else:
        save.at_plan += 1
    if save.at_plan == save.plan.used // sizeof(SegmentRow):
        segment_lives(writer, <LiveRun*> save.runs.chars, save.runs.used // sizeof(LiveRun))
        segment_decides(writer, save.state, save.state_bytes)
    save.has_failed = not segment_end(writer) or save.error != 0
    save.row.count = writer.message_count
    save.row.bytes = segment_bytes(writer)
    _put(save, &save.rows, &save.row, sizeof(SegmentRow))


cdef bint save_next(Save* save, SegmentWriter* writer, BodyReader* reader) noexcept nogil:
    """Make the next file, or the next piece of it; False: there is none, or it can't be made (`has_failed`).

    What was made is in `writer.out`, which is the caller's: `save_took` follows. The file ends with it unless the save `is_writing`; then
    the last row of `rows` is its.

    Args:
        reader: Of the segments that there are, for what is in no memory; NULL: all is.
    """
    cdef SegmentRow* plan = <SegmentRow*> save.plan.chars
    cdef size_t count = save.plan.used // sizeof(SegmentRow)
    cdef uint64_t next_seq
    while not save.is_writing and save.at_plan < count and plan[save.at_plan].file:
        _put(save, &save.rows, &plan[save.at_plan], sizeof(SegmentRow))
        save.at_plan += 1
    if save.at_plan == count or save.has_failed:
        return False
    if not save.is_writing:
        _begin_file(save, writer, &plan[save.at_plan])
    next_seq = _write_span(save, writer, &plan[save.at_plan], plan[save.at_plan].first_seq, reader)
    if not next_seq and save.error == 0 and _is_piece(save, writer) and not writer.has_failed:
        return True
    _end_file(save, writer, &plan[save.at_plan], next_seq)
    if save.has_failed:
        save_took(save, writer)
    return not save.has_failed


cdef void save_took(Save* save, SegmentWriter* writer) noexcept nogil:
    """Go on behind what was taken out of `writer.out`: with the same file, or without it."""
    if save.is_writing:
        writer.given += writer.out.used
        writer.out.used = 0
        return
    segment_drop(writer)
    free(writer.out.chars)


cdef void save_leave(Save* save, SegmentWriter* writer) noexcept nogil:
    """Leave a file in the middle, if there is one."""
    if save.is_writing:
        save.is_writing = False
        save_took(save, writer)


# ---- reading ---------------------------------------------------------------------------------------------------------------


cdef void _lose(Loading* loading, uint64_t first_seq, uint64_t count) noexcept nogil:
    cdef LiveRun run
    run.first_seq = first_seq
    run.count = count
    if buffer_add(&loading.lost, &run, sizeof(run)) == NULL:
        loading.has_failed = True


cdef bint _next_run(Loading* loading) noexcept nogil:
    """Go on to the next run; False: there is none."""
    if loading.run_number == loading.last.head.run_count:
        loading.run.count = 0
        return False
    loading.run = segment_run(loading.last, loading.run_number)
    loading.run_number += 1
    return True


cdef bint _lives(Loading* loading, uint64_t seq) noexcept nogil:
    """Whether a message lives; what should have come before it is lost."""
    if loading.last == NULL:
        return True
    while loading.run.first_seq + loading.run.count <= seq:
        if loading.run.count:
            _lose(loading, loading.run.first_seq, loading.run.count)
        if not _next_run(loading):
            return False
    if seq < loading.run.first_seq:
        return False
    if seq > loading.run.first_seq:
        _lose(loading, loading.run.first_seq, seq - loading.run.first_seq)
    loading.run.count -= seq + 1 - loading.run.first_seq
    loading.run.first_seq = seq + 1
    return True


cdef void loading_begin(Loading* loading, const SegmentReader* last) noexcept nogil:
    """Begin to read segments.

    Args:
        last: The last one; NULL: it can't be read.
    """
    memset(loading, 0, sizeof(Loading))
    loading.last = last


cdef uint32_t _read_some(Stream* stream, SegmentReader* reader, SegmentMessage* messages) noexcept nogil:
    """Read the next messages and return how many, 0: there are none. Where bodies are not read, several come: their subjects are looked
    up together."""
    cdef SubjectText[AHEAD] subjects
    cdef uint32_t count = 0
    while count < <uint32_t> (AHEAD if reader.is_index else 1) and segment_next(reader, &messages[count]):
        subjects[count].chars = messages[count].subject
        subjects[count].length = messages[count].subject_length
        count += 1
    subjects_expect(&stream.messages.subjects, subjects, count)
    return count


cdef void loading_read(Loading* loading, Stream* stream, SegmentReader* reader) noexcept nogil:
    """Append the messages of the next segment that live, in the order of their sequences."""
    cdef SegmentMessage[AHEAD] messages
    cdef uint32_t at, count = _read_some(stream, reader, messages)
    while count:
        for at in range(count):
            if _lives(loading, messages[at].seq) and not whole_add(
                stream, messages[at].seq, messages[at].time_ns, messages[at].subject, messages[at].subject_length, messages[at].chars,
                messages[at].header_length, messages[at].payload_length,
            ):
                loading.has_failed = True
        count = _read_some(stream, reader, messages)
    if reader.is_index and not messages_lean(&stream.messages):
        loading.has_failed = True
    if loading.last == NULL:
        for at in range(reader.damage_count):
            if reader.damages[at].first_seq:
                _lose(loading, reader.damages[at].first_seq, reader.damages[at].last_seq + 1 - reader.damages[at].first_seq)


cdef void loading_end(Loading* loading) noexcept nogil:
    """Find out what has not come; `lost` is the caller's."""
    if loading.last == NULL:
        return
    if loading.run.count:
        _lose(loading, loading.run.first_seq, loading.run.count)
    while _next_run(loading):
        _lose(loading, loading.run.first_seq, loading.run.count)
