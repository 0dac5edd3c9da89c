"""Requests that wait for messages of a pull consumer: whose turn it is.

They take turns message by message, in the order in which they came. A priority policy changes that: `overflow` serves a request only while
much is pending, `pinned_client` serves the client of one request until it is silent for too long, `prioritized` serves low numbers first.

Source: nats-server `consumer.go`, `waitQueue`, `nextWaiting`, `assignNewPinId`, `setPinnedTimer`; ADR-13, ADR-42.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from framework.sublist._bytes cimport hash_bytes
from framework_jetstream.consumer._consumer_machine cimport machine_ack_pending, machine_pending
from framework_jetstream.consumer._terms cimport PRIORITY_OVERFLOW, PRIORITY_PINNED
from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._state cimport (
    EVENT_PINNED, EVENT_UNPINNED, PIN_LENGTH, TAG_DELIVER, TAG_KIND_SHIFT, TAG_NUMBER_SHIFT, Answer,
)
from framework_jetstream.engine._statuses cimport request_close
from framework_jetstream.engine._wakes cimport consumer_wake_at
from framework_jetstream.stream._headers cimport Text

cdef const char* DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


cdef int64_t watch_tag(ConsumerSlot* consumer, uint64_t id) noexcept nogil:
    """Return the tag of a watch of a request, or of where a consumer pushes: 0."""
    return <int64_t> TAG_DELIVER << TAG_KIND_SHIFT | <int64_t> consumer.number << TAG_NUMBER_SHIFT | <int64_t> (id & 0xffffff)


# ---- their order ---------------------------------------------------------------------------------------------------------


cdef void request_add(ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Put a request behind those of its priority and of higher ones; they all have one where there is no such policy."""
    cdef Request** at = &consumer.first
    if consumer.last != NULL and consumer.last.priority <= request.priority:
        at = &consumer.last.next
    else:
        while at[0] != NULL and at[0].priority <= request.priority:
            at = &at[0].next
    request.next = at[0]
    at[0] = request
    if request.next == NULL:
        consumer.last = request
    consumer.waiting += 1


cdef void _take_out(ConsumerSlot* consumer, Request* request) noexcept nogil:
    cdef Request** at = &consumer.first
    cdef Request* before = NULL
    while at[0] != request:
        before = at[0]
        at = &at[0].next
    at[0] = request.next
    if consumer.last == request:
        consumer.last = before
    consumer.waiting -= 1


cdef void request_end(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Forget a request."""
    _take_out(consumer, request)
    if request.is_watched:
        engine.port.unwatch(engine.port.self, watch_tag(consumer, request.id))
    free(request)


cdef void consumer_unrequest(Engine* engine, ConsumerSlot* consumer, uint64_t id) noexcept nogil:
    """Forget a request whose client is gone, by the low part of its id."""
    cdef Request* request = consumer.first
    while request != NULL and (request.id & 0xffffff) != id:
        request = request.next
    if request != NULL:
        request_end(engine, consumer, request)


cdef void _end_with(Engine* engine, ConsumerSlot* consumer, Request* request, const char* status, uint32_t length) noexcept nogil:
    request_close(engine, consumer, request, status, length)
    request_end(engine, consumer, request)


cdef void requests_leave(Engine* engine) noexcept nogil:
    """Tell all clients that wait that the server stops; where others have the consumer, too, the next leader serves them.

    Source: nats-server `jetstream.go`, `signalPullConsumers`.
    """
    cdef ConsumerSlot* consumer
    cdef uint32_t at
    for at in range(engine.consumer_room):
        consumer = engine.consumers[at]
        if consumer == NULL or consumer.slot == NULL or (consumer.group != NULL and consumer.group.replica != NULL):
            continue
        while consumer.first != NULL:
            _end_with(engine, consumer, consumer.first, b"409 Server Shutdown", 19)


cdef void _cycle(ConsumerSlot* consumer) noexcept nogil:
    """Let the first request wait behind the others."""
    cdef Request* request = consumer.first
    _take_out(consumer, request)
    request_add(consumer, request)


# ---- the pinned client -----------------------------------------------------------------------------------------------------


cdef void _say_pin(Engine* engine, ConsumerSlot* consumer, int kind) noexcept nogil:
    cdef Text* group = &consumer.groups[consumer.pinned_group]
    cdef size_t length = group.length + (1 + PIN_LENGTH if kind == EVENT_PINNED else 0)
    cdef Answer* answer = answer_made(engine, -<int64_t> consumer.number, kind, length)
    cdef char* to
    if answer == NULL:
        return
    to = answer_bytes(answer)
    memcpy(to, group.chars, group.length)
    if kind == EVENT_PINNED:
        to[group.length] = c"\n"
        memcpy(to + group.length + 1, consumer.pin, PIN_LENGTH)


cdef void _pin(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Serve the client of a request alone from now on, by an id that nobody guesses."""
    cdef uint64_t[2] parts
    cdef uint64_t drawn
    cdef uint32_t at
    engine.drawn += 1
    drawn = engine.drawn
    parts[0] = hash_bytes(engine.seed, <char*> &drawn, 8)
    parts[1] = hash_bytes(engine.seed ^ parts[0], <char*> &drawn, 8)
    for at in range(PIN_LENGTH):
        consumer.pin[at] = DIGITS[parts[at & 1] % 62]
        parts[at & 1] //= 62
    consumer.pin_length = request.pin_length = PIN_LENGTH
    memcpy(request.pin, consumer.pin, PIN_LENGTH)
    consumer.pinned_group = request.group
    consumer.pinned_unix_ns = engine.unix_ns
    pin_extend(engine, consumer)
    _say_pin(engine, consumer, EVENT_PINNED)


cdef void pin_extend(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Let the pinned client be silent for as long as it may be from now on."""
    consumer.pinned_until_ns = engine.now_ns + consumer.machine.terms.pinned_ns
    consumer_wake_at(engine, consumer, consumer.pinned_until_ns)


cdef void pin_forget(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Let the next request choose who is pinned."""
    consumer.pin_length = 0
    consumer.pinned_unix_ns = 0


cdef int64_t pin_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Forget a client that was silent for too long; return when that will be."""
    if consumer.pin_length == 0:
        return NEVER
    if consumer.pinned_until_ns > engine.now_ns:
        return consumer.pinned_until_ns
    pin_forget(engine, consumer)
    _say_pin(engine, consumer, EVENT_UNPINNED)
    return NEVER


# ---- whose turn it is ------------------------------------------------------------------------------------------------------


cdef bint _has_pin(ConsumerSlot* consumer, Request* request) noexcept nogil:
    return (
        consumer.pin_length and request.pin_length == consumer.pin_length
        and memcmp(request.pin, consumer.pin, consumer.pin_length) == 0
    )


cdef bint _overflows(ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Whether as much is pending as a request waits for."""
    cdef uint64_t pending = machine_pending(&consumer.machine) + (consumer.machine.queued > consumer.machine.unheard)
    if request.min_pending <= 0 and request.min_ack_pending <= 0:
        return True
    return (
        (request.min_pending > 0 and <uint64_t> request.min_pending <= pending)
        or (request.min_ack_pending > 0 and request.min_ack_pending <= <int64_t> machine_ack_pending(&consumer.machine))
    )


cdef Request* request_next(Engine* engine, ConsumerSlot* consumer, int64_t size) noexcept nogil:
    """Return the request that gets the next message; NULL: none does now. Requests that can't be served any more are ended.

    Args:
        size: Bytes of the message, as requests count them.
    """
    cdef Request* request
    cdef uint32_t cycled = 0
    cdef bint was_pinned
    cdef int policy = consumer.machine.terms.priority_policy
    while consumer.first != NULL:
        request = consumer.first
        was_pinned = consumer.pin_length > 0
        if request.expires_ns and request.expires_ns <= engine.now_ns:
            _end_with(engine, consumer, request, b"408 Request Timeout", 19)
            continue
        if policy == PRIORITY_PINNED and not _has_pin(consumer, request):
            if request.pin_length:
                _end_with(engine, consumer, request, b"423 Nats-Wrong-Pin-Id", 21)
                continue
            if was_pinned:
                _cycle(consumer)
                cycled += 1
                if cycled >= consumer.waiting:
                    return NULL
                continue
            _pin(engine, consumer, request)
        if policy == PRIORITY_OVERFLOW and not _overflows(consumer, request):
            _cycle(consumer)
            cycled += 1
            if cycled >= consumer.waiting:
                return NULL
            continue
        if request.has_bytes and size > request.bytes_left:
            _end_with(engine, consumer, request, b"409 Message Size Exceeds MaxBytes", 33)
            if not was_pinned:
                pin_forget(engine, consumer)
            continue
        return request
    return NULL


cdef bint request_served(Engine* engine, ConsumerSlot* consumer, Request* request) noexcept nogil:
    """Count a message that a request got, and let it wait behind the others; False: it has ended."""
    request.left -= 1
    request.has_got = 1
    request.beats_ns = engine.now_ns + request.heartbeat_ns
    if request.has_bytes and request.bytes_left == 0:
        request.left = 0
    if request.left > 0:
        if consumer.waiting > 1:
            _cycle(consumer)
        return True
    if request.has_bytes and request.bytes_left:
        request_close(engine, consumer, request, b"409 Batch Completed", 19)
    request_end(engine, consumer, request)
    return False
