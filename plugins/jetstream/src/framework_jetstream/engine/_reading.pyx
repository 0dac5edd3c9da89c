"""Bytes of messages that are in segments alone: who wants them waits, another thread reads them, and they stay for a while.

The engine never waits for the disk. A consumer or a request that comes to a message without its bytes is put aside; when the block that has
it is there, it goes on where it was, so order is what it would have been. Blocks that are read one after the other are read ahead, twice as
many each time: the first one of those that were read last has a mark, and who comes to it asks for those behind them.

What is in memory is bounded by `cache_bytes`, beside what is in no segment yet: when there is more, blocks go that nobody has looked at.

Messages that the disk does not give back as they were written are lost. They are told of by sequence, and removed by an entry of the log;
until that is applied nothing more of the stream is read. An error of the system is no loss: it is tried again.

Size: all that is read back goes one way, whoever waits for it.
"""

from libc.errno cimport EREMOTE, ENOMEM
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._chains cimport chain_push, chain_take
from framework_jetstream.engine._loading cimport load_read
from framework_jetstream.engine._log_ranges cimport range_perform, range_read
from framework_jetstream.engine._lost cimport lose_range
from framework_jetstream.engine._pieces cimport piece_read
from framework_jetstream.engine._retention cimport removal_add
from framework_jetstream.engine._scrub cimport scrub_took
from framework_jetstream.engine._scrub_log cimport scrub_log_perform
from framework_jetstream.engine._state cimport (
    EVENT_LOST, SCRUBS_LOG, SCRUBS_REST, SCRUBS_WHOLE, STORE_EVENTS_SHIFT, Answer, Waiting, ready_add, slot_of,
)
from framework_jetstream.engine._stream_commands cimport waiting_tell
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.raft._elections cimport transfer_begin
from framework_jetstream.replication._replicas cimport Replica
from framework_jetstream.replication._schedule cimport replica_spoil
from framework_jetstream.store._block cimport DATA_SLACK, Block, block_last_seq, block_release, block_resident
from framework_jetstream.store._bodies cimport bodies_begin, bodies_check, bodies_end, bodies_plain, bodies_read, bodies_whole
from framework_jetstream.store._segment cimport LiveRun, SegmentRow
from framework_jetstream.stream._evicting cimport Sweep, messages_attach, messages_sweep
from framework_jetstream.stream._messages cimport Messages, messages_place

cdef extern from "unistd.h" nogil:
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    AGAIN_NS = 1000000000
    # After an error.
    AHEAD_MAX = 16
    # Blocks: 1 MiB.
    AHEAD_SHARE = 8
    # Of `cache_bytes` at most one part of so many is on its way because it was read ahead.
    SKIPPED_MAX = 64
    # Blocks that are there or on their way already.
    WAITING_MAX = 10000
    # Messages of clients that wait for bytes: as many requests as nats-server lets wait.
    LOOKS_MAX = 4096
    # At blocks in a turn.
    SWEEP_NS = 1000000
    # It is gone on with.
    SWEEP_BYTES = 1048576
    # As many more have come when it is looked again where nothing could go.
    SWEEPS_IDLE = 5
    # Passes over all streams in which nothing could go: above the age of new blocks.


# ---- asking --------------------------------------------------------------------------------------------------------------


cdef bint read_take_places(Slot* slot, ReadJob* job) noexcept nogil:
    """Let a job know in which segments its messages are now; False: no memory."""
    cdef uint64_t first = job.held.block.first_seq, last = block_last_seq(job.held.block)
    cdef size_t at
    free(job.rows)
    job.row_count = 0
    job.rows = <SegmentRow*> malloc((slot.segment_count + 1) * sizeof(SegmentRow))
    if job.rows == NULL:
        return False
    for at in range(slot.segment_count):
        if slot.segments[at].last_seq >= first and slot.segments[at].first_seq <= last:
            job.rows[job.row_count] = slot.segments[at]
            job.row_count += 1
    return True


cdef void reading_push(Engine* engine, ReadJob* job) noexcept nogil:
    """Have a job performed."""
    cdef uint64_t one = 1
    job.lost.used = 0
    if chain_push(<void**> &engine.reads, job, job) and engine.jobs_fd >= 0:
        write(engine.jobs_fd, &one, sizeof(one))


cdef bint _ask(Engine* engine, Slot* slot, Block* block) noexcept nogil:
    """Have the bytes of a block read; False: there is no memory for that."""
    cdef ReadJob* job
    if block.data != NULL or block.is_asked:
        return True
    job = <ReadJob*> calloc(1, sizeof(ReadJob))
    if job == NULL:
        return False
    job.number = slot.number
    job.group = slot.group.number
    job.held.block = block
    job.held.count = block.count
    job.held.used = block.used
    if not read_take_places(slot, job):
        free(job)
        return False
    block.is_asked = 1
    engine.reading_bytes += block.used
    reading_push(engine, job)
    return True


cdef void reading_want(Engine* engine, Slot* slot, uint64_t seq, uint32_t ahead) noexcept nogil:
    """Have the bytes of a message read.

    Args:
        ahead: As soon as it is looked at, so many blocks behind it are wanted; 0: none.
    """
    cdef Messages* messages = &slot.stream.messages
    cdef Block* block
    if slot.is_losing or messages.block_begin == messages.block_end:
        return
    block = messages.blocks[messages_place(messages, seq)].block
    if block.data == NULL and not block.is_asked:
        block.ahead = <unsigned char> ahead
    _ask(engine, slot, block)


cdef void reading_go_on(Engine* engine, Slot* slot) noexcept nogil:
    """Read ahead, if somebody has come to where that was to begin."""
    cdef Messages* messages = &slot.stream.messages
    cdef size_t at
    cdef uint32_t wanted, skipped = 0
    cdef bint is_first = True
    cdef Block* block
    if messages.ahead_seq == 0 or messages.block_begin == messages.block_end:
        return
    at = messages_place(messages, messages.ahead_seq)
    messages.ahead_seq = 0
    wanted = messages.blocks[at].block.ahead
    messages.blocks[at].block.ahead = 0
    at += 1
    while wanted and at < messages.block_end and skipped < SKIPPED_MAX and not slot.is_losing:
        block = messages.blocks[at].block
        at += 1
        if block.data != NULL or block.is_asked:
            skipped += 1
            continue
        if engine.reading_bytes + block.used > engine.cache_bytes // AHEAD_SHARE:
            return
        if is_first:
            block.ahead = <unsigned char> min(wanted * 2, <uint32_t> AHEAD_MAX)
            is_first = False
            wanted = min(wanted * 2, <uint32_t> AHEAD_MAX)
        if not _ask(engine, slot, block):
            return
        wanted -= 1


# ---- waiting -------------------------------------------------------------------------------------------------------------


cdef void reading_consumer(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil:
    """Let a consumer wait for the bytes of a message."""
    consumer.is_reading = 1
    consumer.reading_seq = seq
    reading_want(engine, consumer.slot, seq, 1)


cdef bint reading_command(Engine* engine, Slot* slot, Command* command, uint64_t seq) noexcept nogil:
    """Let a command wait for the bytes of a message, and have it; False: no memory."""
    cdef Waiting* made = <Waiting*> calloc(1, sizeof(Waiting))
    if made == NULL:
        return False
    made.command = command
    made.number = slot.number
    made.seq = seq
    made.next = slot.reading
    slot.reading = made
    reading_want(engine, slot, seq, 1)
    return True


cdef bint reading_row(
    Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row, uint64_t seq, const GetProgress* progress
) noexcept nogil:
    """Let a message of a client wait for the bytes of one that is stored; False: too many do, there is no memory, or the stream is refused.

    Args:
        progress: Is what waits' from now on.
    """
    cdef size_t length = <size_t> row.subject_length + row.reply_length + row.header_length + row.payload_length
    cdef Waiting* made = NULL
    if engine.reads_waiting < WAITING_MAX and not slot.is_refused:
        made = <Waiting*> calloc(1, sizeof(Waiting) + length)
    if made == NULL:
        return False
    made.row = row[0]
    made.row.at = 0
    memcpy(made + 1, batch.chars + row.at, length)
    made.progress = progress[0]
    made.number = slot.number
    made.seq = seq
    made.next = slot.reading
    slot.reading = made
    engine.reads_waiting += 1
    reading_want(engine, slot, seq, 0)
    return True


cdef void reading_wake_between(Engine* engine, Slot* slot, uint64_t first_seq, uint64_t last_seq) noexcept nogil:
    """Let those go on that wait for a message between two sequences."""
    cdef ConsumerSlot* consumer = slot.consumers
    cdef Waiting** at = &slot.reading
    cdef Waiting* waiting
    cdef Waiting* woken = NULL
    while consumer != NULL:
        if consumer.is_reading and first_seq <= consumer.reading_seq <= last_seq:
            consumer.is_reading = 0
            ready_add(engine, consumer)
        consumer = consumer.next
    while at[0] != NULL:
        waiting = at[0]
        if not first_seq <= waiting.seq <= last_seq:
            at = &waiting.next
            continue
        at[0] = waiting.next
        # The last one came first.
        waiting.next = woken
        woken = waiting
        engine.reads_waiting -= waiting.command == NULL
    if woken == NULL:
        return
    if engine.last_woken != NULL:
        engine.last_woken.next = woken
    else:
        engine.woken = woken
    while woken.next != NULL:
        woken = woken.next
    engine.last_woken = woken


cdef void reading_wake(Engine* engine, Slot* slot) noexcept nogil:
    """Let all go on that wait for a message: its stream is another one now."""
    reading_wake_between(engine, slot, 0, <uint64_t> -1)


cdef void reading_refuse(Engine* engine, Slot* slot, bint is_refused) noexcept nogil:
    """Let nobody wait for what can't be read now, or read it again."""
    cdef ConsumerSlot* consumer = slot.consumers
    slot.is_refused = is_refused
    if is_refused:
        reading_wake_between(engine, slot, 0, <uint64_t> -1)
        return
    engine.has_fetched = True
    while consumer != NULL:
        ready_add(engine, consumer)
        consumer = consumer.next


# ---- what is lost --------------------------------------------------------------------------------------------------------


cdef bint _is_known(const Engine* engine, const Slot* slot, const LiveRun* run) noexcept nogil:
    """Whether messages were told of already."""
    cdef size_t at
    for at in range(engine.lost_count):
        if engine.lost[at].group == slot.group.number and (
            engine.lost[at].first <= run.first_seq and run.first_seq + run.count - 1 <= engine.lost[at].last
        ):
            return True
    return False


cdef void _tell(Engine* engine, Slot* slot, const LiveRun* run) noexcept nogil:
    cdef Answer* answer = answer_made(engine, -(<int64_t> 1 << STORE_EVENTS_SHIFT), EVENT_LOST, 0)
    if answer == NULL:
        return
    answer.numbers[0] = slot.number
    answer.numbers[1] = <int64_t> run.first_seq
    answer.numbers[2] = <int64_t> (run.first_seq + run.count - 1)


cdef void reading_lose(Engine* engine, Slot* slot, const Buffer* lost) noexcept nogil:
    """Tell which messages are lost, LiveRuns, and have them removed; where other servers have them none is, and this one leads no more."""
    cdef const LiveRun* runs = <const LiveRun*> lost.chars
    cdef Replica* replica = slot.group.replica
    cdef bint is_shared = replica != NULL and replica.raft.peer_count > 1
    cdef size_t at
    cdef uint64_t seq
    for at in range(lost.used // sizeof(LiveRun)):
        if not _is_known(engine, slot, &runs[at]):
            lose_range(engine, slot, runs[at].first_seq, runs[at].first_seq + runs[at].count - 1)
            if not engine.is_replaying:
                _tell(engine, slot, &runs[at])
        if is_shared:
            continue
        for seq in range(runs[at].first_seq, runs[at].first_seq + runs[at].count):
            removal_add(slot, seq)
        slot.is_losing = 1
    if is_shared:
        replica_spoil(engine.replicas, replica)
        transfer_begin(replica.raft, 0)
        reading_refuse(engine, slot, True)


cdef void reading_removed(Engine* engine, Slot* slot) noexcept nogil:
    """Go on with reading: messages were removed, those that are lost among them."""
    if not slot.is_losing or slot.removals_length:
        return
    slot.is_losing = 0
    reading_wake_between(engine, slot, 0, <uint64_t> -1)


# ---- what was read -------------------------------------------------------------------------------------------------------


cdef void read_perform(ReadJob* job, BodyReader* reader) noexcept nogil:
    """Read what a job wants; called by whoever performs it."""
    if job.places != NULL:
        job.error = range_perform(job, reader)
        return
    if job.scrubs:
        # What was read last may have been so for long.
        reader.file = 0
    if job.scrubs == SCRUBS_WHOLE:
        job.error = bodies_whole(reader, job.group, job.file, job.piece_bytes, &job.lost, &job.reason)
        return
    if job.scrubs == SCRUBS_LOG:
        scrub_log_perform(job, &reader.files)
        return
    if job.scrubs == SCRUBS_REST:
        job.error = bodies_check(reader, job.group, job.file, &job.piece_bytes, &job.reason)
        return
    if job.file:
        if job.piece == NULL:
            job.piece = <char*> malloc(job.piece_bytes)
        job.error = ENOMEM
        if job.piece != NULL:
            job.error = bodies_plain(reader, job.group, job.file, job.offset, job.piece, job.piece_bytes)
        return
    if job.held.data == NULL:
        job.held.data = <char*> malloc(job.held.used + DATA_SLACK)
    if job.held.data == NULL:
        job.error = ENOMEM
        return
    job.error = bodies_read(reader, job.group, job.rows, job.row_count, &job.held, job.held.data, &job.lost)


cdef void read_drop(ReadJob* job) noexcept nogil:
    """Free a job; its block is needed no more."""
    if job.held.block != NULL:
        job.held.block.is_asked = 0
        block_release(job.held.block)
    free(job.piece)
    free(job.places)
    free(job.held.data)
    free(job.rows)
    free(job.lost.chars)
    free(job)


cdef bint read_is_current(const Slot* slot, const ReadJob* job) noexcept nogil:
    """Whether a stream has the segments in which a job has looked."""
    cdef size_t at, row = 0
    for at in range(slot.segment_count):
        if row < job.row_count and slot.segments[at].file == job.rows[row].file:
            row += 1
    return row == job.row_count


cdef void _delay(Engine* engine, ReadJob* job) noexcept nogil:
    """Try a job again in a while."""
    if job.error != EREMOTE:
        engine.read_error = job.error
    job.next = engine.reads_delayed
    engine.reads_delayed = job
    engine.reads_again_ns = engine.now_ns + AGAIN_NS
    wake_at(engine, engine.reads_again_ns)


cdef void _attach(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil:
    """Let a block have the bytes that were read, unless it has some."""
    if job.held.block.data == NULL:
        messages_attach(&slot.stream.messages, job.held.block, job.held.data)
        engine.sweeps_above = 0
        job.held.data = NULL


cdef void reading_attach(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil:
    """The same, if somebody waits for them."""
    cdef uint64_t first = job.held.block.first_seq, last = block_last_seq(job.held.block)
    cdef ConsumerSlot* consumer = slot.consumers
    cdef Waiting* waiting = slot.reading
    while consumer != NULL and not (consumer.is_reading and first <= consumer.reading_seq <= last):
        consumer = consumer.next
    while waiting != NULL and not first <= waiting.seq <= last:
        waiting = waiting.next
    if consumer != NULL or waiting != NULL:
        _attach(engine, slot, job)


cdef void _take_up(Engine* engine, ReadJob* job) noexcept nogil:
    """Hear what has become of a job that reads messages."""
    cdef Slot* slot = slot_of(engine, job.number)
    cdef Block* block = job.held.block
    cdef uint64_t first = block.first_seq, last = block_last_seq(block)
    if slot != NULL and not block.is_gone:
        if job.error:
            _delay(engine, job)
            return
        if job.lost.used and not read_is_current(slot, job) and read_take_places(slot, job):
            # They were written again meanwhile.
            reading_push(engine, job)
            return
        engine.read_error = 0
        if job.lost.used:
            reading_lose(engine, slot, &job.lost)
        else:
            _attach(engine, slot, job)
    engine.reading_bytes -= job.held.used
    read_drop(job)
    if slot != NULL and not slot.is_losing:
        reading_wake_between(engine, slot, first, last)


cdef void _take_up_piece(Engine* engine, ReadJob* job) noexcept nogil:
    """Hear what has become of a job that reads a piece of a segment."""
    if job.wanted.to:
        piece_read(engine, job)
    elif job.error > 0:
        _delay(engine, job)
        return
    else:
        load_read(engine, job)
    read_drop(job)


cdef void reading_turn(Engine* engine) noexcept nogil:
    """Hear of what was read."""
    cdef ReadJob* job = <ReadJob*> chain_take(<void**> &engine.reads_performed)
    cdef ReadJob* following
    while job != NULL:
        following = job.next
        if job.places != NULL:
            range_read(engine, job)
            read_drop(job)
        elif job.scrubs:
            scrub_took(engine, job)
        elif job.file:
            _take_up_piece(engine, job)
        else:
            _take_up(engine, job)
        job = following
    if engine.has_fetched:
        engine.has_fetched = False
        engine.reads_again_ns = 0
    if engine.reads_delayed == NULL or engine.now_ns < engine.reads_again_ns:
        return
    job = engine.reads_delayed
    engine.reads_delayed = NULL
    while job != NULL:
        following = job.next
        reading_push(engine, job)
        job = following


cdef bint _fetch(void* owner, Block* block) noexcept nogil:
    """Read the bytes of a block at once: what is applied can't wait for them."""
    cdef Slot* slot = <Slot*> owner
    cdef Engine* engine = slot.engine
    cdef BodyReader reader
    cdef ReadJob job
    if engine.files.open == NULL or slot.group == NULL:
        return False
    memset(&job, 0, sizeof(job))
    job.group = slot.group.number
    job.held.block = block
    job.held.count = block.count
    job.held.used = block.used
    job.error = ENOMEM
    if read_take_places(slot, &job):
        bodies_begin(&reader, &engine.files, engine.log.salt, &engine.log.keys)
        read_perform(&job, &reader)
        bodies_end(&reader)
    if job.lost.used and not job.error:
        reading_lose(engine, slot, &job.lost)
    if not job.error and not job.lost.used:
        messages_attach(&slot.stream.messages, block, job.held.data)
        job.held.data = NULL
    free(job.held.data)
    free(job.rows)
    free(job.lost.chars)
    return block.data != NULL


cdef void reading_begin(Engine* engine, Slot* slot) noexcept nogil:
    """Let bytes of a stream in files go and come."""
    slot.stream.messages.resident = &engine.resident_bytes
    slot.stream.messages.fetch = _fetch
    slot.stream.messages.owner = slot


cdef void reading_join(Engine* engine, Slot* slot) noexcept nogil:
    """Let bytes of a stream go and come that were all here so far."""
    cdef Messages* messages = &slot.stream.messages
    cdef size_t at
    for at in range(messages.block_begin, messages.block_end):
        engine.resident_bytes += block_resident(messages.blocks[at].block)
    reading_begin(engine, slot)


# ---- what goes -----------------------------------------------------------------------------------------------------------


cdef bint _sweep_stream(Slot* slot, Sweep* sweep) noexcept nogil:
    """Let bytes of a stream go; True: all of it was looked at."""
    if slot == NULL or slot.segment_count == 0 or slot.stream.limits.allow_counter or slot.stream.limits.allow_schedules:
        return True
    sweep.saved_seq = slot.segments[slot.segment_count - 1].last_seq
    sweep.keeps_headers = slot.stream.limits.allow_ttl and (
        slot.stream.limits.max_age_ns > 0 or slot.stream.limits.marker_ttl_ns > 0
    )
    return messages_sweep(&slot.stream.messages, sweep)


cdef void reading_sweep(Engine* engine) noexcept nogil:
    """Let bytes go where there are too many; nobody may have a record of a stream now."""
    cdef Sweep sweep
    cdef uint64_t before
    cdef uint32_t tried = 0
    if engine.resident_bytes <= engine.cache_bytes:
        engine.sweeps_above = 0
    if engine.resident_bytes <= max(engine.cache_bytes, engine.sweeps_above):
        return
    sweep.bytes = engine.resident_bytes - engine.cache_bytes
    sweep.looks = LOOKS_MAX
    while sweep.bytes and sweep.looks and tried < engine.slot_count:
        before = sweep.bytes
        if engine.sweep_slot >= engine.slot_count:
            engine.sweep_slot = 0
        if _sweep_stream(engine.slots[engine.sweep_slot], &sweep):
            engine.sweep_slot += 1
            engine.sweep_idle += 1
            tried += 1
        if sweep.bytes < before:
            engine.sweep_idle = 0
    if sweep.bytes == 0:
        return
    if engine.sweep_idle > SWEEPS_IDLE * engine.slot_count:
        engine.sweep_idle = 0
        engine.sweeps_above = engine.resident_bytes + SWEEP_BYTES
    else:
        wake_at(engine, engine.now_ns + SWEEP_NS)


# ---- ends ----------------------------------------------------------------------------------------------------------------


cdef void _free_all(ReadJob* job) noexcept nogil:
    cdef ReadJob* following
    while job != NULL:
        following = job.next
        read_drop(job)
        job = following


cdef void reads_free(Engine* engine) noexcept nogil:
    """Forget all jobs; nobody performs one any more, and there is no stream."""
    _free_all(<ReadJob*> chain_take(<void**> &engine.reads))
    _free_all(<ReadJob*> chain_take(<void**> &engine.scrubs))
    _free_all(engine.scrubs_taken)
    _free_all(engine.reads_taken)
    _free_all(<ReadJob*> chain_take(<void**> &engine.reads_performed))
    _free_all(engine.reads_delayed)
    engine.reads_taken = engine.reads_delayed = engine.scrubs_taken = NULL
    waiting_tell(engine, engine.woken)
    engine.woken = engine.last_woken = NULL
