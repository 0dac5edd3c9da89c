"""Records of verdicts: whether what a gate answered makes sense.

Whoever decides may be compiled code of a plugin: an answer is judged as a whole before any of it is carried out.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp, memcpy

from framework.dataplane.accounts._interest cimport is_literal_subject
from framework.dataplane._state cimport GateBatch, State


cdef bint _is_plain(const char* text, size_t length) noexcept nogil:
    """Whether a text fits into a line: no control characters, no quote that would end it."""
    cdef size_t at
    if length > REFUSAL_BYTES_MAX:
        return False
    for at in range(length):
        if <unsigned char> text[at] < 32 or text[at] == 127 or text[at] == c"'":
            return False
    return True


cdef bint _is_header(const char* header, size_t length) noexcept nogil:
    return length == 0 or (length >= 12 and memcmp(header, b"NATS/1.0", 8) == 0 and memcmp(header + length - 4, b"\r\n\r\n", 4) == 0)


cdef bint _is_subject(const char* subject, size_t length) noexcept nogil:
    cdef size_t at
    for at in range(length):
        if <unsigned char> subject[at] <= 32 or subject[at] == 127:
            return False
    return is_literal_subject(subject, length)


cdef const char* _changed_wrong(State* state, GateVerdict* verdict, const char* texts) noexcept nogil:
    """Return what is wrong with what is to go out in place of a message; NULL: nothing."""
    cdef const char* header = texts + verdict.subject_length
    cdef size_t body = <size_t> verdict.header_length + verdict.payload_length
    if verdict.what & ~(NEW_SUBJECT | NEW_BODY) or verdict.what == 0:
        return b"changes nothing that there is"
    if (verdict.what & NEW_SUBJECT) != 0 and (
        <int64_t> verdict.subject_length > state.limits.max_control_line or not _is_subject(texts, verdict.subject_length)
    ):
        return b"has a subject that is none"
    if not verdict.what & NEW_SUBJECT and verdict.subject_length:
        return b"has a subject that it does not change"
    if not verdict.what & NEW_BODY:
        if body:
            return b"has a body that it does not change"
        return NULL
    if not _is_header(header, verdict.header_length):
        return b"has headers that are none"
    if <int64_t> body > state.limits.max_payload:
        return b"is longer than max_payload"
    if memcmp(header + body, b"\r\n", 2):
        return b"has no end"
    return NULL


cdef const char* _wrong(State* state, GateVerdict* verdict, const char* texts) noexcept nogil:
    """Return what is wrong with a record, whose texts are all there; NULL: nothing."""
    if verdict.verdict == CHANGED:
        return _changed_wrong(state, verdict, texts)
    if verdict.verdict == REFUSED:
        if verdict.payload_length or verdict.what or (verdict.status and not 100 <= verdict.status <= STATUS_MAX):
            return b"refuses with no status that there is"
        if not _is_plain(texts, verdict.subject_length) or not _is_plain(texts + verdict.subject_length, verdict.header_length):
            return b"refuses with a text that is too long or does not fit into a line"
        return NULL
    if verdict.subject_length or verdict.header_length or verdict.payload_length or verdict.what:
        return b"has texts that it does not need"
    if verdict.verdict == DELAYED and not 0 < verdict.delay_ns <= DELAY_NS_MAX:
        return b"delays for no time, or for more than a minute"
    if verdict.verdict != DELAYED and verdict.verdict != PASSED:
        return b"is none that there is"
    return NULL


cdef size_t _texts_length(GateVerdict* verdict) noexcept nogil:
    cdef size_t length = <size_t> verdict.subject_length + verdict.header_length + verdict.payload_length
    return length + 2 if verdict.verdict == CHANGED and verdict.what & NEW_BODY else length


cdef const char* verdicts_wrong(State* state, GateBatch* batch, const char* answer, size_t length) noexcept nogil:
    """Look at the records of an answer, and note where each message's is; return what is wrong, NULL: nothing."""
    cdef GateVerdict verdict
    cdef const char* wrong
    cdef size_t at = 0
    cdef uint32_t index
    for index in range(batch.batch.count):
        if length - at < sizeof(GateVerdict):
            return b"has too few verdicts"
        memcpy(&verdict, answer + at, sizeof(GateVerdict))
        if length - at - sizeof(GateVerdict) < _texts_length(&verdict):
            return b"ends within a verdict"
        wrong = _wrong(state, &verdict, answer + at + sizeof(GateVerdict))
        if wrong != NULL:
            return wrong
        batch.messages[index].verdict_at = at
        at += sizeof(GateVerdict) + _texts_length(&verdict)
    if at < length:
        return b"has too many verdicts"
    return NULL
