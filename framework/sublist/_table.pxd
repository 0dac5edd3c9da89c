"""A hash table of things that carry their own key: open addressing, linear probing, no tombstones."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy


cdef struct Key:
    # First member of everything that is kept in a Table.
    uint64_t hash
    const char* chars
    uint32_t length


cdef struct Slot:
    uint64_t hash
    Key* key


cdef struct Table:
    Slot* slots
    size_t mask
    size_t count


cdef inline Key* table_find(Table* table, uint64_t hash, const char* chars, size_t length) noexcept nogil:
    cdef size_t at
    cdef Slot* slot
    if table.slots == NULL:
        return NULL
    at = hash & table.mask
    while True:
        slot = &table.slots[at]
        if slot.key == NULL:
            return NULL
        if slot.hash == hash and slot.key.length == length and memcmp(slot.key.chars, chars, length) == 0:
            return slot.key
        at = (at + 1) & table.mask


cdef inline bint _table_grow(Table* table) noexcept nogil:
    cdef size_t count = (table.mask + 1) * 2 if table.slots != NULL else 8
    cdef Slot* slots = <Slot*> calloc(count, sizeof(Slot))
    cdef size_t at, to
    if slots == NULL:
        return False
    if table.slots != NULL:
        for at in range(table.mask + 1):
            if table.slots[at].key != NULL:
                to = table.slots[at].hash & (count - 1)
                while slots[to].key != NULL:
                    to = (to + 1) & (count - 1)
                slots[to] = table.slots[at]
        free(table.slots)
    table.slots = slots
    table.mask = count - 1
    return True


cdef inline bint table_add(Table* table, Key* key) noexcept nogil:
    """Add what is not there yet; False when memory ran out."""
    cdef size_t at
    if table.slots == NULL or (table.count + 1) * 4 > (table.mask + 1) * 3:
        if not _table_grow(table):
            return False
    at = key.hash & table.mask
    while table.slots[at].key != NULL:
        at = (at + 1) & table.mask
    table.slots[at].hash = key.hash
    table.slots[at].key = key
    table.count += 1
    return True


cdef inline Key* table_make(
    Table* table, size_t size, size_t slack, const char* chars, size_t length, uint64_t hash
) noexcept nogil:
    """Add a thing of `size` bytes, zero but for its key, whose chars and `slack` bytes more follow; NULL: no memory."""
    cdef Key* key = <Key*> calloc(1, size + length + slack)
    if key == NULL:
        return NULL
    memcpy(<char*> key + size, chars, length)
    key.hash = hash
    key.chars = <char*> key + size
    key.length = <uint32_t> length
    if not table_add(table, key):
        free(key)
        return NULL
    return key


cdef inline void table_remove(Table* table, Key* key) noexcept nogil:
    """Remove what is there; the entries behind it move up, so that no tombstone is needed."""
    cdef size_t mask = table.mask
    cdef size_t at = key.hash & mask
    cdef size_t hole, home
    while table.slots[at].key != key:
        if table.slots[at].key == NULL:
            return
        at = (at + 1) & mask
    hole = at
    while True:
        at = (at + 1) & mask
        if table.slots[at].key == NULL:
            break
        home = table.slots[at].hash & mask
        if ((at - home) & mask) >= ((at - hole) & mask):
            table.slots[hole] = table.slots[at]
            hole = at
    table.slots[hole].key = NULL
    table.count -= 1


cdef inline void table_clear(Table* table) noexcept nogil:
    free(table.slots)
    table.slots = NULL
    table.mask = 0
    table.count = 0
