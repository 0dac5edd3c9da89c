"""The C face of what lets bytes of messages leave memory; see `_evicting.pyx`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from framework_jetstream.store._block cimport Block
from framework_jetstream.stream._messages cimport Messages


cdef struct Sweep:
    # What a pass over blocks may do.
    uint64_t saved_seq
    # Messages up to this one are in segments.
    uint64_t bytes
    # So many are to be freed; becomes less.
    uint32_t looks
    # At blocks; becomes less.
    uint8_t keeps_headers
    # Blocks that have a message with headers stay: what becomes of the stream is decided by them.


cdef bint messages_sweep(Messages* messages, Sweep* sweep) noexcept nogil
cdef bint messages_lean(Messages* messages) noexcept nogil
cdef void messages_attach(Messages* messages, Block* block, char* data) noexcept nogil
