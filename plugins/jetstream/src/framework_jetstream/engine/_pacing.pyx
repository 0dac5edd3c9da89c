"""What holds deliveries of a consumer back: a pause, a replay at the rate at which messages came, a rate limit, flow control.

Flow control: a consumer that pushes asks its client now and then to answer, and goes on only while not too much is on its way. How much
may be grows with each answer. Until there is one, heartbeats name the subject of the open request.

Source: nats-server `consumer.go`, `loopAndGatherMsgs`, `needFlowControl`, `processFlowControl`, `setRateLimit`, `updatePauseState`; ADR-15.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from framework.sublist._bytes cimport hash_bytes
from framework_jetstream.consumer._consumer_machine cimport machine_is_full
from framework_jetstream.consumer._terms cimport ACK_FLOW_CONTROL
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._retention cimport retention_ack
from framework_jetstream.engine._state cimport EVENT_RESUMED, ready_add
from framework_jetstream.engine._statuses cimport status_begun, status_end, write_status
from framework_jetstream.engine._wakes cimport consumer_wake_at, wake_at_unix
from framework_jetstream.stream._headers cimport header_value, seq_of_text

cdef enum:
    FLOW_BYTES_MAX = 33554432
    FLOW_BYTES_FIRST = 2097152
    # On their way to a client at most, and at first.
    FLOW_DIGITS = 4
    ACK_PREFIX = 8
    # `$JS.ACK.`
    SECOND_NS = 1000000000
    REPLAY_NS = 1000000
    # Messages that were stored so close to each other are delivered without a pause.

cdef const char* DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


cdef void pace_begin(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Begin with a new consumer."""
    consumer.flow_bytes_max = FLOW_BYTES_FIRST
    consumer.replay_end_seq = consumer.slot.stream.messages.last_seq if consumer.machine.terms.replays else 0
    pace_update(engine, consumer)


cdef void pace_update(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Follow what has changed of a consumer."""
    consumer.is_paused = consumer.machine.terms.pause_until_ns > engine.unix_ns
    if consumer.is_paused:
        wake_at_unix(engine, consumer.machine.terms.pause_until_ns)


cdef bint pause_expire(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Go on when a pause has ended; True: it has not."""
    if not consumer.is_paused:
        return False
    if consumer.machine.terms.pause_until_ns > engine.unix_ns:
        wake_at_unix(engine, consumer.machine.terms.pause_until_ns)
        return True
    consumer.is_paused = 0
    answer_made(engine, -<int64_t> consumer.number, EVENT_RESUMED, 0)
    ready_add(engine, consumer)
    return False


cdef void _wait(Engine* engine, ConsumerSlot* consumer, int64_t when_ns) noexcept nogil:
    consumer.resumes_ns = when_ns
    consumer_wake_at(engine, consumer, when_ns)


cdef bint _replay_holds(Engine* engine, ConsumerSlot* consumer, const Record* record) noexcept nogil:
    cdef int64_t apart_ns = record.time_ns - consumer.replayed_unix_ns
    if record.seq > consumer.replay_end_seq:
        consumer.replay_end_seq = 0
        return False
    if consumer.replayed_unix_ns == 0 or apart_ns <= REPLAY_NS or consumer.replayed_ns + apart_ns <= engine.now_ns:
        return False
    _wait(engine, consumer, consumer.replayed_ns + apart_ns)
    return True


cdef bint _rate_holds(Engine* engine, ConsumerSlot* consumer, int64_t size) noexcept nogil:
    """Whether a message would come before its time; else it is counted."""
    cdef int64_t rate = consumer.machine.terms.rate_bytes
    cdef int64_t full_ns = max(consumer.rate_full_ns, engine.now_ns)
    cdef int64_t least = max(consumer.machine.terms.rate_burst_bytes, size)
    cdef int64_t burst_ns = <int64_t> (<double> least * SECOND_NS / <double> rate)
    full_ns += <int64_t> (<double> size * SECOND_NS / <double> rate)
    if full_ns - engine.now_ns > burst_ns:
        _wait(engine, consumer, full_ns - burst_ns)
        return True
    consumer.rate_full_ns = full_ns
    return False


cdef bint pace_holds(Engine* engine, ConsumerSlot* consumer, const Record* record, int64_t size) noexcept nogil:
    """Whether the next message has to wait; the consumer is looked at again then.

    Args:
        size: Bytes of its subject, reply, headers and payload.
    """
    if consumer.machine.terms.flow_control and consumer.flow_bytes > consumer.flow_bytes_max:
        return True
    if consumer.replay_end_seq and _replay_holds(engine, consumer, record):
        return True
    return consumer.machine.terms.rate_bytes > 0 and _rate_holds(engine, consumer, size)


cdef void pace_delivered(Engine* engine, ConsumerSlot* consumer, framework_message* message, int64_t stored_ns) noexcept nogil:
    """Count a message that goes, and ask its client for an answer if much is on its way."""
    cdef int64_t size
    consumer.replayed_ns = engine.now_ns
    consumer.replayed_unix_ns = stored_ns
    if not consumer.machine.terms.flow_control:
        return
    size = message.inbox_length + message.reply_length + message.header_length + message.payload_length
    consumer.flow_bytes += size
    if consumer.flow_asked:
        if consumer.flow_bytes - consumer.flow_asked_bytes >= consumer.flow_bytes_max:
            consumer.flow_asked_bytes += size
    elif consumer.flow_bytes > consumer.flow_bytes_max // 2 or (
        consumer.machine.terms.ack_policy == ACK_FLOW_CONTROL and machine_is_full(&consumer.machine)
    ):
        flow_ask(engine, consumer)


# ---- flow control --------------------------------------------------------------------------------------------------------


cdef unsigned int flow_subject(char* to, ConsumerSlot* consumer) noexcept nogil:
    """Write where answers of flow control go, up to the number of each; return its length."""
    cdef uint32_t names = consumer.ack_prefix.length - ACK_PREFIX
    memcpy(to, b"$JS.FC.", 7)
    memcpy(to + 7, consumer.ack_prefix.chars + ACK_PREFIX, names)
    return 7 + names


cdef unsigned int flow_write(char* to, ConsumerSlot* consumer) noexcept nogil:
    """Write the subject that the answer to the open request of flow control goes to; return its length."""
    cdef uint32_t length = flow_subject(to, consumer), at
    cdef uint64_t rest = consumer.flow_asked
    for at in range(FLOW_DIGITS):
        to[length + at] = DIGITS[rest % 62]
        rest //= 62
    return length + FLOW_DIGITS


cdef void flow_ask(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Ask the client to answer."""
    cdef framework_message* message
    cdef char reply[800]
    cdef char* chars
    cdef uint32_t length
    engine.drawn += 1
    consumer.flow_asked = hash_bytes(engine.seed, <char*> &engine.drawn, 8) | 1
    consumer.flow_asked_bytes = consumer.flow_bytes
    chars = status_begun(engine, consumer, consumer.deliver.chars, consumer.deliver.length, &message)
    if chars == NULL:
        return
    status_end(message, chars, write_status(chars, b"100 FlowControl Request", 23))
    length = flow_write(reply, consumer)
    chars += message.header_length
    memcpy(chars, reply, length)
    message.reply = chars
    message.reply_length = length


cdef void flow_ask_at_rest(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Ask at a heartbeat, where answers are acknowledgements."""
    if consumer.machine.terms.ack_policy == ACK_FLOW_CONTROL and consumer.machine.pending_live and not consumer.flow_asked:
        flow_ask(engine, consumer)


cdef bint flow_row(Engine* engine, ConsumerSlot* consumer, const framework_batch* batch, const framework_row* row) noexcept nogil:
    """Take an answer; False: it is not that to the open request."""
    cdef char wanted[800]
    cdef const char* header = batch.chars + row.at + row.subject_length + row.reply_length
    cdef uint64_t seq
    if not consumer.flow_asked or flow_write(wanted, consumer) != row.subject_length or memcmp(
        wanted, batch.chars + row.at, row.subject_length
    ):
        return False
    consumer.flow_bytes_max = min(consumer.flow_bytes_max * 2, <int64_t> FLOW_BYTES_MAX)
    consumer.flow_bytes = max(consumer.flow_bytes - consumer.flow_asked_bytes, <int64_t> 0)
    consumer.flow_asked = 0
    consumer.flow_asked_bytes = 0
    if consumer.machine.terms.ack_policy == ACK_FLOW_CONTROL and row.header_length:
        seq = seq_of_text(header_value(header, row.header_length, b"Nats-Last-Stream", 16))
        if seq and seq != <uint64_t> -1:
            retention_ack(engine, consumer, seq)
            consumer.last_ack_ns = engine.unix_ns
    ready_add(engine, consumer)
    return True
