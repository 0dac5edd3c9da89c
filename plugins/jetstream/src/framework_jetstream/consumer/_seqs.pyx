"""A set of few sequences, in order. Cost: found by halves, 8 bytes each."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove, memset


cdef uint32_t _place(Seqs* self, uint64_t seq) noexcept nogil:
    """Return where a sequence is, or would be."""
    cdef uint32_t low = 0, high = self.count, middle
    while low < high:
        middle = low + (high - low) // 2
        if self.seqs[middle] < seq:
            low = middle + 1
        else:
            high = middle
    return low


cdef bint seqs_has(Seqs* self, uint64_t seq) noexcept nogil:
    """Whether a sequence is there."""
    cdef uint32_t at = _place(self, seq)
    return at < self.count and self.seqs[at] == seq


cdef bint seqs_add(Seqs* self, uint64_t seq) noexcept nogil:
    """Add a sequence; False: no memory."""
    cdef uint32_t at = _place(self, seq)
    cdef void* grown
    if at < self.count and self.seqs[at] == seq:
        return True
    if self.count == self.room:
        grown = realloc(self.seqs, (self.room * 2 + 8) * sizeof(uint64_t))
        if grown == NULL:
            return False
        self.seqs = <uint64_t*> grown
        self.room = self.room * 2 + 8
    memmove(self.seqs + at + 1, self.seqs + at, (self.count - at) * sizeof(uint64_t))
    self.seqs[at] = seq
    self.count += 1
    return True


cdef bint seqs_remove(Seqs* self, uint64_t seq) noexcept nogil:
    """Remove a sequence; False: it is not there."""
    cdef uint32_t at = _place(self, seq)
    if at == self.count or self.seqs[at] != seq:
        return False
    self.count -= 1
    memmove(self.seqs + at, self.seqs + at + 1, (self.count - at) * sizeof(uint64_t))
    return True


cdef void seqs_free(Seqs* self) noexcept nogil:
    free(self.seqs)
    memset(self, 0, sizeof(Seqs))
