"""The C face of lean blocks; see `_lean.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework_jetstream.store._block cimport Block


cdef int64_t block_time(Block* block, uint32_t index) noexcept nogil
cdef Block* block_leaned(Block* source, bint is_packed) noexcept nogil
