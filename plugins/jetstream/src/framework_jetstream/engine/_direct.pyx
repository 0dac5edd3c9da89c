"""Direct gets: messages of a stream that any replica answers with, one, a batch, or the last ones of many subjects.

Source: ADR-31; nats-server `stream.go`, `processDirectGetRequest`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy, memset

from framework_jetstream.engine._header_lines cimport write_line, write_number_line
from framework_jetstream.engine._json cimport Json, json_begin, json_bool, json_end, json_int, json_item, json_key, json_skip, json_text
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._reading cimport reading_row, reading_want
from framework_jetstream.engine._state cimport TAG_DIRECT_GET, TAG_KIND_SHIFT, TAG_NUMBER_SHIFT
from framework_jetstream.engine._times cimport TIME_BYTES, ns_of_text, write_time
from framework_jetstream.raft._reads cimport lease_is_valid
from framework_jetstream.stream._headers cimport Text, text_is
from framework_jetstream.stream._machine cimport READS_OF_LEADER, stream_last_seq_of
from framework_jetstream.store._subjects cimport Subject, marks_clear, number_is_marked, subject_chars, subjects_mark, subjects_next, unmark
from framework_jetstream.stream._messages cimport (
    Messages, Record, messages_count_marked, messages_get, messages_last_of, messages_next_marked, messages_next_matching,
    messages_previous_marked, messages_seq_from, record_header, record_is_absent, record_payload,
)

cdef enum:
    SUBJECTS_MAX = 1024
    # That one request asks the last messages of.
    RESULTS_MAX = 1024
    GETS_AHEAD = 16
    # Of them are read together.
    BYTES_MAX = 1048576
    # Of a batch, where a request says nothing.
    EXTRA_BYTES = 400
    # More than headers have beside names and times.


cdef int64_t _tag(Slot* slot, uint32_t place) noexcept nogil:
    return <int64_t> TAG_DIRECT_GET << TAG_KIND_SHIFT | <int64_t> slot.number << TAG_NUMBER_SHIFT | place


cdef void direct_serve(Engine* engine, Slot* slot, Text name, uint32_t place) noexcept nogil:
    """Answer direct gets of a stream.

    Args:
        name: Of the stream, or of the origin that it mirrors.
        place: 0 or 2, the same for `direct_end`.
    """
    cdef char subject[320]
    cdef uint32_t length = 19
    memcpy(subject, b"$JS.API.DIRECT.GET.", 19)
    memcpy(subject + length, name.chars, name.length)
    length += name.length
    engine.port.subscribe(engine.port.self, slot.account, subject, length, b"_sys_", 5, _tag(slot, place))
    memcpy(subject + length, b".>", 2)
    engine.port.subscribe(engine.port.self, slot.account, subject, length + 2, b"_sys_", 5, _tag(slot, place + 1))


cdef void direct_end(Engine* engine, Slot* slot, uint32_t place) noexcept nogil:
    engine.port.unsubscribe(engine.port.self, _tag(slot, place))
    engine.port.unsubscribe(engine.port.self, _tag(slot, place + 1))


cdef struct Get:
    int64_t seq
    Text last
    Text next
    int64_t batch
    int64_t max_bytes
    int64_t start_ns
    Text* subjects
    uint32_t subject_count
    int64_t up_to_seq
    int64_t up_to_ns
    bint no_headers
    bint has_start


cdef bint _read(Engine* engine, Get* get, const char* chars, size_t length) noexcept nogil:
    """Read a request; False: it is malformed."""
    cdef Json json
    cdef Text key
    json_begin(&json, chars, length, &engine.outbox)
    while json_key(&json, &key):
        if text_is(key, b"seq", 3):
            get.seq = json_int(&json)
        elif text_is(key, b"last_by_subj", 12):
            get.last = json_text(&json)
        elif text_is(key, b"next_by_subj", 12):
            get.next = json_text(&json)
        elif text_is(key, b"batch", 5):
            get.batch = json_int(&json)
        elif text_is(key, b"max_bytes", 9):
            get.max_bytes = json_int(&json)
        elif text_is(key, b"up_to_seq", 9):
            get.up_to_seq = json_int(&json)
        elif text_is(key, b"no_hdr", 6):
            get.no_headers = json_bool(&json)
        elif text_is(key, b"start_time", 10):
            get.has_start = ns_of_text(json_text(&json), &get.start_ns) or get.has_start
            json.has_failed = json.has_failed or not get.has_start
        elif text_is(key, b"up_to_time", 10):
            json.has_failed = not ns_of_text(json_text(&json), &get.up_to_ns) or json.has_failed
        elif text_is(key, b"multi_last", 10):
            _read_subjects(engine, &json, get)
        else:
            json_skip(&json)
    return json_end(&json) and get.seq >= 0 and get.up_to_seq >= 0


cdef void _read_subjects(Engine* engine, Json* json, Get* get) noexcept nogil:
    cdef bint is_first = True
    get.subjects = <Text*> outbox_chars(&engine.outbox, (SUBJECTS_MAX + 1) * sizeof(Text))
    get.subject_count = 0
    while get.subjects != NULL and json_item(json, is_first):
        is_first = False
        if get.subject_count == SUBJECTS_MAX:
            json.has_failed = True
            return
        get.subjects[get.subject_count] = json_text(json)
        get.subject_count += 1


# ---- answers -----------------------------------------------------------------------------------------------------------


cdef void _say_status(Engine* engine, Slot* slot, Text reply, const char* status, uint32_t length) noexcept nogil:
    """Answer with a status line alone."""
    cdef framework_message* message = outbox_add(&engine.outbox, slot.account, reply.chars, reply.length)
    cdef char* chars = outbox_chars(&engine.outbox, length + 13)
    if message == NULL or chars == NULL:
        return
    memcpy(chars, b"NATS/1.0 ", 9)
    memcpy(chars + 9, status, length)
    memcpy(chars + 9 + length, b"\r\n\r\n", 4)
    message.header = chars
    message.header_length = length + 13


cdef void _say(Engine* engine, Slot* slot, Text reply, const Record* record, Get* get, int64_t pending, uint64_t last_seq) noexcept nogil:
    """Answer with a message; `pending` below 0: it is the only one."""
    cdef framework_message* message = outbox_add(&engine.outbox, slot.account, reply.chars, reply.length)
    cdef uint32_t subject_length = record.subject.length, used = 0
    cdef char* chars = outbox_chars(
        &engine.outbox, record.header_length + record.payload_length + subject_length + slot.name.length + EXTRA_BYTES
    )
    cdef char time[TIME_BYTES]
    if message == NULL or chars == NULL:
        return
    if not get.no_headers:
        if record.header_length >= 2:
            used = record.header_length - 2
            memcpy(chars, record_header(record), used)
        else:
            memcpy(chars, b"NATS/1.0\r\n", 10)
            used = 10
        used += write_line(chars + used, b"Nats-Stream: ", 13, slot.name.chars, slot.name.length)
        used += write_line(chars + used, b"Nats-Subject: ", 14, subject_chars(record.subject), subject_length)
        used += write_number_line(chars + used, b"Nats-Sequence: ", 15, record.seq)
        used += write_line(chars + used, b"Nats-Time-Stamp: ", 17, time, write_time(time, record.time_ns))
        if pending >= 0:
            used += write_number_line(chars + used, b"Nats-Num-Pending: ", 18, <uint64_t> pending)
            used += write_number_line(chars + used, b"Nats-Last-Sequence: ", 20, last_seq)
        memcpy(chars + used, b"\r\n", 2)
        used += 2
    message.header = chars
    message.header_length = used
    memcpy(chars + used, record_payload(record), record.payload_length)
    message.payload = chars + used
    message.payload_length = record.payload_length


cdef void _say_end(Engine* engine, Slot* slot, Text reply, int64_t pending, uint64_t last_seq, uint64_t up_to_seq) noexcept nogil:
    """Answer that a batch has ended."""
    cdef framework_message* message = outbox_add(&engine.outbox, slot.account, reply.chars, reply.length)
    cdef char* chars = outbox_chars(&engine.outbox, EXTRA_BYTES)
    cdef uint32_t used = 18
    if message == NULL or chars == NULL:
        return
    memcpy(chars, b"NATS/1.0 204 EOB\r\n", 18)
    used += write_number_line(chars + used, b"Nats-Num-Pending: ", 18, <uint64_t> pending)
    used += write_number_line(chars + used, b"Nats-Last-Sequence: ", 20, last_seq)
    if up_to_seq:
        used += write_number_line(chars + used, b"Nats-UpTo-Sequence: ", 20, up_to_seq)
    memcpy(chars + used, b"\r\n", 2)
    message.header = chars
    message.header_length = used + 2


# ---- what is asked for -------------------------------------------------------------------------------------------------


cdef int64_t _size(const Record* record) noexcept nogil:
    return record.subject.length + record.header_length + record.payload_length


cdef uint64_t _get_one(Engine* engine, Slot* slot, Text reply, Get* get) noexcept nogil:
    """Answer with one message. If it is not in memory there is no answer, and its sequence is returned, as by those below; else 0."""
    cdef Messages* messages = &slot.stream.messages
    cdef Record record
    if get.last.length:
        record = messages_get(messages, stream_last_seq_of(&slot.stream, get.last.chars, get.last.length))
    elif get.next.length:
        record = messages_next_matching(messages, <uint64_t> get.seq, &get.next, 1)
    else:
        record = messages_get(messages, <uint64_t> get.seq)
    if record.seq == 0:
        _say_status(engine, slot, reply, b"404 Message Not Found", 21)
    elif record_is_absent(&record):
        return record.seq
    else:
        _say(engine, slot, reply, &record, get, -1, 0)
    return 0


cdef uint64_t _get_batch(Engine* engine, Slot* slot, Text reply, Get* get, GetProgress* progress) noexcept nogil:
    cdef Messages* messages = &slot.stream.messages
    cdef Record record
    cdef int64_t pending, most = get.max_bytes if get.max_bytes > 0 else BYTES_MAX
    if not progress.is_begun:
        progress.is_begun = 1
        progress.next_seq = <uint64_t> get.seq
    marks_clear(&messages.subjects)
    if get.next.length:
        subjects_mark(&messages.subjects, get.next.chars, get.next.length)
    else:
        subjects_mark(&messages.subjects, b">", 1)
    pending = <int64_t> messages_count_marked(messages, progress.next_seq)
    if pending == 0 and progress.sent == 0:
        _say_status(engine, slot, reply, b"404 Message Not Found", 21)
        return 0
    record = messages_next_marked(messages, progress.next_seq)
    while record.seq and progress.sent < get.batch:
        if progress.sent and progress.size + _size(&record) > most:
            break
        if record_is_absent(&record):
            progress.next_seq = record.seq
            return record.seq
        progress.size += _size(&record)
        progress.sent += 1
        pending -= 1
        _say(engine, slot, reply, &record, get, pending, progress.last_seq)
        progress.last_seq = record.seq
        record = messages_next_marked(messages, record.seq + 1)
    _say_end(engine, slot, reply, pending, progress.last_seq, 0)
    return 0


cdef int64_t _last_seqs(Messages* messages, uint64_t least, uint64_t* seqs) noexcept nogil:
    """Find the last messages of subjects that are marked; return how many, RESULTS_MAX + 1 for more. Cost: O(subjects)."""
    cdef uint32_t at = 0
    cdef int64_t found = 0
    cdef Subject* subject = subjects_next(&messages.subjects, &at)
    while subject != NULL and found <= RESULTS_MAX:
        if number_is_marked(&messages.subjects, subject.number):
            seqs[found] = messages_last_of(messages, subject)
            found += seqs[found] >= least
        subject = subjects_next(&messages.subjects, &at)
    return found


cdef int64_t _last_seqs_up_to(Messages* messages, uint64_t least, uint64_t up_to, uint64_t* seqs) noexcept nogil:
    """Find the same as they were when a message was the last one. Cost: O(messages)."""
    cdef int64_t found = 0
    cdef Record record = messages_previous_marked(messages, up_to)
    while record.seq >= max(least, <uint64_t> 1) and found <= RESULTS_MAX:
        seqs[found] = record.seq
        found += 1
        unmark(&messages.subjects, record.subject.number)
        record = messages_previous_marked(messages, record.seq - 1)
    return found


cdef void _find_last_of_many(Slot* slot, Get* get, GetProgress* progress) noexcept nogil:
    """Find the last messages of subjects, in order of their sequences; RESULTS_MAX + 1: too many."""
    cdef Messages* messages = &slot.stream.messages
    cdef uint64_t up_to = <uint64_t> get.up_to_seq if get.up_to_seq else messages.last_seq
    cdef int64_t at
    progress.seqs = <uint64_t*> malloc((RESULTS_MAX + 1) * sizeof(uint64_t))
    progress.is_begun = 1
    if progress.seqs == NULL:
        return
    if get.up_to_ns:
        up_to = messages_seq_from(messages, get.up_to_ns + 1) - 1
    progress.next_seq = up_to
    marks_clear(&messages.subjects)
    for at in range(get.subject_count):
        subjects_mark(&messages.subjects, get.subjects[at].chars, get.subjects[at].length)
    if up_to >= messages.last_seq:
        progress.found = _last_seqs(messages, <uint64_t> get.seq, progress.seqs)
    else:
        progress.found = _last_seqs_up_to(messages, <uint64_t> get.seq, up_to, progress.seqs)
    if progress.found <= RESULTS_MAX:
        qsort(progress.seqs, progress.found, sizeof(uint64_t), _compare)


cdef uint64_t _get_last_of_many(Engine* engine, Slot* slot, Text reply, Get* get, GetProgress* progress) noexcept nogil:
    """Answer with the last messages of subjects."""
    cdef Messages* messages = &slot.stream.messages
    cdef Record record
    cdef int64_t at, most = get.max_bytes if get.max_bytes > 0 else BYTES_MAX
    if not progress.is_begun:
        _find_last_of_many(slot, get, progress)
    if progress.found > RESULTS_MAX:
        _say_status(engine, slot, reply, b"413 Too Many Results", 20)
        return 0
    if progress.found == 0:
        _say_status(engine, slot, reply, b"404 No Results", 14)
        return 0
    while progress.at < progress.found:
        record = messages_get(messages, progress.seqs[progress.at])
        if record.seq and (
            (get.batch > 0 and progress.sent >= get.batch) or (progress.sent and progress.size + _size(&record) > most)
        ):
            break
        if record_is_absent(&record):
            for at in range(progress.at + 1, min(progress.at + GETS_AHEAD, progress.found)):
                reading_want(engine, slot, progress.seqs[at], 0)
            return record.seq
        progress.at += 1
        if record.seq == 0:
            # It has gone while others were read.
            continue
        progress.size += _size(&record)
        progress.sent += 1
        _say(engine, slot, reply, &record, get, progress.found - progress.at, progress.last_seq)
        progress.last_seq = record.seq
    _say_end(engine, slot, reply, progress.found - progress.at, progress.last_seq, progress.next_seq)
    return 0


cdef extern from "stdlib.h" nogil:
    void qsort(void* base, size_t count, size_t size, int (*compare)(const void*, const void*) noexcept nogil)


cdef int _compare(const void* left, const void* right) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*> left)[0], b = (<const uint64_t*> right)[0]
    return (a > b) - (a < b)


cdef void _wait(
    Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row, uint64_t absent, GetProgress* progress
) noexcept nogil:
    """Go on when a message is in memory; `absent` 0: all was answered."""
    cdef Text reply
    if absent and reading_row(engine, slot, batch, row, absent, progress):
        return
    free(progress.seqs)
    if absent:
        reply.chars = batch.chars + row.at + row.subject_length
        reply.length = row.reply_length
        if slot.is_refused:
            _say_status(engine, slot, reply, b"503 Stream Offline", 18)
        else:
            _say_status(engine, slot, reply, b"429 Too Many Requests", 21)


cdef bint slot_may_read(const Slot* slot) noexcept nogil:
    """Whether what is here is the last that was acknowledged, where readers of a stream want to be sure of that."""
    if slot.stream.limits.allow_direct != READS_OF_LEADER or slot.group == NULL or slot.group.replica == NULL:
        return True
    return slot.group.leads_term != 0 and lease_is_valid(slot.group.replica.raft)


cdef void direct_get_row(
    Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row, GetProgress* resumed
) noexcept nogil:
    """Answer a direct get: by its subject, or by its JSON.

    Args:
        resumed: How far it was; NULL: it has just come.
    """
    cdef const char* subject = batch.chars + row.at
    cdef const char* body = subject + row.subject_length + row.reply_length + row.header_length
    # It may name the origin of a mirror.
    cdef const char* dot = <const char*> memchr(subject + 19, c".", row.subject_length - 19)
    cdef Text reply
    cdef Get get
    cdef GetProgress progress
    memset(&get, 0, sizeof(get))
    memset(&progress, 0, sizeof(progress))
    if resumed != NULL:
        progress = resumed[0]
    reply.chars = subject + row.subject_length
    reply.length = row.reply_length
    if reply.length == 0:
        return
    if not slot_may_read(slot):
        _say_status(engine, slot, reply, b"503 Leadership Not Confirmed", 28)
        return
    if row.payload_length and not _read(engine, &get, body, row.payload_length):
        _say_status(engine, slot, reply, b"408 Malformed Request", 21)
        return
    if dot != NULL:
        get.last.chars = dot + 1
        get.last.length = <uint32_t> (subject + row.subject_length - dot - 1)
    if get.has_start:
        if get.seq:
            _say_status(engine, slot, reply, b"408 Bad Request", 15)
            return
        get.seq = <int64_t> messages_seq_from(&slot.stream.messages, get.start_ns)
    if get.seq == 0 and get.last.length == 0 and get.next.length == 0 and get.subject_count == 0:
        _say_status(engine, slot, reply, b"408 Empty Request", 17)
    elif get.last.length and (get.seq or get.next.length or get.batch or get.subject_count):
        _say_status(engine, slot, reply, b"408 Bad Request", 15)
    elif get.subject_count:
        _wait(engine, slot, batch, row, _get_last_of_many(engine, slot, reply, &get, &progress), &progress)
    elif get.batch:
        _wait(engine, slot, batch, row, _get_batch(engine, slot, reply, &get, &progress), &progress)
    else:
        _wait(engine, slot, batch, row, _get_one(engine, slot, reply, &get), &progress)
