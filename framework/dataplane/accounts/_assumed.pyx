"""Peers that are taken to want everything until they say otherwise: Optimistic mode.

A server of an old kind tells no interest of its own accord. It is sent what is published in an account until it says that it wants
nothing of the account, or of a subject; when it has said that of many subjects, it tells all its interest in the account, between two
marks, and is sent no more than that from then on. Each account of each such link is in one of these states:

    ASSUMED    all of it goes there, but for the subjects that were refused      no-account →  NOTHING    begins → SWITCHING
    NOTHING    none of it goes there                                            account →     ASSUMED    begins → SWITCHING
    SWITCHING  as ASSUMED; interest that is told meanwhile is kept               ends →        TOLD
    TOLD       what goes there was told

What is assumed stands in the sublist as interest in `>`, under a sid that no line of the peer can have: the name of the account alone. So
the match knows nothing of all this. Refused subjects are looked up when a message is about to go to such a link.

The other way round, a peer that sends without being asked is told once of each account that is not known here.

Source: nats-server `gateway.go`, `processGatewayRSub`, `processGatewayRUnsub`, `processGatewayAccountSub`, `gatewayInterest`,
`gatewayAllSubsReceiveStart`, `gatewayHandleAccountNoInterest`.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from framework.dataplane._state cimport (
    ASSUMED, NOTHING, READ_ERROR, REFUSALS_MAX, SWITCHING, TOLD, Account, AssumedAccount, Assumptions, Link, State, Subscription,
)
from framework.dataplane._work cimport COMMAND_WORK
from framework.dataplane.accounts._interest cimport subscription_add
from framework.dataplane.accounts._routes cimport interest_forget
from framework.dataplane.accounts._sids cimport subscription_find
from framework.dataplane.delivery._delivery cimport lines_forget, link_doom, subscription_drop, trace
from framework.dataplane.links._output cimport output_commit, output_reserve
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._sublist cimport Interest, sublist_all
from framework.sublist._table cimport Key, Table, table_clear, table_find, table_make, table_remove
from framework.sublist._transform cimport is_subset

cdef enum:
    SLOTS_A_WORK = 16


cdef bint assumptions_new(State* state, Link* link, bint from_start, bint tells_unknown) noexcept nogil:
    """Let a link have such states; False: no memory, and the link ends.

    Args:
        from_start: Each account is ASSUMED at first; else TOLD.
        tells_unknown: The peer sends unasked.
    """
    cdef uint32_t at
    if link.assumed == NULL:
        link.assumed = <Assumptions*> calloc(1, sizeof(Assumptions))
    if link.assumed == NULL:
        link_doom(state, link, READ_ERROR, False, "no memory")
        return False
    link.assumed.tells_unknown = tells_unknown
    if from_start and not link.assumed.from_start:
        link.assumed.from_start = 1
        state.assuming_count += 1
        for at in range(state.account_count):
            if state.accounts[at].ours:
                _assume(state, link, state.accounts[at])
    return True


cdef void _table_end(Table* table) noexcept nogil:
    cdef size_t at
    if table.slots != NULL:
        for at in range(table.mask + 1):
            free(table.slots[at].key)
    table_clear(table)


cdef void assumptions_end(State* state, Link* link) noexcept nogil:
    """Forget all states of a link that ends."""
    if link.assumed == NULL:
        return
    state.assuming_count -= link.assumed.from_start
    _table_end(&link.assumed.accounts)
    _table_end(&link.assumed.refused)
    _table_end(&link.assumed.unknown)
    free(link.assumed)
    link.assumed = NULL


# ---- states of accounts --------------------------------------------------------------------------------------------------


cdef AssumedAccount* _state_of(State* state, Link* link, const char* name, uint32_t length) noexcept nogil:
    return <AssumedAccount*> table_find(&link.assumed.accounts, hash_bytes(state.seed, name, length), name, length)


cdef int _mode_of(State* state, Link* link, const char* name, uint32_t length) noexcept nogil:
    cdef AssumedAccount* found = _state_of(state, link, name, length)
    if found != NULL:
        return found.mode
    return ASSUMED if link.assumed.from_start else TOLD


cdef void _set_mode(State* state, Link* link, const char* name, uint32_t length, int mode) noexcept nogil:
    cdef AssumedAccount* found = _state_of(state, link, name, length)
    if found == NULL:
        found = <AssumedAccount*> table_make(
            &link.assumed.accounts, sizeof(AssumedAccount), 0, name, length, hash_bytes(state.seed, name, length)
        )
    if found == NULL:
        link_doom(state, link, READ_ERROR, False, "no memory")
    else:
        found.mode = <uint8_t> mode


cdef void _assume(State* state, Link* link, Account* account) noexcept nogil:
    """Let all of an account go to a link."""
    cdef const char* everything = b">"
    if subscription_find(state, link, account.name, account.name_length) != NULL:
        return
    if subscription_add(state, link, account, account.name, account.name_length, everything, 1, NULL, 0, 1) == NULL:
        link_doom(state, link, READ_ERROR, False, "no memory")


cdef void _assume_no_more(State* state, Link* link, Account* account) noexcept nogil:
    """Let no more go to a link than it was told of an account."""
    cdef Subscription* everything = subscription_find(state, link, account.name, account.name_length)
    if everything != NULL:
        subscription_drop(state, everything)


cdef void account_assume(State* state, Account* account) noexcept nogil:
    """Let peers have all of an account that has become one of ours, as far as they have not said otherwise."""
    cdef uint32_t at
    cdef Link* link
    for at in range(state.link_count if state.assuming_count else 0):
        link = state.links[at]
        if link.assumed == NULL or link.doomed:
            continue
        if _mode_of(state, link, account.name, account.name_length) == ASSUMED:
            _assume(state, link, account)


cdef bint _has_groups(State* state, Link* link, Account* account) noexcept nogil:
    """Whether a peer has told of queue groups in an account. Cost: O(its interest, or that in the account, whatever is less)."""
    cdef Subscription* subscription = link.subscriptions
    cdef Interest** all_of_it = NULL
    cdef size_t at, count
    cdef bint found = False
    if account.sublist.count < link.subscription_count:
        all_of_it = <Interest**> malloc((account.sublist.count + 1) * sizeof(Interest*))
    if all_of_it != NULL:
        count = sublist_all(&account.sublist, all_of_it)
        state.work += count // SLOTS_A_WORK
        for at in range(count):
            found = found or (all_of_it[at].owner == link and all_of_it[at].queue_length)
        free(all_of_it)
        return found
    state.work += link.subscription_count // SLOTS_A_WORK
    while subscription != NULL and not found:
        found = subscription.account == account and subscription.interest.queue_length
        subscription = subscription.next
    return found


cdef void account_wanted(State* state, Link* link, Account* account) noexcept nogil:
    """Take that a peer wants all of an account, whatever it has told before; with queue groups it has said so already."""
    if link.assumed == NULL or (
        _mode_of(state, link, account.name, account.name_length) != NOTHING and _has_groups(state, link, account)
    ):
        return
    interest_forget(state, account, link)
    _refusals_end(state, link, account, NULL, 0)
    _set_mode(state, link, account.name, account.name_length, ASSUMED)
    _assume(state, link, account)


cdef void account_unwanted(State* state, Link* link, Account* account) noexcept nogil:
    """Take that a peer wants nothing of an account; of one with queue groups it wants all, as before."""
    if link.assumed == NULL and not assumptions_new(state, link, False, False):
        return
    _refusals_end(state, link, account, NULL, 0)
    if _mode_of(state, link, account.name, account.name_length) == ASSUMED and _has_groups(state, link, account):
        return
    interest_forget(state, account, link)
    _set_mode(state, link, account.name, account.name_length, NOTHING)


cdef void account_told(State* state, Link* link, Account* account, bint ends) noexcept nogil:
    """Take that a peer is about to tell all its interest in an account, or has done so."""
    if link.assumed == NULL:
        return
    _set_mode(state, link, account.name, account.name_length, TOLD if ends else SWITCHING)
    if ends:
        _refusals_end(state, link, account, NULL, 0)
        _assume_no_more(state, link, account)


# ---- refused subjects ----------------------------------------------------------------------------------------------------


cdef Key* _refusal(State* state, Link* link, Account* account, const char* subject, size_t length, bint makes) noexcept nogil:
    """Return the refusal of a subject, made if that is asked for; NULL: there is none."""
    cdef char near[256]
    cdef char* words = near
    cdef size_t all_of_it = account.name_length + 1 + length
    cdef uint64_t hashed
    cdef Key* found
    if all_of_it > sizeof(near):
        words = <char*> malloc(all_of_it)
        if words == NULL:
            return NULL
    memcpy(words, account.name, account.name_length)
    words[account.name_length] = c" "
    memcpy(words + account.name_length + 1, subject, length)
    hashed = hash_bytes(state.seed, words, all_of_it)
    found = table_find(&link.assumed.refused, hashed, words, all_of_it)
    if found == NULL and makes and link.assumed.refused.count < REFUSALS_MAX:
        found = table_make(&link.assumed.refused, sizeof(Key), 0, words, all_of_it, hashed)
    if words != near:
        free(words)
    return found


cdef void _refusals_end(State* state, Link* link, Account* account, const char* subject, size_t length) noexcept nogil:
    """Take back refusals in an account: of what a subject with wildcards matches; NULL: all of them. Cost: O(refusals of the link)."""
    cdef Table* table = &link.assumed.refused
    cdef size_t at = 0
    cdef uint32_t name = account.name_length
    cdef Key* key
    lines_forget(state)
    if table.slots == NULL:
        return
    state.work += (table.mask + 1) // SLOTS_A_WORK
    while at <= table.mask:
        key = table.slots[at].key
        if (
            key == NULL or key.length <= name or key.chars[name] != c" " or memcmp(key.chars, account.name, name)
            or (subject != NULL and not is_subset(key.chars + name + 1, key.length - name - 1, subject, length))
        ):
            at += 1
        else:
            # What stood behind it moves up: this slot is looked at again.
            table_remove(table, key)
            free(key)


cdef void _refuse(State* state, Link* link, Account* account, const char* subject, size_t length) noexcept nogil:
    _refusal(state, link, account, subject, length, True)
    lines_forget(state)


cdef void _accept(State* state, Link* link, Account* account, const char* subject, size_t length) noexcept nogil:
    """Take that a peer wants a subject after all."""
    cdef Key* key = _refusal(state, link, account, subject, length, False)
    if key != NULL:
        table_remove(&link.assumed.refused, key)
        free(key)
        lines_forget(state)
    elif link.assumed.refused.count:
        _refusals_end(state, link, account, subject, length)


cdef bint is_refused(State* state, Link* link, Account* account, const char* subject, size_t length) noexcept nogil:
    """Whether a peer has said that it does not want a subject."""
    return link.assumed.refused.count != 0 and _refusal(state, link, account, subject, length, False) != NULL


cdef bint interest_is_kept(
    State* state, Link* link, Account* account, const char* subject, size_t length, bint is_group, bint coming
) noexcept nogil:
    """Take what a peer tells of its interest; return whether that stands in the sublist, or leaves it."""
    cdef int mode = _mode_of(state, link, account.name, account.name_length)
    if is_group:
        if coming and mode == NOTHING:
            account_wanted(state, link, account)
        return True
    if coming and mode != TOLD:
        _accept(state, link, account, subject, length)
    elif not coming and mode == ASSUMED:
        _refuse(state, link, account, subject, length)
    state.work += COMMAND_WORK
    return mode == TOLD or mode == SWITCHING


# ---- accounts that are not known here --------------------------------------------------------------------------------------


cdef void account_unknown(State* state, Link* link, const char* name, uint32_t length) noexcept nogil:
    """Tell a peer that sends unasked, once, that an account is not known here."""
    cdef uint64_t hashed = hash_bytes(state.seed, name, length)
    cdef Table* table = &link.assumed.unknown
    cdef char* room
    if table_find(table, hashed, name, length) != NULL or table.count >= REFUSALS_MAX:
        return
    if table_make(table, sizeof(Key), 0, name, length, hashed) == NULL:
        return
    room = output_reserve(state, link, length + 8)
    if room == NULL:
        link_doom(state, link, READ_ERROR, False, "no memory")
        return
    memcpy(room, link.dialect.no_account, 3)
    memcpy(room + 3, name, length)
    memcpy(room + 3 + length, b"\r\n", 2)
    trace(state, link, False, room, length + 5)
    if not output_commit(state, link, length + 5):
        link_doom(state, link, READ_ERROR, False, "no memory")
