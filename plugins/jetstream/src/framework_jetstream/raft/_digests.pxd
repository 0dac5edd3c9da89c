"""The C face of digests; see `_digests.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    DIGESTS_KEPT = 16
    DIGESTS_EVERY = 64  # indexes; a power of 2
    DIGESTS_NUMBER = 1  # how a digest is made: another one, of 1 to 255, from whatever change of what it sums up
    DIGEST_BITS = 56  # of it are compared; those above have the number, where it is told


cdef struct Digest:
    uint64_t index
    uint64_t sum


cdef struct Digests:
    uint64_t since  # entries up to this one are not in it
    uint64_t index  # those up to this one are applied
    uint64_t sum
    Digest kept[DIGESTS_KEPT]
    uint32_t count  # of those that were ever kept: the last ones are there
    bint begins  # with the state that is being read, which says none
    bint is_void  # until that is read


cdef inline uint64_t mixed(uint64_t sum, uint64_t number) noexcept nogil:
    """Return another sum, which no other number leads to from this one."""
    sum = (sum ^ number) * <uint64_t> 0x9E3779B97F4A7C15
    return sum ^ (sum >> 32)


cdef inline uint64_t digest_told(uint64_t sum) noexcept nogil:
    """Return a digest as others are told of it, with the number of how it is made: never 0."""
    return <uint64_t> DIGESTS_NUMBER << DIGEST_BITS | sum & ((<uint64_t> 1 << DIGEST_BITS) - 1)


cdef inline bint digest_is_alike(uint64_t told) noexcept nogil:
    """Return whether a digest that was told is made as those here."""
    return told >> DIGEST_BITS == DIGESTS_NUMBER


cdef void digests_begin(Digests* digests) noexcept nogil
cdef void digests_restored(Digests* digests, uint64_t index) noexcept nogil
cdef void digests_keep(Digests* digests, uint64_t index) noexcept nogil
cdef uint64_t digests_kept_back(const Digests* digests, uint32_t back) noexcept nogil
cdef void digests_adopt(Digests* digests, uint64_t since, uint64_t more) noexcept nogil
cdef bint digest_at(const Digests* digests, uint64_t applied, uint64_t index, uint64_t* sum) noexcept nogil
