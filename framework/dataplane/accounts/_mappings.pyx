"""Subject mappings: choose the destination of a client's message.

The first mapping whose source holds the subject decides. Its destinations share the messages by their weights; what they leave stays at the
source, or is lost when the source is among them. Source: nats-server `accounts.go`, `selectMappedSubject`.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, realloc
from libc.string cimport memcmp, memcpy

from framework.dataplane.delivery._delivery cimport interest_change, random_next
from framework.dataplane._state cimport (
    SCOPE_IMPORTS, Account, Destination, Destinations, Mapping, Message, State, Subscription, Tables,
)
from framework.sublist._bytes cimport COPY_SLACK
from framework.sublist._transform cimport is_subset, transform_apply, transform_room


cdef bint room_for(char** at, size_t* room, size_t need) noexcept nogil:
    """Let a buffer have `need` bytes, and what copies may read behind them; what it holds stays. False: no memory."""
    cdef char* grown
    if need > room[0]:
        grown = <char*> realloc(at[0], need + COPY_SLACK)
        if grown == NULL:
            return False
        at[0] = grown
        room[0] = need
    return True


cdef Subscription* _interest_in(State* state, Account* account, const Mapping* mapping) noexcept nogil:
    """Return interest in the source of a mapping, of which leaf nodes and hubs are told; NULL: no memory."""
    cdef Subscription* made = <Subscription*> calloc(1, sizeof(Subscription) + mapping.source_length + COPY_SLACK)
    if made == NULL:
        return NULL
    memcpy(<char*> (made + 1), mapping.source, mapping.source_length)
    made.account = account
    made.interest.subject = <char*> (made + 1)
    made.interest.subject_length = <uint32_t> mapping.source_length
    made.interest.weight = 1
    made.interest.scope = SCOPE_IMPORTS
    interest_change(state, made, 1)
    return made


cdef void mappings_set(State* state, Account* account, Tables* before) noexcept nogil:
    """Tell leaf nodes and hubs of the sources of an account's mappings, in place of those of the tables before.

    Source: nats-server `leafnode.go`, `initLeafNodeSmapAndSendSubs`.
    """
    cdef size_t at
    cdef Mapping* mapping
    if account.tables != NULL:
        for at in range(account.tables.mapping_count):
            mapping = &account.tables.mappings[at]
            mapping.subscription = _interest_in(state, account, mapping)
    for at in range(before.mapping_count if before != NULL else 0):
        mapping = &before.mappings[at]
        if mapping.subscription != NULL:
            interest_change(state, mapping.subscription, -1)
            mapping.subscription.next = state.dead
            state.dead = mapping.subscription
            mapping.subscription = NULL


cdef const Destinations* _destinations(State* state, const Mapping* mapping) noexcept nogil:
    """Return those of this server's cluster, or of all others."""
    cdef size_t at
    for at in range(1, mapping.count):
        if (mapping.sets[at].cluster_length == state.cluster_length
                and memcmp(mapping.sets[at].cluster, state.names + state.server_length, state.cluster_length) == 0):
            return &mapping.sets[at]
    return &mapping.sets[0]


cdef bint mapping_select(
    State* state, Account* account, const char* subject, size_t length, char** into, size_t* room, size_t* result_length
) noexcept nogil:
    """Write where a message goes into a buffer that grows; nothing when it is lost. False: no mapping has to do with it.

    Cost: one comparison a mapping.
    """
    cdef size_t at
    cdef uint32_t drawn = 0
    cdef const Mapping* mapping
    cdef const Destinations* chosen
    cdef const Destination* destination
    for at in range(account.tables.mapping_count):
        mapping = &account.tables.mappings[at]
        if is_subset(subject, length, mapping.source, mapping.source_length):
            break
    else:
        return False
    chosen = _destinations(state, mapping)
    result_length[0] = 0
    if chosen.count > 1 or (chosen.count and chosen.items[0].below < 100):
        drawn = <uint32_t> ((random_next(state) >> 32) % 100)
    for at in range(chosen.count):
        destination = &chosen.items[at]
        if drawn < destination.below:
            if room_for(into, room, transform_room(destination.transform, length)):
                result_length[0] = transform_apply(destination.transform, &state.random, subject, length, into[0])
            break
    return True


cdef bint is_mapped(Account* account, const char* subject, size_t length) noexcept nogil:
    """Whether a mapping of an account with tables has to do with a subject."""
    cdef size_t at
    for at in range(account.tables.mapping_count):
        if is_subset(subject, length, account.tables.mappings[at].source, account.tables.mappings[at].source_length):
            return True
    return False


cdef bint mapping_apply(State* state, Message* message) noexcept nogil:
    """Send a client's message where the mappings of its account say; False: they don't."""
    cdef size_t length
    if message.account.tables.mapping_count == 0:
        return False
    if not mapping_select(
        state, message.account, message.subject, message.subject_length, &state.mapped, &state.mapped_room, &length
    ):
        return False
    if length:
        # One that is lost has an empty subject, but still one.
        message.subject = state.mapped
    message.subject_length = length
    return True
