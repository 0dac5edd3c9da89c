"""Messages of a stream as a table in Arrow's format, one batch of rows at a time.

    batch  = metadata *column
    column = [bitmap] [offsets] values

each part filled up to a multiple of 8 bytes. Of the metadata the control plane has made all but the numbers; the columns that are wanted
stand in the order of their numbers. Only header blocks can be null: where a message has none.

A message is copied before the next one is looked for: what a record points to holds no longer than that.

Source: Arrow Columnar Format, "Serialization and Interprocess Communication"; the metadata is `framework/wire/arrow.py`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy, memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._reading cimport reading_go_on
from framework_jetstream.engine._state cimport Answer, command_text
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._messages cimport (
    Messages, Record, messages_next_matching, messages_seq_from, record_header, record_is_absent, record_payload,
)


cdef enum:
    # Columns: bits of a command; the names are in `exports/table.py`.
    SEQUENCE = 0
    TIMESTAMP
    SUBJECT
    HEADERS
    DATA
    SIZE
    COLUMNS

cdef enum:
    # Numbers of a command.
    FIRST_SEQ = 0
    LAST_SEQ
    BATCH_BYTES
    # Bytes of a batch; one row may have more.
    WANTED
    BEGIN_NS
    END_NS
    # Of the times of messages; 0: any. The end is the first that is not wanted.
    ROWS_AT
    BODY_AT
    NODES_AT
    PLACES_AT
    # In the metadata, where numbers belong.
    SUBJECT_BYTES
    # Of where the batch goes.

cdef enum:
    NO_ROOM = 2
    PAIR_BYTES = 16
    REPLACED_BYTES = 3
    # Of what stands for a byte that is no text.
    BUSY_NS = 2000000
    # Clients are at work when they have said something within so long.
    BUSY_BYTES = 1 << 18
    # Then frames are no longer: a consumer waits for one at most.


cdef struct Column:
    char* values
    # Numbers; of texts, where each begins.
    char* chars
    size_t used
    # Bytes of chars.
    size_t room
    uint32_t width
    # Bytes of a value; 0: the column is not wanted.
    bint is_text


cdef struct Table:
    Column columns[COLUMNS]
    uint8_t* filled
    # A bit a row: it has headers.
    uint32_t nulls
    # Rows without.
    uint32_t rows
    uint32_t room
    # Rows.
    uint32_t row_bytes
    # Of a row, but for its texts.
    size_t size
    # Bytes of the columns so far, but for what fills them up.
    size_t most
    # Bytes that they may have, if there is more than one row.
    bint has_failed
    # No memory.


# ---- rows --------------------------------------------------------------------------------------------------------------


cdef inline size_t _padded(size_t size) noexcept nogil:
    return (size + 7) & ~<size_t> 7


cdef void _begin(Table* table, uint64_t wanted) noexcept nogil:
    cdef int at
    memset(table, 0, sizeof(Table))
    for at in range(COLUMNS):
        if wanted >> at & 1:
            table.columns[at].is_text = at in (SUBJECT, HEADERS, DATA)
            table.columns[at].width = 8 if at in (SEQUENCE, TIMESTAMP) else 4
            table.row_bytes += table.columns[at].width


cdef void _free(Table* table) noexcept nogil:
    cdef int at
    for at in range(COLUMNS):
        free(table.columns[at].values)
        free(table.columns[at].chars)
    free(table.filled)


cdef bint _make_room(Table* table) noexcept nogil:
    """See that there is room for one more row; False: no memory."""
    cdef uint32_t room = table.room * 2 + 512
    cdef int at
    cdef void* grown
    if table.rows < table.room:
        return True
    for at in range(COLUMNS):
        if table.columns[at].width:
            grown = realloc(table.columns[at].values, (<size_t> room + 1) * table.columns[at].width)
            if grown == NULL:
                return False
            table.columns[at].values = <char*> grown
    grown = realloc(table.filled, room // 8 + 1)
    if grown == NULL:
        return False
    table.filled = <uint8_t*> grown
    memset(table.filled + table.room // 8, 0, room // 8 + 1 - table.room // 8)
    table.room = room
    return True


cdef inline void _put_number(Table* table, int at, int64_t value) noexcept nogil:
    cdef Column* column = &table.columns[at]
    # Little-endian: the lower bytes of a number are its first ones. So many that the compiler knows how many take one instruction.
    if column.width == sizeof(int64_t):
        memcpy(column.values + <size_t> table.rows * sizeof(int64_t), &value, sizeof(int64_t))
    elif column.width:
        memcpy(column.values + <size_t> table.rows * sizeof(int32_t), &value, sizeof(int32_t))


cdef char* _text_room(Table* table, int at, size_t length) noexcept nogil:
    """Return where the text of a row goes, and say where it begins; NULL: the column is not wanted, or there is no memory."""
    cdef Column* column = &table.columns[at]
    cdef void* grown
    if column.width == 0:
        return NULL
    _put_number(table, at, <int64_t> column.used)
    if column.room - column.used < length:
        # Room for a whole batch at once: what grows is copied, and pages that nobody writes to cost nothing.
        grown = realloc(column.chars, column.used + table.most + length)
        if grown == NULL:
            table.has_failed = True
            return NULL
        column.chars = <char*> grown
        column.room = column.used + table.most + length
    return column.chars + column.used


cdef void _put_text(Table* table, int at, const char* chars, size_t length) noexcept nogil:
    cdef char* to = _text_room(table, at, length)
    if to != NULL:
        memcpy(to, chars, length)
        table.columns[at].used += length


cdef uint32_t _sequence_bytes(const uint8_t* chars, size_t left) noexcept nogil:
    """Return how many bytes the character has in UTF-8 that begins here; 0: none does. Source: RFC 3629, section 4."""
    cdef uint8_t lead = chars[0], least = 0x80, most = 0xBF
    cdef uint32_t length, at
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if length > left:
        return 0
    if lead == 0xE0:
        least = 0xA0
    elif lead == 0xED:
        most = 0x9F
    elif lead == 0xF0:
        least = 0x90
    elif lead == 0xF4:
        most = 0x8F
    if not least <= chars[1] <= most:
        return 0
    for at in range(2, length):
        if not 0x80 <= chars[at] <= 0xBF:
            return 0
    return length


cdef void _put_subject(Table* table, const char* chars, size_t length) noexcept nogil:
    """Put a subject, which can be any bytes, as readers may take it: a byte that is no UTF-8 becomes U+FFFD."""
    cdef uint8_t any_bits = 0
    cdef size_t at = 0, used = 0
    cdef uint32_t step
    cdef char* to
    for at in range(length):
        any_bits |= <uint8_t> chars[at]
    if any_bits < 0x80:
        _put_text(table, SUBJECT, chars, length)
        return
    to = _text_room(table, SUBJECT, length * REPLACED_BYTES)
    at = 0
    while to != NULL and at < length:
        step = _sequence_bytes(<const uint8_t*> chars + at, length - at)
        if step:
            memcpy(to + used, chars + at, step)
        else:
            memcpy(to + used, b"\xef\xbf\xbd", REPLACED_BYTES)
        used += step if step else <uint32_t> REPLACED_BYTES
        at += step if step else 1
    if to != NULL:
        table.columns[SUBJECT].used += used


cdef size_t _row_bytes(const Table* table, const Record* record) noexcept nogil:
    """Return how many bytes a message adds; a subject that is no text may add more."""
    cdef size_t size = table.row_bytes
    if table.columns[SUBJECT].width:
        size += record.subject.length
    if table.columns[HEADERS].width:
        size += record.header_length
    if table.columns[DATA].width:
        size += record.payload_length
    return size


cdef void _put_row(Table* table, const Record* record) noexcept nogil:
    _put_number(table, SEQUENCE, <int64_t> record.seq)
    _put_number(table, TIMESTAMP, record.time_ns)
    _put_subject(table, subject_chars(record.subject), record.subject.length)
    _put_text(table, HEADERS, record_header(record), record.header_length)
    _put_text(table, DATA, record_payload(record), record.payload_length)
    _put_number(table, SIZE, record.payload_length)
    if record.header_length:
        table.filled[table.rows >> 3] |= <uint8_t> (1 << (table.rows & 7))
    else:
        table.nulls += 1
    table.rows += 1


# ---- a batch -----------------------------------------------------------------------------------------------------------


cdef size_t _table_bytes(Table* table) noexcept nogil:
    """End the offsets of texts, and return how long all columns are."""
    cdef size_t size = _padded((table.rows + 7) >> 3) if table.columns[HEADERS].width and table.nulls else 0
    cdef Column* column
    cdef int at
    for at in range(COLUMNS):
        column = &table.columns[at]
        if column.width and column.is_text:
            _put_number(table, at, <int64_t> column.used)
            size += _padded((<size_t> table.rows + 1) * column.width) + _padded(column.used)
        else:
            size += _padded(<size_t> table.rows * column.width)
    return size


cdef inline void _put_pair(char* to, int64_t first, int64_t second, int count) noexcept nogil:
    """Put one number or two, wherever that is: little-endian, as all of the format is."""
    memcpy(to, &first, sizeof(first))
    if count > 1:
        memcpy(to + sizeof(first), &second, sizeof(second))


cdef size_t _put_buffer(char* body, size_t used, char* place, const void* source, size_t length) noexcept nogil:
    """Put a buffer behind others, and say where it is; return where the next one begins."""
    cdef size_t end = used + length, padded = used + _padded(length)
    _put_pair(place, <int64_t> used, <int64_t> length, 2)
    if length:
        memcpy(body + used, source, length)
    memset(body + end, 0, padded - end)
    return padded


cdef void _write(Table* table, Command* command, char* to, size_t body_bytes) noexcept nogil:
    """Write a batch, each byte of it: the metadata with its numbers, and the columns."""
    cdef char* body = to + command.lengths[0]
    cdef char* nodes = to + command.numbers[NODES_AT]
    cdef char* places = to + command.numbers[PLACES_AT]
    cdef Column* column
    cdef size_t used = 0, length
    cdef int64_t nulls
    cdef int at
    memcpy(to, command_text(command, 0), command.lengths[0])
    _put_pair(to + command.numbers[ROWS_AT], table.rows, 0, 1)
    _put_pair(to + command.numbers[BODY_AT], <int64_t> body_bytes, 0, 1)
    for at in range(COLUMNS):
        column = &table.columns[at]
        if column.width == 0:
            continue
        nulls = table.nulls if at == HEADERS else 0
        _put_pair(nodes, table.rows, nulls, 2)
        length = (table.rows + 7) >> 3 if nulls else 0
        used = _put_buffer(body, used, places, table.filled, length)
        used = _put_buffer(body, used, places + PAIR_BYTES, column.values, (<size_t> table.rows + column.is_text) * column.width)
        if column.is_text:
            used = _put_buffer(body, used, places + 2 * PAIR_BYTES, column.chars, column.used)
        nodes += PAIR_BYTES
        places += (2 + column.is_text) * PAIR_BYTES


cdef uint32_t _read_filters(const char* chars, size_t length, Text* filters) noexcept nogil:
    """Read patterns, one a line; return how many there are."""
    cdef const char* end = chars + length
    cdef const char* line_end
    cdef uint32_t count = 0
    while chars < end:
        line_end = <const char*> memchr(chars, c"\n", end - chars)
        if line_end == NULL:
            line_end = end
        if filters != NULL:
            filters[count].chars = chars
            filters[count].length = <uint32_t> (line_end - chars)
        count += 1
        chars = line_end + 1
    return count


cdef uint64_t _gather(Messages* messages, Command* command, Table* table, const Text* filters, uint32_t filter_count) noexcept nogil:
    """Gather rows of what is in memory; return the sequence from which there may be more, 0: there are none."""
    cdef uint64_t first = <uint64_t> command.numbers[FIRST_SEQ], last = <uint64_t> command.numbers[LAST_SEQ]
    cdef Record record
    cdef size_t size
    if command.numbers[BEGIN_NS]:
        first = max(first, messages_seq_from(messages, command.numbers[BEGIN_NS]))
    if command.numbers[END_NS]:
        last = min(last, messages_seq_from(messages, command.numbers[END_NS]) - 1)
    record = messages_next_matching(messages, first, filters, filter_count)
    while record.seq and record.seq <= last:
        if record_is_absent(&record):
            return record.seq
        size = _row_bytes(table, &record)
        if table.rows and table.size + size > table.most:
            return record.seq
        if not _make_room(table):
            table.has_failed = True
            return 0
        table.size += size
        _put_row(table, &record)
        if table.has_failed:
            return 0
        record = messages_next_matching(messages, record.seq + 1, filters, filter_count)
    return 0


cdef bint _put_batch(Engine* engine, Table* table, Command* command, Answer* answer) noexcept nogil:
    """Write a batch into memory that a port publishes as it is; False: there is none."""
    cdef size_t before = engine.port.memory_before + <size_t> command.numbers[SUBJECT_BYTES]
    cdef size_t body_bytes = _table_bytes(table), length = command.lengths[0] + body_bytes
    cdef char* memory = <char*> malloc(before + length + engine.port.memory_behind)
    if memory == NULL:
        return False
    _write(table, command, memory + before, body_bytes)
    answer.memory = memory
    answer.payload_at, answer.payload_length = <uint32_t> before, <uint32_t> length
    return True


cdef uint64_t export_command(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Answer a batch, and where to go on (0: there is no more), how many rows it has, the first and the last sequence that the stream has
    now, and whether clients are at work. Texts of the command are the metadata, and patterns of subjects, one a line; none: any.

    If the first message is not in memory there is no answer, and its sequence is returned, else 0.
    """
    cdef Messages* messages = &slot.stream.messages
    cdef uint32_t filter_count = _read_filters(command_text(command, 1), command.lengths[1], NULL)
    cdef Text* filters = <Text*> malloc((filter_count + 1) * sizeof(Text))
    cdef Table table
    cdef uint64_t following = 0
    cdef Answer* answer = NULL
    cdef bint is_busy = engine.now_ns - engine.took_ns < BUSY_NS
    cdef size_t most = <size_t> min(command.numbers[BATCH_BYTES], <int64_t> BUSY_BYTES if is_busy else command.numbers[BATCH_BYTES])
    _begin(&table, <uint64_t> command.numbers[WANTED])
    table.most = most - min(command.lengths[0], most)
    if filters == NULL:
        table.has_failed = True
    else:
        _read_filters(command_text(command, 1), command.lengths[1], filters)
        following = _gather(messages, command, &table, filters, filter_count)
    reading_go_on(engine, slot)
    if not table.has_failed and table.rows == 0 and following:
        _free(&table)
        free(filters)
        return following
    if not table.has_failed:
        answer = answer_made(engine, command.id, 0, 0)
    if answer != NULL and table.rows and not _put_batch(engine, &table, command, answer):
        answer.status = NO_ROOM
    elif answer != NULL:
        answer.numbers[0] = <int64_t> following
        answer.numbers[1] = table.rows
        answer.numbers[2] = <int64_t> messages.first_seq
        answer.numbers[3] = <int64_t> messages.last_seq
        answer.numbers[4] = is_busy
    else:
        answer_made(engine, command.id, NO_ROOM, 0)
    _free(&table)
    free(filters)
    return 0
