"""What a port's thread decides at gates: its verdicts become records, which the plane judges and carries out.

A batch of a gate lies in the same stack as those of subscriptions. What is decided goes back by a stack of its own.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy, memset

from framework.dataplane._state cimport GateBatch, SinkBatch, framework_batch
from framework.dataplane.delivery._verdicts cimport CHANGED, NEW_BODY, REFUSED, GateVerdict
from framework.dataplane.ports._port cimport PortAnswer, flag_get, stack_push
from framework.dataplane.ports._portface cimport (
    FRAMEWORK_PORT_ENDED, FRAMEWORK_PORT_INVALID, FRAMEWORK_PORT_MEMORY, Face, face_tell_plane, framework_verdict,
)
from framework.dataplane.ports._sinkbatch cimport batch_free


cdef PortAnswer* _answer_made(size_t length) noexcept nogil:
    cdef PortAnswer* made = <PortAnswer*> malloc(sizeof(PortAnswer) + length)
    if made != NULL:
        made.length = length
        made.failed = 0
    return made


cdef int _say(Face* face, GateBatch* batch, PortAnswer* answer) noexcept nogil:
    answer.gate = batch.gate.id
    answer.serial = batch.serial
    batch.is_answered = 1
    return face_tell_plane(face, stack_push(&face.port.decided, answer))


cdef int _refused(Face* face, SinkBatch* batch) noexcept nogil:
    """Return why a batch can't be decided on; 0: it can."""
    if batch.release == NULL or (<GateBatch*> batch).is_answered:
        return FRAMEWORK_PORT_INVALID
    return FRAMEWORK_PORT_ENDED if flag_get(&face.port.ended) else 0


cdef inline size_t _texts_length(const framework_verdict* verdict) noexcept nogil:
    if verdict.verdict == REFUSED:
        return <size_t> verdict.error_length + verdict.description_length
    if verdict.verdict != CHANGED:
        return 0
    if verdict.changes & NEW_BODY:
        return <size_t> verdict.subject_length + verdict.header_length + verdict.payload_length + 2
    return verdict.subject_length


cdef inline char* _put(char* at, const char* chars, uint32_t length) noexcept nogil:
    if length:
        memcpy(at, chars, length)
    return at + length


cdef char* _record_write(char* at, const framework_verdict* verdict) noexcept nogil:
    """Write the record of a verdict; return where the next one begins. A verdict that there is not stays one."""
    cdef GateVerdict record
    memset(&record, 0, sizeof(record))
    record.verdict = <uint32_t> min(verdict.verdict, 255)
    record.delay_ns = verdict.delay_ns
    if verdict.verdict == REFUSED:
        record.status = verdict.status
        record.subject_length = verdict.error_length
        record.header_length = verdict.description_length
    elif verdict.verdict == CHANGED:
        record.what = <uint32_t> min(verdict.changes, 255)
        record.subject_length = verdict.subject_length
        if verdict.changes & NEW_BODY:
            record.header_length = verdict.header_length
            record.payload_length = verdict.payload_length
    memcpy(at, &record, sizeof(record))
    at += sizeof(record)
    if verdict.verdict == REFUSED:
        return _put(_put(at, verdict.error, verdict.error_length), verdict.description, verdict.description_length)
    if verdict.verdict != CHANGED:
        return at
    at = _put(at, verdict.subject, verdict.subject_length)
    if not verdict.changes & NEW_BODY:
        return at
    at = _put(_put(at, verdict.header, verdict.header_length), verdict.payload, verdict.payload_length)
    memcpy(at, b"\r\n", 2)
    return at + 2


cdef int face_decide(void* self, const framework_batch* batch, const framework_verdict* verdicts, uint32_t count) noexcept nogil:
    """Decide on a batch of a gate; without verdicts all of it passes."""
    cdef Face* face = <Face*> self
    cdef SinkBatch* taken = <SinkBatch*> batch.owner
    cdef PortAnswer* answer
    cdef size_t length = 0
    cdef char* at
    cdef uint32_t index
    cdef int refused = _refused(face, taken)
    if refused:
        return refused
    for index in range(count):
        length += sizeof(GateVerdict) + _texts_length(&verdicts[index])
    answer = _answer_made(length)
    if answer == NULL:
        return FRAMEWORK_PORT_MEMORY
    at = <char*> (answer + 1)
    for index in range(count):
        at = _record_write(at, &verdicts[index])
    return _say(face, <GateBatch*> taken, answer)


cdef int face_answer(Face* face, SinkBatch* batch, const char* records, size_t length) noexcept nogil:
    """Decide on a batch of a gate by records, which the plane judges."""
    cdef PortAnswer* answer
    cdef int refused = _refused(face, batch)
    if refused:
        return refused
    answer = _answer_made(length)
    if answer == NULL:
        return FRAMEWORK_PORT_MEMORY
    if length:
        memcpy(answer + 1, records, length)
    return _say(face, <GateBatch*> batch, answer)


cdef void face_release(void* self, const framework_batch* batch) noexcept nogil:
    """Let go of a batch; the plane is told at once where it is to go without a verdict."""
    cdef SinkBatch* taken = <SinkBatch*> batch.owner
    cdef bint is_undecided = taken.release != NULL and not (<GateBatch*> taken).is_answered
    batch_free(taken)
    if is_undecided:
        face_tell_plane(<Face*> self, True)
