"""Messages of consumers on their way to clients: to requests in their order, or to where a consumer pushes; and what is said beside them.

What was read from streams stays where it is until the outbox is flushed, so deliveries come last in a turn.

Source: nats-server `consumer.go`, `loopAndGatherMsgs`, `deliverMsg`, `sendIdleHeartbeat`; ADR-13, ADR-15.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.consumer._machine cimport (
    Delivery, machine_expire, machine_has_more, machine_next, machine_peek, machine_undo,
)
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._consumer_log cimport consumer_change, consumer_touch
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._state cimport TAG_DELIVER, TAG_KIND_SHIFT, TAG_NUMBER_SHIFT, consumer_of, ready_add
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._messages cimport Record, record_header, record_payload

cdef enum:
    DELIVERIES_MAX = 512
    # Of one consumer in a turn: then others have theirs.
    ACK_DIGITS = 110
    STATUS_BYTES = 200
    EVENT_INACTIVE = 1
    TOKEN_REQUEST_SHIFT = 24
    TOKEN_SEQ_MASK = 0xffffff

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


# ---- requests ------------------------------------------------------------------------------------------------------------


cdef int64_t _watch_tag(ConsumerSlot* consumer, uint64_t id) noexcept nogil:
    return <int64_t> TAG_DELIVER << TAG_KIND_SHIFT | <int64_t> consumer.number << TAG_NUMBER_SHIFT | <int64_t> (id & 0xffffff)


cdef const char* _reply_of(Request* request) noexcept nogil:
    return <char*> (request + 1)


cdef void request_end(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Forget a request."""
    cdef Request** at = &consumer.first
    cdef Request* before = NULL
    while at[0] != request:
        before = at[0]
        at = &at[0].next
    at[0] = request.next
    if consumer.last == request:
        consumer.last = before
    consumer.waiting -= 1
    if request.is_watched:
        engine.port.unwatch(engine.port.self, _watch_tag(consumer, request.id))
    free(request)


cdef uint32_t _write_status(char* to, const char* status, uint32_t length) noexcept nogil:
    memcpy(to, b"NATS/1.0 ", 9)
    memcpy(to + 9, status, length)
    memcpy(to + 9 + length, b"\r\n", 2)
    return length + 11


cdef uint32_t _write_number(char* to, const char* name, uint32_t length, uint64_t value) noexcept nogil:
    cdef uint32_t digits
    memcpy(to, name, length)
    digits = write_decimal(to + length, value)
    memcpy(to + length + digits, b"\r\n", 2)
    return length + digits + 2


cdef char* _status_begun(
    Engine* engine, ConsumerSlot* consumer, const char* to, uint32_t length, framework_message** message
) noexcept nogil:
    """Return room for a header block of a message to a subject; NULL: no memory."""
    cdef char* chars
    message[0] = outbox_add(&engine.outbox, consumer.slot.account, to, length)
    chars = outbox_chars(&engine.outbox, STATUS_BYTES)
    if message[0] == NULL or chars == NULL:
        return NULL
    message[0].header = chars
    return chars


cdef void request_refuse(Engine* engine, ConsumerSlot* consumer, Text reply, const char* status, uint32_t length) noexcept nogil:
    """Answer a request with a status alone."""
    cdef framework_message* message
    cdef char* chars = _status_begun(engine, consumer, reply.chars, reply.length, &message)
    if chars == NULL:
        return
    message.header_length = _write_status(chars, status, length) + 2
    memcpy(chars + message.header_length - 2, b"\r\n", 2)


cdef void _end_with(Engine* engine, ConsumerSlot* consumer, Request* request, const char* status, uint32_t length) noexcept nogil:
    """End a request, and say what it did not get."""
    cdef framework_message* message
    cdef char* chars = _status_begun(engine, consumer, _reply_of(request), request.reply_length, &message)
    cdef uint32_t used
    if chars != NULL:
        used = _write_status(chars, status, length)
        used += _write_number(chars + used, b"Nats-Pending-Messages: ", 23, <uint64_t> request.left)
        used += _write_number(
            chars + used, b"Nats-Pending-Bytes: ", 20, <uint64_t> request.bytes_left if request.has_bytes else 0
        )
        memcpy(chars + used, b"\r\n", 2)
        message.header_length = used + 2
    request_end(engine, consumer, request)


cdef void consumer_unrequest(Engine* engine, ConsumerSlot* consumer, uint64_t id) noexcept nogil:
    """Forget a request whose client is gone, by the low part of its id."""
    cdef Request* request = consumer.first
    while request != NULL and (request.id & 0xffffff) != id:
        request = request.next
    if request != NULL:
        request_end(engine, consumer, request)


# ---- messages ------------------------------------------------------------------------------------------------------------


cdef void _add_message(
    Engine* engine, ConsumerSlot* consumer, Delivery* delivery, const char* to, uint32_t to_length, int64_t request
) noexcept nogil:
    """Add a message for a subject, with where it is to be acknowledged."""
    cdef const Record* record = &delivery.record
    cdef framework_message* message = outbox_add(
        &engine.outbox, consumer.slot.account, subject_chars(record.subject), record.subject.length
    )
    cdef char* chars = outbox_chars(&engine.outbox, consumer.ack_prefix.length + ACK_DIGITS + to_length)
    cdef uint32_t used = consumer.ack_prefix.length
    cdef int at
    cdef uint64_t[5] numbers
    if message == NULL or chars == NULL:
        return
    numbers[0] = delivery.deliveries
    numbers[1] = record.seq
    numbers[2] = delivery.consumer_seq
    numbers[3] = <uint64_t> record.time_ns
    numbers[4] = consumer.machine.num_pending
    memcpy(chars, consumer.ack_prefix.chars, used)
    for at in range(5):
        used += write_decimal(chars + used, numbers[at])
        chars[used] = b"."
        used += 1
    message.reply = chars
    message.reply_length = used - 1
    memcpy(chars + used, to, to_length)
    message.inbox = chars + used
    message.inbox_length = to_length
    message.header = record_header(record)
    message.header_length = record.header_length
    if consumer.headers_only:
        _show_size(engine, message, record)
    else:
        message.payload = record_payload(record)
        message.payload_length = record.payload_length
    message.asks = 1
    message.token = (
        <int64_t> consumer.number << TOKEN_NUMBER_SHIFT | (request & 0xffff) << TOKEN_REQUEST_SHIFT
        | <int64_t> (record.seq & TOKEN_SEQ_MASK)
    )
    consumer.last_delivered_ns = engine.unix_ns
    consumer_touch(engine, consumer, record.seq)


cdef void _show_size(Engine* engine, framework_message* message, const Record* record) noexcept nogil:
    """Let a message without its payload say how long that is."""
    cdef char* chars = outbox_chars(&engine.outbox, record.header_length + 50)
    cdef uint32_t used = 10
    if chars == NULL:
        return
    memcpy(chars, b"NATS/1.0\r\n", 10)
    if record.header_length > 12:
        used = record.header_length - 2
        memcpy(chars, record_header(record), used)
    used += _write_number(chars + used, b"Nats-Msg-Size: ", 15, record.payload_length)
    memcpy(chars + used, b"\r\n", 2)
    message.header = chars
    message.header_length = used + 2


cdef int64_t _digits(uint64_t value) noexcept nogil:
    cdef int64_t count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


cdef int64_t _size(ConsumerSlot* consumer, const Record* record) noexcept nogil:
    """Return how many bytes a delivery counts: subject, reply, headers and payload."""
    return (
        record.subject.length + record.header_length + (0 if consumer.headers_only else record.payload_length)
        + consumer.ack_prefix.length + 5 + _digits(record.seq) + _digits(consumer.machine.consumer_seq + 1)
        + _digits(<uint64_t> record.time_ns) + _digits(consumer.machine.num_pending - 1 if consumer.machine.num_pending else 0)
    )


cdef bint _serve_request(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Deliver one message to the first request; False: there is none, or no message."""
    cdef Request* request = consumer.first
    cdef Delivery delivery
    cdef Record record = machine_peek(&consumer.machine)
    if record.seq == 0:
        return False
    if request.has_bytes and _size(consumer, &record) > request.bytes_left:
        _end_with(engine, consumer, request, b"409 Message Size Exceeds MaxBytes", 33)
        return True
    if not machine_next(&consumer.machine, &delivery, engine.now_ns):
        return False
    if request.has_bytes:
        request.bytes_left -= _size(consumer, &record)
    _add_message(engine, consumer, &delivery, _reply_of(request), request.reply_length, <int64_t> request.id)
    request.left -= 1
    request.beats_ns = engine.now_ns + request.heartbeat_ns
    if request.left <= 0:
        request_end(engine, consumer, request)
    return True


cdef void _deliver_pulled(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef Request* request
    cdef Request* following
    cdef int sent = 0
    while consumer.first != NULL and not consumer.is_stalled and machine_has_more(&consumer.machine):
        if sent == DELIVERIES_MAX:
            ready_add(engine, consumer)
            return
        if not _serve_request(engine, consumer):
            break
        sent += 1
    request = consumer.first
    while request != NULL:
        following = request.next
        if request.no_wait and not consumer.is_stalled and (not request.behind or request.behind <= consumer.slot.group.applied):
            _end_no_messages(engine, consumer, request)
        elif not request.is_watched:
            request.is_watched = 1
            engine.port.watch(
                engine.port.self, consumer.slot.account, _reply_of(request), request.reply_length, _watch_tag(consumer, request.id)
            )
        request = following


cdef void _end_no_messages(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil:
    cdef Text reply
    reply.chars = _reply_of(request)
    reply.length = request.reply_length
    request_refuse(engine, consumer, reply, b"404 No Messages", 15)
    request_end(engine, consumer, request)


cdef void _deliver_pushed(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef Delivery delivery
    cdef int sent = 0
    while consumer.has_interest and not consumer.is_stalled and machine_has_more(&consumer.machine):
        if sent == DELIVERIES_MAX:
            ready_add(engine, consumer)
            return
        if not machine_next(&consumer.machine, &delivery, engine.now_ns):
            return
        _add_message(engine, consumer, &delivery, consumer.deliver.chars, consumer.deliver.length, 0)
        consumer.beats_ns = engine.now_ns + consumer.heartbeat_ns
        sent += 1


cdef int64_t _least_wait(ConsumerSlot* consumer) noexcept nogil:
    """Return after how long a message that was delivered now may have to be delivered again."""
    cdef int64_t least_ns = consumer.machine.terms.ack_wait_ns
    cdef uint32_t at
    for at in range(consumer.machine.terms.backoff_count):
        least_ns = min(least_ns, consumer.machine.terms.backoff_ns[at])
    return least_ns


cdef void deliver_ready(Engine* engine) noexcept nogil:
    """Deliver what consumers have, a part of each; the rest in the next turn."""
    cdef ConsumerSlot* last = engine.last_ready
    cdef ConsumerSlot* consumer
    cdef bint is_last = engine.ready == NULL
    while not is_last:
        consumer = engine.ready
        is_last = consumer == last
        engine.ready = consumer.next_ready
        if engine.ready == NULL:
            engine.last_ready = NULL
        consumer.is_ready = 0
        if consumer.deliver.chars != NULL:
            _deliver_pushed(engine, consumer)
        else:
            _deliver_pulled(engine, consumer)
        if consumer.machine.pending_live:
            consumer_wake_at(engine, consumer, engine.now_ns + _least_wait(consumer))


# ---- time ----------------------------------------------------------------------------------------------------------------


cdef void consumer_wake_at(Engine* engine, ConsumerSlot* consumer, int64_t when_ns) noexcept nogil:
    """Look at a consumer at a time."""
    if when_ns < consumer.wakes_ns:
        consumer.wakes_ns = when_ns
    wake_at(engine, when_ns)


cdef void _beat(Engine* engine, ConsumerSlot* consumer, const char* to, uint32_t length) noexcept nogil:
    """Say that the server is there, and where the consumer stands."""
    cdef framework_message* message
    cdef char* chars = _status_begun(engine, consumer, to, length, &message)
    cdef uint32_t used
    if chars == NULL:
        return
    used = _write_status(chars, b"100 Idle Heartbeat", 18)
    used += _write_number(chars + used, b"Nats-Last-Consumer: ", 20, consumer.machine.consumer_seq)
    used += _write_number(chars + used, b"Nats-Last-Stream: ", 18, consumer.machine.delivered_seq)
    memcpy(chars + used, b"\r\n", 2)
    message.header_length = used + 2


cdef int64_t _expire_requests(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """End requests whose time is over, and send heartbeats; return when there is something to do again."""
    cdef Request* request = consumer.first
    cdef Request* following
    cdef int64_t next_ns = NEVER
    while request != NULL:
        following = request.next
        if request.expires_ns and request.expires_ns <= engine.now_ns:
            _end_with(engine, consumer, request, b"408 Request Timeout", 19)
            request = following
            continue
        if request.expires_ns:
            next_ns = min(next_ns, request.expires_ns)
        if request.heartbeat_ns:
            if request.beats_ns <= engine.now_ns:
                _beat(engine, consumer, _reply_of(request), request.reply_length)
                request.beats_ns = engine.now_ns + request.heartbeat_ns
            next_ns = min(next_ns, request.beats_ns)
        request = following
    return next_ns


cdef void _look_for_use(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Say once that nobody uses a consumer any more."""
    if not consumer.inactive_ns:
        return
    if consumer.first != NULL or (consumer.deliver.chars != NULL and consumer.has_interest):
        consumer.active_ns = engine.now_ns
    if engine.now_ns - consumer.active_ns >= consumer.inactive_ns:
        if not consumer.is_ending:
            consumer.is_ending = 1
            answer_made(engine, -<int64_t> consumer.number, EVENT_INACTIVE, 0)
        return
    consumer_wake_at(engine, consumer, consumer.active_ns + consumer.inactive_ns)


cdef void consumer_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Do what the time says: deliver again, end requests, send heartbeats."""
    cdef int64_t next_ns = NEVER
    consumer.wakes_ns = NEVER
    if consumer.machine.pending_live:
        next_ns = machine_expire(&consumer.machine, engine.now_ns)
        if consumer.machine.queued:
            ready_add(engine, consumer)
    if consumer.tells_ns and consumer.tells_ns <= engine.now_ns:
        consumer_change(engine, consumer)
    elif consumer.tells_ns:
        next_ns = min(next_ns, consumer.tells_ns)
    next_ns = min(next_ns, _expire_requests(engine, consumer))
    if consumer.deliver.chars != NULL and consumer.heartbeat_ns and consumer.has_interest:
        if consumer.beats_ns <= engine.now_ns:
            _beat(engine, consumer, consumer.deliver.chars, consumer.deliver.length)
            consumer.beats_ns = engine.now_ns + consumer.heartbeat_ns
        next_ns = min(next_ns, consumer.beats_ns)
    if next_ns != NEVER:
        consumer_wake_at(engine, consumer, next_ns)
    _look_for_use(engine, consumer)


# ---- what became of it ---------------------------------------------------------------------------------------------------


cdef void request_undeliverable(Engine* engine, int64_t token) noexcept nogil:
    """Take a delivery back that nobody got, and forget the request."""
    cdef ConsumerSlot* consumer = consumer_of(engine, <uint64_t> token >> TOKEN_NUMBER_SHIFT)
    cdef uint64_t low = <uint64_t> token & TOKEN_SEQ_MASK, seq
    cdef uint64_t id = <uint64_t> token >> TOKEN_REQUEST_SHIFT & 0xffff
    cdef Request* request
    if consumer == NULL:
        return
    seq = (consumer.machine.delivered_seq & ~<uint64_t> TOKEN_SEQ_MASK) | low
    if seq > consumer.machine.delivered_seq:
        seq -= TOKEN_SEQ_MASK + 1
    request = consumer.first
    while request != NULL and (request.id & 0xffff) != id:
        request = request.next
    if request != NULL:
        request_end(engine, consumer, request)
    machine_undo(&consumer.machine, seq)
    consumer_touch(engine, consumer, seq)
    ready_add(engine, consumer)
