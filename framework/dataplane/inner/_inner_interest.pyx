"""What cores of one server tell each other of their interest.

A core tells each other one what it has itself, by scope: of its clients and sinks, and of the servers that its links lead to. Of a plain
interest it says that it comes and goes, of a queue group every change of its weight. There the first part stands for clients of another
core (scope INNER), which routes are told of; the rest keeps its scope, so that a core knows who wants a message of whom, and tells it on
to those alone whom the matrix says. What a core was told it tells to no core.

Records become visible one by one, so a core that has said PONG, or has sent a message that leads to an answer, has told before what it
wants to hear. The others look at them behind each read of a socket, before they parse, and before they take messages of a core: see
`_inner_messages.pyx`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from framework.dataplane._state cimport (
    SCOPE_HERE, SCOPE_IMPORTS, SCOPE_INNER, Account, Inner, InnerPeer, Link, LocalInterest, State, Subscription,
)
from framework.dataplane._work cimport COMMAND_WORK
from framework.dataplane.accounts._accounts cimport account_foreign, account_named, account_spare
from framework.dataplane.accounts._interest cimport interest_weigh, subscription_add
from framework.dataplane.accounts._sids cimport interest_of_link, subscription_find
from framework.dataplane.delivery._delivery cimport subscription_drop
from framework.dataplane.inner._fifo cimport fifo_add, fifo_head, fifo_show, fifo_take, fifo_taken, fifo_waiting
from framework.dataplane.inner._joining cimport FILLED_BYTES, INTEREST_AT_TURNS_ONLY


cdef struct InnerInterest:
    # The words follow that stand for it, as in RS+: account, subject, queue group, a blank between each two.
    uint32_t size
    uint32_t weight
    # 0: there is none any more.
    uint32_t account_length
    uint32_t subject_length
    uint32_t length
    # Of all words.
    uint8_t scope
    uint8_t rank


# ---- told --------------------------------------------------------------------------------------------------------------


cdef int64_t _own(State* state, Account* account, LocalInterest* local, int scope) noexcept nogil:
    """Return how much interest of a scope there is at this core itself."""
    cdef int64_t count = local.counts[scope]
    cdef uint32_t at
    for at in range(state.inner.count):
        if count and scope != SCOPE_HERE and state.inner.peers[at].faces[scope] != NULL:
            count -= interest_of_link(state, state.inner.peers[at].faces[scope], account, local.key.chars, local.key.length)
    return count


cdef void _put(State* state, InnerPeer* peer, Account* account, LocalInterest* local, int scope, int rank, int64_t count) noexcept nogil:
    """Write to one core that there is so much of one interest, and let it see that."""
    cdef uint32_t length = account.name_length + 1 + local.key.length
    cdef InnerInterest* record = <InnerInterest*> fifo_add(peer.told, sizeof(InnerInterest) + length)
    cdef char* at = <char*> (record + 1)
    if record == NULL:
        state.totals.dropped += 1
        return
    record.weight = <uint32_t> count
    record.account_length = account.name_length
    record.subject_length = local.subject_length
    record.length = length
    record.scope = scope
    record.rank = rank
    memcpy(at, account.name, account.name_length)
    at[account.name_length] = c" "
    memcpy(at + account.name_length + 1, local.key.chars, local.key.length)
    fifo_show(peer.told)
    if fifo_waiting(peer.told) > FILLED_BYTES:
        state.inner.is_filled = 1
        state.stalled_by = peer.faces[<int> SCOPE_INNER]


cdef void _tell(State* state, Account* account, LocalInterest* local, int scope, int rank, int64_t count) noexcept nogil:
    """Tell all other cores of one interest."""
    cdef Inner* inner = state.inner
    cdef uint32_t at
    for at in range(inner.count):
        if at != inner.number:
            state.work += 1
            _put(state, &inner.peers[at], account, local, scope, rank, count)


cdef void inner_tell(State* state, Subscription* subscription, int change) noexcept nogil:
    """Tell other cores what follows from one subscription that came, went or changed its weight, unless it is one of theirs."""
    cdef LocalInterest* local = subscription.local
    cdef int scope = subscription.interest.scope
    cdef int64_t count
    if scope == SCOPE_IMPORTS or (subscription.link != NULL and subscription.link.joined != NULL):
        # Each core has imports of its own.
        return
    count = _own(state, subscription.account, local, scope)
    if count and count != change and local.subject_length == local.key.length:
        return
    _tell(state, subscription.account, local, scope, max(subscription.link.rank if subscription.link != NULL else 0, 1), count)


cdef void inner_tell_all(State* state) noexcept nogil:
    """Tell other cores of all that was subscribed before they were joined."""
    cdef Account* account = state.first_account
    cdef LocalInterest* local
    cdef size_t at
    while account != NULL:
        if account.interest.slots != NULL:
            for at in range(account.interest.mask + 1):
                local = <LocalInterest*> account.interest.slots[at].key
                if local != NULL and local.counts[<int> SCOPE_HERE]:
                    _tell(state, account, local, SCOPE_HERE, 1, local.counts[<int> SCOPE_HERE])
        account = account.next


# ---- heard -------------------------------------------------------------------------------------------------------------


cdef void _take(State* state, InnerPeer* peer, InnerInterest* record) noexcept nogil:
    """Put one thing in force that a core has told of its interest."""
    cdef Link* face = peer.faces[<int> (SCOPE_INNER if record.scope == SCOPE_HERE else record.scope)]
    cdef const char* words = <char*> (record + 1)
    cdef const char* subject = words + record.account_length + 1
    cdef size_t both = record.account_length + 1 + record.subject_length
    cdef size_t queue_length = record.length - both - 1 if record.length > both else 0
    cdef Account* account = account_named(state, face, words, record.account_length)
    cdef Subscription* found = subscription_find(state, face, words, record.length)
    if record.weight == 0:
        if found != NULL:
            subscription_drop(state, found)
            account_spare(state, account)
        return
    if found != NULL:
        interest_weigh(state, found, record.weight)
        return
    if account == NULL:
        account = account_foreign(state, words, record.account_length)
    if account == NULL:
        state.totals.dropped += 1
        return
    face.rank = record.rank
    if subscription_add(
        state, face, account, words, record.length, subject, record.subject_length,
        subject + record.subject_length + 1, queue_length, record.weight if queue_length else 1,
    ) == NULL:
        state.totals.dropped += 1


cdef void inner_hear(State* state) noexcept nogil:
    """Put all interest in force that other cores have told so far."""
    cdef Inner* inner = state.inner
    cdef InnerPeer* peer
    cdef InnerInterest* record
    cdef uint32_t at
    for at in range(inner.count):
        peer = &inner.peers[at]
        if peer.heard == NULL:
            continue
        peer.heard.until = fifo_head(peer.heard)
        while True:
            record = <InnerInterest*> fifo_take(peer.heard)
            if record == NULL:
                break
            state.work += COMMAND_WORK
            _take(state, peer, record)
        fifo_taken(peer.heard)


cdef void inner_received(State* state) noexcept nogil:
    """Hear what others want before what was just read from a socket is looked at: whoever sent that may know of it."""
    if state.inner.plant != INTEREST_AT_TURNS_ONLY:
        inner_hear(state)
