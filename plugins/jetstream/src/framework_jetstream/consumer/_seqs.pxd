"""The C face of sequences in order; see `_seqs.pyx`."""

from libc.stdint cimport uint32_t, uint64_t


cdef struct Seqs:
    uint64_t* seqs
    # In order, each once.
    uint32_t count
    uint32_t room


cdef bint seqs_add(Seqs* self, uint64_t seq) noexcept nogil
cdef bint seqs_has(Seqs* self, uint64_t seq) noexcept nogil
cdef bint seqs_remove(Seqs* self, uint64_t seq) noexcept nogil
cdef void seqs_free(Seqs* self) noexcept nogil
