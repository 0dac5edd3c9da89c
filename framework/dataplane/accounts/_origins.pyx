"""Origins: clusters that are leaf nodes here: each of their servers has a link to this server, or to another one of its cluster.

What one of these servers publishes reaches the others by their routes. So it goes to none of them from here, nor are they told of the
interest of each other. A server of this cluster says the origin with what it passes on by routes: with a message (LMSG), and with
interest (LS+, LS-). Interest with an origin counts as any other of that server, beside what it says without one; the words of it begin
with a blank.

Origins have numbers: a message outlives the last link of its origin.

Source: nats-server `leafnode.go`, `updateLeafNodesEx`, `initLeafNodeSmapAndSendSubs`; `client.go`, `processMsgResults`,
`msgHeaderForRouteOrLeaf`; `route.go`, `processRoutedOriginClusterMsgArgs`, `processRemoteSub`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from framework.dataplane.accounts._sids cimport interest_of_link, subscription_find
from framework.dataplane.delivery._delivery cimport link_doom
from framework.dataplane._state cimport (
    SCOPE_ROUTE, WRITE_ERROR, Account, Link, LocalInterest, Origin, OriginInterest, State, Subscription,
)
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_find, table_make, table_remove


cdef Origin* _origin(State* state, const char* name, size_t length) noexcept nogil:
    return <Origin*> table_find(&state.origins, hash_bytes(state.seed, name, length), name, length)


cdef void origin_set(State* state, Link* link, const char* name, size_t length) noexcept nogil:
    """Let a link be one to a server of a cluster of leaf nodes; it has no origin yet."""
    cdef Origin* origin = _origin(state, name, length)
    if origin == NULL:
        origin = <Origin*> table_make(&state.origins, sizeof(Origin), 0, name, length, hash_bytes(state.seed, name, length))
        if origin == NULL:
            link_doom(state, link, WRITE_ERROR, False, "no memory")
            return
        state.last_origin += 1
        origin.number = state.last_origin
    link.origin = origin
    link.next_of_origin = origin.links
    origin.links = link


cdef void origin_leave(State* state, Link* link) noexcept nogil:
    """Let a link that ends have no origin any more."""
    cdef Origin* origin = link.origin
    cdef Link** at
    if origin == NULL:
        return
    at = &origin.links
    while at[0] != link:
        at = &at[0].next_of_origin
    at[0] = link.next_of_origin
    link.origin = NULL
    if origin.links == NULL:
        table_remove(&state.origins, &origin.key)
        free(origin)


cdef uint32_t origin_number(State* state, const char* name, size_t length) noexcept nogil:
    """Return the number of the origin that another server says; 0: no leaf node here is of that cluster."""
    cdef Origin* origin = _origin(state, name, length)
    return origin.number if origin != NULL else 0


cdef bint is_interest_of_origin(Link* link, Subscription* subscription) noexcept nogil:
    """Whether interest comes from the cluster of leaf nodes that a link leads to: by another link to it, or by a route."""
    cdef Link* source = subscription.link
    cdef uint32_t length
    if link.origin == NULL or source == NULL:
        return False
    if source.origin == link.origin:
        return True
    length = link.origin.key.length
    return (
        source.scope == SCOPE_ROUTE and subscription.sid_length > length + 1 and subscription.sid[0] == c" "
        and subscription.sid[length + 1] == c" " and memcmp(subscription.sid + 1, link.origin.key.chars, length) == 0
    )


cdef int64_t _told_by_route(State* state, Link* route, Origin* origin, Account* account, LocalInterest* local) noexcept nogil:
    """Return the weight of the interest that another server of this cluster said with an origin."""
    cdef size_t name = account.name_length + 1 if not route.account_omitted else 0
    cdef size_t length = 2 + origin.key.length + name + local.key.length
    cdef char* sid = <char*> malloc(length + 1)
    cdef char* at = sid
    cdef Subscription* found
    if sid == NULL:
        return 0
    at[0] = c" "
    memcpy(at + 1, origin.key.chars, origin.key.length)
    at += 1 + origin.key.length
    at[0] = c" "
    at += 1
    if name:
        memcpy(at, account.name, account.name_length)
        at[account.name_length] = c" "
        at += name
    memcpy(at, local.key.chars, local.key.length)
    found = subscription_find(state, route, sid, length)
    free(sid)
    return found.interest.weight if found != NULL else 0


cdef int64_t interest_of_origin(State* state, Link* link, Account* account, LocalInterest* local) noexcept nogil:
    """Return how much of one interest that a link might be told of comes from the cluster that it leads to, itself left out."""
    cdef Link* other = link.origin.links
    cdef int64_t count = 0
    cdef uint32_t at
    while other != NULL:
        if other != link and other.account == account and link.told >> other.scope & 1:
            count += interest_of_link(state, other, account, local.key.chars, local.key.length)
        other = other.next_of_origin
    if state.origins_told and link.told >> SCOPE_ROUTE & 1:
        for at in range(account.route_count):
            if account.routes[at].scope == SCOPE_ROUTE:
                count += _told_by_route(state, account.routes[at], link.origin, account, local)
    return count


cdef void origin_interest_change(LocalInterest* local, Origin* origin, int change) noexcept nogil:
    """Count the interest of leaf nodes of one cluster more or less. Cost: O(clusters that have it)."""
    cdef OriginInterest** at = &local.origins
    cdef OriginInterest* found
    cdef int64_t total = change + (local.origins.total if local.origins != NULL else 0)
    while at[0] != NULL and at[0].origin != origin:
        at = &at[0].next
    found = at[0]
    if found == NULL:
        found = <OriginInterest*> calloc(1, sizeof(OriginInterest)) if change > 0 else NULL
        if found == NULL:
            # No memory, now or when it came: routes are told of it without an origin.
            return
        found.origin = origin
        found.next = local.origins
        local.origins = found
        at = &local.origins
    found.count += change
    if found.count <= 0:
        at[0] = found.next
        free(found)
    if local.origins != NULL:
        local.origins.total = total


cdef void origins_forget(LocalInterest* local) noexcept nogil:
    """Free what is counted by origins of one interest; NULL: of none."""
    cdef OriginInterest* its
    while local != NULL and local.origins != NULL:
        its = local.origins
        local.origins = its.next
        free(its)


cdef int64_t interest_by_origin(Origin* origin, LocalInterest* local) noexcept nogil:
    """Return how much of one interest the leaf nodes of a cluster have that are connected here."""
    cdef OriginInterest* its = local.origins
    while its != NULL and its.origin != origin:
        its = its.next
    return its.count if its != NULL else 0
