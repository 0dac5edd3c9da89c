"""Ways back: answers go to the server that asked, whoever else is known to be interested, by an address before their subject.

A request may overtake the interest in its reply where they take different links: it goes to another cluster by one connection, interest
comes there by another. So the server where a request begins puts its address before the reply, servers on the way lead what begins with it
to that server (`_forwards.pyx`), and it takes the address off. Users see no address: a client's server hides it, and remembers it for the
answer. Who answers after WAY_NS answers as any publisher: by then interest is known.

Only replies that somebody here waits for get an address: an answer to anybody else need not come by here.

Source: nats-server `gateway.go`, `trackGWReply`, `handleGatewayReply`, `shouldMapReplyForGatewaySend`, which maps replies to
subscriptions of the last 2 s; here the match tells, without a clock.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport deliver_matched
from framework.dataplane.delivery._forwards cimport address_length, is_forwarded
from framework.dataplane.accounts._mappings cimport room_for
from framework.dataplane._state cimport WAYS_MAX, Link, Message, State, Way, Ways
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._sublist cimport Match, sublist_count_here, sublist_match
from framework.sublist._table cimport table_clear, table_find, table_make, table_remove

cdef enum:
    WAY_NS = 2000000000
    # Source: nats-server `gateway.go`, `defaultGatewayRecentSubExpiration`.


cdef void address_set(State* state, Link* link, const char* chars, size_t length) noexcept nogil:
    """Put an address before the replies of messages by a link; without memory they go as they are."""
    free(link.address)
    link.address_length = 0
    link.address = <char*> malloc(length + COPY_SLACK)
    if link.address != NULL:
        memcpy(link.address, chars, length)
        link.address_length = <uint32_t> length


cdef bint is_reply_here(Message* message) noexcept nogil:
    """Whether somebody here waits for answers to a message, and no server has put its address there."""
    return not message.hidden and sublist_count_here(&message.account.sublist, message.reply, message.reply_length, NULL) > 0


cdef void address_hide(State* state, Message* message) noexcept nogil:
    """Let users not see the address that the reply of another server's message begins with, if it does."""
    message.hidden = address_length(state, message.reply, message.reply_length)


# ---- what clients owe --------------------------------------------------------------------------------------------------


cdef void _forget(Ways* ways, Way* way) noexcept nogil:
    if way.previous != NULL:
        way.previous.next = way.next
    else:
        ways.first = way.next
    if way.next != NULL:
        way.next.previous = way.previous
    else:
        ways.last = way.previous
    table_remove(&ways.table, &way.key)
    free(way)


cdef void ways_end(Link* link) noexcept nogil:
    """Forget all that a link owes, and its own address."""
    free(link.address)
    link.address = NULL
    link.address_length = 0
    if link.ways == NULL:
        return
    while link.ways.first != NULL:
        _forget(link.ways, link.ways.first)
    table_clear(&link.ways.table)
    free(link.ways)
    link.ways = NULL


cdef void way_add(State* state, Link* link, Message* message) noexcept nogil:
    """Remember the address that a client is not shown; the last one counts, and without memory none does."""
    cdef const char* shown = message.reply + message.hidden
    cdef size_t length = message.reply_length - message.hidden
    cdef uint64_t hashed = hash_bytes(state.seed, shown, length)
    cdef Way* way
    if link.ways == NULL:
        link.ways = <Ways*> calloc(1, sizeof(Ways))
        if link.ways == NULL:
            return
    while link.ways.first != NULL and (link.ways.first.until_ns <= state.now_ns or link.ways.table.count >= WAYS_MAX):
        _forget(link.ways, link.ways.first)
    way = <Way*> table_find(&link.ways.table, hashed, shown, length)
    if way != NULL:
        _forget(link.ways, way)
    way = <Way*> table_make(&link.ways.table, sizeof(Way), 0, shown, length, hashed)
    if way == NULL:
        return
    memcpy(way.address, message.reply, message.hidden)
    way.length = message.hidden
    way.until_ns = state.now_ns + WAY_NS
    way.previous = link.ways.last
    if way.previous != NULL:
        way.previous.next = way
    else:
        link.ways.first = way
    link.ways.last = way
    if link.memo != NULL:
        # A line that it says again may be an answer now.
        link.memo.line_length = 0


cdef Way* _way_of(State* state, Link* link, Message* message) noexcept nogil:
    """Return what a client owes to another cluster by the subject of a message; NULL: nothing."""
    return <Way*> table_find(
        &link.ways.table, hash_bytes(state.seed, message.subject, message.subject_length), message.subject, message.subject_length
    )


cdef bint is_way(State* state, Link* link, Message* message) noexcept nogil:
    """Whether what a client publishes may be an answer to another cluster: the line is looked at each time."""
    return _way_of(state, link, message) != NULL


cdef bint way_taken(State* state, Link* link, Message* message) noexcept nogil:
    """Send what a client publishes to the address of what it answers, if it does; False: it goes to whom it matches."""
    cdef Way* way
    cdef Message answer
    cdef Match* match
    cdef int served = 0
    while link.ways.first != NULL and link.ways.first.until_ns <= state.now_ns:
        _forget(link.ways, link.ways.first)
    way = _way_of(state, link, message)
    if way == NULL or not room_for(&state.addressed, &state.addressed_room, way.length + message.subject_length):
        return False
    answer = message[0]
    memcpy(state.addressed, way.address, way.length)
    memcpy(state.addressed + way.length, message.subject, message.subject_length)
    answer.subject = state.addressed
    answer.subject_length = way.length + message.subject_length
    if is_forwarded(state, &answer, &served):
        return True
    # A server that has no address itself may have a peer that leads on what begins with one.
    match = sublist_match(&message.account.sublist, answer.subject, answer.subject_length)
    if match.remote_count == 0:
        return False
    answer.shown, answer.shown_length = message.subject, message.subject_length
    return deliver_matched(state, match, &answer) > 0
