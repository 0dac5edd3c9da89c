"""Digests: sums of what the entries of a group have led to at this server, by which replicas are compared.

A digest is a sum, modulo 2**64, of a number for each thing that an entry has done. So it does not matter where it began, as long as two
that are compared began at the same entry: who has none can take one up from another server at an entry that both have applied, and have
what it has summed up itself since.

Others are told its low 56 bits, and above them a number of how it is made (`digest_told`). Who has another number compares nothing with it,
and says nothing: versions that sum up something else have nothing in common.

A digest at an index is that of all entries up to there. It is kept at the last multiples of DIGESTS_EVERY: others are asked for what they
had at an index that all have applied, not for what they have at the moment.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset


cdef void digests_begin(Digests* digests) noexcept nogil:
    """Be what is there before the first entry."""
    memset(digests, 0, sizeof(Digests))


cdef void digests_restored(Digests* digests, uint64_t index) noexcept nogil:
    """Take up at which index a state was read; one that says no digest begins one there."""
    digests.index = index
    digests.is_void = False
    if digests.begins:
        digests.since = index
        digests.begins = False


cdef void digests_keep(Digests* digests, uint64_t index) noexcept nogil:
    """Keep what was so at the last multiple, before the entry at an index is applied. Cost: O(1)."""
    cdef uint64_t multiple = (index - 1) & ~<uint64_t> (DIGESTS_EVERY - 1)
    cdef Digest* kept
    if multiple < digests.index or multiple == 0:
        return
    kept = &digests.kept[digests.count % DIGESTS_KEPT]
    kept.index = multiple
    kept.sum = digests.sum
    digests.count += 1


cdef uint64_t digests_kept_back(const Digests* digests, uint32_t back) noexcept nogil:
    """Return the index of what was kept before so many others, or of the first that there is; 0: none is."""
    cdef uint32_t count = min(digests.count, <uint32_t> DIGESTS_KEPT)
    return digests.kept[(digests.count - 1 - min(back, count - 1)) % DIGESTS_KEPT].index if count else 0


cdef void digests_adopt(Digests* digests, uint64_t since, uint64_t more) noexcept nogil:
    """Go on with the digest of another server.

    Args:
        since: Entries up to this one are not in it.
        more: What it is more, at any index.
    """
    cdef uint32_t at
    digests.since = since
    digests.sum += more
    for at in range(min(digests.count, <uint32_t> DIGESTS_KEPT)):
        digests.kept[at].sum += more


cdef bint digest_at(const Digests* digests, uint64_t applied, uint64_t index, uint64_t* sum) noexcept nogil:
    """Return what the digest was at an index, as it is told; False: it is not known, or not yet.

    Args:
        applied: Entries up to this one are applied, those of Raft's own as well.
    """
    cdef uint32_t at
    if digests.index <= index <= applied:
        sum[0] = digest_told(digests.sum)
        return True
    for at in range(min(digests.count, <uint32_t> DIGESTS_KEPT)):
        if digests.kept[at].index == index:
            sum[0] = digest_told(digests.kept[at].sum)
            return True
    return False
