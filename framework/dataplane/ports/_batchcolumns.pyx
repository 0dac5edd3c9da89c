"""Messages of batches as columns, for who makes tables of them: without a step of the interpreter for each.

Columns are laid out as Apache Arrow has them: 32-bit offsets and the chars behind each other; little-endian numbers; bitmaps whose lowest
bit is the first.

Source: Arrow Columnar Format, "Variable-size Binary Layout", "Validity bitmaps".
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from framework.dataplane._state cimport SinkBatch, framework_row
from framework.dataplane.ports._sinkbatch cimport batch_of, row_arrived

from framework.dataplane.batch_columns import BatchColumns, TextColumn

cdef enum:
    # Subject, reply subject, header block, payload: as they follow each other in a batch.
    PARTS = 4


cdef struct Columns:
    int32_t* offsets[PARTS]
    char* chars[PARTS]
    int64_t* arrived
    int64_t epoch_ns
    int32_t* sizes
    int32_t* links
    uint64_t* distinct
    uint32_t* slots
    # Number of a distinct link plus one, by the hash of its id.
    uint32_t slots_mask
    uint32_t distinct_count
    uint32_t count


# ---- of batches --------------------------------------------------------------------------------------------------------


cdef inline int32_t _link_number(Columns* columns, uint64_t link) noexcept nogil:
    """Return the number of a link among those so far, from 0."""
    cdef uint32_t slot = <uint32_t> ((link * <uint64_t> 0x9E3779B97F4A7C15) >> 32) & columns.slots_mask
    while columns.slots[slot]:
        if columns.distinct[columns.slots[slot] - 1] == link:
            return columns.slots[slot] - 1
        slot = (slot + 1) & columns.slots_mask
    columns.distinct[columns.distinct_count] = link
    columns.distinct_count += 1
    columns.slots[slot] = columns.distinct_count
    return columns.distinct_count - 1


cdef void _append(Columns* columns, SinkBatch* batch) noexcept nogil:
    """Append the messages of a batch."""
    cdef framework_row* row
    cdef const char* at
    cdef uint32_t index
    cdef int part
    cdef uint32_t lengths[PARTS]
    cdef int32_t start
    for index in range(batch.count):
        row = &batch.messages[index]
        at = batch.chars + row.at
        lengths[0] = row.subject_length
        lengths[1] = row.reply_length
        lengths[2] = row.header_length
        lengths[3] = row.payload_length
        for part in range(PARTS):
            start = columns.offsets[part][columns.count]
            memcpy(columns.chars[part] + start, at, lengths[part])
            columns.offsets[part][columns.count + 1] = start + <int32_t> lengths[part]
            at += lengths[part]
        columns.arrived[columns.count] = row_arrived(batch, row) + columns.epoch_ns
        columns.sizes[columns.count] = <int32_t> row.tag
        columns.links[columns.count] = _link_number(columns, row.link)
        columns.count += 1


cdef int _add_lengths(SinkBatch* batch, int64_t* lengths) noexcept nogil:
    cdef uint32_t index
    for index in range(batch.count):
        lengths[0] += batch.messages[index].subject_length
        lengths[1] += batch.messages[index].reply_length
        lengths[2] += batch.messages[index].header_length
        lengths[3] += batch.messages[index].payload_length
    return 0


def columns_of(batches: Sequence[Batch], epoch_ns: int = 0) -> BatchColumns:
    """Return the messages of batches of taps that watch, in order. Callable from any thread.

    Args:
        batches: Together less than 2 GiB of each part.
        epoch_ns: Added to when each came; what the monotonic clock began at makes it a time of day.

    Raises:
        ValueError: There is more.
    """
    cdef list given = list(batches)
    cdef int64_t lengths[PARTS]
    cdef int64_t count = 0
    cdef Columns columns
    cdef int part
    memset(lengths, 0, sizeof(lengths))
    memset(&columns, 0, sizeof(columns))
    columns.epoch_ns = epoch_ns
    for each in given:
        _add_lengths(batch_of(each), lengths)
        count += batch_of(each).count
    if max(lengths[0], lengths[1], lengths[2], lengths[3]) > INT32_MAX or count >= INT32_MAX // 4:
        raise ValueError(f"{count} messages are too many for one table")
    cdef list offsets = [PyBytes_FromStringAndSize(NULL, (count + 1) * sizeof(int32_t)) for _ in range(PARTS)]
    cdef list chars = [bytearray(lengths[at]) for at in range(PARTS)]
    cdef bytes arrived = PyBytes_FromStringAndSize(NULL, count * sizeof(int64_t))
    cdef bytes sizes = PyBytes_FromStringAndSize(NULL, count * sizeof(int32_t))
    cdef bytes links = PyBytes_FromStringAndSize(NULL, count * sizeof(int32_t))
    for part in range(PARTS):
        columns.offsets[part] = <int32_t*> PyBytes_AS_STRING(offsets[part])
        columns.offsets[part][0] = 0
        columns.chars[part] = PyByteArray_AS_STRING(chars[part])
    columns.arrived = <int64_t*> PyBytes_AS_STRING(arrived)
    columns.sizes = <int32_t*> PyBytes_AS_STRING(sizes)
    columns.links = <int32_t*> PyBytes_AS_STRING(links)
    try:
        _make_slots(&columns, count)
        for each in given:
            _append(&columns, batch_of(each))
        distinct = tuple([columns.distinct[at] for at in range(columns.distinct_count)])
    finally:
        free(columns.distinct)
        free(columns.slots)
    parts = [TextColumn(offsets[at], chars[at]) for at in range(PARTS)]
    return BatchColumns(count, *parts, arrived, sizes, distinct, links)


cdef int _make_slots(Columns* columns, int64_t count) except -1:
    cdef uint32_t slots = 16
    while slots < 2 * count:
        slots *= 2
    columns.slots_mask = slots - 1
    columns.slots = <uint32_t*> calloc(slots, sizeof(uint32_t))
    columns.distinct = <uint64_t*> calloc(count + 1, sizeof(uint64_t))
    if columns.slots == NULL or columns.distinct == NULL:
        raise MemoryError
    return 0


# ---- of what is known about them -----------------------------------------------------------------------------------------


cdef const int32_t* _index(bytes index, Py_ssize_t values) except NULL:
    """Return a column of places in a list, checked."""
    cdef const int32_t* places = <const int32_t*> PyBytes_AS_STRING(index)
    cdef Py_ssize_t at
    for at in range(len(index) // <Py_ssize_t> sizeof(int32_t)):
        if not 0 <= places[at] < values:
            raise ValueError(f"place {places[at]} of {values}")
    return places


def gathered_numbers(index: bytes, values: Sequence[int]) -> bytes:
    """Return a column of 64-bit numbers: of each place in `index` that of `values`.

    Args:
        index: 32-bit places, such as `BatchColumns.link_index`.
        values: What stands there.

    Raises:
        ValueError: A place is none of `values`.
    """
    cdef const int32_t* places = _index(index, len(values))
    cdef Py_ssize_t count = len(index) // <Py_ssize_t> sizeof(int32_t)
    cdef Py_ssize_t at
    cdef bytes made = PyBytes_FromStringAndSize(NULL, count * sizeof(int64_t))
    cdef int64_t* numbers = <int64_t*> PyBytes_AS_STRING(made)
    cdef list each = [int(value) for value in values]
    cdef bytes table = PyBytes_FromStringAndSize(NULL, len(each) * sizeof(int64_t))
    cdef int64_t* found = <int64_t*> PyBytes_AS_STRING(table)
    for at in range(len(each)):
        found[at] = each[at]
    for at in range(count):
        numbers[at] = found[places[at]]
    return made


def gathered_texts(index: bytes, values: Sequence[bytes]) -> TextColumn:
    """Return a column of texts, as `gathered_numbers` does of numbers."""
    cdef list texts = [bytes(value) for value in values]
    cdef const int32_t* places = _index(index, len(texts))
    cdef Py_ssize_t count = len(index) // <Py_ssize_t> sizeof(int32_t)
    cdef Py_ssize_t at
    cdef bytes starts = PyBytes_FromStringAndSize(NULL, (count + 1) * sizeof(int32_t))
    cdef int32_t* offsets = <int32_t*> PyBytes_AS_STRING(starts)
    cdef int64_t total = 0
    cdef bytes text
    for at in range(count):
        total += len(<bytes> texts[places[at]])
    if total > INT32_MAX:
        raise ValueError(f"{total} bytes are too many for one column")
    chars = bytearray(total)
    cdef char* to = PyByteArray_AS_STRING(chars)
    offsets[0] = 0
    for at in range(count):
        text = <bytes> texts[places[at]]
        memcpy(to + offsets[at], PyBytes_AS_STRING(text), len(text))
        offsets[at + 1] = offsets[at] + <int32_t> len(text)
    return TextColumn(starts, chars)


def filled_bits(offsets: bytes) -> bytes:
    """Return a bitmap of the texts of a column that are not empty, by its offsets."""
    cdef Py_ssize_t count = len(offsets) // <Py_ssize_t> sizeof(int32_t) - 1
    cdef const int32_t* places = <const int32_t*> PyBytes_AS_STRING(offsets)
    cdef Py_ssize_t at
    if count < 0:
        raise ValueError("a column has one offset more than it has texts")
    made = bytearray((count + 7) // 8)
    cdef uint8_t* bits = <uint8_t*> PyByteArray_AS_STRING(made)
    for at in range(count):
        bits[at >> 3] |= (places[at] < places[at + 1]) << (at & 7)
    return bytes(made)
