"""The C face of answers to Python; see `_answers.pyx`."""

from libc.stdint cimport int32_t, int64_t

from framework_jetstream.engine._state cimport Answer, Engine


cdef Answer* answer_made(Engine* engine, int64_t id, int32_t status, size_t length) noexcept nogil
cdef Answer* event_made(Engine* engine, int32_t kind, size_t length) noexcept nogil
cdef char* answer_bytes(Answer* answer) noexcept nogil
cdef bint answers_hand_over(Engine* engine) noexcept nogil
cdef list answers_take(Engine* engine)
