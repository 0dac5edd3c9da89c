"""What clients say to consumers: requests for messages, and acknowledgements.

Source: nats-server `consumer.go`, `processNextMsgRequest`, `nextReqFromMsg`, `processAck`; ADR-13, ADR-15, ADR-37, ADR-42.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memcmp, memcpy, memset

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.consumer._consumer_machine cimport machine_has_more, machine_in_progress, machine_nak
from framework_jetstream.consumer._terms cimport (
    ACK_NONE, PRIORITY_NONE, PRIORITY_OVERFLOW, PRIORITY_PINNED, PRIORITY_PRIORITIZED, ConsumerTerms,
)
from framework_jetstream.engine._advisories cimport Acked, advise_ack, advise_nak, advise_term
from framework_jetstream.engine._consumer_log cimport consumer_change, consumer_owe, consumer_touch
from framework_jetstream.engine._consumer_subjects cimport SCOPED_ACKS, ack_prefix_length
from framework_jetstream.engine._delivery cimport consumer_expire
from framework_jetstream.engine._json cimport Json, json_begin, json_bool, json_end, json_int, json_key, json_skip, json_text
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._retention cimport retention_ack
from framework_jetstream.engine._state cimport PIN_LENGTH, Request, published_by, ready_add
from framework_jetstream.engine._statuses cimport request_refuse
from framework_jetstream.engine._times cimport write_duration
from framework_jetstream.engine._waiting cimport pin_extend, request_add
from framework_jetstream.engine._wakes cimport consumer_wake_at
from framework_jetstream.stream._headers cimport DURATION_INVALID, Text, duration_of_text, seq_of_text, text_is

cdef enum:
    REFUSAL_BYTES = 80
    PRIORITY_MAX = 9
    ACK_TOKENS = 5
    # Behind the names: deliveries, sequences, time and how much was pending; more may follow where domain and account stand before.


cdef struct Asked:
    int64_t batch
    int64_t expires_ns
    int64_t max_bytes
    int64_t heartbeat_ns
    int64_t min_pending
    int64_t min_ack_pending
    int64_t priority
    bint no_wait
    uint64_t behind
    # The entry that has to be applied before it may be told that there is nothing; 0: none.
    bint is_object
    # Only these name a priority group.
    Text group
    Text pin
    uint32_t group_at
    # Which of the consumer's groups that is.


cdef bint _read(Engine* engine, Asked* asked, Text body) noexcept nogil:
    """Read what is asked for; False: it makes no sense."""
    cdef Json json
    cdef Text key
    cdef uint64_t number
    memset(asked, 0, sizeof(Asked))
    asked.batch = 1
    while body.length and body.chars[0] <= 32:
        body.chars += 1
        body.length -= 1
    if body.length == 0:
        return True
    if body.chars[0] != b"{":
        # What is no number asks for one message, as with nats-server.
        number = seq_of_text(body)
        asked.batch = 1 if number == 0 or number == <uint64_t> -1 else <int64_t> number
        return True
    json_begin(&json, body.chars, body.length, &engine.outbox)
    asked.is_object = True
    asked.batch = 0
    while json_key(&json, &key):
        if text_is(key, b"batch", 5):
            asked.batch = json_int(&json)
        elif text_is(key, b"expires", 7):
            asked.expires_ns = json_int(&json)
        elif text_is(key, b"max_bytes", 9):
            asked.max_bytes = json_int(&json)
        elif text_is(key, b"idle_heartbeat", 14):
            asked.heartbeat_ns = json_int(&json)
        elif text_is(key, b"no_wait", 7):
            asked.no_wait = json_bool(&json)
        elif text_is(key, b"group", 5):
            asked.group = json_text(&json)
        elif text_is(key, b"id", 2):
            asked.pin = json_text(&json)
        elif text_is(key, b"min_pending", 11):
            asked.min_pending = json_int(&json)
        elif text_is(key, b"min_ack_pending", 15):
            asked.min_ack_pending = json_int(&json)
        elif text_is(key, b"priority", 8):
            asked.priority = json_int(&json)
        else:
            json_skip(&json)
    # Without one it is over with the first message, as if it were 1.
    asked.batch = max(asked.batch, <int64_t> 0)
    return json_end(&json)


cdef void _refuse_above(Engine* engine, ConsumerSlot* consumer, Text reply, const char* what, uint32_t length, int64_t most) noexcept nogil:
    """Refuse a request that asks for more than the consumer allows."""
    cdef char* chars = outbox_chars(&engine.outbox, REFUSAL_BYTES)
    if chars == NULL:
        return
    memcpy(chars, what, length)
    request_refuse(engine, consumer, reply, chars, length + <uint32_t> write_decimal(chars + length, <uint64_t> most))


cdef void _refuse_longer(Engine* engine, ConsumerSlot* consumer, Text reply) noexcept nogil:
    """Refuse a request that would wait longer than the consumer allows."""
    cdef char* chars = outbox_chars(&engine.outbox, REFUSAL_BYTES)
    if chars == NULL:
        return
    memcpy(chars, b"409 Exceeded MaxRequestExpires of ", 34)
    request_refuse(engine, consumer, reply, chars, 34 + write_duration(chars + 34, consumer.machine.terms.max_expires_ns))


cdef bint _breaks_limits(Engine* engine, ConsumerSlot* consumer, Text reply, Asked* asked) noexcept nogil:
    """Answer a request that breaks a limit; False: it breaks none."""
    cdef ConsumerTerms* terms = &consumer.machine.terms
    if asked.heartbeat_ns > 0 and asked.heartbeat_ns > asked.expires_ns // 2:
        request_refuse(engine, consumer, reply, b"400 Bad Request - heartbeat value too large", 43)
    elif terms.max_batch > 0 and asked.batch > terms.max_batch:
        _refuse_above(engine, consumer, reply, b"409 Exceeded MaxRequestBatch of ", 32, terms.max_batch)
    elif terms.max_expires_ns > 0 and asked.expires_ns > terms.max_expires_ns:
        _refuse_longer(engine, consumer, reply)
    elif terms.max_bytes > 0 and asked.max_bytes > terms.max_bytes:
        _refuse_above(engine, consumer, reply, b"409 Exceeded MaxRequestMaxBytes of ", 35, terms.max_bytes)
    else:
        return False
    return True


cdef bint _has_group(ConsumerSlot* consumer, Asked* asked) noexcept nogil:
    """Whether a consumer has the group that a request names."""
    cdef uint32_t at
    for at in range(consumer.group_count):
        if text_is(asked.group, consumer.groups[at].chars, consumer.groups[at].length):
            asked.group_at = at
            return True
    return False


cdef bint _breaks_priorities(Engine* engine, ConsumerSlot* consumer, Text reply, Asked* asked) noexcept nogil:
    """Answer a request that does not fit the priority policy; False: it does. The pinned client is seen to be there."""
    cdef int policy = consumer.machine.terms.priority_policy
    if not asked.is_object:
        return False
    if (asked.min_pending or asked.min_ack_pending) and policy != PRIORITY_OVERFLOW:
        request_refuse(engine, consumer, reply, b"400 Bad Request - Not a Overflow Priority consumer", 50)
    elif asked.pin.length and policy != PRIORITY_PINNED:
        request_refuse(engine, consumer, reply, b"400 Bad Request - Not a Pinned Client Priority consumer", 55)
    elif not 0 <= asked.priority <= PRIORITY_MAX:
        request_refuse(engine, consumer, reply, b"400 Bad Request - Priority must be between 0 and 9", 50)
    elif policy == PRIORITY_NONE:
        return False
    elif asked.group.length == 0:
        request_refuse(engine, consumer, reply, b"400 Bad Request - Priority Group missing", 40)
    elif not _has_group(consumer, asked):
        request_refuse(engine, consumer, reply, b"400 Bad Request - Invalid Priority Group", 40)
    elif consumer.pin_length and text_is(asked.pin, consumer.pin, consumer.pin_length):
        pin_extend(engine, consumer)
        return False
    elif consumer.pin_length and asked.pin.length:
        request_refuse(engine, consumer, reply, b"423 Nats-Pin-Id mismatch", 24)
    else:
        return False
    return True


cdef bint _is_vain(Engine* engine, ConsumerSlot* consumer, Text reply, Asked* asked) noexcept nogil:
    """Answer a request that does not wait where there is nothing for it; False: there may be."""
    cdef uint64_t pending = consumer.machine.num_pending + consumer.machine.queued, wanted = 0
    cdef Request* request = consumer.first
    if not asked.no_wait:
        return False
    if pending == 0:
        if asked.expires_ns or asked.behind:
            return False
        request_refuse(engine, consumer, reply, b"404 No Messages", 15)
        return True
    while request != NULL:
        wanted += <uint64_t> max(request.left, <int64_t> 0)
        request = request.next
    if pending >= wanted:
        return False
    request_refuse(engine, consumer, reply, b"408 Requests Pending", 20)
    return True


cdef Request* _request_made(Engine* engine, ConsumerSlot* consumer, Text reply, Asked* asked) noexcept nogil:
    """Return what waits for a client; NULL: no memory."""
    cdef Request* made = <Request*> calloc(1, sizeof(Request) + reply.length)
    if made == NULL:
        return NULL
    consumer.last_request += 1
    made.id = consumer.last_request
    made.left = asked.batch
    made.bytes_left = asked.max_bytes
    made.has_bytes = asked.max_bytes > 0
    made.no_wait = asked.no_wait
    made.behind = asked.behind
    made.expires_ns = engine.now_ns + asked.expires_ns if asked.expires_ns > 0 else 0
    made.heartbeat_ns = asked.heartbeat_ns if asked.expires_ns > 0 else 0
    made.beats_ns = engine.now_ns + made.heartbeat_ns
    made.min_pending = asked.min_pending
    made.min_ack_pending = asked.min_ack_pending
    made.group = <uint8_t> asked.group_at
    if consumer.machine.terms.priority_policy == PRIORITY_PRIORITIZED:
        # What names no group comes last.
        made.priority = <uint8_t> asked.priority if asked.is_object else PRIORITY_MAX + 1
    # Of another length it is none of ours.
    made.pin_length = <uint8_t> min(asked.pin.length, <uint32_t> PIN_LENGTH)
    if made.pin_length:
        memcpy(made.pin, asked.pin.chars, made.pin_length)
    made.reply_length = reply.length
    memcpy(made + 1, reply.chars, reply.length)
    return made


cdef uint64_t _behind(ConsumerSlot* consumer, uint64_t link) noexcept nogil:
    """Return the entry with messages of a connection that are not applied yet; 0: there is none."""
    cdef uint64_t index
    if consumer.slot.group == NULL:
        return 0
    index = published_by(consumer.slot, link)[0]
    if index <= consumer.slot.group.applied:
        return 0
    consumer.slot.behind = max(consumer.slot.behind, index)
    return index


cdef void _ask(Engine* engine, ConsumerSlot* consumer, Text reply, Text body, uint64_t link) noexcept nogil:
    """Take a request: serve it at the end of the turn, or let it wait."""
    cdef Asked asked
    cdef Request* made
    if consumer.deliver.chars != NULL:
        request_refuse(engine, consumer, reply, b"409 Consumer is push based", 26)
        return
    if not _read(engine, &asked, body):
        request_refuse(engine, consumer, reply, b"400 Bad Request - unexpected end of JSON input", 46)
        return
    if _breaks_limits(engine, consumer, reply, &asked) or _breaks_priorities(engine, consumer, reply, &asked):
        return
    consumer.active_ns = engine.now_ns
    asked.behind = _behind(consumer, link) if asked.no_wait else 0
    if _is_vain(engine, consumer, reply, &asked):
        return
    if consumer.waiting >= <uint64_t> consumer.machine.terms.max_waiting:
        # Who gets heartbeats would ask again at once: it is to miss them instead.
        if asked.heartbeat_ns == 0:
            request_refuse(engine, consumer, reply, b"409 Exceeded MaxWaiting", 23)
        return
    made = _request_made(engine, consumer, reply, &asked)
    if made == NULL:
        return
    request_add(consumer, made)
    if made.heartbeat_ns:
        consumer_wake_at(engine, consumer, made.beats_ns)
    if made.expires_ns:
        consumer_wake_at(engine, consumer, made.expires_ns)
    ready_add(engine, consumer)


cdef void next_row(Engine* engine, ConsumerSlot* consumer, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Take a request for messages."""
    cdef Text reply, body
    reply.chars = batch.chars + row.at + row.subject_length
    reply.length = row.reply_length
    body.chars = reply.chars + row.reply_length + row.header_length
    body.length = row.payload_length
    if reply.length:
        _ask(engine, consumer, reply, body, row.link)


# ---- acknowledgements ----------------------------------------------------------------------------------------------------


cdef uint64_t _next_number(const char* subject, uint32_t length, uint32_t* at) noexcept nogil:
    """Return the number of the next token of a subject, which others follow; 0: there is none."""
    cdef Text token
    cdef uint32_t begin = at[0]
    cdef uint64_t number
    while at[0] < length and subject[at[0]] != b".":
        at[0] += 1
    token.chars = subject + begin
    token.length = at[0] - begin
    number = seq_of_text(token) if at[0] < length else 0
    at[0] += 1
    return 0 if number == <uint64_t> -1 else number


cdef uint32_t _tokens(const char* subject, uint32_t length) noexcept nogil:
    cdef uint32_t count = 1, at
    for at in range(length):
        count += subject[at] == b"."
    return count


cdef Acked _acked_of(ConsumerSlot* consumer, const char* subject, uint32_t length, bint is_scoped) noexcept nogil:
    """Return what an acknowledgement is about; sequence 0: its subject does not say so."""
    cdef uint32_t at = ack_prefix_length(consumer, is_scoped), tokens = _tokens(subject + at, length - at)
    cdef Acked acked
    memset(&acked, 0, sizeof(acked))
    if tokens < ACK_TOKENS or (tokens > ACK_TOKENS and not is_scoped):
        return acked
    acked.deliveries = _next_number(subject, length, &at)
    acked.seq = _next_number(subject, length, &at)
    acked.consumer_seq = _next_number(subject, length, &at)
    return acked


cdef int64_t _delay_of(Engine* engine, Text body) noexcept nogil:
    """Return how long a message that was not acknowledged is to wait: JSON or a duration behind -NAK; 0: not at all."""
    cdef Json json
    cdef Text key
    cdef int64_t delay_ns = 0
    while body.length and body.chars[0] <= 32:
        body.chars += 1
        body.length -= 1
    while body.length and body.chars[body.length - 1] <= 32:
        body.length -= 1
    if body.length == 0:
        return 0
    if body.chars[0] != b"{":
        delay_ns = duration_of_text(body)
        return delay_ns if delay_ns != DURATION_INVALID else 0
    json_begin(&json, body.chars, body.length, &engine.outbox)
    while json_key(&json, &key):
        if text_is(key, b"delay", 5):
            delay_ns = json_int(&json)
        else:
            json_skip(&json)
    return max(delay_ns, <int64_t> 0) if json_end(&json) else 0


cdef Text _trimmed(Text body, uint32_t begin) noexcept nogil:
    """Return what follows in a body, without blanks around it."""
    body.chars += begin
    body.length -= begin
    while body.length and body.chars[0] <= 32:
        body.chars += 1
        body.length -= 1
    while body.length and body.chars[body.length - 1] <= 32:
        body.length -= 1
    return body


cdef bint _begins(Text body, const char* word, uint32_t length) noexcept nogil:
    return body.length >= length and memcmp(body.chars, word, length) == 0


cdef void _take_ack(
    Engine* engine, ConsumerSlot* consumer, const Acked* acked, Text body, Text reply, uint64_t link
) noexcept nogil:
    cdef Text rest = body
    cdef uint64_t seq = acked.seq
    cdef int64_t delay_ns
    if body.length == 0 or text_is(body, b"+ACK", 4) or text_is(body, b"+OK", 3):
        advise_ack(engine, consumer, acked)
        retention_ack(engine, consumer, seq)
        consumer.last_ack_ns = engine.unix_ns
    elif _begins(body, b"+TERM", 5):
        retention_ack(engine, consumer, seq)
        consumer.last_ack_ns = engine.unix_ns
        advise_term(engine, consumer, acked, _trimmed(rest, 5))
    elif _begins(body, b"+NXT", 4):
        advise_ack(engine, consumer, acked)
        retention_ack(engine, consumer, seq)
        consumer.last_ack_ns = engine.unix_ns
        rest.chars += 4
        rest.length -= 4
        if reply.length:
            _ask(engine, consumer, reply, rest, link)
    elif _begins(body, b"-NAK", 4):
        rest.chars += 4
        rest.length -= 4
        delay_ns = _delay_of(engine, rest)
        if machine_nak(&consumer.machine, seq, engine.now_ns + delay_ns if delay_ns else 0):
            advise_nak(engine, consumer, acked)
            consumer_expire(engine, consumer)
            ready_add(engine, consumer)
    elif text_is(body, b"+WPI", 4):
        machine_in_progress(&consumer.machine, seq, engine.now_ns)


cdef void ack_row(Engine* engine, ConsumerSlot* consumer, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Take an acknowledgement; one that asks for an answer gets an empty one."""
    cdef Text body, reply
    cdef const char* subject = batch.chars + row.at
    cdef Acked acked = _acked_of(consumer, subject, row.subject_length, row.tag & SCOPED_ACKS)
    reply.chars = subject + row.subject_length
    reply.length = row.reply_length
    body.chars = reply.chars + row.reply_length + row.header_length
    body.length = row.payload_length
    consumer.active_ns = engine.now_ns
    if acked.seq == 0 or consumer.machine.terms.ack_policy == ACK_NONE:
        return
    if acked.seq > consumer.machine.delivered_seq:
        # Delivered before a stop, or where it was led before, and not told: it comes again, so nobody may hear that it is settled.
        return
    _take_ack(engine, consumer, &acked, body, reply, row.link)
    consumer_touch(engine, consumer, acked.seq)
    consumer_change(engine, consumer)
    if machine_has_more(&consumer.machine):
        ready_add(engine, consumer)
    if reply.length and not _begins(body, b"+NXT", 4) and not consumer_owe(engine, consumer, reply):
        outbox_add(&engine.outbox, consumer.slot.account, reply.chars, reply.length)
