"""Quotas: how many messages and bytes a second clients may publish.

A quota is a pair of token buckets, one of messages and one of bytes, filled by the time of the turn. It is kept as the time at which what
was published is paid for: a burst may run ahead of now. A message needs a whole token, or any byte left: so a message that is larger than
a burst passes, and is paid for afterwards. Several links may share a quota, such as those of one user, and a link may have several, each
on all subjects or on one; a message passes if it has room in each.

Who is over one that waits is read no further until it has room: it is held, in a heap by time, and costs nothing until then. Links that
wait for one quota go on one after the other. Where a quota refuses, the message is dropped, and the client is told once a second at most;
a request gets a status in any case. A run of messages with a remembered line is looked at once; a link that publishes on many subjects
may go on without a look for as many as there is room for, until its turn ends: nothing else can change its quotas meanwhile.

Source: the generic cell rate algorithm, ITU-T I.371.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc

from framework.dataplane.delivery._delivery cimport link_say
from framework.dataplane.delivery._entrance cimport tell_status
from framework.dataplane.links._links cimport link_of, link_wake
from framework.dataplane.links._output cimport output_append
from framework.dataplane._state cimport Command, Link, Message, Quota, State

cdef extern from "math.h" nogil:
    double ceil(double number)

cdef double HAIR = 1e-3
# Of a message: a burst of whole messages is not one less for the rounding. And of a byte: what is used up is used up.

cdef enum:
    SECOND_NS = 1000000000
    HELD_BY_QUOTA = 2
    NEVER_NS = 0x7fffffffffffffff
    MANY = 0x7fffffff
    HEAP_FIRST = 16


# ---- what there is of each ---------------------------------------------------------------------------------------------


cdef void quota_set(Quota* quota, QuotaTerms* terms) noexcept nogil:
    """Put other terms in force; what was published under the old ones is paid for as it was."""
    quota.message_ns = SECOND_NS / terms.messages_per_s if terms.messages_per_s > 0 else 0
    quota.byte_ns = SECOND_NS / terms.bytes_per_s if terms.bytes_per_s > 0 else 0
    quota.burst_messages_ns = max(terms.burst_messages, 1.0) * quota.message_ns
    quota.burst_bytes_ns = max(terms.burst_bytes, 1.0) * quota.byte_ns
    quota.refuses = terms.refuses


cdef void quota_release(Quota* quota) noexcept nogil:
    """One user less; the last one frees it."""
    quota.users -= 1
    if quota.users == 0:
        free(quota)


cdef inline int64_t _room(Quota* quota, double now, size_t length) noexcept nogil:
    """Return how many messages of a length pass now."""
    cdef double left
    cdef int64_t room = MANY
    if quota.message_ns > 0:
        left = (quota.burst_messages_ns - max(quota.messages_due_ns - now, 0.0)) / quota.message_ns
        room = <int64_t> min(max(left + HAIR, 0.0), <double> MANY)
    if quota.byte_ns > 0:
        left = (quota.burst_bytes_ns - max(quota.bytes_due_ns - now, 0.0)) / quota.byte_ns
        if left <= HAIR:
            return 0
        if length:
            room = min(room, <int64_t> min(ceil((left - HAIR) / length), <double> MANY))
    return room


cdef inline bint _lets(Quota* quota, double now) noexcept nogil:
    """Whether a message passes now, as `_room` says it, without a division."""
    return (
        quota.messages_due_ns - now <= quota.burst_messages_ns - quota.message_ns * (1 - HAIR)
        and (quota.byte_ns == 0 or quota.bytes_due_ns - now < quota.burst_bytes_ns - quota.byte_ns * HAIR)
    )


cdef inline int64_t _passes_at(Quota* quota) noexcept nogil:
    """Return when a message passes a quota that is full."""
    cdef double due = 0
    if quota.message_ns > 0:
        due = quota.messages_due_ns + quota.message_ns - quota.burst_messages_ns
    if quota.byte_ns > 0:
        due = max(due, quota.bytes_due_ns + quota.byte_ns - quota.burst_bytes_ns)
    return <int64_t> ceil(due)


cdef inline int64_t _behind(Quota* quota, size_t length) noexcept nogil:
    """Return by how much a link goes on later than the first of those that wait already, each for a message of a length.

    A second at most: they may be gone by then.
    """
    return <int64_t> min(quota.waiting * max(quota.message_ns, length * quota.byte_ns), <double> SECOND_NS)


cdef inline void _charge(Quota* quota, double now, int64_t messages, int64_t length) noexcept nogil:
    if quota.message_ns > 0:
        quota.messages_due_ns = max(quota.messages_due_ns, now) + messages * quota.message_ns
    if quota.byte_ns > 0:
        quota.bytes_due_ns = max(quota.bytes_due_ns, now) + length * quota.byte_ns
    quota.messages += messages


# ---- those of a link ---------------------------------------------------------------------------------------------------


cdef int64_t quotas_room(State* state, Link* link, uint8_t which, size_t length) noexcept nogil:
    """Return how many messages of a length a link may publish now."""
    cdef int64_t room = MANY
    cdef uint32_t at
    quotas_settle(state)
    for at in range(link.quota_count):
        if which >> at & 1:
            room = min(room, _room(link.quotas[at], <double> state.now_ns, length))
    return room


cdef void quotas_charge(State* state, Link* link, uint8_t which, int64_t messages, int64_t length) noexcept nogil:
    """Take what a link has published from its quotas."""
    cdef uint32_t at
    for at in range(link.quota_count):
        if which >> at & 1:
            _charge(link.quotas[at], <double> state.now_ns, messages, length)


cdef void _tell(State* state, Link* link, Message* message) noexcept nogil:
    """Say that a message was refused, in words that clients take for no reason to leave; not for each of a flood, unless it asks."""
    if message.reply_length and link.headers:
        tell_status(state, message, b"429 Quota Exceeded", 18)
    if link.quota_told_ns and state.now_ns - link.quota_told_ns < SECOND_NS:
        return
    link.quota_told_ns = max(state.now_ns, 1)
    link_say(state, link, b"-ERR 'Permissions Violation for Publish to \"")
    output_append(state, link, message.subject, message.subject_length)
    link_say(state, link, b"\": quota exceeded'\r\n")


cdef QuotaAnswer _over(State* state, Link* link, Message* message, uint8_t full) noexcept nogil:
    """Hold or tell a link that is over some of its quotas, a bit each."""
    cdef int64_t until = 0, passes
    cdef uint32_t at
    cdef Quota* quota
    cdef Quota* last = NULL
    for at in range(link.quota_count):
        quota = link.quotas[at]
        if not full >> at & 1:
            continue
        if quota.refuses:
            quota.refused += 1
            _tell(state, link, message)
            return QUOTA_REFUSES
        quota.waits += 1
        passes = _passes_at(quota) + _behind(quota, message.body_length)
        if passes > until:
            until = passes
            last = quota
    if until and _hold(state, link, until, last):
        return QUOTA_HOLDS
    quotas_charge(state, link, link.quotas_asked, 1, message.body_length)
    return QUOTA_LETS


cdef void _lease(State* state, Link* link) noexcept nogil:
    """Let a link publish without a look what its quotas on all subjects have room for: until the turn ends, or another link asks."""
    cdef uint32_t at
    cdef Quota* quota
    cdef double left, now = <double> state.now_ns
    state.lease_messages = state.lease_bytes = MANY
    for at in range(link.quotas_everywhere):
        quota = link.quotas[at]
        state.lease_messages = min(state.lease_messages, _room(quota, now, 0) - 1)
        if quota.byte_ns > 0:
            left = (quota.burst_bytes_ns - max(quota.bytes_due_ns - now, 0.0)) / quota.byte_ns
            state.lease_bytes = min(state.lease_bytes, <int64_t> min(left, <double> MANY) - 1)
    state.leased_messages, state.leased_bytes = state.lease_messages, state.lease_bytes
    state.leased_ns = now
    state.leased = link


cdef void quotas_settle(State* state) noexcept nogil:
    """End the lease, if there is one: charge what was published by it."""
    cdef Link* link = state.leased
    cdef uint32_t at
    cdef int64_t messages = state.leased_messages - state.lease_messages
    if link == NULL:
        return
    state.leased = NULL
    if messages == 0:
        return
    for at in range(link.quotas_everywhere):
        _charge(link.quotas[at], state.leased_ns, messages, state.leased_bytes - state.lease_bytes)


cdef QuotaAnswer quotas_look(State* state, Link* link, Message* message) noexcept nogil:
    """As `quotas_ask`, with a look at each quota."""
    cdef uint8_t which = 0, full = 0
    cdef uint32_t at
    cdef Quota* quota
    cdef double now = <double> state.now_ns
    quotas_settle(state)
    for at in range(link.quota_count):
        quota = link.quotas[at]
        if quota_is_on(quota, message.subject, message.subject_length):
            which |= 1 << at
            full |= (not _lets(quota, now)) << at
    link.quotas_asked = which
    if full:
        return _over(state, link, message, full)
    for at in range(link.quota_count):
        if which >> at & 1:
            _charge(link.quotas[at], now, 1, message.body_length)
    if state.last_asked == link:
        _lease(state, link)
    state.last_asked = link
    return QUOTA_LETS


cdef inline void _wait_no_more(Link* link) noexcept nogil:
    if link.paced_by != NULL:
        link.paced_by.waiting -= 1
        link.paced_by = NULL


cdef void _drop(State* state, Link* link) noexcept nogil:
    cdef uint32_t at
    _wait_no_more(link)
    if state.leased == link:
        quotas_settle(state)
    for at in range(link.quota_count):
        quota_release(link.quotas[at])
    free(link.quotas)
    link.quotas = NULL
    link.quota_count = link.quotas_everywhere = 0


cdef void _give(State* state, Link* link, Quota** quotas, uint32_t count) noexcept nogil:
    """Put a link under quotas, instead of those that it had; one that is held asks again. Without memory it keeps the old ones."""
    cdef Quota** made = NULL
    cdef uint32_t at, placed, everywhere = 0
    if count:
        made = <Quota**> malloc(count * sizeof(Quota*))
        if made == NULL:
            return
    for at in range(count):
        quotas[at].users += 1
        if quotas[at].subject_length == 0:
            made[everywhere] = quotas[at]
            everywhere += 1
    placed = everywhere
    for at in range(count):
        if quotas[at].subject_length:
            made[placed] = quotas[at]
            placed += 1
    _drop(state, link)
    link.quotas = made
    link.quota_count = <uint8_t> count
    link.quotas_everywhere = <uint8_t> everywhere
    if link.memo != NULL:
        link.memo.line_length = 0
    _let_go(state, link)


cdef void quotas_give(State* state, Command* command) noexcept nogil:
    """Put links under quotas, as rows of a command say: link, number of quotas, these."""
    cdef int64_t* at = <int64_t*> (command + 1)
    cdef int64_t* end = at + command.length // sizeof(int64_t)
    cdef Link* link
    while at < end:
        link = link_of(state, at[0])
        if link != NULL and not link.doomed:
            _give(state, link, <Quota**> (at + 2), <uint32_t> at[1])
        at += 2 + at[1]


cdef void quotas_leave(State* state, Link* link) noexcept nogil:
    """A link ends: it waits no more, and has no quotas."""
    _unpace(state, link)
    _drop(state, link)


# ---- those that wait ---------------------------------------------------------------------------------------------------


cdef inline void _put(State* state, uint32_t at, Link* link) noexcept nogil:
    state.paced[at] = link
    link.paced_at = at + 1


cdef void _sift(State* state, uint32_t at) noexcept nogil:
    """Restore the order of the heap around a place."""
    cdef Link* link = state.paced[at]
    cdef uint32_t next
    while at and state.paced[(at - 1) // 2].paced_until_ns > link.paced_until_ns:
        _put(state, at, state.paced[(at - 1) // 2])
        at = (at - 1) // 2
    while 2 * at + 1 < state.paced_count:
        next = 2 * at + 1
        if next + 1 < state.paced_count and state.paced[next + 1].paced_until_ns < state.paced[next].paced_until_ns:
            next += 1
        if state.paced[next].paced_until_ns >= link.paced_until_ns:
            break
        _put(state, at, state.paced[next])
        at = next
    _put(state, at, link)


cdef void _unpace(State* state, Link* link) noexcept nogil:
    cdef uint32_t at
    if link.paced_at == 0:
        return
    at = link.paced_at - 1
    link.paced_at = 0
    _wait_no_more(link)
    state.paced_count -= 1
    if at < state.paced_count:
        _put(state, at, state.paced[state.paced_count])
        _sift(state, at)


cdef bint _hold(State* state, Link* link, int64_t until, Quota* quota) noexcept nogil:
    """Read a link no further until a time, for a quota; False: there is no memory for that."""
    cdef void* grown
    cdef uint32_t room = state.paced_room * 2 if state.paced_room else HEAP_FIRST
    if link.paced_at == 0:
        if state.paced_count == state.paced_room:
            grown = realloc(state.paced, room * sizeof(Link*))
            if grown == NULL:
                return False
            state.paced = <Link**> grown
            state.paced_room = room
        _put(state, state.paced_count, link)
        state.paced_count += 1
        link.stalls += 1
        state.totals.kinds[link.kind].stalled += 1
    _wait_no_more(link)
    quota.waiting += 1
    link.paced_by = quota
    link.paced_until_ns = until
    _sift(state, link.paced_at - 1)
    link.held = HELD_BY_QUOTA
    return True


cdef void _let_go(State* state, Link* link) noexcept nogil:
    """Let a link ask again, if it waits for a quota."""
    if link.paced_at == 0:
        return
    _unpace(state, link)
    if link.held != HELD_BY_QUOTA:
        return
    link.held = 0
    link_wake(state, link)
    if state.shell.watch != NULL:
        state.shell.watch(state.shell.self, link)


cdef void quotas_tick(State* state) noexcept nogil:
    """Let links go on whose time has come."""
    while state.paced_count and state.paced[0].paced_until_ns <= state.now_ns:
        _let_go(state, state.paced[0])


cdef int64_t quotas_due_ns(State* state) noexcept nogil:
    """Return when `quotas_tick` has something to do; never: the largest number."""
    return state.paced[0].paced_until_ns if state.paced_count else NEVER_NS
