"""Accounts: create, find by name, remove.

Routes may speak of accounts that this server does not have, or not yet. What they say of their interest is kept all the same, since they
say it once; messages of such an account go nowhere. An account that is removed becomes one of these, and keeps its number.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from framework.dataplane.delivery._delivery cimport lines_forget, subscription_drop
from framework.dataplane.delivery._watches cimport watches_free
from framework.dataplane.accounts._assumed cimport account_assume
from framework.dataplane.accounts._origins cimport origins_forget
from framework.dataplane.accounts._routes cimport account_carry_widely
from framework.dataplane.ports._sinkbatch cimport publish_pointer
from framework.dataplane._state cimport ACCOUNTS_FOREIGN_MAX, Account, Link, LocalInterest, State, Subscription
from framework.dataplane.accounts._tables cimport tables_leave
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._sublist cimport Interest, sublist_all, sublist_close, sublist_open
from framework.sublist._table cimport table_add, table_clear, table_find, table_remove

cdef enum:
    CACHE_MAX = 65536


# ---- made and found ----------------------------------------------------------------------------------------------------


cdef uint32_t _assigned(const char* name, size_t length) noexcept nogil:
    """Return the number of an account for pools, which is the same on all servers: FNV-1a of its name."""
    cdef uint32_t value = 2166136261
    cdef size_t at
    for at in range(length):
        value = (value ^ <unsigned char> name[at]) * 16777619
    return value


cdef Account* _made(State* state, const char* name, size_t length) noexcept nogil:
    """Make an account without a number; NULL: no memory."""
    cdef Account* account = <Account*> calloc(1, sizeof(Account) + length + COPY_SLACK)
    if account == NULL:
        return NULL
    account.name = <char*> (account + 1)
    memcpy(<char*> (account + 1), name, length)
    account.name_length = <uint32_t> length
    account.key.chars = account.name
    account.key.length = <uint32_t> length
    account.key.hash = hash_bytes(state.seed, name, length)
    account.assigned = _assigned(name, length)
    sublist_open(&account.sublist, state.seed, CACHE_MAX)
    account.sublist.work = &state.work
    if not table_add(&state.account_names, &account.key):
        free(account)
        return NULL
    return account


cdef bint _number(State* state, Account* account) noexcept nogil:
    """Give an account the next number; False: no memory."""
    cdef uint32_t room
    cdef Account** grown
    if state.account_count == state.account_room:
        room = state.account_room * 2 + 16
        grown = <Account**> realloc(state.accounts, room * sizeof(Account*))
        if grown == NULL:
            return False
        state.accounts = grown
        state.account_room = room
    account.index = state.account_count
    account.numbered = 1
    state.accounts[state.account_count] = account
    if state.account_count == 0:
        state.first_account = account
    else:
        publish_pointer(<void**> &state.accounts[state.account_count - 1].next, account)
    state.account_count += 1
    return True


cdef Account* account_new(State* state, const char* name, size_t length) noexcept nogil:
    """Let an account be one of ours, a new one or one that routes spoke of, and let routes carry it. NULL: no memory."""
    cdef Account* account = <Account*> table_find(&state.account_names, hash_bytes(state.seed, name, length), name, length)
    if account == NULL:
        account = _made(state, name, length)
        if account == NULL:
            return NULL
    elif account.ours:
        return account
    elif not account.numbered:
        state.foreign_count -= 1
    if not account.numbered and not _number(state, account):
        return NULL
    account.ours = 1
    account_carry_widely(state, account)
    account_assume(state, account)
    return account


cdef Account* account_named(State* state, Link* link, const char* name, uint32_t length) noexcept nogil:
    """Return the account of a route's line, ours or not; NULL: nobody spoke of it yet."""
    cdef Account* last = link.account
    if last != NULL and last.name_length == length and memcmp(last.name, name, length) == 0:
        return last
    return <Account*> table_find(&state.account_names, hash_bytes(state.seed, name, length), name, length)


cdef Account* account_foreign(State* state, const char* name, uint32_t length) noexcept nogil:
    """Make an account that a route has interest in and that is not ours; NULL: there are enough of them, or no memory."""
    cdef Account* account = NULL
    if state.foreign_count < ACCOUNTS_FOREIGN_MAX:
        account = _made(state, name, length)
        if account != NULL:
            state.foreign_count += 1
    return account


# ---- clients -----------------------------------------------------------------------------------------------------------


cdef void client_join(Account* account, Link* client) noexcept nogil:
    """Let a client act in an account."""
    client.account = account
    client.previous_client = NULL
    client.next_client = account.clients
    if account.clients != NULL:
        account.clients.previous_client = client
    account.clients = client


cdef void client_leave(Link* client) noexcept nogil:
    """Let a client act in its account no more."""
    if client.previous_client != NULL:
        client.previous_client.next_client = client.next_client
    else:
        client.account.clients = client.next_client
    if client.next_client != NULL:
        client.next_client.previous_client = client.previous_client


# ---- removed -----------------------------------------------------------------------------------------------------------


cdef void _free(Account* account) noexcept nogil:
    cdef size_t at
    if account.interest.slots != NULL:
        for at in range(account.interest.mask + 1):
            origins_forget(<LocalInterest*> account.interest.slots[at].key)
            free(account.interest.slots[at].key)
    table_clear(&account.interest)
    sublist_close(&account.sublist)
    watches_free(account)
    free(account.routes)
    free(account)


cdef void account_spare(State* state, Account* account) noexcept nogil:
    """Look at the end of the turn whether an account that never was ours can be freed: subscriptions that have ended lead to it still."""
    if account.numbered or account.sublist.count or account.spared:
        return
    account.spared = 1
    account.next_spared = state.spared
    state.spared = account


cdef void accounts_sweep(State* state) noexcept nogil:
    """Free accounts that never were ours when no route has interest in them any more."""
    cdef Account* account
    while state.spared != NULL:
        account = state.spared
        state.spared = account.next_spared
        account.spared = 0
        if not account.numbered and account.sublist.count == 0:
            table_remove(&state.account_names, &account.key)
            state.foreign_count -= 1
            state.group_index.of = NULL
            _free(account)


cdef void _drop_local(State* state, Account* account) noexcept nogil:
    """End all subscriptions here; routes are told."""
    cdef size_t count, at
    cdef Subscription* subscription
    cdef Interest** all_of_it = <Interest**> malloc((account.sublist.count + 1) * sizeof(Interest*))
    if all_of_it == NULL:
        return
    count = sublist_all(&account.sublist, all_of_it)
    for at in range(count):
        if all_of_it[at].rank:
            continue
        subscription = <Subscription*> all_of_it[at]
        if subscription.sink != NULL:
            subscription.sink.subscription = NULL
        subscription_drop(state, subscription)
    free(all_of_it)


cdef void account_remove(State* state, Account* account) noexcept nogil:
    """Take an account out of service: its subscriptions and matches go; its number and its routes stay, and what these say of it."""
    if not account.ours:
        return
    tables_leave(state, account)
    _drop_local(state, account)
    account.ours = 0
    lines_forget(state)
    if account.sublist.count == 0:
        state.group_index.of = NULL
        sublist_close(&account.sublist)
        sublist_open(&account.sublist, state.seed, CACHE_MAX)
        account.sublist.work = &state.work


cdef void accounts_free(State* state) noexcept nogil:
    """Free all accounts, those as well that only routes spoke of."""
    cdef size_t at
    if state.account_names.slots != NULL:
        for at in range(state.account_names.mask + 1):
            if state.account_names.slots[at].key != NULL:
                _free(<Account*> state.account_names.slots[at].key)
    table_clear(&state.account_names)
    free(state.accounts)
    free(state.wide)
