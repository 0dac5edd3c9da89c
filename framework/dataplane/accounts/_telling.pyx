"""What a route is told when it begins to carry an account: all interest here, slice by slice.

Until that is done the route is read no further. So its server's PONG comes behind all that it says first, as `_routes.pyx` has it, and
no interest of its is known here before it knows all of ours: a request that follows it meets the interest in its reply.

A change of interest is told at once, also to a route that has yet to be told the rest. What it then hears twice is the same both times.

Interest stands in a hash table that changes meanwhile: entries move to free slots before theirs when others go, but the slot that is
theirs by their hash stays. In that order they are told; when the table has grown, from the beginning.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport link_doom, tell_in_bulk, trace
from framework.dataplane.links._output cimport output_commit, output_reserve
from framework.dataplane._state cimport WRITE_ERROR, Account, Link, LocalInterest, State, Telling
from framework.dataplane._work cimport is_work_done, ready_add
from framework.sublist._table cimport Table

cdef enum:
    TELL_WORK = 2
    # Of one interest.
    SLOTS_A_WORK = 16


cdef void marks_set(State* state, Link* link, const char* chars, size_t split, size_t length) noexcept nogil:
    """Let what a link is told of an account at one go stand between two lines: see `PeerTerms.marks`."""
    free(link.marks)
    link.marks = <char*> malloc(length + 1)
    if link.marks == NULL:
        link_doom(state, link, WRITE_ERROR, False, "no memory")
        return
    memcpy(link.marks, chars, length)
    link.marks_split = <uint32_t> split
    link.marks_length = <uint32_t> length


cdef void loop_set(State* state, Link* link, const char* chars, size_t split, size_t length) noexcept nogil:
    """Let a link end whose server has interest in a subject: see `PeerTerms.loop`. What it is told stands behind that, with a last zero."""
    free(link.loop)
    link.loop = <char*> malloc(length + 1)
    if link.loop == NULL:
        link_doom(state, link, WRITE_ERROR, False, "no memory")
        return
    memcpy(link.loop, chars, length)
    link.loop[length] = 0
    link.loop_split = <uint32_t> split
    link.loop_length = <uint32_t> length


cdef char* _put_base64(char* at, const char* chars, uint32_t length) noexcept nogil:
    cdef const char* digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef uint32_t which, left, bits
    for which in range(0, length, 3):
        left = length - which
        bits = <unsigned char> chars[which] << 16
        if left > 1:
            bits |= <unsigned char> chars[which + 1] << 8
        if left > 2:
            bits |= <unsigned char> chars[which + 2]
        at[0] = digits[bits >> 18]
        at[1] = digits[bits >> 12 & 63]
        at[2] = digits[bits >> 6 & 63] if left > 1 else c"="
        at[3] = digits[bits & 63] if left > 2 else c"="
        at += 4
    return at


cdef void _mark(State* state, Link* link, Account* account, bint behind) noexcept nogil:
    """Say the line before or behind all interest in an account."""
    cdef uint32_t first = link.marks_split if behind else 0
    cdef uint32_t end = link.marks_length if behind else link.marks_split
    cdef char* room = output_reserve(state, link, end - first + account.name_length * 2 + 8)
    cdef char* at = room
    cdef uint32_t which
    if room == NULL:
        link_doom(state, link, WRITE_ERROR, False, "no memory")
        return
    for which in range(first, end):
        if link.marks[which]:
            at[0] = link.marks[which]
            at += 1
        else:
            at = _put_base64(at, account.name, account.name_length)
    trace(state, link, False, room, at - room)
    if not output_commit(state, link, at - room):
        link_doom(state, link, WRITE_ERROR, False, "no memory")


cdef inline void _end(State* state, Link* link, Account* account) noexcept nogil:
    if link.marks != NULL and not link.doomed:
        _mark(state, link, account, True)


cdef bint _tell_some(State* state, Link* route, Telling* telling, bint bounded) noexcept nogil:
    """Tell a route some interest of an account; False: the slice of work is used up before all is told."""
    cdef Account* account = telling.account
    cdef Table* table = &account.interest
    cdef size_t slot
    if table.slots == NULL:
        _end(state, route, account)
        return True
    if telling.mask != table.mask:
        telling.mask = table.mask
        telling.at = 0
    while telling.at <= table.mask:
        if bounded and is_work_done(state):
            return False
        if telling.at % SLOTS_A_WORK == 0:
            state.work += 1
        slot = telling.at
        while table.slots[slot].key != NULL:
            if table.slots[slot].hash & table.mask == telling.at:
                state.work += TELL_WORK
                tell_in_bulk(state, route, account, <LocalInterest*> table.slots[slot].key)
            slot = (slot + 1) & table.mask
        telling.at += 1
    _end(state, route, account)
    return True


cdef void interest_send(State* state, Account* account, Link* route) noexcept nogil:
    """Tell a route all local interest of an account: what this slice of work suffices for, and the rest in turns to come."""
    cdef Telling telling
    cdef Telling* made
    telling.account = account
    telling.at = telling.mask = 0
    if route.marks != NULL and not route.doomed:
        _mark(state, route, account, False)
    if _tell_some(state, route, &telling, True):
        return
    made = <Telling*> malloc(sizeof(Telling))
    if made == NULL:
        _tell_some(state, route, &telling, False)
        return
    made[0] = telling
    made.next = route.tellings
    route.tellings = made
    ready_add(state, route)


cdef void tellings_go_on(State* state, Link* route) noexcept nogil:
    """Go on with what a route is told, until that is all or the slice is used up."""
    cdef Telling* telling
    while route.tellings != NULL and _tell_some(state, route, route.tellings, True):
        telling = route.tellings
        route.tellings = telling.next
        free(telling)


cdef void telling_end(Link* route, Account* account) noexcept nogil:
    """Tell a route nothing more of an account; NULL: of all."""
    cdef Telling** at = &route.tellings
    cdef Telling* telling
    while at[0] != NULL:
        telling = at[0]
        if account == NULL or telling.account == account:
            at[0] = telling.next
            free(telling)
        else:
            at = &telling.next
