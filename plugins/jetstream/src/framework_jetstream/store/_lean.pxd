"""The C face of lean blocks; see `_lean.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from framework_jetstream.store._block cimport Block


cdef int64_t block_time(Block* block, uint32_t index) noexcept nogil
cdef Block* block_leaned(Block* source, bint is_packed) noexcept nogil

# Runs of entries with one time, also as segments have them.
cdef uint32_t time_run_put(uint8_t* to, uint32_t used, uint32_t count, int64_t later_ns) noexcept nogil
cdef uint32_t time_run_take(const uint8_t* chars, uint32_t* at, int64_t* time_ns) noexcept nogil
