"""What waits in a stream, as a part of it as a whole: batches that are not committed, how far those are that are stored as they come, and
when schedules fire.

    head           how many there are of each
    batches        each with its id and its messages
    fast batches   each with its id
    schedules      time and sequence of each

All numbers little-endian.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from framework_jetstream.stream._batches cimport BATCH_ID_MAX, Batch, Staged, batch_add, batch_stage
from framework_jetstream.stream._fast_batches cimport Fast, FastPlace, fast_add
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._ttls cimport ttls_add


cdef packed struct BatchRow:
    # The id follows, then its messages.
    int64_t touched_ns
    uint64_t last_seq
    uint32_t message_count
    uint32_t id_length


cdef packed struct StagedRow:
    # Subject, header and payload follow.
    uint32_t subject_length
    uint32_t header_length
    uint32_t payload_length


cdef packed struct ScheduleRow:
    int64_t at_ns
    uint64_t seq


cdef packed struct FastRow:
    # The id follows.
    uint64_t last_seq
    uint64_t stored_seq
    uint64_t flow_seq
    uint64_t stream_seq
    int64_t touched_ns
    uint32_t pending
    uint16_t every
    uint16_t every_max
    uint8_t gap_is_good
    uint8_t is_committed
    uint16_t id_length


cdef packed struct WaitingHead:
    uint32_t batch_count
    uint32_t fast_count
    uint64_t schedule_count


# ---- batches ---------------------------------------------------------------------------------------------------------------


cdef size_t _batches_size(const Stream* stream) noexcept nogil:
    cdef size_t size = stream.batches.bytes
    cdef const Batch* batch = stream.batches.first
    cdef const Staged* staged
    while batch != NULL:
        size += sizeof(BatchRow) + batch.id_length
        staged = batch.first
        while staged != NULL:
            size += sizeof(StagedRow)
            staged = staged.next
        batch = batch.next
    return size


cdef uint32_t _write_staged(const Batch* batch, char** at) noexcept nogil:
    """Write the messages of a batch; return how many there are."""
    cdef const Staged* staged = batch.first
    cdef StagedRow row
    cdef uint32_t count = 0, length
    while staged != NULL:
        row.subject_length = staged.subject_length
        row.header_length = staged.header_length
        row.payload_length = staged.payload_length
        memcpy(at[0], &row, sizeof(row))
        length = row.subject_length + row.header_length + row.payload_length
        memcpy(at[0] + sizeof(row), staged + 1, length)
        at[0] += sizeof(row) + length
        count += 1
        staged = staged.next
    return count


cdef void _write_batches(const Stream* stream, char** end) noexcept nogil:
    """Write all batches, and move behind them."""
    cdef const Batch* batch = stream.batches.first
    cdef BatchRow row
    cdef char* to = end[0]
    cdef char* at
    while batch != NULL:
        at = to + sizeof(row) + batch.id_length
        row.touched_ns = batch.touched_ns
        row.last_seq = batch.last_seq
        row.id_length = batch.id_length
        row.message_count = _write_staged(batch, &at)
        memcpy(to, &row, sizeof(row))
        memcpy(to + sizeof(row), batch.id, batch.id_length)
        to = at
        batch = batch.next
    end[0] = to


cdef Text _take_text(const char** at, uint32_t length) noexcept nogil:
    cdef Text text
    text.chars = at[0]
    text.length = length
    at[0] += length
    return text


cdef bint _read_staged(Stream* stream, Batch* batch, const char** at, const char* end) noexcept nogil:
    """Read a message of a batch; False: it makes no sense, or there is no memory."""
    cdef StagedRow row
    cdef Text subject, header, payload
    if <size_t> (end - at[0]) < sizeof(row):
        return False
    memcpy(&row, at[0], sizeof(row))
    at[0] += sizeof(row)
    if <size_t> (end - at[0]) < <size_t> row.subject_length + row.header_length + row.payload_length:
        return False
    subject = _take_text(at, row.subject_length)
    header = _take_text(at, row.header_length)
    payload = _take_text(at, row.payload_length)
    return batch_stage(&stream.batches, batch, subject, header, payload)


cdef bint _read_batch(Stream* stream, const char** at, const char* end) noexcept nogil:
    """Read a batch; False: it makes no sense, or there is no memory."""
    cdef BatchRow row
    cdef Batch* batch
    cdef uint32_t _number
    if <size_t> (end - at[0]) < sizeof(row):
        return False
    memcpy(&row, at[0], sizeof(row))
    at[0] += sizeof(row)
    if row.id_length > BATCH_ID_MAX or <size_t> (end - at[0]) < row.id_length:
        return False
    batch = batch_add(&stream.batches, _take_text(at, row.id_length))
    if batch == NULL:
        return False
    batch.touched_ns = row.touched_ns
    batch.last_seq = row.last_seq
    for _number in range(row.message_count):
        if not _read_staged(stream, batch, at, end):
            return False
    return True


# ---- schedules -------------------------------------------------------------------------------------------------------------


cdef void _write_schedules(const Stream* stream, char* to) noexcept nogil:
    """Write when each fires."""
    cdef uint64_t at
    cdef ScheduleRow row
    for at in range(stream.schedules.count):
        row.at_ns = stream.schedules.heap[at].at_ns
        row.seq = stream.schedules.heap[at].seq
        memcpy(to + at * sizeof(row), &row, sizeof(row))


cdef bint _read_schedule(Stream* stream, const char** at, const char* end) noexcept nogil:
    """Read when a schedule fires; False: it makes no sense, or there is no memory."""
    cdef ScheduleRow row
    if <size_t> (end - at[0]) < sizeof(row):
        return False
    memcpy(&row, at[0], sizeof(row))
    at[0] += sizeof(row)
    return ttls_add(&stream.schedules, row.at_ns, row.seq)


# ---- batches that are stored as they come ----------------------------------------------------------------------------------


cdef void _write_fast_batches(const Stream* stream, char** end) noexcept nogil:
    """Write all of them, and move behind them."""
    cdef const Fast* batch = stream.fast_batches.first
    cdef FastRow row
    while batch != NULL:
        row.last_seq = batch.last_seq
        row.stored_seq = batch.stored_seq
        row.flow_seq = batch.flow_seq
        row.stream_seq = batch.stream_seq
        row.touched_ns = batch.touched_ns
        row.pending = batch.pending
        row.every = batch.every
        row.every_max = batch.every_max
        row.gap_is_good = batch.gap_is_good
        row.is_committed = batch.is_committed
        row.id_length = <uint16_t> batch.id_length
        memcpy(end[0], &row, sizeof(row))
        memcpy(end[0] + sizeof(row), batch.id, batch.id_length)
        end[0] += sizeof(row) + batch.id_length
        batch = batch.next


cdef bint _read_fast_batch(Stream* stream, const char** at, const char* end) noexcept nogil:
    """Read one; False: it makes no sense, or there is no memory."""
    cdef FastRow row
    cdef FastPlace place
    cdef Fast* batch
    if <size_t> (end - at[0]) < sizeof(row):
        return False
    memcpy(&row, at[0], sizeof(row))
    at[0] += sizeof(row)
    if row.id_length > BATCH_ID_MAX or <size_t> (end - at[0]) < row.id_length or row.every == 0:
        return False
    place.id = _take_text(at, row.id_length)
    place.flow = row.every_max
    place.gap_is_good = row.gap_is_good
    batch = fast_add(&stream.fast_batches, &place)
    if batch == NULL:
        return False
    batch.last_seq = row.last_seq
    batch.stored_seq = row.stored_seq
    batch.flow_seq = row.flow_seq
    batch.stream_seq = row.stream_seq
    batch.touched_ns = row.touched_ns
    batch.pending = row.pending
    batch.every = row.every
    batch.is_committed = row.is_committed
    return True


# ---- all of it -------------------------------------------------------------------------------------------------------------


cdef size_t waiting_size(const Stream* stream) noexcept nogil:
    """Return the bytes of what waits in a stream."""
    cdef size_t size = sizeof(WaitingHead) + _batches_size(stream) + stream.schedules.count * sizeof(ScheduleRow)
    cdef const Fast* fast = stream.fast_batches.first
    while fast != NULL:
        size += sizeof(FastRow) + fast.id_length
        fast = fast.next
    return size


cdef void waiting_write(const Stream* stream, char* to) noexcept nogil:
    """Write what waits."""
    cdef WaitingHead head
    head.batch_count = stream.batches.count
    head.fast_count = stream.fast_batches.count
    head.schedule_count = stream.schedules.count
    memcpy(to, &head, sizeof(head))
    to += sizeof(head)
    _write_batches(stream, &to)
    _write_fast_batches(stream, &to)
    _write_schedules(stream, to)


cdef bint waiting_read(Stream* stream, const char* at, const char* end) noexcept nogil:
    """Let a stream have what was written of what waits; False: it makes no sense, or there is no memory."""
    cdef WaitingHead head
    cdef uint64_t _number
    if <size_t> (end - at) < sizeof(head):
        return False
    memcpy(&head, at, sizeof(head))
    at += sizeof(head)
    for _number in range(head.batch_count):
        if not _read_batch(stream, &at, end):
            return False
    for _number in range(head.fast_count):
        if not _read_fast_batch(stream, &at, end):
            return False
    for _number in range(head.schedule_count):
        if not _read_schedule(stream, &at, end):
            return False
    return True
