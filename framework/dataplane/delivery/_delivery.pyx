"""Delivery of a message to clients, routes and sinks, and the interest that decides it.

A message goes to every plain subscription here, once to every server with plain interest in a scope that hears the message's
(`scopes.py`), never back to the server that it came from. One of a client goes to one member of each queue group, chosen evenly over all
members in the cluster, else to a spare one: of a leaf node, or of another cluster. One of another server goes to one member of each group
that it names. Source: nats-server `client.go`, `processMsgResults`.

Size: what is done for each receiver of a message stands in one module, so that the C compiler can put it into the loop over receivers.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, strlen

from framework.dataplane.delivery._fanouts cimport fanout_add, fanout_end, fanout_interest, fanout_new
from framework.dataplane.inner._inner_interest cimport inner_tell
from framework.dataplane.inner._inner_messages cimport inner_is_first, inner_may_pass, inner_send
from framework.dataplane._listing cimport listings_pass
from framework.dataplane.links._output cimport (
    output_append, output_commit, output_mark, output_reserve, output_segment,
)
from framework.dataplane.accounts._assumed cimport is_refused
from framework.dataplane.accounts._origins cimport (
    interest_by_origin, interest_of_origin, interest_with_origins, is_interest_of_origin, is_of_origin, origin_interest_change,
)
from framework.dataplane.accounts._permissions cimport is_allowed_to_publish, may_hear, may_import, may_send
from framework.dataplane.accounts._replies cimport reply_owe
from framework.dataplane.accounts._sids cimport interest_of_link
from framework.dataplane.accounts._stream_imports cimport is_of_peer
from framework.dataplane.delivery._ways cimport is_reply_here, way_add
from framework.dataplane.ports._port cimport port_forget
from framework.dataplane.ports._port_watches cimport port_watches_touch
from framework.dataplane.ports._sinkbatch cimport atomic_add, atomic_get, sink_put
from framework.dataplane._state cimport (
    DETAIL_BYTES, GROUPS_BYTES_MAX, IS_USER, NEAREST_RANK, PICKED_FOR_GROUPS, PICKED_PLAINLY, RECORDS_WAITING_BYTES,
    RECORD_DELIVERED, RECORD_INTEREST, RECORD_TRACE, REFERENCE_BYTES, REFERENCE_PENDING_BYTES, SCOPES_MAX, SCOPE_HERE, SCOPE_INNER,
    SCOPE_GATEWAY, SCOPE_LEAF, SCOPE_ROUTE, SLOW_CONSUMER_PENDING_BYTES, STALLS, STREAM_IMPORT,
    SYSTEM, TRACED_LINE_BYTES_MAX, TRACES_MAX, WRITE_ERROR, Account, ClosedStateC, Fanout, Fence, Link, LocalInterest, Message, Origin,
    OriginInterest, Peer, Pick, Record, RecordType, State, Subscription,
)
from framework.dataplane._work cimport BYTES_A_WORK, INTEREST_WORK, is_work_done
from framework.sublist._bytes cimport copy_short, hash_bytes, write_decimal
from framework.sublist._sublist cimport Group, Interest, Match, group_find, sublist_match, sublist_remove
from framework.sublist._table cimport table_add, table_find, table_remove

cdef enum:
    RECEIVERS_A_LOOK = 64
    # Whether the slice is used up is looked at so often.
    GROUPS_A_SLICE = 4096
    # More of them are served as far as the slice goes, even if it has just begun.


cdef uint64_t random_next(State* state) noexcept nogil:
    """Return the next number of a xorshift generator; it chooses queue members, no secrets."""
    state.random ^= state.random << 13
    state.random ^= state.random >> 7
    state.random ^= state.random << 17
    return state.random


# ---- events ------------------------------------------------------------------------------------------------------------


cdef char* record_chars(Record* record) noexcept nogil:
    return <char*> (record + 1)


cdef Record* record_made(RecordType type, Link* link, size_t length) noexcept nogil:
    """Return an event with room for `length` bytes, for `record_add`; NULL: no memory."""
    cdef Record* record = <Record*> calloc(1, sizeof(Record) + length)
    if record == NULL:
        return NULL
    record.type = type
    record.length = length
    if link != NULL:
        record.link = link.id
        record.kind = link.kind
    return record


cdef void record_add(State* state, Record* record) noexcept nogil:
    """Append an event to those that Python gets at the end of the turn."""
    if state.last_record == NULL:
        state.first_record = record
    else:
        state.last_record.next = record
    state.last_record = record
    if record.type != RECORD_DELIVERED:
        state.record_bytes += sizeof(Record) + record.length


cdef Record* record_new(State* state, RecordType type, Link* link, size_t length) noexcept nogil:
    """Append an event with room for `length` bytes; NULL: no memory, and the event is lost."""
    cdef Record* record = record_made(type, link, length)
    if record != NULL:
        record_add(state, record)
    return record


cdef bint is_python_behind(State* state) noexcept nogil:
    """Whether so many records wait already that no link may add to them."""
    return atomic_get(&state.records_waiting) + state.record_bytes > RECORDS_WAITING_BYTES


cdef void trace(State* state, Link* link, bint inbound, const char* chars, size_t length) noexcept nogil:
    """Record a line for the log, when lines are traced; its CR LF is left out."""
    cdef Record* record
    if not state.trace or (link.kind == SYSTEM and not state.trace_internal) or atomic_get(&state.traces_waiting) >= TRACES_MAX:
        return
    while length and (chars[length - 1] == c"\n" or chars[length - 1] == c"\r"):
        length -= 1
    length = min(length, <size_t> TRACED_LINE_BYTES_MAX)
    record = record_new(state, RECORD_TRACE, link, length)
    if record != NULL:
        memcpy(record_chars(record), chars, length)
        record.flag = inbound
        atomic_add(&state.traces_waiting, 1)


cdef void trace_body(State* state, Link* link, bint inbound, const char* body, size_t header, size_t length) noexcept nogil:
    """Record headers and payload of a message, or its headers alone. Source: nats-server `client.go`, `traceMsgInternal`.

    Args:
        header: Bytes of the header block that `body` begins with.
        length: Bytes of both.
    """
    cdef Record* record
    cdef size_t shown
    if state.trace_headers_only:
        # Without the empty line that ends them.
        length = header - 4 if header > 4 else 0
    if length == 0 or not state.trace or (link.kind == SYSTEM and not state.trace_internal):
        return
    if atomic_get(&state.traces_waiting) >= TRACES_MAX or is_python_behind(state):
        return
    shown = min(length, <size_t> state.limits.max_traced_bytes)
    record = record_new(state, RECORD_TRACE, link, shown)
    if record != NULL:
        memcpy(record_chars(record), body, shown)
        record.flag = inbound
        record.number = <int64_t> length
        atomic_add(&state.traces_waiting, 1)


cdef void _trace_end(State* state, Subscription* subscription) noexcept nogil:
    """Record that a subscription of a client has ended, before the client has. Source: nats-server `client.go`, `unsubscribe`."""
    cdef char line[DETAIL_BYTES]
    cdef size_t length = min(<size_t> subscription.sid_length, <size_t> DETAIL_BYTES - 7)
    memcpy(line, b"DELSUB ", 7)
    memcpy(line + 7, subscription.sid, length)
    trace(state, subscription.link, False, line, length + 7)


# ---- ends of links and subscriptions -------------------------------------------------------------------------------------


cdef bint _doomed_add(State* state, Link* link) noexcept nogil:
    cdef Link** grown
    if state.doomed_count == state.doomed_room:
        grown = <Link**> realloc(state.doomed, (state.doomed_room * 2 + 16) * sizeof(Link*))
        if grown == NULL:
            return False
        state.doomed = grown
        state.doomed_room = state.doomed_room * 2 + 16
    state.doomed[state.doomed_count] = link
    state.doomed_count += 1
    return True


cdef void link_doom_again(State* state, Link* link) noexcept nogil:
    """Let a link whose socket is closed, and that waited for something, go on with its end."""
    _doomed_add(state, link)


cdef void link_doom(State* state, Link* link, ClosedStateC reason, bint last_words, const char* detail) noexcept nogil:
    """Mark a link for its end at the end of this turn. Nothing is delivered to it or read from it any more.

    Args:
        last_words: What waits for it is tried once more before the socket is closed.
        detail: For the log; NULL: nothing to say.
    """
    if link.doomed or link.kind == SYSTEM or not _doomed_add(state, link):
        return
    link.doomed = 1
    link.reason = reason
    link.last_words = last_words
    free(link.left)
    link.left = NULL
    link.left_length = 0
    if detail != NULL:
        link.left = <char*> malloc(strlen(detail) + 1)
        if link.left != NULL:
            # A doomed link reads no more: its buffer keeps the reason.
            memcpy(link.left, detail, strlen(detail) + 1)


cdef void link_count_slow(State* state, Link* link) noexcept nogil:
    state.totals.kinds[link.kind].slow += 1
    if link.traits & IS_USER:
        link.account.traffic.slow_consumers += 1


cdef void link_cut_off(State* state, Link* link) noexcept nogil:
    """End a link for which too much waits."""
    link_count_slow(state, link)
    link_doom(state, link, SLOW_CONSUMER_PENDING_BYTES, False, NULL)


cdef bint link_say(State* state, Link* link, const char* line) noexcept nogil:
    trace(state, link, False, line, strlen(line))
    return output_append(state, link, line, strlen(line))


cdef void subscription_drop(State* state, Subscription* subscription) noexcept nogil:
    """Unsubscribe. The memory stays until the end of the turn: a delivery may be on its way through it."""
    cdef Link* link = subscription.link
    if subscription.dead:
        return
    subscription.dead = 1
    state.work += INTEREST_WORK
    if subscription.shadows != NULL:
        state.passages.shadows_drop(state, subscription)
    sublist_remove(&subscription.account.sublist, &subscription.interest)
    if state.port_watches.count:
        port_watches_touch(state, subscription)
    if link == NULL and subscription.sink != NULL and subscription.sink.port != NULL:
        port_forget(state, subscription)
    if link != NULL:
        # What a server of this cluster says with an origin begins with a blank.
        state.origins_told -= link.scope == SCOPE_ROUTE and subscription.sid_length > 0 and subscription.sid[0] == c" "
        if state.listings != NULL:
            listings_pass(state, subscription)
        if state.trace and link.traits & IS_USER and not link.doomed:
            _trace_end(state, subscription)
        table_remove(&state.sids, &subscription.key)
        if subscription.previous != NULL:
            subscription.previous.next = subscription.next
        else:
            link.subscriptions = subscription.next
        if subscription.next != NULL:
            subscription.next.previous = subscription.previous
        link.subscription_count -= 1
        if link.checking == subscription:
            link.checking = subscription.next
    if subscription.interest.rank == 0:
        state.totals.subscriptions -= 1
    subscription.account.apart -= subscription.interest.scope == SCOPE_GATEWAY
    interest_change(state, subscription, -<int> subscription.interest.weight)
    subscription.next = state.dead
    state.dead = subscription


# ---- interest and routes -------------------------------------------------------------------------------------------------


cdef int64_t _heard(State* state, Link* peer, Account* account, LocalInterest* local) noexcept nogil:
    """Return how much interest there is in the scopes that hear a server, its own left out."""
    cdef uint8_t hears = peer.told
    cdef int64_t count = 0
    cdef int which
    for which in range(SCOPES_MAX):
        if hears >> which & 1:
            count += local.counts[which]
    if count and hears >> peer.scope & 1:
        count -= interest_of_link(state, peer, account, local.key.chars, local.key.length)
    if count and peer.origin != NULL:
        count -= interest_of_origin(state, peer, account, local)
    if count and peer.takes_origins:
        # It is told of these by their origins.
        count -= interest_with_origins(local)
    return count


cdef void _interest_tell(
    State* state, Link* peer, Account* account, LocalInterest* local, int64_t count, Origin* origin
) noexcept nogil:
    """Write to one server that there is so much of one interest: RS+ or RS-, or what its dialect says; LS+ or LS- of an origin."""
    cdef size_t need = local.key.length + account.name_length + 64 + (origin.key.length if origin != NULL else 0)
    cdef char* room = output_reserve(state, peer, need)
    cdef char* at = room
    cdef const char* verb = peer.dialect.interest
    if room == NULL:
        link_doom(state, peer, WRITE_ERROR, False, "no memory")
        return
    if count == 0:
        verb = peer.dialect.no_interest
    memcpy(at, verb, 4)
    at += 4
    if origin != NULL:
        room[0] = c"L"
        memcpy(at, origin.key.chars, origin.key.length)
        at += origin.key.length
        at[0] = c" "
        at += 1
    if not peer.account_omitted:
        memcpy(at, account.name, account.name_length)
        at += account.name_length
        at[0] = c" "
        at += 1
    memcpy(at, local.key.chars, local.key.length)
    at += local.key.length
    if local.subject_length < local.key.length and count:
        at[0] = c" "
        at += 1 + write_decimal(at + 1, count if peer.dialect.weighs_groups else 1)
    memcpy(at, b"\r\n", 2)
    trace(state, peer, False, room, at - room)
    if not output_commit(state, peer, at + 2 - room):
        link_doom(state, peer, WRITE_ERROR, False, "no memory")


cdef LocalInterest* _local(State* state, Account* account, Interest* interest) noexcept nogil:
    """Find or make the record of local interest in a subject and queue; NULL: no memory."""
    cdef size_t length = interest.subject_length + (interest.queue_length + 1 if interest.queue_length else 0)
    cdef LocalInterest* local = <LocalInterest*> calloc(1, sizeof(LocalInterest) + length)
    cdef LocalInterest* found
    cdef char* chars
    if local == NULL:
        return NULL
    chars = <char*> (local + 1)
    memcpy(chars, interest.subject, interest.subject_length)
    if interest.queue_length:
        chars[interest.subject_length] = c" "
        memcpy(chars + interest.subject_length + 1, interest.queue, interest.queue_length)
    local.key.chars = chars
    local.key.length = <uint32_t> length
    local.key.hash = hash_bytes(state.seed, chars, length)
    local.subject_length = interest.subject_length
    found = <LocalInterest*> table_find(&account.interest, local.key.hash, chars, length)
    if found == NULL and table_add(&account.interest, &local.key):
        return local
    free(local)
    return found


cdef bint _is_gone(LocalInterest* local) noexcept nogil:
    cdef int which
    for which in range(SCOPES_MAX):
        if local.counts[which]:
            return False
    return True


cdef void _in_bulk(Link* peer, int64_t before) noexcept nogil:
    """Let what a server was told since `before` of `sent_bytes` wait beside what else may wait for it."""
    if peer.sent_bytes >= peer.bulk_until:
        peer.bulk_bytes = 0
    peer.bulk_until = peer.sent_bytes + <int64_t> peer.pending
    peer.bulk_bytes += peer.bulk_until - before


cdef bint link_is_over(State* state, Link* link) noexcept nogil:
    """Whether too much waits for a link, beside what it was told at one go."""
    if link.sent_bytes >= link.bulk_until:
        link.bulk_bytes = 0
    return <int64_t> link.pending > state.limits.max_pending + link.bulk_bytes


cdef void interest_tell_in_bulk(State* state, Link* peer, Account* account, LocalInterest* local, bint coming) noexcept nogil:
    """Tell a server of one interest of many, if there is any: it could not have read the first before the last is written.

    What waits because of it is as much as all interest here at most, and no reason to cut the link off.
    """
    cdef int64_t before = peer.sent_bytes + <int64_t> peer.pending
    cdef int64_t count = _heard(state, peer, account, local)
    cdef OriginInterest* its = local.origins if peer.takes_origins else NULL
    if count:
        _interest_tell(state, peer, account, local, count if coming else 0, NULL)
    while its != NULL and not peer.doomed:
        _interest_tell(state, peer, account, local, its.count if coming else 0, its.origin)
        its = its.next
    _in_bulk(peer, before)


cdef void tell_in_bulk(State* state, Link* peer, Account* account, LocalInterest* local) noexcept nogil:
    """Tell a server of one interest of many, if there is any, and if it may know of it."""
    if not peer.doomed and may_import(state, peer, peer.permissions, local.key.chars, local.subject_length):
        interest_tell_in_bulk(state, peer, account, local, True)


cdef void _hold_back(State* state, Link* route, Link* source) noexcept nogil:
    """Let no client's changes of interest fill a route without end."""
    if route.doomed or <int64_t> route.pending <= state.limits.pending_free:
        return
    if link_is_over(state, route):
        link_cut_off(state, route)
    elif state.limits.fast_producer_stall:
        state.stalled_by = route


cdef void _tell(State* state, Link* peer, Subscription* subscription, int change) noexcept nogil:
    """Tell a server of what has changed by one subscription, if that changes anything for it and it may know."""
    cdef Account* account = subscription.account
    cdef LocalInterest* local = subscription.local
    cdef Link* source = subscription.link
    cdef int64_t count, before
    cdef Origin* origin = NULL
    if not peer.told >> subscription.interest.scope & 1 or peer.doomed:
        return
    if source != NULL and source.peer != NULL and source.peer == peer.peer:
        # Its own.
        return
    if is_interest_of_origin(peer, subscription):
        return
    if peer.takes_origins and source != NULL and source.origin != NULL:
        origin = source.origin
        count = interest_by_origin(origin, local)
    else:
        count = _heard(state, peer, account, local)
    if count and count != change and not (local.subject_length < local.key.length and peer.dialect.weighs_groups):
        return
    state.work += 1
    if not may_import(state, peer, peer.permissions, local.key.chars, local.subject_length):
        return
    before = peer.sent_bytes + <int64_t> peer.pending
    _interest_tell(state, peer, account, local, count, origin)
    if source == NULL or source.doomed:
        _in_bulk(peer, before)
    else:
        _hold_back(state, peer, source)


cdef void interest_change(State* state, Subscription* subscription, int change) noexcept nogil:
    """Count the interest of one subscription more or less, and tell other servers what follows from it, at once.

    A plain interest is told when it comes and when it goes; a queue group with every change of its weight, to who weighs it.
    """
    cdef Account* account = subscription.account
    cdef uint8_t scope = subscription.interest.scope
    cdef LocalInterest* local
    cdef Record* record
    cdef uint32_t at
    if not state.counted >> scope & 1:
        return
    if subscription.local == NULL and change > 0:
        subscription.local = _local(state, account, &subscription.interest)
    local = subscription.local
    if local == NULL:
        return
    local.counts[scope] += change
    if scope == SCOPE_LEAF and subscription.link != NULL and subscription.link.origin != NULL:
        origin_interest_change(local, subscription.link.origin, change)
    for at in range(account.route_count):
        _tell(state, account.routes[at], subscription, change)
    if state.inner != NULL:
        inner_tell(state, subscription, change)
    if state.watch_interest and scope == SCOPE_HERE and (
        local.subject_length < local.key.length or (change > 0 and local.counts[scope] == 1) or local.counts[scope] == 0
    ):
        record = record_new(state, RECORD_INTEREST, NULL, local.key.length)
        if record != NULL:
            memcpy(record_chars(record), local.key.chars, local.key.length)
            record.number = account.index
            record.other = local.counts[scope]
            record.link = local.subject_length
    if local.counts[scope] == 0 and _is_gone(local):
        table_remove(&account.interest, &local.key)
        free(local)


cdef void lines_forget(State* state) noexcept nogil:
    """Look at every line again: a remembered one was aimed by what was in force before."""
    state.lines_version += 1


# ---- writing one message to one link -------------------------------------------------------------------------------------


cdef inline char* _put(char* at, const char* chars, size_t length) noexcept nogil:
    copy_short(at, chars, length)
    return at + length


cdef bint _write_body(State* state, Link* to, Message* message, const char* body, size_t length, char* room, size_t head) noexcept nogil:
    """Append the head that was written to `room`, and `length` bytes of body with their CR LF."""
    if length >= REFERENCE_BYTES and message.block != NULL and to.pending < REFERENCE_PENDING_BYTES:
        if not output_commit(state, to, head):
            return False
        if not output_segment(state, to, message.block, <char*> body, length + 2):
            return False
        output_mark(state, to, length + 2)
        return True
    copy_short(room + head, body, length + 2)
    return output_commit(state, to, head + length + 2)


cdef inline size_t _copied(Link* to, Message* message, size_t length) noexcept nogil:
    """Return the bytes of body for which room must be reserved."""
    if length >= REFERENCE_BYTES and message.block != NULL and to.pending < REFERENCE_PENDING_BYTES:
        return 0
    return length + 2


cdef void link_fills(State* state, Link* to, Link* source) noexcept nogil:
    """Do what follows when much waits for a link: it is cut off, or who publishes to it waits."""
    if link_is_over(state, to):
        link_cut_off(state, to)
    elif source.traits & STALLS and state.limits.fast_producer_stall:
        state.stalled_by = to


cdef void _count_out(State* state, Link* to, Message* message, size_t length) noexcept nogil:
    if length >= <size_t> BYTES_A_WORK:
        state.work += length // <size_t> BYTES_A_WORK
    to.out_msgs += 1
    to.out_bytes += length
    state.totals.kinds[to.kind].out_msgs += 1
    state.totals.kinds[to.kind].out_bytes += length
    message.account.traffic.out_msgs += 1
    message.account.traffic.out_bytes += length
    if to.scope >= SCOPE_ROUTE:
        message.account.traffic.peers[traffic_of(to)].out_msgs += 1
        message.account.traffic.peers[traffic_of(to)].out_bytes += length
    if <int64_t> to.pending > state.limits.pending_free:
        link_fills(state, to, message.source)


cdef void _may_answer(State* state, Link* to, Message* message) noexcept nogil:
    """Let a client publish to the reply of what it was sent, unless it may anyway."""
    cdef const char* reply = message.reply + message.hidden
    if not is_allowed_to_publish(state, to, reply, message.reply_length - message.hidden):
        reply_owe(state, to, reply, message.reply_length - message.hidden)


cdef bint _to_client(State* state, Link* to, Subscription* subscription, Message* message) noexcept nogil:
    """Write MSG or HMSG; False: it can't be delivered there."""
    cdef const char* body = message.body
    cdef size_t length = message.body_length
    cdef size_t header = message.header_length
    cdef const char* subject = message.subject
    cdef size_t subject_length = message.subject_length
    cdef char* room
    cdef char* at
    if to.doomed or subscription.dead or (to == message.source and not to.echo):
        return False
    if subscription.filtered and not may_hear(state, subscription, message.subject, message.subject_length):
        return False
    if header and not to.headers:
        body += header
        length -= header
        header = 0
    if message.shown != NULL:
        subject = message.shown
        subject_length = message.shown_length
    room = output_reserve(
        state, to,
        subject_length + subscription.sid_length + message.reply_length + 64 + _copied(to, message, length),
    )
    if room == NULL:
        link_doom(state, to, WRITE_ERROR, False, "no memory")
        return False
    at = room
    if header:
        at[0] = c"H"
        at += 1
    memcpy(at, b"MSG ", 4)
    at += 4
    at = _put(at, subject, subject_length)
    at[0] = c" "
    at = _put(at + 1, subscription.sid, subscription.sid_length)
    at[0] = c" "
    at += 1
    if message.reply_length:
        if message.hidden:
            way_add(state, to, message)
        at = _put(at, message.reply + message.hidden, message.reply_length - message.hidden)
        at[0] = c" "
        at += 1
    if header:
        at += write_decimal(at, header)
        at[0] = c" "
        at += 1
    at += write_decimal(at, length)
    at[0] = c"\r"
    at[1] = c"\n"
    trace(state, to, False, room, at - room)
    trace_body(state, to, False, body, header, length)
    if not _write_body(state, to, message, body, length, room, at + 2 - room):
        link_doom(state, to, WRITE_ERROR, False, "no memory")
        return False
    _count_out(state, to, message, length)
    if to.replies != NULL and message.reply_length:
        _may_answer(state, to, message)
    return True


cdef inline int64_t subscription_tag(Subscription* subscription) noexcept nogil:
    """Return the tag of a port's subscription, which stands in place of a sid; 0: it has none."""
    cdef int64_t tag = 0
    if subscription.sid_length == sizeof(tag):
        memcpy(&tag, subscription.sid, sizeof(tag))
    return tag


cdef inline bint _offer(State* state, Interest* interest, Message* message) noexcept nogil:
    """Deliver to one subscription here: of a client, or of this process; or leave it to the import that stands there."""
    cdef Subscription* subscription = <Subscription*> interest
    cdef bint delivered
    if subscription.link == NULL:
        if subscription.imported != NULL:
            return state.passages.enter(state, subscription, message)
        if subscription.dead:
            return False
        delivered = sink_put(state, subscription.sink, message, subscription_tag(subscription))
    elif message.trace != NULL:
        return state.passages.traced(state, subscription, message)
    else:
        delivered = _to_client(state, subscription.link, subscription, message)
    if not delivered:
        return False
    subscription.msgs += 1
    if subscription.max_msgs and subscription.msgs >= subscription.max_msgs:
        subscription_drop(state, subscription)
    return True


cdef bint to_subscription(State* state, Interest* interest, Message* message) noexcept nogil:
    """Deliver to one subscription here, as `_offer`, which the loop over receivers has in it."""
    return _offer(state, interest, message)


cdef bint to_route(State* state, Link* to, Message* message) noexcept nogil:
    """Write a message to another server, with the queue groups that were picked for it; False: it can't be delivered there."""
    cdef size_t reply = message.reply_length + (message.shown_length + 1 if message.shown != NULL else 0)
    cdef const char* body = message.body
    cdef size_t length = message.body_length
    cdef size_t header = message.header_length
    cdef size_t names = 0
    cdef uint32_t which
    cdef char* room
    cdef char* at
    cdef Origin* origin = NULL
    if to.joined != NULL:
        return inner_send(state, to, message)
    if message.trace != NULL:
        return state.passages.traced_route(state, to, message)
    if to.doomed:
        return False
    if header and not to.headers:
        body += header
        length -= header
        header = 0
    if to.takes_origins and message.origin and message.source.origin != NULL:
        origin = message.source.origin
    for which in range(state.pick_count):
        if state.picks[which].link.peer == to.peer:
            if names + state.picks[which].queue_length >= GROUPS_BYTES_MAX:
                # Thousands of groups in one subject: a second message would be one too many for who is in none.
                state.picks[which].queue_length = 0
                state.totals.dropped += 1
            else:
                names += state.picks[which].queue_length + 1
    room = output_reserve(
        state, to,
        message.account.name_length + message.subject_length + reply + to.address_length + names + 80
        + (origin.key.length if origin != NULL else 0) + _copied(to, message, length),
    )
    if room == NULL:
        link_doom(state, to, WRITE_ERROR, False, "no memory")
        return False
    if origin != NULL:
        memcpy(room, b"LMSG ", 5)
    elif header:
        memcpy(room, b"HMSG ", 5)
    else:
        memcpy(room, to.dialect.message, 5)
    at = room + 5
    if origin != NULL:
        at = _put(at, origin.key.chars, origin.key.length)
        at[0] = c" "
        at += 1
    if not to.account_omitted:
        at = _put(at, message.account.name, message.account.name_length)
        at[0] = c" "
        at += 1
    at = _put(at, message.subject, message.subject_length)
    at[0] = c" "
    at += 1
    if names:
        at[0] = c"+" if message.reply_length else c"|"
        at[1] = c" "
        at += 2
    if message.reply_length:
        if to.address_length and is_reply_here(message):
            at = _put(at, to.address, to.address_length)
        at = _put(at, message.reply, message.reply_length)
        if message.shown != NULL:
            at[0] = c"@"
            at = _put(at + 1, message.shown, message.shown_length)
        at[0] = c" "
        at += 1
    if names:
        for which in range(state.pick_count):
            if state.picks[which].link.peer == to.peer and state.picks[which].queue_length:
                at = _put(at, state.picks[which].queue, state.picks[which].queue_length)
                at[0] = c" "
                at += 1
    if header or origin != NULL:
        at += write_decimal(at, header)
        at[0] = c" "
        at += 1
    at += write_decimal(at, length)
    at[0] = c"\r"
    at[1] = c"\n"
    trace(state, to, False, room, at - room)
    trace_body(state, to, False, body, header, length)
    if not _write_body(state, to, message, body, length, room, at + 2 - room):
        link_doom(state, to, WRITE_ERROR, False, "no memory")
        return False
    _count_out(state, to, message, length)
    if to.replies != NULL and message.reply_length:
        _may_answer(state, to, message)
    return True


# ---- queue groups ----------------------------------------------------------------------------------------------------------


cdef bint _pick_add(State* state, Link* link, Group* group) noexcept nogil:
    cdef Pick* grown
    if state.pick_count == state.pick_room:
        grown = <Pick*> realloc(state.picks, (state.pick_room * 2 + 16) * sizeof(Pick))
        if grown == NULL:
            return False
        state.picks = grown
        state.pick_room = state.pick_room * 2 + 16
    state.picks[state.pick_count].link = link
    state.picks[state.pick_count].queue = group.name
    state.picks[state.pick_count].queue_length = group.name_length
    state.pick_count += 1
    return True


cdef bint _to_local_member(State* state, Match* match, Group* group, uint64_t start, Message* message) noexcept nogil:
    """Deliver to the first local member from `start` on that can take it."""
    cdef uint32_t tried
    for tried in range(group.local_count):
        state.work += 1
        if to_subscription(state, match.members[group.first + (start + tried) % group.local_count], message):
            return True
    return False


cdef bint _may_pick(State* state, Link* link, Message* message) noexcept nogil:
    """Whether a server may be given a message for a member of a group."""
    return (
        not link.doomed and not link.peer.picked and (message.scope == SCOPE_HERE or link.peer != message.source.peer)
        and not is_of_origin(link, message)
        and may_send(state, link, message.subject, message.subject_length)
    )


cdef bint _pick_remote(State* state, Match* match, Group* group, uint64_t point, Message* message) noexcept nogil:
    """Pick the remote member whose share of the weights holds `point`, or the next one that can take the message."""
    cdef uint32_t at, tried
    cdef uint32_t first = group.first + group.local_count
    cdef Interest* member
    cdef Link* link
    for at in range(group.remote_count):
        member = match.members[first + at]
        if point < member.weight:
            break
        point -= member.weight
    else:
        at = 0
    for tried in range(group.remote_count):
        link = <Link*> match.members[first + (at + tried) % group.remote_count].owner
        if _may_pick(state, link, message):
            return _pick_add(state, link, group)
    return False


cdef inline bint _leads_back(Message* message, Link* link, Interest* member) noexcept nogil:
    """Whether a member at another server is of the cluster of leaf nodes that a message comes from."""
    return (
        message.source.origin != NULL and link.scope == SCOPE_ROUTE and link.joined == NULL
        and is_interest_of_origin(message.source, <Subscription*> member)
    )


cdef bint _pick_spare(State* state, Match* match, Group* group, Message* message) noexcept nogil:
    """Pick a server for a group that nobody else in the cluster can serve: the first class of them, by their weight or the nearest."""
    cdef uint32_t tried, start
    cdef uint32_t first = group.first + group.local_count + group.remote_count
    cdef uint64_t weight = 0
    cdef uint8_t rank = 0
    cdef Interest* member
    cdef Link* best = NULL
    cdef Link* link
    if group.spare_count == 0:
        return False
    start = <uint32_t> (random_next(state) % group.spare_count)
    for tried in range(group.spare_count):
        member = match.members[first + (start + tried) % group.spare_count]
        link = <Link*> member.owner
        if not state.hears[message.scope] >> link.scope & 1 or not _may_pick(state, link, message) or _leads_back(message, link, member):
            continue
        if best == NULL or member.rank < rank:
            best = link
            rank = member.rank
            weight = member.weight
        elif member.rank == rank == NEAREST_RANK:
            if link.rtt_ns < best.rtt_ns:
                best = link
        elif member.rank == rank:
            weight += member.weight
            if random_next(state) % weight < member.weight:
                best = link
    return best != NULL and _pick_add(state, best, group)


cdef inline bint _is_put_off(State* state, Message* message, Fanout* rest) noexcept nogil:
    """Whether who is chosen now is to be served in turns to come."""
    return rest != NULL and (is_work_done(state) or rest != message.source.first_fanout)


cdef int _serve_groups(State* state, Match* match, Message* message, Fanout* rest) noexcept nogil:
    """Give a client's message to one member of each group; return how many groups have got it, or will from a route.

    Args:
        rest: What goes on in turns to come; local members that are chosen when the slice is used up. NULL: all are served now.
    """
    cdef uint32_t at
    cdef Group* group
    cdef uint64_t point
    cdef int served = 0
    state.work += match.group_count // 4
    for at in range(match.group_count):
        group = &match.groups[at]
        point = random_next(state) % group.weight
        if point < group.local_count and _is_put_off(state, message, rest):
            fanout_add(rest, match.members[group.first + point])
            served += 1
        elif point < group.local_count:
            if _to_local_member(state, match, group, point, message):
                served += 1
            elif group.remote_count and _pick_remote(state, match, group, 0, message):
                served += 1
            elif group.spare_count and _pick_spare(state, match, group, message):
                served += 1
        elif _pick_remote(state, match, group, point - group.local_count, message):
            served += 1
        elif _to_local_member(state, match, group, point, message) or _pick_spare(state, match, group, message):
            served += 1
    return served


cdef bint _is_eligible(State* state, Link* link, Message* message) noexcept nogil:
    """Whether a message that names a group may go to another server or core for it: what comes from a core has been to all cores."""
    if message.source.joined != NULL and link.joined != NULL:
        return False
    return state.hears[message.scope] >> link.scope & 1 and _may_pick(state, link, message)


cdef bint _pick_eligible(State* state, Match* match, Group* group, uint64_t point, Message* message) noexcept nogil:
    """Pick the eligible member whose share of their weights holds `point`, or the last one."""
    cdef uint32_t at
    cdef uint32_t first = group.first + group.local_count
    cdef Interest* member
    cdef Link* last = NULL
    for at in range(group.remote_count):
        member = match.members[first + at]
        if _is_eligible(state, <Link*> member.owner, message):
            last = <Link*> member.owner
            if point < member.weight:
                break
            point -= member.weight
    return last != NULL and _pick_add(state, last, group)


cdef bint _pick_core(State* state, Match* match, Group* group, Message* message) noexcept nogil:
    """Pick a core with members of a group, be it where the message came from: those of this one have just left."""
    cdef uint32_t at, start
    cdef uint32_t first = group.first + group.local_count
    cdef Link* link
    if message.source.joined == NULL or group.remote_count == 0 or not inner_may_pass(state):
        return False
    start = <uint32_t> (random_next(state) % group.remote_count)
    for at in range(group.remote_count):
        link = <Link*> match.members[first + (start + at) % group.remote_count].owner
        if link.joined != NULL and (link.scope == SCOPE_INNER or state.hears[message.scope] >> link.scope & 1):
            return _pick_add(state, link, group)
    return False


cdef bint _pick_last(State* state, Match* match, Group* group, Message* message) noexcept nogil:
    """Pick a server for a message that another core has sent here for want of anybody else: the one case of a second hop."""
    cdef uint32_t at
    cdef uint32_t first = group.first + group.local_count
    cdef Link* link
    for at in range(group.remote_count if inner_is_first(state) else 0):
        link = <Link*> match.members[first + at].owner
        if link.joined == NULL and _may_pick(state, link, message):
            return _pick_add(state, link, group)
    return False


cdef int _serve_group_of_cores(State* state, Match* match, Group* group, Message* message, Fanout* rest) noexcept nogil:
    """As `_serve_named_group`, where members may be at other cores: evenly among all that the message may go to."""
    cdef uint64_t point, weight = 0
    cdef uint32_t at
    cdef Interest* member
    for at in range(group.remote_count):
        member = match.members[group.first + group.local_count + at]
        if _is_eligible(state, <Link*> member.owner, message):
            weight += member.weight
    if group.local_count + weight:
        point = random_next(state) % (group.local_count + weight)
        if point < group.local_count and _is_put_off(state, message, rest):
            fanout_add(rest, match.members[group.first + point])
            return 1
        if point >= group.local_count and _pick_eligible(state, match, group, point - group.local_count, message):
            return 1
        if _to_local_member(state, match, group, point, message) or _pick_eligible(state, match, group, 0, message):
            return 1
    if _pick_spare(state, match, group, message) or _pick_core(state, match, group, message):
        return 1
    if group.remote_count == 0:
        return 0
    return _pick_remote(state, match, group, 0, message) if message.source.joined == NULL else _pick_last(state, match, group, message)


cdef int _serve_named_group(State* state, Match* match, Group* group, Message* message, Fanout* rest) noexcept nogil:
    """Give a server's message to one member of a group that it names; return whether one has got it, or will."""
    cdef uint64_t point
    if state.inner != NULL:
        return _serve_group_of_cores(state, match, group, message, rest)
    if group.local_count:
        point = random_next(state) % group.local_count
        if _is_put_off(state, message, rest):
            fanout_add(rest, match.members[group.first + point])
            return 1
        if _to_local_member(state, match, group, point, message):
            return 1
    # Its members here have just left, or there were none. For a message of a route that is the one case of a second hop.
    if state.hears[message.scope] >> SCOPE_ROUTE & 1 and group.remote_count and _pick_remote(state, match, group, 0, message):
        return 1
    return _pick_spare(state, match, group, message) or (group.remote_count and _pick_remote(state, match, group, 0, message))


cdef int _serve_named_groups(State* state, Match* match, Message* message, Fanout* rest) noexcept nogil:
    """Give a server's message to one member of each group that it names."""
    cdef uint32_t which
    cdef Group* group
    cdef int served = 0
    for which in range(message.queue_count):
        state.work += 1
        group = group_find(&state.group_index, match, message.queues[which], message.queue_lengths[which])
        if group != NULL:
            served += _serve_named_group(state, match, group, message, rest)
    return served


cdef Link* link_way(Link* link, Account* account) noexcept nogil:
    """Return the connection that a message takes to a server that said by `link` that it wants it: see `_routes.pyx` for the fences."""
    cdef Fence* fence = link.fences
    while fence != NULL:
        if fence.account == account and not fence.to.doomed:
            return fence.to
        fence = fence.next
    return link


cdef inline bint _is_from(Peer* from_peer, Link* link, Message* message) noexcept nogil:
    """Whether a message comes from the server that a link leads to, or from its cluster; what comes from a core has been to all cores."""
    return (
        link.peer == from_peer or (from_peer != NULL and from_peer.is_core and link.peer.is_core) or is_of_origin(link, message)
    )


cdef inline bint _is_unwanted(State* state, Link* link, Message* message) noexcept nogil:
    """Whether a server that is taken to want everything has refused the subject: see `_assumed.pyx`."""
    return link.assumed != NULL and is_refused(state, link, message.account, message.subject, message.subject_length)


cdef int _serve_peers(State* state, Match* match, Message* message) noexcept nogil:
    """Give a message to every server that is to have it, once, by whichever of its links."""
    cdef uint32_t at
    cdef uint8_t hears = state.hears[message.scope]
    cdef Peer* from_peer = message.source.peer if message.scope != SCOPE_HERE else NULL
    cdef int served = 0
    cdef Link* link
    if match.remote_count == 1 and state.pick_count == 0:
        link = <Link*> match.remote[0].owner
        if not match.scopes & hears or link.doomed or _is_from(from_peer, link, message):
            return 0
        if not may_send(state, link, message.subject, message.subject_length) or _is_unwanted(state, link, message):
            return 0
        return to_route(state, link_way(link, message.account), message)
    if match.scopes & hears:
        for at in range(match.remote_count):
            link = <Link*> match.remote[at].owner
            if link.peer.picked or link.doomed or not hears >> link.scope & 1 or _is_from(from_peer, link, message):
                continue
            if may_send(state, link, message.subject, message.subject_length) and not _is_unwanted(state, link, message):
                link.peer.picked = PICKED_PLAINLY
                served += to_route(state, link_way(link, message.account), message)
    for at in range(state.pick_count):
        link = state.picks[at].link
        if not link.peer.picked and not link.doomed:
            link.peer.picked = PICKED_FOR_GROUPS
            to_route(state, link_way(link, message.account), message)
    for at in range(state.pick_count):
        state.picks[at].link.peer.picked = 0
    if match.scopes & hears:
        for at in range(match.remote_count):
            (<Link*> match.remote[at].owner).peer.picked = 0
    return served


cdef int _serve_plain(State* state, Interest** plain, uint32_t count, uint32_t* served_to, Message* message) noexcept nogil:
    """Deliver to plain subscriptions from `served_to` on, until the slice is used up; return how many have got it."""
    cdef uint32_t at = served_to[0]
    cdef uint32_t until
    cdef int served = 0
    while at < count:
        until = min(count, at + RECEIVERS_A_LOOK)
        state.work += until - at
        while at < until:
            served += _offer(state, plain[at], message)
            at += 1
        if is_work_done(state):
            break
    served_to[0] = at
    return served


cdef void _enter_services(State* state, Fanout* rest) noexcept nogil:
    """Let a message be noted at the services among the receivers that it has yet to reach: they are asked when it leaves its account.

    Servers that hear it by an import of a stream get it now: only one after the other they get each message once.
    """
    cdef Interest** interest = fanout_interest(rest)
    cdef Subscription* subscription
    cdef uint32_t at, kept = 0
    if rest.message.account.tables == NULL and rest.message.account.answers == NULL and state.peer_shadows == 0:
        return
    for at in range(rest.count):
        subscription = <Subscription*> interest[at]
        if subscription.link == NULL and subscription.imported != NULL and (
            subscription.imported.kind != STREAM_IMPORT or is_of_peer(subscription)
        ):
            state.passages.enter(state, subscription, &rest.message)
        else:
            interest[kept] = interest[at]
            kept += 1
    rest.count = kept


cdef Fanout* _put_off(State* state, Match* match, uint32_t at, Message* message) noexcept nogil:
    """Let the plain subscriptions from `at` on have a message in turns to come; NULL: they are to have it now."""
    cdef Fanout* rest = fanout_new(state, message, match.plain + at, match.plain_count - at, match.group_count)
    if rest != NULL:
        _enter_services(state, rest)
    return rest


cdef int deliver_matched(State* state, Match* match, Message* message) noexcept nogil:
    """Deliver one message to a fresh match of its subject; return how many subscriptions, servers and groups have got it, or will.

    What the slice of work does not suffice for goes on later: see `_fanouts.pyx`. Then at least one more counts as served.
    Cost: one copy of the body per receiver, none from 8 KiB on.
    """
    cdef uint32_t at = 0
    cdef uint32_t waiting = state.waiting_count
    cdef uint32_t receivers = match.plain_count + match.group_count
    cdef int served = 0
    cdef Fanout* rest = NULL
    # Only who has subscriptions of several accounts on one link asks for it, and a fan-out that goes on may meet a new one.
    message.number = 0
    if state.peer_shadows:
        state.last_message += 1
        message.number = state.last_message
        state.gathers_shadows = 1
    if message.source.first_fanout == NULL:
        served = _serve_plain(state, match.plain, match.plain_count, &at, message)
    if receivers > RECEIVERS_A_LOOK or message.source.first_fanout != NULL:
        if at < match.plain_count or (match.group_count and (is_work_done(state) or match.group_count > GROUPS_A_SLICE)):
            if message.trace != NULL and message.trace.only:
                # A report has room for no more of them, and nobody is given anything.
                at = match.plain_count
            else:
                rest = _put_off(state, match, at, message)
    if rest != NULL:
        served += at < match.plain_count
    else:
        while at < match.plain_count:
            served += _serve_plain(state, match.plain, match.plain_count, &at, message)
    state.pick_count = 0
    if match.group_count:
        if state.picks_groups >> message.scope & 1:
            served += _serve_groups(state, match, message, rest)
        elif message.queue_count:
            served += _serve_named_groups(state, match, message, rest)
    if state.pick_count or match.remote_count:
        served += _serve_peers(state, match, message)
    if message.number:
        state.passages.shadows_told(state, message)
    if state.waiting_count > waiting:
        # Behind all that needs the match: the next account may be this one.
        served += state.passages.passed(state, waiting, message)
    return served


cdef int deliver_to_groups(State* state, Message* message) noexcept nogil:
    """Deliver a message to the groups alone that it names; return how many have got it, or will.

    Servers with plain interest have it already, and can't be told that it comes for a group: they are left out.
    """
    cdef Match* match = sublist_match(&message.account.sublist, message.subject, message.subject_length)
    cdef int served
    cdef uint32_t at
    state.pick_count = 0
    for at in range(match.remote_count):
        (<Link*> match.remote[at].owner).peer.picked = not (<Link*> match.remote[at].owner).peer.is_core
    served = _serve_named_groups(state, match, message, NULL)
    for at in range(match.remote_count):
        (<Link*> match.remote[at].owner).peer.picked = 0
    for at in range(state.pick_count):
        if not state.picks[at].link.peer.picked and not state.picks[at].link.doomed:
            state.picks[at].link.peer.picked = PICKED_FOR_GROUPS
            to_route(state, state.picks[at].link, message)
    for at in range(state.pick_count):
        state.picks[at].link.peer.picked = 0
    return served


cdef void _serve_again(State* state, Interest* interest, Message* message) noexcept nogil:
    """Give a message to another local member of a group whose chosen one has left or can't take it."""
    cdef Match* match = sublist_match(&message.account.sublist, message.subject, message.subject_length)
    cdef Group* group = group_find(&state.group_index, match, interest.queue, interest.queue_length)
    if group != NULL:
        _to_local_member(state, match, group, random_next(state), message)


cdef void deliver_rest(State* state, Link* link) noexcept nogil:
    """Go on with a link's messages that are under way, until all have arrived or the slice is used up."""
    cdef Fanout* fanout = link.first_fanout
    cdef Interest* interest
    cdef Subscription* subscription
    while fanout != NULL and not is_work_done(state):
        state.work += 1
        if fanout.at == fanout.count:
            fanout_end(state, link)
            fanout = link.first_fanout
            continue
        interest = fanout_interest(fanout)[fanout.at]
        subscription = <Subscription*> interest
        fanout.at += 1
        if (subscription.dead or not to_subscription(state, interest, &fanout.message)) and interest.queue_length:
            _serve_again(state, interest, &fanout.message)


cdef int deliver(State* state, Message* message) noexcept nogil:
    """Deliver one message; return how many subscriptions, servers and groups have got it."""
    return deliver_matched(
        state, sublist_match(&message.account.sublist, message.subject, message.subject_length), message
    )
