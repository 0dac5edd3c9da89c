"""Groups by the number that they have at all servers: each message of a frame is looked up here.

An open table at most half full. What leaves it makes room at once: those behind it that stand further on than they have to move up.
"""

from libc.stdlib cimport calloc, free

cdef enum:
    FIRST_PLACES = 16


cdef inline size_t _home(const ReplicaIds* table, uint64_t id) noexcept nogil:
    return <size_t> (id * <uint64_t> 0x9E3779B97F4A7C15 >> 32) & table.mask


cdef inline size_t _place(const ReplicaIds* table, uint64_t id) noexcept nogil:
    """Return where an id is, or would be; the table has places."""
    cdef size_t at = _home(table, id)
    while table.owners[at] != NULL and table.ids[at] != id:
        at = (at + 1) & table.mask
    return at


cdef void* ids_find(const ReplicaIds* table, uint64_t id) noexcept nogil:
    """Return whose an id is; NULL: nobody's."""
    return table.owners[_place(table, id)] if table.count else NULL


cdef bint _grow(ReplicaIds* table) noexcept nogil:
    cdef ReplicaIds grown
    cdef size_t places = 2 * (table.mask + 1) if table.owners != NULL else FIRST_PLACES
    cdef size_t at, to
    grown.ids = <uint64_t*> calloc(places, sizeof(uint64_t))
    grown.owners = <void**> calloc(places, sizeof(void*))
    grown.mask = places - 1
    grown.count = table.count
    if grown.ids == NULL or grown.owners == NULL:
        ids_free(&grown)
        return False
    for at in range(table.mask + 1 if table.owners != NULL else 0):
        if table.owners[at] != NULL:
            to = _place(&grown, table.ids[at])
            grown.ids[to] = table.ids[at]
            grown.owners[to] = table.owners[at]
    free(table.ids)
    free(table.owners)
    table[0] = grown
    return True


cdef bint ids_put(ReplicaIds* table, uint64_t id, void* owner) noexcept nogil:
    """Give an id to an owner; False: no memory, or it is another one's."""
    cdef size_t at
    if (table.owners == NULL or 2 * (table.count + 1) > table.mask) and not _grow(table):
        return False
    at = _place(table, id)
    if table.owners[at] != NULL:
        return table.owners[at] == owner
    table.ids[at] = id
    table.owners[at] = owner
    table.count += 1
    return True


cdef void ids_drop(ReplicaIds* table, uint64_t id) noexcept nogil:
    """Forget an id; one that is nobody's is no matter."""
    cdef size_t free_place, at
    if not table.count:
        return
    free_place = _place(table, id)
    if table.owners[free_place] == NULL:
        return
    table.count -= 1
    at = (free_place + 1) & table.mask
    while table.owners[at] != NULL:
        # It may move up if the place that it wants is not behind the one that is free.
        if ((at - _home(table, table.ids[at])) & table.mask) >= ((at - free_place) & table.mask):
            table.ids[free_place] = table.ids[at]
            table.owners[free_place] = table.owners[at]
            free_place = at
        at = (at + 1) & table.mask
    table.owners[free_place] = NULL


cdef void ids_free(ReplicaIds* table) noexcept nogil:
    free(table.ids)
    free(table.owners)
    table.ids = NULL
    table.owners = NULL
    table.mask = table.count = 0
