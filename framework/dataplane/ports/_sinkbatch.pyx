"""Sinks: subscribers inside this process, which get messages in batches.

A batch is filled by the loop, then belongs to Python, which gives it back by letting go of it. What a sink's batches hold counts against
its `bytes_max` until then; a full sink drops, refuses, or stalls the clients that publish to it, as it was declared.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport UINT16_MAX, int64_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from framework.dataplane._state cimport (
    BATCH_BYTES, BATCH_MESSAGES, RECORD_DELIVERED, STALLS, SYSTEM, Message, Record, Sink, SinkBatch, State, framework_row,
)
from framework.dataplane.delivery._delivery cimport record_new
from framework.dataplane.ports._port cimport port_hear
from framework.sublist._bytes cimport COPY_SLACK, copy_short

cdef enum:
    # As framework.dataplane.sink.Overflow.
    OVERFLOW_DROP = 0
    OVERFLOW_STALL = 1
    BATCH_FIRST_BYTES = 4096
    BATCH_FIRST_MESSAGES = 16
    # Many small messages take more than their bytes: as much again may be held beside them, and this much in any case.
    BESIDE_FREE_BYTES = 1048576
    # Of batches as large as this some are kept for whichever sink fills another one: memory that is new to the process is slow.
    SPARE_BYTES_MIN = 65536
    SPARES_MAX = 8
    # Of all of them: eight with messages of a mebibyte, one of the 8 MiB that NATS advises as the longest. More is freed.
    SPARES_BYTES_MAX = 16777216
    # How long a tap's batch waits for more while the loop is busy.
    GATHER_NS = 1000000
    # The unit in which rows of taps tell when they came; 65,535 of it are many times what a batch waits.
    AGE_NS = 1000

cdef void* spares[SPARES_MAX]
# Batches of all planes of this process; swapped, atomically.
cdef int64_t spare_bytes
# Of those that are there, or about to be; added, atomically.


# ---- the loop's side ---------------------------------------------------------------------------------------------------


cdef inline bint _holds(Sink* sink, int64_t bytes) noexcept nogil:
    return (
        sink.given - atomic_get(&sink.returned) >= bytes
        or sink.given_beside - atomic_get(&sink.returned_beside) >= max(bytes, <int64_t> BESIDE_FREE_BYTES)
    )


cdef inline bint _is_full(Sink* sink) noexcept nogil:
    return _holds(sink, sink.bytes_max)


cdef bint sink_stalls(Sink* sink) noexcept nogil:
    """Whether clients wait that publish to a sink that stalls: half of it is left to those that can't be stalled."""
    return _holds(sink, sink.bytes_max // 2)


cdef void sink_release(Sink* sink) noexcept nogil:
    """One user less: the plane itself, or a batch; the last one frees it."""
    if atomic_add_users(&sink.users, -1) == 0:
        free(sink)


cdef void batch_free(SinkBatch* batch) noexcept nogil:
    """Free a batch and give its bytes back to its sink, or let go of one that is not a sink's. Callable from any thread."""
    cdef int at
    if batch.release != NULL:
        batch.release(batch)
        return
    atomic_add(&batch.sink.returned, batch.used)
    atomic_add(&batch.sink.returned_beside, batch.beside)
    sink_release(batch.sink)
    if batch.capacity >= SPARE_BYTES_MIN:
        if atomic_add(&spare_bytes, batch.capacity) <= SPARES_BYTES_MAX:
            for at in range(SPARES_MAX):
                batch = <SinkBatch*> swap_pointer(&spares[at], batch)
                if batch == NULL:
                    return
        atomic_add(&spare_bytes, -<int64_t> batch.capacity)
    free(batch.messages)
    free(batch.chars)
    free(batch)


cdef SinkBatch* _spare() noexcept nogil:
    """Return a large batch that was let go of, without messages; NULL: there is none."""
    cdef int at
    cdef SinkBatch* batch
    cdef SinkBatch kept
    for at in range(SPARES_MAX):
        batch = <SinkBatch*> swap_pointer(&spares[at], NULL)
        if batch != NULL:
            atomic_add(&spare_bytes, -<int64_t> batch.capacity)
            kept = batch[0]
            memset(batch, 0, sizeof(SinkBatch))
            batch.messages, batch.room = kept.messages, kept.room
            batch.chars, batch.capacity = kept.chars, kept.capacity
            return batch
    return NULL


cdef SinkBatch* _batch_new(State* state, Sink* sink) noexcept nogil:
    cdef SinkBatch* batch = _spare() if sink.last_used >= SPARE_BYTES_MIN else NULL
    if batch == NULL:
        batch = <SinkBatch*> calloc(1, sizeof(SinkBatch))
    if batch == NULL:
        return NULL
    batch.sink = sink
    batch.since_ns = state.now_ns
    batch.beside = sizeof(SinkBatch) + sizeof(Record)
    sink.given_beside += batch.beside
    atomic_add_users(&sink.users, 1)
    return batch


cdef bint _batch_room(SinkBatch* batch, size_t need, uint32_t count) noexcept nogil:
    """Make room for messages of `need` bytes together; False: no memory."""
    cdef size_t capacity
    cdef uint32_t room
    cdef void* grown
    if batch.count + count > batch.room:
        room = batch.room * 2 if batch.room else max(<uint32_t> BATCH_FIRST_MESSAGES, batch.sink.last_count)
        while room < batch.count + count:
            room *= 2
        grown = realloc(batch.messages, room * sizeof(framework_row))
        if grown == NULL:
            return False
        batch.messages = <framework_row*> grown
        batch.room = room
    if batch.used + need > batch.capacity:
        capacity = batch.capacity * 2 if batch.capacity else max(<size_t> BATCH_FIRST_BYTES, <size_t> batch.sink.last_used)
        while capacity < batch.used + need:
            capacity *= 2
        grown = realloc(batch.chars, capacity + COPY_SLACK)
        if grown == NULL:
            return False
        batch.chars = <char*> grown
        batch.capacity = capacity
    return True


cdef void _mark_filled(State* state, Sink* sink) noexcept nogil:
    """Have the sink's batch handed over at the end of the turn."""
    if not sink.filled:
        sink.filled = 1
        sink.next_filled = state.filled
        state.filled = sink


cdef bint _overflowed(State* state, Sink* sink, int64_t count) noexcept nogil:
    """Count messages that a full sink can't take; return whether their publisher is to think that it did."""
    cdef bint first = sink.dropped == 0
    sink.dropped += count
    state.totals.dropped += count
    if first and sink.batch == NULL:
        # A batch without messages tells at once that it drops: it may be long until the next one.
        sink.batch = _batch_new(state, sink)
        if sink.batch != NULL:
            _mark_filled(state, sink)
    return sink.overflow == OVERFLOW_DROP


cdef inline uint16_t _age(State* state, Sink* sink) noexcept nogil:
    """Return how much later than the batch of a tap that watches a message has come, in units of `AGE_NS`; 0: of other sinks."""
    return 0 if sink.watch == NULL else <uint16_t> min((state.now_ns - sink.batch.since_ns) // AGE_NS, <int64_t> UINT16_MAX)


cdef inline void _row_fill(framework_row* row, size_t at, Message* message, int64_t tag, uint16_t age) noexcept nogil:
    row.link = message.source.id
    row.tag = tag
    row.kind = 0
    row.word = age
    row.at = <uint32_t> at
    row.subject_length = <uint32_t> (message.subject_length if message.shown == NULL else message.shown_length)
    row.reply_length = <uint32_t> message.reply_length
    row.header_length = <uint32_t> message.header_length
    row.payload_length = <uint32_t> (message.body_length - message.header_length)


cdef inline void _batch_filled(State* state, Sink* sink, size_t length, uint32_t count) noexcept nogil:
    """Count what was copied into the batch of a sink."""
    sink.batch.count += count
    sink.batch.used += length
    sink.batch.beside += count * sizeof(framework_row)
    sink.given += length
    sink.given_beside += count * sizeof(framework_row)
    _mark_filled(state, sink)


cdef bint sink_put(State* state, Sink* sink, Message* message, int64_t tag) noexcept nogil:
    """Copy a message into the sink's batch; False: refused."""
    cdef const char* subject = message.subject if message.shown == NULL else message.shown
    cdef size_t subject_length = message.subject_length if message.shown == NULL else message.shown_length
    cdef size_t need = subject_length + message.reply_length + message.body_length
    cdef SinkBatch* batch
    cdef framework_row* row
    cdef char* at
    cdef bint stalls = sink.overflow == OVERFLOW_STALL and message.source.traits & STALLS
    if stalls and sink_stalls(sink):
        state.stalled_sink = sink
    # What a client has sent already is still taken: its credits are one read. Ports and other cores are of kind SYSTEM, and go on.
    if not (stalls and message.source.kind != SYSTEM) and _is_full(sink):
        return _overflowed(state, sink, 1)
    batch = sink.batch
    if batch != NULL and (batch.count >= BATCH_MESSAGES or batch.used + need > BATCH_BYTES):
        sink_flush(state, sink)
        batch = NULL
    if batch == NULL:
        batch = sink.batch = _batch_new(state, sink)
    if batch == NULL or not _batch_room(batch, need, 1):
        return _overflowed(state, sink, 1)
    row = &batch.messages[batch.count]
    _row_fill(row, batch.used, message, tag, _age(state, sink))
    at = batch.chars + batch.used
    copy_short(at, subject, subject_length)
    at += subject_length
    if message.reply_length:
        copy_short(at, message.reply, message.reply_length)
        at += message.reply_length
    copy_short(at, message.body, message.body_length)
    _batch_filled(state, sink, need, 1)
    return True


cdef void sink_put_run(
    State* state, Sink* sink, Message* message, int64_t tag, const char* body, size_t frame, size_t count
) noexcept nogil:
    """Copy messages without reply and headers that differ in their bodies alone, for a sink that drops what it has no room for.

    Args:
        tag: Of all of them.
        body: Of the first; those of the others follow, one each `frame` bytes, with COPY_SLACK readable bytes behind the last.
    """
    cdef size_t need = message.subject_length + message.body_length
    cdef SinkBatch* batch
    cdef framework_row* row
    cdef char* at
    cdef size_t part, _
    cdef uint16_t age
    while count:
        batch = sink.batch
        if batch != NULL and (batch.count >= BATCH_MESSAGES or batch.used + need > BATCH_BYTES):
            sink_flush(state, sink)
            batch = NULL
        if not _is_full(sink) and batch == NULL:
            batch = sink.batch = _batch_new(state, sink)
        if batch == NULL or _is_full(sink):
            _overflowed(state, sink, count)
            return
        part = min(count, <size_t> (BATCH_MESSAGES - batch.count), max(<size_t> 1, (BATCH_BYTES - batch.used) // need))
        part = min(part, <size_t> (sink.bytes_max - sink.given + atomic_get(&sink.returned) - 1) // need + 1)
        if not _batch_room(batch, part * need, part):
            _overflowed(state, sink, count)
            return
        row = &batch.messages[batch.count]
        at = batch.chars + batch.used
        age = _age(state, sink)
        for _ in range(part):
            _row_fill(row, at - batch.chars, message, tag, age)
            copy_short(at, message.subject, message.subject_length)
            copy_short(at + message.subject_length, body, message.body_length)
            row += 1
            at += need
            body += frame
        _batch_filled(state, sink, part * need, part)
        count -= part


cdef void sink_say(State* state, Sink* sink, int64_t tag, uint16_t kind, uint16_t word) noexcept nogil:
    """Add a row that is no message; one that a full sink can't take is counted as dropped."""
    cdef framework_row* row
    if _is_full(sink):
        _overflowed(state, sink, 1)
        return
    if sink.batch != NULL and sink.batch.count >= BATCH_MESSAGES:
        sink_flush(state, sink)
    if sink.batch == NULL:
        sink.batch = _batch_new(state, sink)
    if sink.batch == NULL or not _batch_room(sink.batch, 0, 1):
        _overflowed(state, sink, 1)
        return
    row = &sink.batch.messages[sink.batch.count]
    memset(row, 0, sizeof(framework_row))
    row.tag = tag
    row.kind = kind
    row.word = word
    row.at = <uint32_t> sink.batch.used
    _batch_filled(state, sink, 0, 1)


cdef void _trim(SinkBatch* batch) noexcept nogil:
    """Give back the room that was left: a batch may be held for long."""
    cdef void* less
    if batch.capacity > 2 * batch.used and batch.used:
        less = realloc(batch.chars, batch.used)
        if less != NULL:
            batch.chars = <char*> less
            batch.capacity = batch.used
    if batch.room > 2 * batch.count and batch.count:
        less = realloc(batch.messages, batch.count * sizeof(framework_row))
        if less != NULL:
            batch.messages = <framework_row*> less
            batch.room = batch.count


cdef bint sink_gathers(State* state, Sink* sink) noexcept nogil:
    """Whether the batch of a sink waits for more, when there is more to do at once.

    A tap only listens: nobody waits for what it says. What Python spends on a batch is shared by more messages then.
    """
    return sink.watch != NULL and not sink.closed and sink.batch != NULL and state.now_ns - sink.batch.since_ns < GATHER_NS


cdef void sink_flush(State* state, Sink* sink) noexcept nogil:
    """Hand the sink's batch over as an event."""
    cdef Record* record
    if sink.batch == NULL:
        return
    sink.last_count = sink.batch.count
    sink.last_used = <uint32_t> min(sink.batch.used, <size_t> BATCH_BYTES)
    if sink.port != NULL:
        port_hear(sink.port, sink.batch)
        sink.batch = NULL
        return
    _trim(sink.batch)
    record = record_new(state, RECORD_DELIVERED, NULL, 0)
    if record == NULL:
        sink.dropped += sink.batch.count
        batch_free(sink.batch)
    else:
        record.number = sink.id
        record.batch = sink.batch
    sink.batch = NULL


# ---- Python's side -----------------------------------------------------------------------------------------------------


cdef struct BatchView:
    # What compiled code in plugins gets; `version` grows when fields are added at the end.
    uint32_t version
    uint32_t count
    const framework_row* messages
    const char* chars


cdef SinkBatch EMPTY
# What is in a batch that Python made.


cdef class SinkDrops:
    """How many messages a sink has dropped."""

    cdef Sink* sink

    def __cinit__(self) -> None:
        self.sink = NULL

    def __dealloc__(self) -> None:
        if self.sink != NULL:
            sink_release(self.sink)

    @property
    def count(self) -> int:
        """Messages since it was subscribed, dropped because it held `bytes_max` already; callable from any thread."""
        return self.sink.dropped if self.sink != NULL else 0


cdef class Batch:
    """Messages of one sink and turn, at most 2,000 or 256 KiB (a single message may be longer), in order of arrival.

    Its bytes count against the sink until the batch and all views into it are gone: a handler that keeps some calls `detach`.
    """

    cdef SinkBatch* batch
    cdef BatchView view

    def __cinit__(self) -> None:
        self.batch = &EMPTY

    def __dealloc__(self) -> None:
        if self.batch != &EMPTY:
            batch_free(self.batch)

    def __len__(self) -> int:
        return self.batch.count

    def drops(self) -> SinkDrops:
        """Return the counter of what its sink drops; it outlives the batch, and holds none of its bytes."""
        cdef SinkDrops drops = SinkDrops.__new__(SinkDrops)
        if self.batch.sink != NULL:
            drops.sink = self.batch.sink
            atomic_add_users(&drops.sink.users, 1)
        return drops

    def __getbuffer__(self, Py_buffer* buffer, int flags) -> None:
        PyBuffer_FillInfo(buffer, self, self.batch.chars, self.batch.used, 1, flags)

    cdef framework_row* _row(self, Py_ssize_t index) except NULL:
        if not 0 <= index < self.batch.count:
            raise IndexError(index)
        return &self.batch.messages[index]

    def subject(self, index: int) -> memoryview:
        """Return the subject of message `index`; 0 <= index < len(batch)."""
        cdef framework_row* row = self._row(index)
        return memoryview(self)[row.at : row.at + row.subject_length]

    def reply(self, index: int) -> memoryview:
        """Return the reply subject of message `index`; empty when it has none."""
        cdef framework_row* row = self._row(index)
        cdef size_t at = row.at + row.subject_length
        return memoryview(self)[at : at + row.reply_length]

    def header(self, index: int) -> memoryview:
        """Return the header block of message `index` with its `NATS/1.0` line; empty when it has none."""
        cdef framework_row* row = self._row(index)
        cdef size_t at = row.at + row.subject_length + row.reply_length
        return memoryview(self)[at : at + row.header_length]

    def payload(self, index: int) -> memoryview:
        """Return the payload of message `index`."""
        cdef framework_row* row = self._row(index)
        cdef size_t at = row.at + row.subject_length + row.reply_length + row.header_length
        return memoryview(self)[at : at + row.payload_length]

    def link(self, index: int) -> int:
        """Return the link that message `index` came by; 0 when this process published it."""
        return self._row(index).link

    def tag(self, index: int) -> int:
        """Return the tag of the port's subscription that row `index` came for, or what an answer or a watch goes by; 0: it has none."""
        return self._row(index).tag

    def payload_size(self, index: int) -> int:
        """Return the bytes of the payload of message `index` of a tap that watches, before `WatchTerms.payload_max` has cut it."""
        return self._row(index).tag

    def arrived_ns(self, index: int) -> int:
        """Return when message `index` has come: the begin of that turn by the monotonic clock, to a microsecond.

        Of a tap that does not watch it is when the first of the batch came.
        """
        return row_arrived(self.batch, self._row(index))

    def kind(self, index: int) -> int:
        """Return what row `index` is, by a number of `RowKind`; rows of taps are all messages."""
        return self._row(index).kind

    def word(self, index: int) -> int:
        """Return what a row says that is no message, by a number of `RowWord`; 0: it is one."""
        return self._row(index).word if self._row(index).kind else 0

    def detach(self) -> list[tuple[bytes, bytes, bytes, bytes]]:
        """Return copies of all messages as (subject, reply, header block, payload); they don't count against the sink."""
        cdef list messages = []
        cdef framework_row* row
        cdef const char* at
        cdef uint32_t index
        for index in range(self.batch.count):
            row = &self.batch.messages[index]
            at = self.batch.chars + row.at
            subject = at[: row.subject_length]
            at += row.subject_length
            reply = at[: row.reply_length]
            at += row.reply_length
            header = at[: row.header_length]
            at += row.header_length
            messages.append((subject, reply, header, at[: row.payload_length]))
        return messages

    def capsule(self) -> object:
        """Return a capsule named `framework.batch.2` with the C struct of the batch; valid as long as the batch."""
        self.view.version = 2
        self.view.count = self.batch.count
        self.view.messages = self.batch.messages
        self.view.chars = self.batch.chars
        return PyCapsule_New(&self.view, b"framework.batch.2", NULL)


cdef int64_t row_arrived(SinkBatch* batch, framework_row* row) noexcept nogil:
    """Return when a message of a tap that watches has come."""
    return batch.since_ns + row.word * <int64_t> AGE_NS


cdef object batch_made(SinkBatch* batch):
    """Give a batch to Python."""
    cdef Batch made = Batch.__new__(Batch)
    made.batch = batch
    return made


cdef SinkBatch* batch_of(object batch) except NULL:
    """Return what is in a batch that Python has."""
    return (<Batch?> batch).batch
