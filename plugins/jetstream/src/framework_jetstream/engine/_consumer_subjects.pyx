"""Subjects by which clients reach a consumer: requests for messages, answers of flow control, and acknowledgements, by two forms:

    $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>
    $JS.ACK.<domain>.<account>.<stream>.<consumer>. ...

Both forms are heard; deliveries have one of them, as the server's `feature_flags` say. The account stands there as the hash of its name,
the domain as `_` if it has no name.

Source: ADR-15; nats-server `consumer.go`, `newConsumerWithStore`, `ackReply`.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework_jetstream.consumer._terms cimport ACK_NONE
from framework_jetstream.engine._pacing cimport flow_subject
from framework_jetstream.engine._state cimport ACCOUNT_HASH, TAG_ACK, TAG_DELIVER, TAG_FLOW, TAG_KIND_SHIFT, TAG_NEXT, TAG_NUMBER_SHIFT

cdef enum:
    PREFIX = 8
    # `$JS.ACK.`
    NEXT_PREFIX = 26
    SUBJECT_BYTES = 800


cdef uint32_t ack_prefix_length(ConsumerSlot* consumer, bint is_scoped) noexcept nogil:
    """Return how long a subject is up to the number of deliveries."""
    cdef uint32_t length = PREFIX + consumer.slot.name.length + consumer.name.length + 2
    if is_scoped:
        length += max(consumer.slot.engine.domain.length, <uint32_t> 1) + ACCOUNT_HASH + 2
    return length


cdef uint32_t _token(char* to, const char* chars, uint32_t length) noexcept nogil:
    memcpy(to, chars, length)
    to[length] = c"."
    return length + 1


cdef uint32_t _names(char* to, ConsumerSlot* consumer) noexcept nogil:
    """Write the names of stream and consumer, each with a dot behind."""
    cdef uint32_t used = _token(to, consumer.slot.name.chars, consumer.slot.name.length)
    return used + _token(to + used, consumer.name.chars, consumer.name.length)


cdef uint32_t _ack_subject(char* to, Engine* engine, ConsumerSlot* consumer, bint is_scoped) noexcept nogil:
    """Write a subject up to the number of deliveries; return its length.

    Args:
        to: Has room for `ack_prefix_length`.
    """
    cdef uint32_t used = PREFIX
    memcpy(to, b"$JS.ACK.", PREFIX)
    if is_scoped and engine.domain.length:
        used += _token(to + used, engine.domain.chars, engine.domain.length)
    elif is_scoped:
        used += _token(to + used, b"_", 1)
    if is_scoped:
        # It is there since the account has a stream.
        used += _token(to + used, engine.accounts[consumer.slot.account].hash, ACCOUNT_HASH)
    return used + _names(to + used, consumer)


# ---- hearing them ----------------------------------------------------------------------------------------------------------


cdef int64_t _tag(int64_t kind, ConsumerSlot* consumer) noexcept nogil:
    return kind << TAG_KIND_SHIFT | <int64_t> consumer.number << TAG_NUMBER_SHIFT


cdef void _subscribe(Engine* engine, ConsumerSlot* consumer, const char* subject, uint32_t length, int64_t tag) noexcept nogil:
    engine.port.subscribe(engine.port.self, consumer.slot.account, subject, length, NULL, 0, tag)


cdef void _follow_acks(Engine* engine, ConsumerSlot* consumer, bint is_scoped) noexcept nogil:
    """Hear acknowledgements by subjects of one form; deliveries may have them."""
    cdef uint32_t length = ack_prefix_length(consumer, is_scoped)
    cdef char* subject = <char*> malloc(length + 1)
    if subject == NULL:
        return
    _ack_subject(subject, engine, consumer, is_scoped)
    subject[length] = c">"
    if consumer.machine.terms.ack_policy != ACK_NONE:
        _subscribe(engine, consumer, subject, length + 1, _tag(TAG_ACK, consumer) | (SCOPED_ACKS if is_scoped else 0))
    if is_scoped == engine.has_scoped_acks:
        consumer.ack_prefix.chars = subject
        consumer.ack_prefix.length = length
    else:
        free(subject)


cdef void deliver_watch(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Hear whether anybody is there where a consumer pushes."""
    engine.port.watch(engine.port.self, consumer.slot.account, consumer.deliver.chars, consumer.deliver.length, _tag(TAG_DELIVER, consumer))


cdef void deliver_unwatch(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    engine.port.unwatch(engine.port.self, _tag(TAG_DELIVER, consumer))


cdef void consumer_follow(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Hear what clients say to a consumer."""
    cdef char subject[SUBJECT_BYTES]
    cdef uint32_t length = NEXT_PREFIX
    _follow_acks(engine, consumer, False)
    _follow_acks(engine, consumer, True)
    memcpy(subject, b"$JS.API.CONSUMER.MSG.NEXT.", NEXT_PREFIX)
    length += _names(subject + length, consumer) - 1
    _subscribe(engine, consumer, subject, length, _tag(TAG_NEXT, consumer))
    if consumer.deliver.chars != NULL:
        deliver_watch(engine, consumer)
    if consumer.machine.terms.flow_control:
        length = flow_subject(subject, consumer)
        subject[length] = c">"
        _subscribe(engine, consumer, subject, length + 1, _tag(TAG_FLOW, consumer))


cdef void consumer_unfollow(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Hear nothing more."""
    if consumer.machine.terms.ack_policy != ACK_NONE:
        engine.port.unsubscribe(engine.port.self, _tag(TAG_ACK, consumer))
        engine.port.unsubscribe(engine.port.self, _tag(TAG_ACK, consumer) | SCOPED_ACKS)
    engine.port.unsubscribe(engine.port.self, _tag(TAG_NEXT, consumer))
    if consumer.deliver.chars != NULL:
        deliver_unwatch(engine, consumer)
    if consumer.machine.terms.flow_control:
        engine.port.unsubscribe(engine.port.self, _tag(TAG_FLOW, consumer))
