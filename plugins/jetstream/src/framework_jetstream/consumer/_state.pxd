"""The C face of a consumer's state in files; see `_state.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.consumer._consumer_machine cimport Machine


cdef size_t state_size(Machine* machine, uint32_t touched, bint is_whole) noexcept nogil
cdef size_t state_write(
    Machine* machine, const uint64_t* touched, uint32_t count, bint is_whole, int64_t delivered_ns, int64_t acked_ns, char* to
) noexcept nogil
cdef bint state_read(Machine* machine, const char* source, size_t length, int64_t* delivered_ns, int64_t* acked_ns) noexcept nogil
cdef bint state_is_whole(const char* source) noexcept nogil
cdef uint64_t state_next_done(const char* source, uint32_t* at) noexcept nogil
