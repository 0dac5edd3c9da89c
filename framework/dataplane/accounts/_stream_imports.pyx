"""Stream imports: a subscription that overlaps one has a shadow in the exporter's account.

A shadow is plain interest there, for servers behind routes as well; what reaches it goes to the subscription that casts it, under the
importer's subject, and counts there. Interest of leaf nodes and hubs casts shadows as well; each of them gets a message once, however much
of its interest that reaches. Source: nats-server `client.go`, `addShadowSubscriptions`; `leafnode.go`, `processLeafSub`.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport link_way, subscription_drop, to_route, to_subscription
from framework.dataplane.accounts._interest cimport is_literal_subject, subscription_add
from framework.dataplane.accounts._mappings cimport room_for
from framework.dataplane.accounts._origins cimport is_of_origin
from framework.dataplane.accounts._permissions cimport may_send
from framework.dataplane.delivery._message_trace cimport step_stream, traced_delivery
from framework.dataplane._state cimport (
    SCOPE_HERE, Account, Import, Link, Message, Pick, ShadowPick, Sink, State, Subscription,
)
from framework.sublist._sublist cimport Interest
from framework.sublist._transform cimport is_subset, transform_apply, transform_room


cdef inline bint _is_token(const char* token, size_t length, char wildcard) noexcept nogil:
    return length == 1 and token[0] == wildcard


cdef inline size_t _end(const char* subject, size_t length, size_t at) noexcept nogil:
    while at < length and subject[at] != c".":
        at += 1
    return at


cdef size_t _put_overlap(const Import* imported, const char* subject, size_t length, char* out) noexcept nogil:
    """Write what a subscription with wildcards and an import have in common, if anything; return its length."""
    cdef size_t at = 0, where = 0, end, stop, count = 0
    cdef const char* token
    cdef size_t token_length
    while at <= length:
        end = _end(subject, length, at)
        token = subject + at
        token_length = end - at
        if where <= imported.to_length:
            stop = _end(imported.to, imported.to_length, where)
            if end == length and _is_token(token, token_length, c">"):
                memcpy(out + count, imported.to + where, imported.to_length - where)
                return count + imported.to_length - where
            if _is_token(token, token_length, c"*") and not _is_token(imported.to + where, stop - where, c">"):
                token = imported.to + where
                token_length = stop - where
            where = stop + 1
        memcpy(out + count, token, token_length)
        count += token_length
        if end < length:
            out[count] = c"."
            count += 1
        at = end + 1
    return count


cdef bint _shadow_subject(
    State* state, const Import* imported, const char* subject, size_t length, const char** shadow, size_t* shadow_length
) noexcept nogil:
    """Find the subject in the exporter's account; False: the subscription and the import have nothing in common."""
    cdef size_t overlap
    cdef char* common
    shadow[0] = imported.subject
    shadow_length[0] = imported.subject_length
    if is_subset(imported.to, imported.to_length, subject, length):
        return True
    if not room_for(&state.scratch, &state.scratch_room, length + imported.to_length + 2):
        return False
    if is_subset(subject, length, imported.to, imported.to_length):
        memcpy(state.scratch, subject, length)
        overlap = length
    elif not is_literal_subject(subject, length):
        overlap = _put_overlap(imported, subject, length, state.scratch)
        if not is_subset(state.scratch, overlap, imported.to, imported.to_length):
            return False
    else:
        return False
    if imported.back != NULL:
        if not room_for(&state.scratch, &state.scratch_room, overlap + transform_room(imported.back, overlap)):
            return False
        common = state.scratch + overlap
        shadow[0] = common
        shadow_length[0] = transform_apply(imported.back, &state.random, state.scratch, overlap, common)
    elif imported.stays:
        shadow[0] = state.scratch
        shadow_length[0] = overlap
    return True


cdef void shadows_add(State* state, Subscription* subscription) noexcept nogil:
    """Cast the shadows of a subscription into the accounts whose streams its account imports."""
    cdef size_t at
    cdef Import* imported
    cdef Subscription* shadow
    cdef const char* subject
    cdef size_t length
    for at in range(subscription.account.tables.stream_count):
        imported = &subscription.account.tables.streams[at]
        if not imported.account.ours or not _shadow_subject(
            state, imported, subscription.interest.subject, subscription.interest.subject_length, &subject, &length
        ):
            continue
        shadow = subscription_add(
            state, NULL, imported.account, NULL, 0, subject, length, subscription.interest.queue, subscription.interest.queue_length, 1
        )
        if shadow == NULL:
            return
        shadow.imported = imported
        shadow.previous = subscription
        shadow.next = subscription.shadows
        subscription.shadows = shadow
        state.peer_shadows += is_of_peer(shadow)


cdef void _drop_list(State* state, Subscription* shadow) noexcept nogil:
    cdef Subscription* following
    while shadow != NULL:
        following = shadow.next
        state.peer_shadows -= is_of_peer(shadow)
        subscription_drop(state, shadow)
        shadow = following


cdef void shadows_drop(State* state, Subscription* subscription) noexcept nogil:
    """End the shadows of a subscription."""
    cdef Subscription* shadows = subscription.shadows
    subscription.shadows = NULL
    _drop_list(state, shadows)


cdef void _renew(State* state, Account* account, Subscription* subscription) noexcept nogil:
    """Cast new shadows before the old ones go: interest that both have is not told anew."""
    cdef Subscription* before = subscription.shadows
    subscription.shadows = NULL
    if account.tables != NULL:
        shadows_add(state, subscription)
    _drop_list(state, before)


cdef void _renew_all(State* state, Account* account, Link* link) noexcept nogil:
    cdef Subscription* subscription = link.subscriptions
    state.work += 1
    while subscription != NULL:
        state.work += 1
        if subscription.account == account:
            _renew(state, account, subscription)
        subscription = subscription.next


cdef void shadows_renew(State* state, Account* account) noexcept nogil:
    """Let the subscriptions of an account follow its new tables."""
    cdef Sink* sink = state.sinks
    cdef Link* client = account.clients
    cdef uint32_t at
    while client != NULL:
        _renew_all(state, account, client)
        client = client.next_client
    for at in range(account.route_count):
        if casts_shadows(state, account.routes[at]):
            _renew_all(state, account, account.routes[at])
    while sink != NULL:
        state.work += 1
        if sink.account == account and sink.subscription != NULL:
            _renew(state, account, sink.subscription)
        sink = sink.next


cdef bint _seen(State* state, Subscription* shadow, Message* message, Message* seen) noexcept nogil:
    """Set a message to what the importer sees of one; False: no memory. Its subject may lie in `state.scratch`."""
    cdef Import* imported = shadow.imported
    seen[0] = message[0]
    seen.account = imported.home
    if imported.transform != NULL:
        if not room_for(&state.scratch, &state.scratch_room, transform_room(imported.transform, message.subject_length)):
            return False
        seen.subject = state.scratch
        seen.subject_length = transform_apply(
            imported.transform, &state.random, message.subject, message.subject_length, state.scratch
        )
    elif not imported.stays:
        seen.subject = imported.to
        seen.subject_length = imported.to_length
    return True


cdef bint _gather(State* state, Subscription* shadow) noexcept nogil:
    """Note that a message goes to the server whose interest casts a shadow; False: no memory."""
    cdef ShadowPick* grown
    if state.shadow_pick_count == state.shadow_pick_room:
        grown = <ShadowPick*> realloc(state.shadow_picks, (state.shadow_pick_room * 2 + 16) * sizeof(ShadowPick))
        if grown == NULL:
            return False
        state.shadow_picks = grown
        state.shadow_pick_room = state.shadow_pick_room * 2 + 16
    state.shadow_picks[state.shadow_pick_count].shadow = shadow
    state.shadow_picks[state.shadow_pick_count].sent = False
    state.shadow_pick_count += 1
    return True


cdef bint _for_peer(State* state, Subscription* shadow, Message* seen, Message* message) noexcept nogil:
    """Let a leaf node, or a hub, have what reached a shadow of its interest, unless it came from there."""
    cdef Subscription* subscription = shadow.previous
    cdef Link* link = subscription.link
    cdef uint32_t first = state.shadow_pick_count
    if link.doomed or not state.hears[message.scope] >> link.scope & 1:
        return False
    if subscription.interest.queue_length == 0 and link.shadowed == message.number:
        # It gets it already.
        return False
    if (message.scope != SCOPE_HERE and link.peer == message.source.peer) or is_of_origin(link, message):
        return False
    if not may_send(state, link, seen.subject, seen.subject_length) or not _gather(state, shadow):
        return False
    if subscription.interest.queue_length == 0:
        link.shadowed = message.number
    if not state.gathers_shadows:
        _tell_from(state, first, message)
        state.shadow_pick_count = first
    return True


cdef void _tell_one(State* state, uint32_t first, Message* message) noexcept nogil:
    """Send a message to one server, with all groups that were picked there."""
    cdef ShadowPick* picked = &state.shadow_picks[first]
    cdef Link* link = picked.shadow.previous.link
    cdef Pick* picks = state.picks
    cdef Pick* made = <Pick*> malloc((state.shadow_pick_count - first) * sizeof(Pick))
    cdef uint32_t at, count = state.pick_count
    cdef Interest* interest
    cdef Message seen
    if made == NULL:
        return
    # The groups that were picked before are those of another account.
    state.picks = made
    state.pick_count = 0
    for at in range(first, state.shadow_pick_count):
        if state.shadow_picks[at].shadow.previous.link != link:
            continue
        state.shadow_picks[at].sent = True
        interest = &state.shadow_picks[at].shadow.previous.interest
        if interest.queue_length:
            made[state.pick_count].link = link
            made[state.pick_count].queue = interest.queue
            made[state.pick_count].queue_length = interest.queue_length
            state.pick_count += 1
    if _seen(state, picked.shadow, message, &seen):
        seen.shown = NULL
        to_route(state, link_way(link, seen.account), &seen)
    state.picks = picks
    state.pick_count = count
    free(made)


cdef void _tell_from(State* state, uint32_t first, Message* message) noexcept nogil:
    cdef uint32_t at
    for at in range(first, state.shadow_pick_count):
        if not state.shadow_picks[at].sent:
            _tell_one(state, at, message)


cdef void shadows_told(State* state, Message* message) noexcept nogil:
    """Send a message to all servers that hear it by imports of streams, each once."""
    _tell_from(state, 0, message)
    state.shadow_pick_count = 0
    state.gathers_shadows = 0


cdef bint shadow_enter(State* state, Subscription* shadow, Message* message) noexcept nogil:
    """Deliver what reached a shadow. What came as a request to this account is not exported as a stream of it."""
    cdef Import* imported = shadow.imported
    cdef Message seen
    if shadow.dead or message.hops != NULL:
        return False
    if not _seen(state, shadow, message, &seen):
        return False
    if is_of_peer(shadow):
        return _for_peer(state, shadow, &seen, message)
    # What a message is delivered as stays: the import says where it goes. Source: nats-server `client.go`, `processMsgResults`.
    if message.trace == NULL:
        return to_subscription(state, &shadow.previous.interest, &seen)
    step_stream(message, imported.home, seen.subject, seen.subject_length)
    if imported.allow_trace:
        return traced_delivery(state, shadow.previous, &seen, shadow)
    seen.trace = NULL
    # What is traced only counts as delivered all the same.
    return message.trace.only or to_subscription(state, &shadow.previous.interest, &seen)
