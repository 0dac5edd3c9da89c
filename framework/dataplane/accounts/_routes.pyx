"""Routes: which of them carries an account, and which interest they are told.

A route is registered for some accounts, or it is wide. One that is wide carries all accounts, or those that its pool gives it: the rest of
the account's number by the size of the pool is the index of the connection. Pinned accounts are in no pool. What another connection to the
same server was registered for, no wide one carries. Source: nats-server `route.go`, `computeRoutePoolIdx`.

An account that moves to a connection of its own moves at both ends, and neither knows when the other does. From the moment that we have
the connection, interest here and messages take it, whatever connection brought the interest that they answer: a request follows the
interest in its reply, and what the peer asked by the others is answered still. What it says by the others counts until it has moved:
until its PONG on the new connection, and a PONG to a PING on the old one after that. By then it has said everything again on the new one,
and what the old one brought is forgotten. What comes there later means that the peer has moved back.

Permissions of routes are about interest: rules for publishing say what interest here other servers are told (import), rules for
subscribing what interest of theirs counts here (export). What is denied to export does not leave either where interest with wildcards
would let it. Source: nats-server `route.go`, `canImport`, `canExport`; `client.go`, `deliverMsg`.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc

from framework.dataplane.links._clocks cimport link_ping, ping_interval_ns
from framework.dataplane.delivery._delivery cimport interest_tell_in_bulk, lines_forget, link_doom, subscription_drop
from framework.dataplane.accounts._permissions cimport link_permit, may_export, may_import, permission_table_release
from framework.dataplane._state cimport (
    IS_PEER, WRITE_ERROR, Account, Fence, Link, LocalInterest, Peer, PermissionTable, State, Subscription,
)
from framework.dataplane.accounts._telling cimport interest_send, telling_end
from framework.sublist._sublist cimport Interest, sublist_all


# ---- which route carries an account ------------------------------------------------------------------------------------


cdef void _carry(State* state, Account* account, Link* route) noexcept nogil:
    """Let a route carry an account, and tell it all interest here; nothing happens when it does so already."""
    cdef Link** grown
    cdef uint32_t at, room
    for at in range(account.route_count):
        if account.routes[at] == route:
            return
    if account.route_count == account.route_room:
        room = account.route_room * 2 + 4
        grown = <Link**> realloc(account.routes, room * sizeof(Link*))
        if grown == NULL:
            link_doom(state, route, WRITE_ERROR, False, "no memory")
            return
        account.routes = grown
        account.route_room = room
    account.routes[account.route_count] = route
    account.route_count += 1
    interest_send(state, account, route)


cdef bint _leave(Account* account, Link* route) noexcept nogil:
    """Let a route carry an account no more; False: it has not."""
    cdef uint32_t at
    for at in range(account.route_count):
        if account.routes[at] == route:
            account.route_count -= 1
            account.routes[at] = account.routes[account.route_count]
            telling_end(route, account)
            return True
    return False


cdef void interest_forget(State* state, Account* account, Link* route) noexcept nogil:
    """Forget the interest in an account that came by a link. Cost: O(interest that came by it, or of the account, whatever is less)."""
    cdef Subscription* subscription = route.subscriptions
    cdef Subscription* following
    cdef size_t at, count
    cdef Interest** all_of_it = NULL
    if account.sublist.count < route.subscription_count:
        all_of_it = <Interest**> malloc((account.sublist.count + 1) * sizeof(Interest*))
    if all_of_it != NULL:
        count = sublist_all(&account.sublist, all_of_it)
        for at in range(count):
            if all_of_it[at].owner == route:
                subscription_drop(state, <Subscription*> all_of_it[at])
        free(all_of_it)
        return
    while subscription != NULL:
        following = subscription.next
        if subscription.account == account:
            subscription_drop(state, subscription)
        subscription = following


cdef Link* _own(Account* account, Link* route) noexcept nogil:
    """Return the connection to the server of a wide route that was registered for this very account; NULL: there is none."""
    cdef uint32_t at
    cdef Link* other
    for at in range(account.route_count):
        other = account.routes[at]
        if other.peer == route.peer and not other.wide and not other.doomed:
            return other
    return NULL


cdef bint _is_due(Account* account, Link* route) noexcept nogil:
    """Whether a wide route has to carry an account."""
    if route.pool_size and (account.pinned or account.assigned % route.pool_size != route.pool_index):
        return False
    return _own(account, route) == NULL


cdef void account_carry_widely(State* state, Account* account) noexcept nogil:
    """Let those wide routes carry an account that have to now.

    Who carries it no more is told nothing. What it said counts until the account has a connection of its own: its server may not have
    been told to pin the account, or may be told so and told otherwise before this one is, and would not say it again.
    """
    cdef uint32_t at
    cdef Link* route
    for at in range(state.wide_count):
        route = state.wide[at]
        if not _is_due(account, route):
            _leave(account, route)
        elif account.ours:
            _carry(state, account, route)


cdef bint _fence(Link* link, Account* account, Link* to) noexcept nogil:
    """Begin the move of an account from one link to another; False: no memory.

    Where the peer has taken the other one already, it has moved before it answers the last PING on this one.
    """
    cdef Fence* fence = <Fence*> calloc(1, sizeof(Fence))
    if fence == NULL:
        return False
    fence.account = account
    fence.to = to
    fence.pongs = link.pings_sent if to.pongs else 0
    fence.next = link.fences
    link.fences = fence
    return True


cdef void accounts_carry(State* state, Link* route) noexcept nogil:
    """Let a route be wide. Its server may have said by it what it has moved meanwhile to a connection of an account."""
    cdef Link** grown
    cdef uint32_t at
    cdef Link* own
    if state.wide_count == state.wide_room:
        grown = <Link**> realloc(state.wide, (state.wide_room * 2 + 4) * sizeof(Link*))
        if grown == NULL:
            link_doom(state, route, WRITE_ERROR, False, "no memory")
            return
        state.wide = grown
        state.wide_room = state.wide_room * 2 + 4
    state.wide[state.wide_count] = route
    state.wide_count += 1
    route.wide = 1
    for at in range(state.account_count):
        own = _own(state.accounts[at], route)
        if own != NULL:
            _fence(route, state.accounts[at], own)
        elif state.accounts[at].ours and _is_due(state.accounts[at], route):
            _carry(state, state.accounts[at], route)


cdef void account_carry(State* state, Account* account, Link* route) noexcept nogil:
    """Let a route carry this very account, and other connections to the same server no more."""
    cdef uint32_t at
    cdef Link* other
    if route.peer.number:
        for at in range(state.link_count):
            other = state.links[at]
            if other != route and other.peer == route.peer and not other.doomed:
                _leave(account, other)
                if not _fence(other, account, route):
                    interest_forget(state, account, other)
    lines_forget(state)
    _carry(state, account, route)


cdef void fences_pass(State* state, Link* route) noexcept nogil:
    """Go on with the moves that wait for a PONG of a route."""
    cdef Fence** at = &route.fences
    cdef Fence* fence
    cdef uint32_t which
    cdef Link* other
    while at[0] != NULL:
        fence = at[0]
        if fence.pongs == 0 or route.pongs < fence.pongs:
            at = &fence.next
            continue
        at[0] = fence.next
        interest_forget(state, fence.account, route)
        free(fence)
    if route.wide or route.pongs != 1:
        return
    for which in range(state.link_count):
        other = state.links[which]
        if other.peer == route.peer and not other.doomed and _has_waiting(other, route):
            link_ping(state, other, ping_interval_ns(state, other))
            fence = other.fences
            while fence != NULL:
                if fence.to == route:
                    fence.pongs = other.pings_sent
                fence = fence.next


cdef bint _has_waiting(Link* link, Link* to) noexcept nogil:
    """Whether an account moves from one link to another."""
    cdef Fence* fence = link.fences
    while fence != NULL:
        if fence.to == to:
            return True
        fence = fence.next
    return False


cdef void _fences_end(Link* link, Link* to) noexcept nogil:
    """Give up the moves from one link to another; NULL: to any."""
    cdef Fence** at = &link.fences
    cdef Fence* fence
    while at[0] != NULL:
        fence = at[0]
        if to == NULL or fence.to == to:
            at[0] = fence.next
            free(fence)
        else:
            at = &fence.next


cdef void accounts_pin(State* state, const uint32_t* pinned, size_t count) noexcept nogil:
    """Let these accounts, and no others, be in no pool."""
    cdef uint32_t at
    cdef size_t which
    cdef uint8_t before
    cdef Account* account
    for which in range(count):
        if pinned[which] < state.account_count:
            state.accounts[pinned[which]].pinned |= 2
    for at in range(state.account_count):
        account = state.accounts[at]
        before = account.pinned & 1
        account.pinned >>= 1
        if account.pinned != before:
            account_carry_widely(state, account)


cdef void accounts_leave(State* state, Link* route) noexcept nogil:
    """Let a route that ends carry nothing any more; what it alone carried is left to the others."""
    cdef uint32_t at
    if not route.registered:
        return
    if not route.wide:
        lines_forget(state)
    for at in range(state.wide_count):
        if state.wide[at] == route:
            state.wide_count -= 1
            state.wide[at] = state.wide[state.wide_count]
            break
    _fences_end(route, NULL)
    for at in range(state.link_count):
        _fences_end(state.links[at], route)
    for at in range(state.account_count):
        if _leave(state.accounts[at], route) and not route.wide:
            account_carry_widely(state, state.accounts[at])


# ---- servers at the other end ------------------------------------------------------------------------------------------


cdef bint peer_join(State* state, Link* route, uint32_t number) noexcept nogil:
    """Let a route be one of those to a server; `number` 0: nobody knows which. False: no memory."""
    cdef Peer* peer = state.peers
    while number and peer != NULL and peer.number != number:
        peer = peer.next
    if number == 0 or peer == NULL:
        peer = <Peer*> calloc(1, sizeof(Peer))
        if peer == NULL:
            return False
        peer.number = number
        if number:
            peer.next = state.peers
            state.peers = peer
    peer.users += 1
    route.peer = peer
    return True


cdef void peer_leave(State* state, Link* route) noexcept nogil:
    """Let a route be to no server any more."""
    cdef Peer* peer = route.peer
    cdef Peer** at = &state.peers
    route.peer = NULL
    if peer == NULL:
        return
    peer.users -= 1
    if peer.users:
        return
    while at[0] != NULL and at[0] != peer:
        at = &at[0].next
    if at[0] == peer:
        at[0] = peer.next
    free(peer)


# ---- permissions -------------------------------------------------------------------------------------------------------


cdef void _tell_difference(State* state, Link* route, Account* account, PermissionTable* before) noexcept nogil:
    """Tell a route the interest that it may know of now and might not before, and take back what is the other way round."""
    cdef size_t at
    cdef LocalInterest* local
    cdef bint was, now
    if account.interest.slots == NULL:
        return
    for at in range(account.interest.mask + 1):
        local = <LocalInterest*> account.interest.slots[at].key
        if local == NULL or route.doomed:
            continue
        was = may_import(state, route, before, local.key.chars, local.subject_length)
        now = may_import(state, route, route.permissions, local.key.chars, local.subject_length)
        if was != now:
            interest_tell_in_bulk(state, route, account, local, now)


cdef void peer_permit(State* state, Link* route, PermissionTable* table) noexcept nogil:
    """Put a route under other rules; interest follows them at once, here and at the other end."""
    cdef PermissionTable* before = route.permissions
    cdef Subscription* subscription = route.subscriptions
    cdef Subscription* following
    cdef uint32_t at, which
    cdef Account* account
    if before != NULL:
        before.users += 1
    link_permit(route, table)
    while subscription != NULL:
        following = subscription.next
        if not may_export(state, route, subscription.interest.subject, subscription.interest.subject_length):
            subscription_drop(state, subscription)
        subscription = following
    for at in range(state.account_count):
        account = state.accounts[at]
        for which in range(account.route_count):
            if account.routes[which] == route:
                _tell_difference(state, route, account, before)
    if before != NULL:
        permission_table_release(before)


cdef void peers_permit(State* state, int kind, PermissionTable* table) noexcept nogil:
    """Put all servers with links of a kind under other rules; NULL: they may do everything."""
    cdef uint32_t at
    cdef Link* link
    for at in range(state.link_count):
        link = state.links[at]
        if link.kind == kind and link.traits & IS_PEER and link.registered and not link.doomed:
            peer_permit(state, link, table)
