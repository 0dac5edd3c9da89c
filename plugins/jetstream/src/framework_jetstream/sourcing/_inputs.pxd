"""The C face of the sources of a stream; see `_inputs.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.engine._state cimport Engine, Input, Slot
from framework_jetstream.stream._headers cimport Text


cdef enum:
    DIRECT_PLACE = 2
    # Of subscriptions by which a mirror answers for its origin.
    SILENCE_NS = 10000000000
    # Consumers tell every second that they are there.


cdef int64_t input_tag(const Input* input) noexcept nogil
cdef void input_leave(Engine* engine, Input* input) noexcept nogil
cdef void input_lose(Engine* engine, Input* input, int64_t loss) noexcept nogil
cdef void input_refused(Engine* engine, Slot* slot, uint32_t number) noexcept nogil
cdef void input_owe(Engine* engine, Input* input, Text reply) noexcept nogil
cdef void input_close(Engine* engine, Input* input) noexcept nogil
cdef void inputs_applied(Engine* engine, Slot* slot) noexcept nogil
cdef void inputs_leave(Engine* engine, Slot* slot) noexcept nogil
cdef void inputs_close(Engine* engine, Slot* slot) noexcept nogil
cdef void inputs_expire(Engine* engine) noexcept nogil
cdef size_t inputs_size(Slot* slot) noexcept nogil
cdef void inputs_write(Engine* engine, Slot* slot, char* to) noexcept nogil
cdef uint64_t input_stored(const Input* input) noexcept nogil
