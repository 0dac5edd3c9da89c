"""Messages of consumers on their way to clients: to requests in turns, or to where a consumer pushes; and what is said beside them.

What was read from streams stays where it is until the outbox is flushed, so deliveries come last in a turn.

Source: nats-server `consumer.go`, `loopAndGatherMsgs`, `deliverMsg`, `sendIdleHeartbeat`; ADR-13, ADR-15.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from framework.sublist._bytes cimport write_decimal
from framework_jetstream.consumer._consumer_machine cimport (
    Delivery, machine_expire, machine_has_more, machine_is_full, machine_next, machine_peek, machine_pending,
    machine_rest, machine_undo,
)
from framework_jetstream.engine._alarms cimport NEVER_NS, alarm_set
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._consumer_commands cimport consumer_tell_waiting
from framework_jetstream.engine._consumer_log cimport consumer_change, consumer_touch
from framework_jetstream.engine._outbox cimport outbox_add, outbox_chars
from framework_jetstream.engine._pacing cimport flow_ask_at_rest, flow_write, pace_delivered, pace_holds, pause_expire
from framework_jetstream.engine._port cimport framework_message
from framework_jetstream.engine._reading cimport reading_consumer, reading_go_on
from framework_jetstream.engine._retention cimport retention_delivered
from framework_jetstream.engine._state cimport EVENT_INACTIVE, PIN_LENGTH, Request, consumer_of, ready_add
from framework_jetstream.engine._statuses cimport request_close, request_refuse, status_begun, status_end, write_number, write_status
from framework_jetstream.engine._waiting cimport pin_expire, request_end, request_next, request_served, watch_tag
from framework_jetstream.engine._wakes cimport consumer_wake_at
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._messages cimport Record, record_header, record_is_absent, record_payload

cdef enum:
    DELIVERIES_MAX = 512
    # Of one consumer in a turn: then others have theirs.
    ACK_DIGITS = 110
    EMPTY_HEADER = 12
    # `NATS/1.0\r\n\r\n`
    TOKEN_REQUEST_SHIFT = 24
    TOKEN_SEQ_MASK = 0xffffff


cdef const char* _reply_of(Request* request) noexcept nogil:
    return <char*> (request + 1)


# ---- messages ------------------------------------------------------------------------------------------------------------


cdef framework_message* _add_message(
    Engine* engine, ConsumerSlot* consumer, Delivery* delivery, const char* to, uint32_t to_length, int64_t request
) noexcept nogil:
    """Add a message for a subject, with where it is to be acknowledged; NULL: no memory."""
    cdef const Record* record = &delivery.record
    cdef framework_message* message = outbox_add(
        &engine.outbox, consumer.slot.account, subject_chars(record.subject), record.subject.length
    )
    cdef char* chars = outbox_chars(&engine.outbox, consumer.ack_prefix.length + ACK_DIGITS + to_length)
    cdef uint32_t used = consumer.ack_prefix.length
    cdef int at
    cdef uint64_t[5] numbers
    if message == NULL or chars == NULL:
        return NULL
    numbers[0] = delivery.deliveries
    numbers[1] = record.seq
    numbers[2] = delivery.consumer_seq
    numbers[3] = <uint64_t> record.time_ns
    numbers[4] = machine_pending(&consumer.machine)
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
    if consumer.machine.terms.headers_only:
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
    retention_delivered(engine, consumer, record.seq)
    return message


cdef uint32_t _begin_header(framework_message* message, char* chars) noexcept nogil:
    """Copy the headers of a message, so that more may follow; return how long they are without their end."""
    if message.header_length <= EMPTY_HEADER:
        memcpy(chars, b"NATS/1.0\r\n", 10)
        return 10
    memcpy(chars, message.header, message.header_length - 2)
    return message.header_length - 2


cdef void _show_size(Engine* engine, framework_message* message, const Record* record) noexcept nogil:
    """Let a message without its payload say how long that is."""
    cdef char* chars = outbox_chars(&engine.outbox, record.header_length + 50)
    cdef uint32_t used
    if chars == NULL:
        return
    used = _begin_header(message, chars)
    used += write_number(chars + used, b"Nats-Msg-Size: ", 15, record.payload_length)
    message.header = chars
    status_end(message, chars, used)


cdef void _show_pin(Engine* engine, ConsumerSlot* consumer, framework_message* message) noexcept nogil:
    """Let a message say which client is pinned."""
    cdef char* chars = outbox_chars(&engine.outbox, message.header_length + 60)
    cdef uint32_t used
    if chars == NULL:
        return
    used = _begin_header(message, chars)
    memcpy(chars + used, b"Nats-Pin-Id: ", 13)
    memcpy(chars + used + 13, consumer.pin, PIN_LENGTH)
    memcpy(chars + used + 13 + PIN_LENGTH, b"\r\n", 2)
    message.header = chars
    status_end(message, chars, used + 15 + PIN_LENGTH)


cdef int64_t _digits(uint64_t value) noexcept nogil:
    cdef int64_t count = 1
    while value >= 10000:
        value //= 10000
        count += 4
    while value >= 10:
        value //= 10
        count += 1
    return count


cdef int64_t _size(ConsumerSlot* consumer, const Record* record) noexcept nogil:
    """Return how many bytes a delivery counts: subject, reply, headers and payload."""
    cdef int64_t size = (
        record.subject.length + consumer.ack_prefix.length + 5 + _digits(record.seq) + _digits(consumer.machine.consumer_seq + 1)
        + _digits(<uint64_t> record.time_ns) + _digits(max(machine_pending(&consumer.machine), <uint64_t> 1) - 1)
    )
    if not consumer.machine.terms.headers_only:
        return size + record.header_length + record.payload_length
    return size + max(record.header_length, <uint32_t> EMPTY_HEADER) + 17 + _digits(record.payload_length)


cdef bint _serve_request(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Deliver one message to the request whose turn it is; False: there is none, or no message."""
    cdef Request* request
    cdef Delivery delivery
    cdef framework_message* message
    cdef Record record = machine_peek(&consumer.machine)
    cdef int64_t size
    if record.seq == 0:
        return False
    if record_is_absent(&record):
        if consumer.slot.is_refused:
            consumer_tell_waiting(engine, consumer, b"503 Stream Offline", 18)
        else:
            reading_consumer(engine, consumer, record.seq)
        return False
    size = _size(consumer, &record)
    if pace_holds(engine, consumer, &record, size):
        return False
    request = request_next(engine, consumer, size)
    if request == NULL or not machine_next(&consumer.machine, &delivery, engine.now_ns):
        return False
    if request.has_bytes:
        request.bytes_left -= size
    message = _add_message(engine, consumer, &delivery, _reply_of(request), request.reply_length, <int64_t> request.id)
    if message != NULL:
        if consumer.pin_length:
            _show_pin(engine, consumer, message)
        pace_delivered(engine, consumer, message, record.time_ns)
    request_served(engine, consumer, request)
    return True


cdef bint _is_over(ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Whether a request that does not wait has got all there is."""
    return request.no_wait and (request.expires_ns == 0 or request.has_got) and (
        not request.behind or request.behind <= consumer.slot.group.applied
    )


cdef void _say_no_more(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil:
    cdef Text reply
    reply.chars = _reply_of(request)
    reply.length = request.reply_length
    request_refuse(engine, consumer, reply, b"404 No Messages", 15)
    request_end(engine, consumer, request)


cdef void _end_at_once(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """End requests that do not wait for more than there is, and look whether the others' clients stay."""
    cdef Request* request = consumer.first
    cdef Request* following
    # What is only held back is still to come.
    cdef bint has_no_more = (
        not consumer.is_stalled and not consumer.is_reading and not consumer.resumes_ns and not machine_is_full(&consumer.machine)
    )
    while request != NULL:
        following = request.next
        if has_no_more and _is_over(consumer, request):
            _say_no_more(engine, consumer, request)
        elif not request.is_watched:
            request.is_watched = 1
            engine.port.watch(
                engine.port.self, consumer.slot.account, _reply_of(request), request.reply_length, watch_tag(consumer, request.id)
            )
        request = following


cdef void _deliver_pulled(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef int sent = 0
    while consumer.first != NULL and not consumer.is_stalled and not consumer.is_paused and machine_has_more(&consumer.machine):
        if sent == DELIVERIES_MAX:
            ready_add(engine, consumer)
            return
        if not _serve_request(engine, consumer):
            break
        sent += 1
    if consumer.first != NULL:
        _rest(consumer)
        _end_at_once(engine, consumer)


cdef void _rest(ConsumerSlot* consumer) noexcept nogil:
    if not consumer.is_stalled and not consumer.is_reading and not consumer.is_paused and not machine_is_full(&consumer.machine):
        machine_rest(&consumer.machine)


cdef void _deliver_pushed(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef Delivery delivery
    cdef framework_message* message
    cdef Record record
    cdef int sent = 0
    while consumer.has_interest and not consumer.is_stalled and not consumer.is_paused and machine_has_more(&consumer.machine):
        if sent == DELIVERIES_MAX:
            ready_add(engine, consumer)
            return
        record = machine_peek(&consumer.machine)
        if record_is_absent(&record):
            reading_consumer(engine, consumer, record.seq)
            return
        if record.seq == 0 or pace_holds(engine, consumer, &record, _size(consumer, &record)):
            return
        if not machine_next(&consumer.machine, &delivery, engine.now_ns):
            return
        message = _add_message(engine, consumer, &delivery, consumer.deliver.chars, consumer.deliver.length, 0)
        if message != NULL:
            pace_delivered(engine, consumer, message, record.time_ns)
        consumer.beats_ns = engine.now_ns + consumer.machine.terms.heartbeat_ns
        sent += 1
    if consumer.has_interest:
        _rest(consumer)


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
        reading_go_on(engine, consumer.slot)
        if consumer.machine.pending_live and consumer.machine.terms.ack_wait_ns > 0:
            consumer_wake_at(engine, consumer, engine.now_ns + _least_wait(consumer))


# ---- time ----------------------------------------------------------------------------------------------------------------


cdef void _beat(Engine* engine, ConsumerSlot* consumer, const char* to, uint32_t length) noexcept nogil:
    """Say that the server is there, and where the consumer stands."""
    cdef framework_message* message
    cdef char* chars = status_begun(engine, consumer, to, length, &message)
    cdef uint32_t used
    if chars == NULL:
        return
    used = write_status(chars, b"100 Idle Heartbeat", 18)
    used += write_number(chars + used, b"Nats-Last-Consumer: ", 20, consumer.machine.consumer_seq)
    used += write_number(chars + used, b"Nats-Last-Stream: ", 18, consumer.machine.delivered_seq)
    if consumer.flow_asked:
        memcpy(chars + used, b"Nats-Consumer-Stalled: ", 23)
        used += 23 + flow_write(chars + used + 23, consumer)
        memcpy(chars + used, b"\r\n", 2)
        used += 2
    status_end(message, chars, used)


cdef bint _is_due(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Whether a request has run out of time, or wants to hear a heartbeat."""
    cdef Request* request = consumer.first
    while request != NULL:
        if request.expires_ns and request.expires_ns <= engine.now_ns or request.heartbeat_ns and request.beats_ns <= engine.now_ns:
            return True
        request = request.next
    return False


cdef bint _is_held_by_acks(ConsumerSlot* consumer) noexcept nogil:
    """Whether nothing is delivered because too much waits to be acknowledged.

    Requests that do not wait stay then until others run out of time or hear heartbeats, as with nats-server.
    """
    return machine_is_full(&consumer.machine) and not consumer.is_stalled and not consumer.is_reading and not consumer.resumes_ns


cdef int64_t _expire_requests(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """End requests whose time is over, and send heartbeats; return when there is something to do again."""
    cdef Request* request = consumer.first
    cdef Request* following
    cdef int64_t next_ns = NEVER_NS
    cdef bint has_looked = _is_due(engine, consumer) and _is_held_by_acks(consumer)
    while request != NULL:
        following = request.next
        if request.expires_ns and request.expires_ns <= engine.now_ns:
            request_close(engine, consumer, request, b"408 Request Timeout", 19)
            request_end(engine, consumer, request)
            request = following
            continue
        if has_looked and _is_over(consumer, request):
            _say_no_more(engine, consumer, request)
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
    cdef int64_t inactive_ns = consumer.machine.terms.inactive_ns
    if not inactive_ns:
        return
    if consumer.first != NULL or (consumer.deliver.chars != NULL and consumer.has_interest):
        consumer.active_ns = engine.now_ns
    if engine.now_ns - consumer.active_ns >= inactive_ns:
        if not consumer.is_ending:
            consumer.is_ending = 1
            answer_made(engine, -<int64_t> consumer.number, EVENT_INACTIVE, 0)
        return
    consumer_wake_at(engine, consumer, consumer.active_ns + inactive_ns)


cdef void consumer_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Do what the time says: deliver again, end requests, send heartbeats."""
    cdef int64_t next_ns = NEVER_NS
    alarm_set(&engine.alarms, &consumer.alarm, NEVER_NS)
    if consumer.machine.pending_live:
        next_ns = machine_expire(&consumer.machine, engine.now_ns)
        if consumer.machine.queued:
            ready_add(engine, consumer)
    if consumer.tells_ns and consumer.tells_ns <= engine.now_ns:
        consumer_change(engine, consumer)
    elif consumer.tells_ns:
        next_ns = min(next_ns, consumer.tells_ns)
    next_ns = min(next_ns, _expire_requests(engine, consumer))
    next_ns = min(next_ns, pin_expire(engine, consumer))
    if consumer.resumes_ns:
        if consumer.resumes_ns <= engine.now_ns:
            consumer.resumes_ns = 0
            ready_add(engine, consumer)
        else:
            next_ns = min(next_ns, consumer.resumes_ns)
    if pause_expire(engine, consumer):
        next_ns = min(next_ns, engine.now_ns + consumer.machine.terms.pause_until_ns - engine.unix_ns)
    if consumer.deliver.chars != NULL and consumer.machine.terms.heartbeat_ns and consumer.has_interest:
        if consumer.beats_ns <= engine.now_ns:
            _beat(engine, consumer, consumer.deliver.chars, consumer.deliver.length)
            flow_ask_at_rest(engine, consumer)
            consumer.beats_ns = engine.now_ns + consumer.machine.terms.heartbeat_ns
        next_ns = min(next_ns, consumer.beats_ns)
    if next_ns != NEVER_NS:
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
