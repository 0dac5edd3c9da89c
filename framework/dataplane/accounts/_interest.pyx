"""Subscriptions of links: add, check."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport interest_change
from framework.dataplane.ports._port_watches cimport port_watches_touch
from framework.dataplane._state cimport SCOPE_GATEWAY, SPARE_RANK, Account, Link, State, Subscription
from framework.dataplane._work cimport INTEREST_WORK
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._sublist cimport sublist_insert, sublist_remove, sublist_touch
from framework.sublist._table cimport table_add


cdef bint is_valid_subject(const char* subject, size_t length) noexcept nogil:
    """Whether interest in it makes sense: no empty token, `>` only at the end, no NUL. Source: `sublist.go`, `IsValidSubject`."""
    cdef size_t at, start = 0
    cdef bint ended = False
    if length == 0:
        return False
    for at in range(length + 1):
        if at == length or subject[at] == c".":
            if at == start or ended:
                return False
            ended = at - start == 1 and subject[start] == c">"
            start = at + 1
        elif subject[at] == 0:
            return False
    return True


cdef bint is_literal_subject(const char* subject, size_t length) noexcept nogil:
    """Whether it is valid and has no wildcard token. Source: `sublist.go`, `IsValidLiteralSubject`."""
    cdef size_t at, start = 0
    if length == 0:
        return False
    for at in range(length + 1):
        if at == length or subject[at] == c".":
            if at == start:
                return False
            if at - start == 1 and (subject[start] == c">" or subject[start] == c"*"):
                return False
            start = at + 1
        elif subject[at] == 0:
            return False
    return True


cdef Subscription* subscription_add(
    State* state, Link* link, Account* account, const char* sid, size_t sid_length,
    const char* subject, size_t subject_length, const char* queue, size_t queue_length, unsigned int weight,
) noexcept nogil:
    """Subscribe; the subject is valid and the sid new to the link. `link` NULL: for a sink. NULL: no memory."""
    cdef Subscription* made = <Subscription*> calloc(1, sizeof(Subscription) + 8 + sid_length + subject_length + queue_length + COPY_SLACK)
    cdef char* chars
    if made == NULL:
        return NULL
    chars = <char*> (made + 1)
    if link != NULL:
        memcpy(chars, &link.id, 8)
    if sid_length:
        memcpy(chars + 8, sid, sid_length)
    memcpy(chars + 8 + sid_length, subject, subject_length)
    if queue_length:
        memcpy(chars + 8 + sid_length + subject_length, queue, queue_length)
    made.link = link
    made.account = account
    made.sid = chars + 8
    made.sid_length = <uint32_t> sid_length
    made.interest.subject = chars + 8 + sid_length
    made.interest.subject_length = <uint32_t> subject_length
    made.interest.queue = made.interest.subject + subject_length
    made.interest.queue_length = <uint32_t> queue_length
    made.interest.weight = weight
    if link != NULL:
        # What begins with a blank has an origin: leaf nodes at another server of this cluster stand behind all others of it.
        made.interest.rank = SPARE_RANK if sid_length and sid[0] == c" " else link.rank
        made.interest.scope = link.scope
    made.interest.owner = link
    made.key.chars = chars
    made.key.length = <uint32_t> (8 + sid_length)
    made.key.hash = hash_bytes(state.seed, chars, made.key.length)
    if not sublist_insert(&account.sublist, &made.interest):
        free(made)
        return NULL
    if link != NULL:
        if not table_add(&state.sids, &made.key):
            sublist_remove(&account.sublist, &made.interest)
            free(made)
            return NULL
        made.next = link.subscriptions
        if made.next != NULL:
            made.next.previous = made
        link.subscriptions = made
        link.subscription_count += 1
    state.work += INTEREST_WORK
    if state.port_watches.count:
        port_watches_touch(state, made)
    if made.interest.rank == 0:
        state.totals.subscriptions += 1
    account.apart += made.interest.scope == SCOPE_GATEWAY
    interest_change(state, made, weight)
    return made


cdef void interest_weigh(State* state, Subscription* subscription, unsigned int weight) noexcept nogil:
    """Let the interest of another server stand for so many members."""
    cdef int change = <int> weight - <int> subscription.interest.weight
    subscription.interest.weight = weight
    sublist_touch(&subscription.account.sublist, &subscription.interest)
    if change:
        interest_change(state, subscription, change)
