"""Files are read though nobody wants them, so that damage is found while others, or memory, still have what it takes.

A *pass* goes through the log (`_scrub_log.pyx`), then through all streams: of each segment first what stands beside its messages, then each
block of messages that live, as who reads them does it, and with the same sums; what was read is forgotten. What is not as it was written is
taken up as by who reads it (`_reading.pyx`): it is lost, and comes from other servers where there are some. But where the bytes are in
memory too nothing is lost: the segment is written again. So it is where only what stands twice is damaged.

What others fetch again and again they may not be able to use (`_pieces.pyx`): of such a stream each segment is read as a whole, as they do
it.

The engine decides when, so many bytes a second; who reads messages back does it, behind what somebody waits for. A block that is packed
while it is read is left to the next pass.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._chains cimport chain_push
from framework_jetstream.engine._reading cimport (
    read_drop, read_is_current, read_take_places, reading_attach, reading_lose, reading_wake_between,
)
from framework_jetstream.engine._scrub_log cimport scrub_log_next, scrub_log_took
from framework_jetstream.engine._state cimport (
    EVENT_MENDED, SCRUBS_BLOCK, SCRUBS_LOG, SCRUBS_REST, SCRUBS_WHOLE, STORE_EVENTS_SHIFT, Answer, Scrub, ScrubPass, Slot, slot_of,
)
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.store._block cimport Block, block_last_seq
from framework_jetstream.store._bodies cimport run_add
from framework_jetstream.store._segment cimport SEGMENT_BODY, SEGMENT_DIRECTORIES, Buffer, LiveRun, SegmentRow
from framework_jetstream.stream._messages cimport Messages, Record, messages_next, messages_place, record_is_absent

cdef extern from "unistd.h" nogil:
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    FIRST_NS = 300000000000
    # Behind a start at most, until the first pass begins.
    STEP_BYTES = 1048576
    # Are asked for at once.
    STEP_NS = 10000000
    # Between steps at least.
    STEP_JOBS = 16
    STEP_LOOKS = 4096
    # At blocks.
    SECOND_NS = 1000000000
    STAYS = 255
    # Passes that bytes stay in memory which the disk has no more.


# ---- what is next ----------------------------------------------------------------------------------------------------------


cdef bint _may_read(const Slot* slot) noexcept nogil:
    """Whether a stream has segments here, and is what they say; a storage kind looks after what it keeps itself."""
    if slot == NULL or slot.group == NULL or slot.segment_count == 0 or slot.stream.limits.storage_kind:
        return False
    if slot.is_restored or slot.is_refused or slot.load != NULL:
        return False
    return slot.group.replica == NULL or not (slot.group.replica.raft.is_faulty or slot.group.replica.raft.loss)


cdef ReadJob* _job(Slot* slot, uint8_t scrubs) noexcept nogil:
    cdef ReadJob* job = <ReadJob*> calloc(1, sizeof(ReadJob))
    if job != NULL:
        job.number = slot.number
        job.group = slot.group.number
        job.scrubs = scrubs
    return job


cdef Block* _next_block(Scrub* scrub, Slot* slot, int* looks) noexcept nogil:
    """Return the next block whose messages are in segments; NULL: there is none, or enough was looked at."""
    cdef Messages* messages = &slot.stream.messages
    cdef uint64_t saved = slot.segments[slot.segment_count - 1].last_seq
    cdef Block* block
    cdef size_t at
    if messages.block_begin == messages.block_end:
        looks[0] -= 1
        return NULL
    at = messages_place(messages, scrub.seq)
    # The last one is being filled.
    while looks[0] > 0 and at + 1 < messages.block_end:
        looks[0] -= 1
        block = messages.blocks[at].block
        if block_last_seq(block) > saved:
            return NULL
        at += 1
        if block_last_seq(block) < scrub.seq:
            continue
        scrub.seq = block_last_seq(block) + 1
        if block.live and not block.is_asked:
            return block
    return NULL


cdef ReadJob* _next_of(Scrub* scrub, Slot* slot, int* looks) noexcept nogil:
    """Return what is to be read next of a stream; NULL: nothing, or there is no memory."""
    cdef ReadJob* job
    cdef Block* block
    if scrub.row < slot.segment_count:
        job = _job(slot, SCRUBS_REST)
        if job != NULL:
            job.file = slot.segments[scrub.row].file
        scrub.row += 1
        scrub.current.files += 1
        return job
    block = _next_block(scrub, slot, looks)
    job = _job(slot, SCRUBS_BLOCK) if block != NULL else NULL
    if job == NULL:
        return NULL
    job.held.block = block
    job.held.count = block.count
    job.held.used = block.used
    if not read_take_places(slot, job):
        free(job)
        return NULL
    block.is_asked = 1
    return job


cdef ReadJob* _next(Engine* engine, int* looks) noexcept nogil:
    """Return what is to be read next; NULL: enough was looked at, what was lost is still to go, or the pass has come to its end."""
    cdef Scrub* scrub = &engine.scrub
    cdef Slot* slot
    cdef ReadJob* job
    if not scrub.is_log_over:
        # One part says where the next one begins.
        job = scrub_log_next(engine) if scrub.out == 0 else NULL
        scrub.is_log_over = scrub.out == 0 and job == NULL
        if not scrub.is_log_over:
            return job
    while scrub.number < engine.slot_count and looks[0] > 0:
        job = NULL
        slot = engine.slots[scrub.number]
        if _may_read(slot):
            if slot.is_losing:
                return NULL
            job = _next_of(scrub, slot, looks)
        if job != NULL:
            return job
        if looks[0] > 0:
            looks[0] -= 1
            scrub.number += 1
            scrub.row = 0
            scrub.seq = 0
    return NULL


# ---- when ------------------------------------------------------------------------------------------------------------------


cdef void _push(Engine* engine, ReadJob* job) noexcept nogil:
    cdef uint64_t one = 1
    job.lost.used = 0
    engine.scrub.out += 1
    if chain_push(<void**> &engine.scrubs, job, job) and engine.jobs_fd >= 0:
        write(engine.jobs_fd, &one, sizeof(one))


cdef void _begin(Engine* engine) noexcept nogil:
    cdef Scrub* scrub = &engine.scrub
    memset(&scrub.current, 0, sizeof(ScrubPass))
    scrub.current.began_unix_ns = engine.unix_ns
    scrub.began_ns = engine.now_ns
    scrub.log_file = 0
    scrub.log_offset = 0
    scrub.is_log_over = False
    scrub.number = 0
    scrub.row = 0
    scrub.seq = 0


cdef void _end(Engine* engine) noexcept nogil:
    cdef Scrub* scrub = &engine.scrub
    scrub.current.ended_unix_ns = engine.unix_ns
    scrub.last = scrub.current
    scrub.due_ns = max(scrub.began_ns + scrub.interval_ns, engine.now_ns + 1)
    scrub.began_ns = 0


cdef int64_t _takes_ns(const Scrub* scrub, uint64_t bytes) noexcept nogil:
    return <int64_t> (bytes * SECOND_NS // scrub.bytes_per_s)


cdef void _step(Engine* engine) noexcept nogil:
    """Ask for what comes next, and remember when it goes on behind that."""
    cdef Scrub* scrub = &engine.scrub
    cdef uint64_t bytes = 0
    cdef int looks = STEP_LOOKS
    cdef ReadJob* job
    while bytes < STEP_BYTES and scrub.out < STEP_JOBS:
        job = _next(engine, &looks)
        if job == NULL:
            break
        bytes += job.held.used
        _push(engine, job)
    if scrub.number >= engine.slot_count and scrub.out == 0:
        _end(engine)
    else:
        scrub.due_ns = engine.now_ns + max(_takes_ns(scrub, bytes), <int64_t> STEP_NS)


cdef void scrub_wake(Engine* engine) noexcept nogil:
    """Wake up when it goes on."""
    if engine.scrub.bytes_per_s and engine.scrub.out == 0:
        wake_at(engine, engine.scrub.due_ns)


cdef void scrub_suspect(Engine* engine, Slot* slot) noexcept nogil:
    """Look at all segments of a stream soon, also where none are read that nobody wants; one stream after the other."""
    if engine.scrub.suspect == 0:
        engine.scrub.suspect = slot.number
        engine.scrub.suspect_row = 0
        wake_at(engine, engine.now_ns)


cdef void _look_at_suspect(Engine* engine) noexcept nogil:
    """Read the next segment of a stream that is suspected as a whole."""
    cdef Scrub* scrub = &engine.scrub
    cdef Slot* slot = slot_of(engine, scrub.suspect)
    cdef ReadJob* job = NULL
    if scrub.is_suspect_out:
        return
    # What is to be written again anyway is not looked at.
    while _may_read(slot) and scrub.suspect_row < slot.segment_count and slot.segments[scrub.suspect_row].bytes == 0:
        scrub.suspect_row += 1
    if _may_read(slot) and scrub.suspect_row < slot.segment_count:
        job = _job(slot, SCRUBS_WHOLE)
    if job == NULL:
        scrub.suspect = 0
        return
    job.file = slot.segments[scrub.suspect_row].file
    job.piece_bytes = slot.segments[scrub.suspect_row].bytes
    scrub.suspect_row += 1
    scrub.is_suspect_out = 1
    _push(engine, job)


cdef void scrub_turn(Engine* engine) noexcept nogil:
    """Read some more, if that is due."""
    cdef Scrub* scrub = &engine.scrub
    if scrub.suspect:
        _look_at_suspect(engine)
    if scrub.bytes_per_s == 0 or scrub.out:
        return
    if scrub.due_ns == 0:
        scrub.due_ns = engine.now_ns + min(scrub.interval_ns, <int64_t> FIRST_NS)
    if engine.now_ns >= scrub.due_ns:
        if scrub.began_ns == 0:
            _begin(engine)
        _step(engine)
    scrub_wake(engine)


# ---- what was read ---------------------------------------------------------------------------------------------------------


cdef void _write_again(Engine* engine, Slot* slot, SegmentRow* row, uint32_t reason) noexcept nogil:
    """Have a segment written again, of which everything is here, and tell of it; once."""
    cdef Answer* answer
    if row.bytes == 0:
        return
    row.bytes = 0
    engine.has_dead = engine.has_dead or not engine.keeps_files
    answer = answer_made(engine, -(<int64_t> 1 << STORE_EVENTS_SHIFT), EVENT_MENDED, 0)
    if answer != NULL:
        answer.numbers[0] = slot.number
        answer.numbers[1] = <int64_t> slot.group.number
        answer.numbers[2] = <int64_t> row.file
        answer.numbers[3] = reason


cdef void _keep_bytes(Engine* engine, Slot* slot, Block* block, const Buffer* lost) noexcept nogil:
    """Write from memory what the disk has no more."""
    cdef const LiveRun* runs = <const LiveRun*> lost.chars
    cdef SegmentRow* row
    cdef size_t at, run
    block.age = STAYS
    for at in range(slot.segment_count):
        row = &slot.segments[at]
        for run in range(lost.used // sizeof(LiveRun)):
            if runs[run].first_seq <= row.last_seq and row.first_seq < runs[run].first_seq + runs[run].count:
                _write_again(engine, slot, row, SEGMENT_BODY)


cdef void _took_block(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil:
    """Take up what a block was found to be, which its stream still has."""
    cdef Block* block = job.held.block
    cdef bint is_shared = slot.group.replica != NULL and slot.group.replica.raft.peer_count > 1
    if not job.lost.used:
        reading_attach(engine, slot, job)
        return
    engine.scrub.current.damages += 1
    if block.data == NULL or is_shared:
        reading_lose(engine, slot, &job.lost)
    else:
        _keep_bytes(engine, slot, block, &job.lost)


cdef void _took_rest(Engine* engine, Slot* slot, const ReadJob* job) noexcept nogil:
    cdef size_t at
    if not job.reason:
        return
    for at in range(slot.segment_count):
        if slot.segments[at].file == job.file:
            engine.scrub.current.damages += 1
            _write_again(engine, slot, &slot.segments[at], job.reason)


cdef void _lose_living(Slot* slot, uint64_t first, uint64_t last, bint is_shared, Buffer* lost) noexcept nogil:
    """Name messages that live, and can't be read; what memory has is lost only to others who want the segment."""
    cdef Record record = messages_next(&slot.stream.messages, first)
    while record.seq and record.seq <= last:
        if is_shared or record_is_absent(&record):
            run_add(lost, record.seq)
        record = messages_next(&slot.stream.messages, record.seq + 1)


cdef void _took_whole(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil:
    """Take up what of a segment can't be used: messages that live, or anything else of it."""
    cdef const LiveRun* runs = <const LiveRun*> job.lost.chars
    cdef bint is_shared = slot.group.replica != NULL and slot.group.replica.raft.peer_count > 1
    cdef Buffer lost
    cdef size_t at
    memset(&lost, 0, sizeof(lost))
    for at in range(slot.segment_count if job.reason == SEGMENT_DIRECTORIES else 0):
        if slot.segments[at].file == job.file:
            _lose_living(slot, slot.segments[at].first_seq, slot.segments[at].last_seq, is_shared, &lost)
    for at in range(job.lost.used // sizeof(LiveRun)):
        _lose_living(slot, runs[at].first_seq, runs[at].first_seq + runs[at].count - 1, is_shared, &lost)
    if lost.used:
        engine.scrub.current.damages += 1
        reading_lose(engine, slot, &lost)
    else:
        _took_rest(engine, slot, job)
    free(lost.chars)


cdef void scrub_took(Engine* engine, ReadJob* job) noexcept nogil:
    """Hear what was read."""
    cdef Scrub* scrub = &engine.scrub
    cdef Slot* slot = slot_of(engine, job.number)
    cdef Block* block = job.held.block
    cdef uint64_t first = block.first_seq if block != NULL else 0
    cdef uint64_t last = block_last_seq(block) if block != NULL else 0
    cdef bint is_here = slot != NULL and slot.group != NULL and (block == NULL or not block.is_gone)
    scrub.out -= 1
    if job.scrubs == SCRUBS_WHOLE:
        scrub.is_suspect_out = 0
        wake_at(engine, engine.now_ns)
    if is_here and block != NULL and job.lost.used and not job.error and not read_is_current(slot, job) and read_take_places(slot, job):
        # They were written again meanwhile.
        _push(engine, job)
        return
    scrub.current.bytes += job.held.used + job.piece_bytes
    if scrub.bytes_per_s:
        scrub.due_ns += _takes_ns(scrub, job.piece_bytes)
    if job.scrubs == SCRUBS_LOG:
        scrub_log_took(engine, job)
    if job.error > 0:
        scrub.current.errors += 1
    elif is_here and _may_read(slot):
        if job.scrubs == SCRUBS_BLOCK:
            _took_block(engine, slot, job)
        elif job.scrubs == SCRUBS_REST:
            _took_rest(engine, slot, job)
        elif job.scrubs == SCRUBS_WHOLE:
            _took_whole(engine, slot, job)
    read_drop(job)
    if block != NULL and slot != NULL and not slot.is_losing:
        reading_wake_between(engine, slot, first, last)
