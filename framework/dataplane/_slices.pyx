"""What a link has left for turns to come: subscriptions to be checked, interest to be told, messages that are under way, lines that wait.

Each turn gives it a slice of work. What only its own slices pay for holds up nobody else, however much it is.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc

from framework.dataplane.links._decoding cimport coded_go_on
from framework.dataplane.delivery._delivery cimport deliver_rest, link_doom, link_say, record_new, subscription_drop
from framework.dataplane.delivery._gates cimport gate_go_on, gate_is_ready
from framework.dataplane.inner._inner_messages cimport inner_go_on
from framework.dataplane.links._links cimport link_received, link_settle, link_wake, link_window
from framework.dataplane.accounts._permissions cimport may_subscribe, needs_filter
from framework.dataplane._state cimport (
    MAX_SUBSCRIPTIONS_EXCEEDED, READ_BLOCK_BYTES, RECORD_CONFIRMED, SYSTEM, Confirmation, Link, Record, State, Subscription,
)
from framework.dataplane.accounts._telling cimport tellings_go_on
from framework.dataplane.protocol._violations cimport SUBSCRIPTION_ENDED, violation_say
from framework.dataplane.ports._port cimport port_go_on
from framework.dataplane._work cimport INTEREST_WORK, is_work_done, ready_add
from framework.sublist._sublist cimport Interest, sublist_touch


# ---- changed permissions -------------------------------------------------------------------------------------------------


cdef void _end_check(State* state, Link* link) noexcept nogil:
    """Close a client that has more subscriptions now than it may have."""
    if 0 <= link.max_subscriptions < link.subscription_count:
        link_say(state, link, b"-ERR 'maximum subscriptions exceeded'\r\n")
        link_doom(state, link, MAX_SUBSCRIPTIONS_EXCEEDED, True, NULL)


cdef void _check(State* state, Link* link) noexcept nogil:
    """Go on with a link's subscriptions; those that are not allowed any more end.

    Source: nats-server `client.go`, `processSubsOnConfigReload`.
    """
    cdef Subscription* subscription
    cdef Interest* interest
    while link.checking != NULL:
        if is_work_done(state):
            state.checks = 1
            ready_add(state, link)
            return
        subscription = link.checking
        link.checking = subscription.next
        interest = &subscription.interest
        state.work += INTEREST_WORK
        subscription.filtered = needs_filter(link, interest.subject, interest.subject_length)
        if may_subscribe(link, interest.subject, interest.subject_length, interest.queue, interest.queue_length):
            # Who publishes to it may have remembered that it is heard there, or not.
            sublist_touch(&subscription.account.sublist, interest)
        else:
            violation_say(
                state, link, SUBSCRIPTION_ENDED, interest.subject, interest.subject_length, interest.queue, interest.queue_length,
                subscription.sid, subscription.sid_length,
            )
            subscription_drop(state, subscription)
    _end_check(state, link)


cdef void subscriptions_check(State* state, Link* link) noexcept nogil:
    """Hold a client's subscriptions against its new permissions and limit: some within this slice, the others in turns to come."""
    link.checking = link.subscriptions
    _check(state, link)


cdef void confirm(State* state, int64_t token) noexcept nogil:
    """Report that all commands so far are in force, as soon as the checks that they began have ended."""
    cdef Confirmation* made
    cdef Record* record
    if state.checks:
        made = <Confirmation*> malloc(sizeof(Confirmation))
        if made != NULL:
            made.token = token
            made.next = state.confirmations
            state.confirmations = made
            return
    record = record_new(state, RECORD_CONFIRMED, NULL, 0)
    if record != NULL:
        record.number = token


cdef void checks_settle(State* state) noexcept nogil:
    """See at the end of a turn whether all checks have ended, and report what waits for that. Cost: O(links), while one is under way."""
    cdef uint32_t at
    cdef Confirmation* confirmation
    if not state.checks:
        return
    for at in range(state.link_count):
        if state.links[at].checking != NULL and not state.links[at].doomed:
            return
    state.checks = 0
    while state.confirmations != NULL:
        confirmation = state.confirmations
        state.confirmations = confirmation.next
        confirm(state, confirmation.token)
        free(confirmation)


# ---- a slice -----------------------------------------------------------------------------------------------------------


cdef void link_go_on(State* state, Link* link) noexcept nogil:
    """Do a slice of what a link has left; one that has more then is ready again."""
    cdef size_t room
    cdef size_t pending_before = link.pending
    cdef int64_t records_before = state.record_bytes
    if link.doomed:
        return
    if link.checking != NULL:
        _check(state, link)
    if link.tellings != NULL:
        tellings_go_on(state, link)
    if link.first_fanout != NULL or gate_is_ready(link):
        state.stalled_by = NULL
        state.stalled_sink = NULL
        if state.inner != NULL:
            state.inner.is_filled = 0
        deliver_rest(state, link)
        gate_go_on(state, link)
        if link.doomed:
            return
        if link.kind != SYSTEM:
            link_settle(state, link, pending_before, records_before)
    if (
        link.first_fanout != NULL or link.tellings != NULL or is_work_done(state) or link.doomed or link.parked or link.paused
        or link.held
    ):
        link_wake(state, link)
    elif link.inner != NULL:
        port_go_on(state, link)
    elif link.joined != NULL:
        inner_go_on(state, link)
    elif link.coding != NULL:
        coded_go_on(state, link, READ_BLOCK_BYTES)
    elif link.waiting and link.kind != SYSTEM and link_window(state, link, &room) != NULL:
        link_received(state, link, 0)
