"""Watches of ports: whether anybody, here or elsewhere, is interested in a subject.

What comes and goes marks the watches that it may concern, by a look into a table, and the end of the turn sees what has become of them.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from framework.dataplane._state cimport Account, Port, PortWatch, State, Subscription
from framework.dataplane.accounts._interest cimport is_literal_subject
from framework.dataplane.ports._sinkbatch cimport sink_say
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._sublist cimport Interest, Match, sublist_match
from framework.sublist._table cimport table_add, table_find, table_remove

cdef extern from "framework_port.h":
    enum:
        FRAMEWORK_ROW_INTEREST
        FRAMEWORK_WORD_NOBODY
        FRAMEWORK_WORD_SOMEBODY

cdef enum:
    KEY_NEAR_BYTES = 512


cdef inline char* _subject(PortWatch* watch) noexcept nogil:
    return <char*> (watch + 1) + sizeof(uint32_t)


cdef PortWatch* _first(State* state, Account* account, const char* subject, size_t length) noexcept nogil:
    """Return the first watch of a subject; NULL: nobody watches it."""
    cdef char near[KEY_NEAR_BYTES]
    cdef char* key = near
    cdef PortWatch* found
    if length + sizeof(uint32_t) > KEY_NEAR_BYTES:
        key = <char*> calloc(1, length + sizeof(uint32_t))
        if key == NULL:
            return NULL
    memcpy(key, &account.index, sizeof(uint32_t))
    memcpy(key + sizeof(uint32_t), subject, length)
    length += sizeof(uint32_t)
    found = <PortWatch*> table_find(&state.port_watches, hash_bytes(state.seed, key, length), key, length)
    if key != near:
        free(key)
    return found


cdef void _touch(State* state, PortWatch* watch) noexcept nogil:
    while watch != NULL:
        if not watch.touched:
            watch.touched = 1
            watch.next_touched = state.touched
            state.touched = watch
        watch = watch.same


cdef bint port_watch(State* state, Port* port, Account* account, const char* subject, uint32_t length, int64_t tag) noexcept nogil:
    """Tell a port of the interest in a valid subject, now and when it changes; False: it has a wildcard, or there is no memory."""
    cdef PortWatch* first
    cdef PortWatch* made
    cdef char* key
    if not is_literal_subject(subject, length):
        return False
    made = <PortWatch*> calloc(1, sizeof(PortWatch) + sizeof(uint32_t) + length)
    if made == NULL:
        return False
    key = <char*> (made + 1)
    memcpy(key, &account.index, sizeof(uint32_t))
    memcpy(key + sizeof(uint32_t), subject, length)
    made.key.chars = key
    made.key.length = length + <uint32_t> sizeof(uint32_t)
    made.key.hash = hash_bytes(state.seed, key, made.key.length)
    made.subject_length = length
    made.port = port
    made.account = account
    made.tag = tag
    first = _first(state, account, subject, length)
    if first != NULL:
        made.same = first.same
        first.same = made
    elif not table_add(&state.port_watches, &made.key):
        free(made)
        return False
    made.next = port.watches
    if made.next != NULL:
        made.next.previous = made
    port.watches = made
    _touch(state, made)
    return True


cdef void _forget(State* state, PortWatch* watch) noexcept nogil:
    """End a watch, which is in none of the turn's lists."""
    cdef PortWatch* first = _first(state, watch.account, _subject(watch), watch.subject_length)
    if first == watch:
        table_remove(&state.port_watches, &watch.key)
        if watch.same != NULL:
            # There is room for it: one has just left.
            table_add(&state.port_watches, &watch.same.key)
    else:
        while first != NULL and first.same != watch:
            first = first.same
        if first != NULL:
            first.same = watch.same
    if watch.previous != NULL:
        watch.previous.next = watch.next
    else:
        watch.port.watches = watch.next
    if watch.next != NULL:
        watch.next.previous = watch.previous
    free(watch)


cdef void port_unwatch(State* state, Port* port, int64_t tag) noexcept nogil:
    """End the watch of a port with a tag. Cost: O(watches of the port)."""
    cdef PortWatch* watch = port.watches
    while watch != NULL and watch.tag != tag:
        watch = watch.next
    if watch != NULL:
        port_watches_settle(state)
        _forget(state, watch)


cdef void port_unwatch_all(State* state, Port* port) noexcept nogil:
    port_watches_settle(state)
    while port.watches != NULL:
        _forget(state, port.watches)


cdef void port_watches_touch(State* state, Subscription* subscription) noexcept nogil:
    """Mark the watches that something that came or goes may concern."""
    cdef Interest* interest = &subscription.interest
    if not subscription.account.numbered:
        return
    if is_literal_subject(interest.subject, interest.subject_length):
        _touch(state, _first(state, subscription.account, interest.subject, interest.subject_length))
    else:
        state.all_touched = 1


cdef void _settle(State* state, PortWatch* watch) noexcept nogil:
    """See whether anybody is interested, and tell the port if that is new."""
    cdef Match* match = sublist_match(&watch.account.sublist, _subject(watch), watch.subject_length)
    cdef bint heard = match.plain_count + match.group_count + match.remote_count > 0
    state.work += 1
    if not watch.told or heard != watch.heard:
        watch.told = 1
        watch.heard = heard
        sink_say(
            state, watch.port.sink, watch.tag, FRAMEWORK_ROW_INTEREST, FRAMEWORK_WORD_SOMEBODY if heard else FRAMEWORK_WORD_NOBODY
        )


cdef void port_watches_settle(State* state) noexcept nogil:
    """End a turn: tell ports what has changed. Cost: O(watches that it may concern); of all, where something had a wildcard."""
    cdef Port* port = state.ports
    cdef PortWatch* watch
    while state.all_touched and port != NULL:
        watch = port.watches
        while watch != NULL:
            if not watch.touched:
                _settle(state, watch)
            watch = watch.next
        port = port.next
    state.all_touched = 0
    while state.touched != NULL:
        watch = state.touched
        state.touched = watch.next_touched
        watch.touched = 0
        _settle(state, watch)
