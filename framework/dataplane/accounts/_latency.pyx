"""Service latency samples. Source: ADR-3.

Source: ADR-3; nats-server `accounts.go`, `shouldSample`, `sendTrackingLatency`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport random_next, record_chars, record_new
from framework.dataplane.protocol._headers cimport header_value
from framework.dataplane.protocol._info cimport info_put, info_room
from framework.dataplane._state cimport (
    IS_PEER, IS_USER, RECORD_LATENCY, Import, Link, Message, Record, ResponseMapping, State,
)

cdef enum:
    ALWAYS = 1
    BY_HEADER = 2
    OK = 200
    BAD_REQUEST = 400
    # There was no reply subject.
    REQUESTOR_LEFT = 408
    UNAVAILABLE = 503
    SERVICE_TIMEOUT = 504
    # Endings of `_response_mappings.pxd`.
    NOT_DELIVERED = 1
    TOO_LATE = 2
    HEADER_KEPT_BYTES = 4096
    # Of a request, until it is answered: many may wait.


# ---- whether a sample is taken -----------------------------------------------------------------------------------------


cdef int _hex(char c) noexcept nogil:
    if c"0" <= c <= c"9":
        return c - c"0"
    if c"a" <= (c | 0x20) <= c"f":
        return (c | 0x20) - c"a" + 10
    return -1


cdef const char* _last_part(const char* value, size_t* length, char separator, size_t parts) noexcept nogil:
    """Return the last of exactly so many parts, and its length; NULL: there are more or fewer."""
    cdef size_t at, start = 0, count = 1
    for at in range(length[0]):
        if value[at] == separator:
            count += 1
            start = at + 1
    if count != parts:
        return NULL
    length[0] -= start
    return value + start


cdef bint _uber_asks(const char* value, size_t length) noexcept nogil:
    """Whether the flags, one or two hexadecimal digits behind the third colon, have their lowest bit set."""
    cdef const char* flags = _last_part(value, &length, c":", 4)
    if flags == NULL or length < 1 or length > 2 or _hex(flags[0]) < 0 or _hex(flags[length - 1]) < 0:
        return False
    return _hex(flags[length - 1]) & 1


cdef bint traceparent_asks(const char* value, size_t length) noexcept nogil:
    """Whether the flags of W3C's `traceparent` say that it is sampled; nats-server takes two digits up to 7f."""
    cdef const char* flags = _last_part(value, &length, c"-", 4)
    if flags == NULL or length != 2 or not 0 <= _hex(flags[0]) <= 7 or _hex(flags[1]) < 0:
        return False
    return _hex(flags[1]) & 1


cdef bint _b3_asks(const char* value, size_t length) noexcept nogil:
    """Whether a `b3` field does not say that nothing is sampled: `0`, or `0` as its third part."""
    cdef size_t at, count = 0, start = 0
    for at in range(length + 1):
        if at == length or value[at] == c"-":
            if at - start == 1 and value[start] == c"0" and (count == 2 or (count == 0 and at == length)):
                return False
            count += 1
            start = at + 1
    return True


cdef bint _header_asks(const char* header, size_t length) noexcept nogil:
    cdef const char* value
    cdef size_t count = 0
    value = header_value(header, length, b"uber-trace-id", 13, True, &count)
    if value != NULL:
        return _uber_asks(value, count)
    value = header_value(header, length, b"x-b3-sampled", 12, True, &count)
    if value != NULL and count == 1 and (value[0] == c"0" or value[0] == c"1"):
        return value[0] == c"1"
    if header_value(header, length, b"x-b3-traceid", 12, True, &count) != NULL:
        return True
    value = header_value(header, length, b"b3", 2, True, &count)
    if value != NULL:
        return _b3_asks(value, count)
    value = header_value(header, length, b"traceparent", 11, True, &count)
    return value != NULL and traceparent_asks(value, count)


cdef int sample_wanted(State* state, Import* imported, Message* message) noexcept nogil:
    """Return ALWAYS or BY_HEADER when the answer to a request is to be timed, else 0."""
    if imported.latency == 0:
        return 0
    if imported.latency_percent >= 100:
        return ALWAYS
    if imported.latency_percent > 0 and <int> ((random_next(state) >> 32) % 100) < imported.latency_percent:
        return ALWAYS
    return BY_HEADER if message.header_length and _header_asks(message.body, message.header_length) else 0


# ---- taking it -----------------------------------------------------------------------------------------------------------


cdef size_t sample_info(State* state, Link* link, bint full, char** info) noexcept nogil:
    """Return the length of a link's JSON in memory that the caller frees."""
    info[0] = NULL
    if not link.traits & IS_USER or link.info == NULL:
        return 0
    info[0] = <char*> malloc(info_room(state, link, NULL))
    return info_put(state, link, full, False, NULL, info[0]) if info[0] != NULL else 0


cdef void _report(
    State* state, int64_t token, SampleRecord* sample, const char* requestor, const char* responder, const char* header,
    const char* reply
) noexcept nogil:
    cdef size_t length = sizeof(SampleRecord) + sample.requestor_length + sample.responder_length + sample.header_length
    cdef Record* record = record_new(state, RECORD_LATENCY, NULL, length + sample.reply_length)
    cdef char* at
    if record == NULL:
        return
    record.number = token
    at = record_chars(record)
    memcpy(at, sample, sizeof(SampleRecord))
    at += sizeof(SampleRecord)
    if sample.requestor_length:
        memcpy(at, requestor, sample.requestor_length)
    at += sample.requestor_length
    if sample.responder_length:
        memcpy(at, responder, sample.responder_length)
    at += sample.responder_length
    if sample.header_length:
        memcpy(at, header, sample.header_length)
    at += sample.header_length
    if sample.reply_length:
        memcpy(at, reply, sample.reply_length)


cdef size_t _whole_lines(const char* header, size_t length) noexcept nogil:
    """Return how much of the beginning of a header block is whole lines."""
    while length and header[length - 1] != c"\n":
        length -= 1
    return length


cdef void sample_begin(State* state, ResponseMapping* answer, Import* imported, Message* message, bint with_header) noexcept nogil:
    """Time the answer to a request. A requestor whose round trip is not known is asked for it at once."""
    answer.latency = imported.latency
    answer.info_length = sample_info(state, message.source, imported.share, &answer.info)
    answer.requestor_rtt_ns = message.source.rtt_ns
    if message.source.traits & IS_USER and message.source.rtt_ns == 0 and message.source.pings_out == 0:
        message.source.ping_due_ns = min(message.source.ping_due_ns, state.now_ns)
    if with_header:
        answer.header_length = _whole_lines(message.body, min(message.header_length, <size_t> HEADER_KEPT_BYTES))
        answer.header = <char*> malloc(answer.header_length + 1)
        if answer.header == NULL:
            answer.header_length = 0
            return
        memcpy(answer.header, message.body, answer.header_length)


cdef SampleRecord _sample(State* state, ResponseMapping* answer, int status) noexcept nogil:
    cdef SampleRecord sample
    sample.started_ns = answer.started_ns
    sample.ended_ns = state.now_ns
    sample.requestor_rtt_ns = answer.requestor_rtt_ns
    sample.responder_rtt_ns = 0
    sample.status = status
    sample.requestor_length = <uint32_t> answer.info_length
    sample.responder_length = 0
    sample.header_length = <uint32_t> answer.header_length
    sample.reply_length = 0
    return sample


cdef void sample_answered(State* state, ResponseMapping* answer, Message* message) noexcept nogil:
    """Report the first answer to a request that is timed. Of one by a route, that server tells its latency."""
    cdef SampleRecord sample = _sample(state, answer, OK)
    cdef char* responder
    sample.responder_length = <uint32_t> sample_info(state, message.source, True, &responder)
    sample.responder_rtt_ns = message.source.rtt_ns if message.source.traits & IS_USER else 0
    if message.source.traits & IS_PEER and state.node[0]:
        sample.reply_length = answer.key.length
    _report(state, answer.latency, &sample, answer.info, responder, answer.header, answer.key.chars)
    free(responder)
    answer.sampled = 1


cdef void sample_failed(State* state, ResponseMapping* answer, int ending) noexcept nogil:
    """Report that a request that is timed gets no answer."""
    cdef int status = UNAVAILABLE if ending == NOT_DELIVERED else SERVICE_TIMEOUT if ending == TOO_LATE else REQUESTOR_LEFT
    cdef SampleRecord sample = _sample(state, answer, status)
    _report(state, answer.latency, &sample, answer.info, b"", answer.header, b"")


cdef void sample_refused(State* state, Import* imported, Message* message, bint with_header) noexcept nogil:
    """Report a request that would be timed but says nowhere to answer to."""
    cdef SampleRecord sample
    cdef char* requestor
    sample.started_ns = sample.ended_ns = state.now_ns
    sample.requestor_rtt_ns = message.source.rtt_ns
    sample.responder_rtt_ns = 0
    sample.status = BAD_REQUEST
    sample.requestor_length = <uint32_t> sample_info(state, message.source, imported.share, &requestor)
    sample.responder_length = 0
    sample.header_length = <uint32_t> (message.header_length if with_header else 0)
    sample.reply_length = 0
    _report(state, imported.latency, &sample, requestor, b"", message.body, b"")
    free(requestor)
