"""Find a subscription of a link by its sid; that of another server's interest is the words it was said with."""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane._state cimport Account, Link, State, Subscription
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_find


cdef Subscription* subscription_find(State* state, Link* link, const char* sid, size_t length) noexcept nogil:
    """Return the subscription of a link with this sid; NULL: there is none."""
    cdef char near[256]
    cdef char* key = near
    cdef void* found
    if length + 8 > sizeof(near):
        key = <char*> malloc(length + 8)
        if key == NULL:
            return NULL
    memcpy(key, &link.id, 8)
    memcpy(key + 8, sid, length)
    found = table_find(&state.sids, hash_bytes(state.seed, key, length + 8), key, length + 8)
    if key != near:
        free(key)
    if found == NULL:
        return NULL
    return <Subscription*> (<char*> found - <size_t> &(<Subscription*> NULL).key)


cdef uint32_t interest_of_link(State* state, Link* link, Account* account, const char* words, size_t length) noexcept nogil:
    """Return the weight of the interest in an account that a server said by a link; 0: it has said none.

    Args:
        words: The subject, and a queue group behind a blank.
    """
    cdef Subscription* found
    cdef char* sid
    if link.account_omitted:
        found = subscription_find(state, link, words, length)
        return found.interest.weight if found != NULL else 0
    sid = <char*> malloc(account.name_length + 1 + length)
    if sid == NULL:
        return 0
    memcpy(sid, account.name, account.name_length)
    sid[account.name_length] = c" "
    memcpy(sid + account.name_length + 1, words, length)
    found = subscription_find(state, link, sid, account.name_length + 1 + length)
    free(sid)
    return found.interest.weight if found != NULL else 0
