"""What an S2 encoder remembers: for some bytes, by a hash of them, where in the block they stood last.

Positions are counted from `base`, which goes up with each block: what is left from earlier blocks is below it and counts as nothing, so no
block pays for the clearing of a table, and a short block uses only the beginning of it.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef enum:
    FAST_TABLE = 0
    LONG_TABLE = 1
    SHORT_TABLE = 2
    HEADS = 3
    CHAINS = 4
    # The same position of a hash before a position; not by hash, but by position.
    NEAR_TABLE = 5
    TABLES = 6

cdef enum:
    FAST_BITS = 14
    # 64 KiB, of which the nearest caches hold most.
    LONG_BITS = 16
    SHORT_BITS = 14
    HEADS_BITS = 16
    CHAINS_BITS = 20
    # One for each byte of a block.
    NEAR_BITS = 14
    FEWEST_BITS = 8
    BASE_MAX = 0x80000000


cdef struct Step:
    # The cheapest way to a place, as far as it is known.
    uint32_t cost
    uint32_t count
    # Bytes of the copy that ends here; 0: a literal does.
    uint32_t offset
    # Of the last copy on the way; 0: there was none.
    uint32_t run
    # Bytes of the literal that ends here.


cdef struct S2Encoder:
    uint32_t* tables[TABLES]
    # Made when a level is first used.
    Step* steps
    uint32_t base


cdef inline int table_bits(int table) noexcept nogil:
    if table == FAST_TABLE:
        return FAST_BITS
    if table == LONG_TABLE:
        return LONG_BITS
    if table == SHORT_TABLE:
        return SHORT_BITS
    if table == HEADS:
        return HEADS_BITS
    return CHAINS_BITS if table == CHAINS else NEAR_BITS


cdef inline int hash_shift(int table, size_t length) noexcept nogil:
    """By how much a hash is shifted to fall into the part of a table that a block of this length needs."""
    cdef int bits = FEWEST_BITS, most = table_bits(table)
    while bits < most and <size_t> 1 << bits < length:
        bits += 1
    return 64 - bits


cdef inline uint32_t* table_slot(uint32_t* table, uint64_t word, int count, int shift) noexcept nogil:
    """Where a table has the first `count` bytes of a word."""
    return table + ((word << 64 - 8 * count) * <uint64_t> 0x9e3779b97f4a7c15 >> shift)


cdef inline bint tables_prepare(S2Encoder* self, int first, int last) noexcept nogil:
    """Have the memory of some tables; False: there is none."""
    cdef int table
    for table in range(first, last + 1):
        if self.tables[table] == NULL:
            self.tables[table] = <uint32_t*> calloc(<size_t> 1 << table_bits(table), sizeof(uint32_t))
            if self.tables[table] == NULL:
                return False
    return True


cdef inline void tables_free(S2Encoder* self) noexcept nogil:
    cdef int table
    for table in range(TABLES):
        free(self.tables[table])
    free(self.steps)


cdef inline uint32_t positions_begin(S2Encoder* self, size_t length) noexcept nogil:
    """Take a range of positions for a block; returns the first. Once in 2 GiB, the tables are cleared."""
    cdef int table
    if self.base > BASE_MAX:
        self.base = 1
        for table in range(TABLES):
            if self.tables[table] != NULL:
                memset(self.tables[table], 0, sizeof(uint32_t) << table_bits(table))
    self.base += <uint32_t> length
    return self.base - <uint32_t> length
