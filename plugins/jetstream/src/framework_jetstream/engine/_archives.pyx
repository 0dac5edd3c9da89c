"""Streams as archives: messages written as entries and read from them, many at a time.

    archive = "NATSARC1" *entry
    entry   = name-length time sequence header-length payload-length name header payload

Numbers are varints, the time in nanoseconds is one with a sign. The name of a message is its subject; an entry that is empty in all its
parts ends the archive. What is read comes from anybody, so each length is bounded before it is believed.

Source: nats-server `archive/archive.go`, `stream_backup.go`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from framework_jetstream.consumer._consumer_machine cimport Machine, Pending, machine_recount
from framework_jetstream.consumer._terms cimport ACK_NONE
from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._consumer_log cimport consumer_change
from framework_jetstream.engine._export cimport export_command
from framework_jetstream.engine._operations cimport OP_RESTORE, operation_propose
from framework_jetstream.engine._reading cimport reading_go_on
from framework_jetstream.engine._state cimport (
    READ_ARCHIVE, READ_CONSUMER, READ_TABLE, RESTORE_CONSUMER, Answer, ConsumerSlot, Slot, command_text, consumer_of, ready_add, slot_of,
)
from framework_jetstream.engine._wakes cimport consumer_wake_at
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport Publish, Stream, stream_put
from framework_jetstream.stream._messages cimport (
    Messages, Record, messages_next, messages_skip_to, record_header, record_is_absent, record_payload,
)


cdef enum:
    NUMBER_BYTES = 10
    # Of a varint, at most.
    HEAD_BYTES = 5 * NUMBER_BYTES
    NAME_MAX = 1 << 20
    # Of a name, as nats-server bounds it.
    END_BYTES = 5
    # Of the entry that ends an archive.
    NOT_THERE = 1
    NO_ROOM = 2
    PENDING_BYTES = 32
    # A message of a consumer that waits: sequence, consumer sequence, deliveries, Unix time of the delivery.

cdef enum Problem:
    # Why an archive is refused; the words are in `snapshots/problems.py`.
    NOTHING_WRONG = 0
    BAD_ENTRY
    NO_SEQUENCE
    OUT_OF_ORDER
    BEYOND_LAST
    TOO_LARGE
    BAD_SUBJECT
    BAD_HEADER
    NO_MEMORY


cdef struct Entry:
    const char* name
    uint64_t name_length
    int64_t time_ns
    uint64_t seq
    uint64_t header_length
    uint64_t payload_length
    const char* body


# ---- entries -----------------------------------------------------------------------------------------------------------


cdef size_t _write_number(char* to, uint64_t value) noexcept nogil:
    cdef size_t used = 0
    while value >= 128:
        to[used] = <char> (value & 127 | 128)
        value >>= 7
        used += 1
    to[used] = <char> value
    return used + 1


cdef int _read_number(const char* chars, size_t length, size_t* at, uint64_t* value) noexcept nogil:
    """Read a varint; 1: it is there, 0: it is not whole yet, -1: it is none."""
    cdef int shift = 0
    cdef uint8_t byte
    value[0] = 0
    while at[0] < length:
        byte = <uint8_t> chars[at[0]]
        at[0] += 1
        if shift == 63 and byte > 1:
            return -1
        value[0] |= <uint64_t> (byte & 127) << shift
        if byte < 128:
            return 1
        shift += 7
        if shift > 63:
            return -1
    return 0


cdef size_t _write_head(char* to, uint64_t name_length, int64_t time_ns, uint64_t seq, uint64_t header, uint64_t payload) noexcept nogil:
    """Write what stands before the name."""
    cdef size_t used = _write_number(to, name_length)
    used += _write_number(to + used, (<uint64_t> time_ns << 1) ^ <uint64_t> (time_ns >> 63))
    used += _write_number(to + used, seq)
    used += _write_number(to + used, header)
    return used + _write_number(to + used, payload)


cdef int64_t _read_entry(const char* chars, size_t length, uint64_t body_max, Entry* entry) noexcept nogil:
    """Read an entry; return how many bytes it has, 0: it is not whole yet, -1: it is none, or too long."""
    cdef size_t at = 0
    cdef uint64_t numbers[5]
    cdef int which, found
    for which in range(5):
        found = _read_number(chars, length, &at, &numbers[which])
        if found <= 0:
            return found
    if numbers[0] > NAME_MAX or numbers[3] > body_max or numbers[4] > body_max - numbers[3]:
        return -1
    entry.name_length = numbers[0]
    entry.time_ns = <int64_t> (numbers[1] >> 1) ^ -<int64_t> (numbers[1] & 1)
    entry.seq = numbers[2]
    entry.header_length = numbers[3]
    entry.payload_length = numbers[4]
    if length - at < numbers[0] + numbers[3] + numbers[4]:
        return 0
    entry.name = chars + at
    entry.body = entry.name + entry.name_length
    return <int64_t> (at + numbers[0] + numbers[3] + numbers[4])


def entry_header(name: bytes, time_ns: int, seq: int, header_length: int, payload_length: int) -> bytes:
    """Return an entry up to its body."""
    cdef char head[HEAD_BYTES]
    cdef size_t used = _write_head(head, len(name), time_ns, seq, header_length, payload_length)
    return head[:used] + name


def read_entry(data: bytes, body_max: int) -> tuple[int, bytes, int, int, bytes] | None:
    """Return (bytes, name, time, sequence, body) of the entry that begins some bytes; None: it is not whole yet.

    Raises:
        ValueError: It is none, or its body has more than `body_max` bytes.
    """
    cdef Entry entry
    cdef int64_t length = _read_entry(<const char*> data, len(data), body_max, &entry)
    if length < 0:
        raise ValueError("not an entry of an archive")
    if length == 0:
        return None
    name = entry.name[:entry.name_length]
    return length, name, entry.time_ns, entry.seq, entry.body[:entry.header_length + entry.payload_length]


# ---- from a stream -----------------------------------------------------------------------------------------------------


cdef uint64_t _say_messages(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Answer entries of messages: where to go on, how many there are, whether there are no more; numbers are the first and the last
    sequence, and how many bytes are enough. If the first one is not in memory there is no answer, and its sequence is returned."""
    cdef Messages* messages = &slot.stream.messages
    cdef uint64_t last = <uint64_t> command.numbers[1], count = 0, _at
    cdef size_t size = 0, used = 0
    cdef Record record = messages_next(messages, <uint64_t> command.numbers[0])
    cdef uint64_t first = record.seq
    cdef Answer* answer
    cdef char* to
    if record.seq <= last and record_is_absent(&record):
        return record.seq
    while record.seq and record.seq <= last and size < <size_t> command.numbers[2] and not record_is_absent(&record):
        size += HEAD_BYTES + record.subject.length + record.header_length + record.payload_length
        count += 1
        record = messages_next(messages, record.seq + 1)
    reading_go_on(engine, slot)
    answer = answer_made(engine, command.id, 0, size)
    if answer == NULL:
        return 0
    to = answer_bytes(answer)
    answer.numbers[0] = <int64_t> record.seq
    answer.numbers[1] = <int64_t> count
    answer.numbers[2] = record.seq == 0 or record.seq > last
    record = messages_next(messages, first) if count else record
    for _at in range(count):
        used += _write_head(to + used, record.subject.length, record.time_ns, record.seq, record.header_length, record.payload_length)
        memcpy(to + used, subject_chars(record.subject), record.subject.length)
        used += record.subject.length
        memcpy(to + used, record_header(&record), record.header_length)
        used += record.header_length
        memcpy(to + used, record_payload(&record), record.payload_length)
        used += record.payload_length
        record = messages_next(messages, record.seq + 1)
    answer.length = used
    return 0


# ---- to a stream -------------------------------------------------------------------------------------------------------


cdef bint _is_literal(const char* subject, uint64_t length) noexcept nogil:
    """Whether messages can have a subject."""
    cdef uint64_t at, begin = 0
    cdef uint8_t char
    for at in range(length + 1):
        char = <uint8_t> subject[at] if at < length else 46
        if char <= 32 or char == 127:
            return False
        if char == 46:
            if at == begin or (at == begin + 1 and (subject[begin] == b"*" or subject[begin] == b">")):
                return False
            begin = at + 1
    return length > 0


cdef bint _is_header(const char* chars, uint64_t length) noexcept nogil:
    """Whether bytes may stand as the header block of a message; none may."""
    if length == 0:
        return True
    return length >= 12 and memcmp(chars, b"NATS/1.0", 8) == 0 and memcmp(chars + length - 4, b"\r\n\r\n", 4) == 0


cdef int _problem_of(Stream* stream, const Entry* entry, uint64_t last) noexcept nogil:
    """Return why an entry can't be a message of a stream."""
    if entry.seq == 0:
        return NO_SEQUENCE
    if entry.seq <= stream.messages.last_seq:
        return OUT_OF_ORDER
    if entry.seq > last:
        return BEYOND_LAST
    if stream.limits.max_msg_size >= 0 and entry.header_length + entry.payload_length > <uint64_t> stream.limits.max_msg_size:
        return TOO_LARGE
    if not _is_literal(entry.name, entry.name_length):
        return BAD_SUBJECT
    return NOTHING_WRONG if _is_header(entry.body, entry.header_length) else BAD_HEADER


cdef void archive_apply(
    Engine* engine, Slot* slot, const char* chars, size_t length, uint64_t body_max, uint64_t last, Command* command
) noexcept nogil:
    """Store messages of an archive as they were. Answered are the bytes that were taken, whether the archive has ended, what is wrong,
    and at which sequence.

    Args:
        body_max: Bytes of a message at most.
        last: The last sequence that the archive may have.
        command: Is answered; NULL: nobody asked.
    """
    cdef Stream* stream = &slot.stream
    cdef size_t left = length
    cdef int64_t taken = 0
    cdef int problem = NOTHING_WRONG
    cdef bint has_ended = False
    cdef Entry entry
    cdef Publish publish
    cdef Answer* answer
    entry.seq = 0
    while not has_ended and problem == NOTHING_WRONG:
        taken = _read_entry(chars, left, body_max, &entry)
        if taken < 0:
            problem = BAD_ENTRY
        if taken <= 0:
            break
        has_ended = taken == END_BYTES and entry.seq == 0 and entry.time_ns == 0
        if has_ended:
            if stream.messages.last_seq < last:
                messages_skip_to(&stream.messages, last + 1)
        else:
            problem = _problem_of(stream, &entry, last)
            if problem == NOTHING_WRONG:
                publish.subject.chars, publish.subject.length = entry.name, <uint32_t> entry.name_length
                publish.header.chars, publish.header.length = entry.body, <uint32_t> entry.header_length
                publish.payload.chars = entry.body + entry.header_length
                publish.payload.length = <uint32_t> entry.payload_length
                if not stream_put(stream, &publish, entry.seq, entry.time_ns):
                    problem = NO_MEMORY
        chars += taken
        left -= <size_t> taken
    answer = answer_made(engine, command.id, 0, 0) if command != NULL else NULL
    if answer != NULL:
        answer.numbers[0] = <int64_t> (length - left)
        answer.numbers[1] = has_ended
        answer.numbers[2] = problem
        answer.numbers[3] = <int64_t> entry.seq
        answer.numbers[4] = <int64_t> stream.messages.count


cdef int archive_propose(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Let the log have what is whole of an archive's entries; a `Carried`."""
    cdef Text text
    cdef Entry entry
    cdef int64_t taken = 1
    cdef size_t length = 0
    while taken > 0:
        taken = _read_entry(command_text(command, 0) + length, command.lengths[0] - length, <uint64_t> command.numbers[0], &entry)
        length += <size_t> max(taken, <int64_t> 0)
    # What is no entry is refused by who applies it.
    text.chars = command_text(command, 0)
    text.length = <uint32_t> (length if taken == 0 else command.lengths[0])
    return operation_propose(
        engine, slot, OP_RESTORE, <uint64_t> command.numbers[0], <uint64_t> command.numbers[1], text, command
    )


# ---- consumers ---------------------------------------------------------------------------------------------------------


cdef void _say_consumer(Engine* engine, ConsumerSlot* consumer, int64_t id) noexcept nogil:
    """Answer what a consumer has delivered and what was acknowledged, in its own sequences and the stream's, and what waits."""
    cdef Machine* machine = &consumer.machine
    cdef Answer* answer = answer_made(engine, id, 0, machine.pending_live * PENDING_BYTES)
    cdef Pending* pending
    cdef uint32_t at
    cdef int64_t* to
    if answer == NULL:
        return
    answer.numbers[0] = <int64_t> machine.consumer_seq
    answer.numbers[1] = <int64_t> machine.delivered_seq
    answer.numbers[2] = <int64_t> machine.floor_consumer_seq
    answer.numbers[3] = <int64_t> machine.floor_seq
    to = <int64_t*> answer_bytes(answer)
    for at in range(machine.pending_first, machine.pending_end):
        pending = &machine.pending[at]
        if not pending.is_gone:
            to[0] = <int64_t> pending.seq
            to[1] = <int64_t> pending.consumer_seq
            to[2] = max(pending.deliveries, <uint32_t> 1)
            to[3] = engine.unix_ns
            to += 4


cdef void _restore_consumer(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Let a consumer that has just been made go on where another one stood, as `_say_consumer` says it."""
    cdef Machine* machine = &consumer.machine
    cdef uint32_t count = <uint32_t> (command.lengths[0] // PENDING_BYTES), at
    cdef Pending* pending = <Pending*> calloc(count + 1, sizeof(Pending))
    cdef int64_t row[4]
    if pending == NULL:
        answer_made(engine, command.id, NO_ROOM, 0)
        return
    consumer.is_whole_due = 1
    free(machine.pending)
    machine.pending = pending
    machine.pending_room = count + 1
    machine.consumer_seq = <uint64_t> command.numbers[0]
    machine.delivered_seq = <uint64_t> command.numbers[1]
    machine.floor_consumer_seq = <uint64_t> command.numbers[2]
    machine.floor_seq = <uint64_t> command.numbers[3]
    machine.cursor = machine.delivered_seq + 1
    machine.skip_count = machine.skip_at = 0
    machine.skip_end = 0
    if machine.terms.ack_policy != ACK_NONE:
        for at in range(count):
            memcpy(row, command_text(command, 0) + at * PENDING_BYTES, PENDING_BYTES)
            pending[at].seq = <uint64_t> row[0]
            pending[at].consumer_seq = <uint64_t> row[1]
            pending[at].deliveries = <uint32_t> max(row[2], <int64_t> 1)
            pending[at].deadline_ns = engine.now_ns + machine.terms.ack_wait_ns
        machine.pending_end = machine.pending_live = count
    machine_recount(machine)
    consumer_wake_at(engine, consumer, engine.now_ns)
    consumer_change(engine, consumer)
    ready_add(engine, consumer)
    answer_made(engine, command.id, 0, 0)


cdef uint64_t archive_command(Engine* engine, Command* command) noexcept nogil:
    """Carry out a command about archives and tables, and answer it; status 1: what it is about is not there.

    If it begins with a message that is not in memory there is no answer, and its sequence is returned, else 0.
    """
    cdef ConsumerSlot* consumer
    cdef Slot* slot
    if command.verb == READ_CONSUMER or command.verb == RESTORE_CONSUMER:
        consumer = consumer_of(engine, command.number)
        if consumer == NULL:
            answer_made(engine, command.id, NOT_THERE, 0)
        elif command.verb == READ_CONSUMER:
            _say_consumer(engine, consumer, command.id)
        else:
            _restore_consumer(engine, consumer, command)
        return 0
    slot = slot_of(engine, command.number)
    if slot == NULL:
        answer_made(engine, command.id, NOT_THERE, 0)
    elif command.verb == READ_ARCHIVE:
        return _say_messages(engine, slot, command)
    elif command.verb == READ_TABLE:
        return export_command(engine, slot, command)
    else:
        archive_apply(
            engine, slot, command_text(command, 0), command.lengths[0], <uint64_t> command.numbers[0], <uint64_t> command.numbers[1],
            command,
        )
    return 0
