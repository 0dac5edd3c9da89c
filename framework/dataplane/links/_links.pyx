"""Lives of links: opened, read, paused, buried; and the state that holds them.

Size: a link is freed with all that points at it, so its makers and its grave are read side by side.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcpy, memmove, strlen

from framework.dataplane.accounts._accounts cimport account_new, account_spare, accounts_free, accounts_sweep, client_join, client_leave
from framework.dataplane.inner._inner_messages cimport inner_holds, inner_waits
from framework.dataplane.inner._joining cimport FACE_BIT, STALLED_NUMBER, inner_free
from framework.dataplane.links._addresses cimport addresses_free
from framework.dataplane.links._clocks cimport ping_interval_ns
from framework.dataplane.delivery._delivery cimport (
    deliver_rest, is_python_behind, link_cut_off, link_doom, link_is_over, link_say, random_next, record_add, record_chars,
    record_made, record_new, subscription_drop,
)
from framework.dataplane.links._coding cimport coder_free, coder_rows, coding_end, coding_farewell, coding_flush, coding_waits
from framework.dataplane.delivery._forwards cimport forwards_free
from framework.dataplane.delivery._fanouts cimport dead_sweep, fanout_end
from framework.dataplane.delivery._message_trace cimport traced_route, traced_subscription
from framework.dataplane.delivery._quotas cimport quotas_leave
from framework.dataplane.delivery._gates cimport gate_go_on, gate_is_ready, gate_leave, gates_end, gates_hand_over
from framework.dataplane.delivery._watches cimport watch_remove
from framework.dataplane.accounts._assumed cimport assumptions_end
from framework.dataplane.delivery._ways cimport ways_end
from framework.dataplane.links._nonces cimport nonce_give
from framework.dataplane.links._output cimport block_chars, block_drop, block_new, output_discard
from framework.dataplane.protocol._parser cimport parse
from framework.dataplane.accounts._permissions cimport link_permit, permissions_free
from framework.dataplane.accounts._response_mappings cimport response_mappings_gone
from framework.dataplane.accounts._origins cimport origin_leave
from framework.dataplane.accounts._routes cimport accounts_leave, peer_leave
from framework.dataplane.protocol._server_info cimport link_info
from framework.dataplane.accounts._service_imports cimport import_enter, imports_passed
from framework.dataplane.ports._port cimport port_detach, port_release, port_waits
from framework.dataplane.ports._port_watches cimport port_watches_settle
from framework.dataplane.ports._sinkbatch cimport (
    atomic_add_users, batch_free, sink_flush, sink_gathers, sink_release, sink_stalls,
)
from framework.dataplane._state cimport (
    ACCOUNT_NEVER, CLIENT_CLOSED, CONNECT_READ_BYTES, DETAIL_BYTES, FRAME_OWN_BLOCK_BYTES, INFOS_MAX, IS_LIMITED, IS_PEER,
    IS_TOLD_INTEREST, IS_USER, MAX_CONNECTIONS_EXCEEDED, READ_BLOCK_BYTES, READ_ERROR, RECORD_CLOSED, RECORD_OPENED, STALLS, STALL_NS,
    SYSTEM,
    UNREGISTERED_READ_BYTES, VIOLATIONS_A_TICK, Account, Block, Confirmation, Farewell, Limits, Link, LinkKindC, Listing, Port, Record, Row,
    Segment, Sink, State, Subscription,
)
from framework.dataplane.accounts._stream_imports cimport shadows_drop, shadows_told
from framework.dataplane.accounts._tables cimport tables_end
from framework.dataplane.accounts._telling cimport telling_end
from framework.dataplane._work cimport (
    END_WORK, WORK_A_SLICE, WORK_A_TURN, dirty_leave, is_work_done, paused_add, paused_leave, ready_add, ready_leave, work_begin,
)
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_clear

cdef enum:
    SECOND_NS = 1000000000


# ---- the state ---------------------------------------------------------------------------------------------------------


cdef State* state_new(Limits* limits, uint64_t seed) noexcept nogil:
    """Return the state of a plane with the account `$G`; NULL: no memory. One seed gives one run."""
    cdef State* state = <State*> calloc(1, sizeof(State))
    if state == NULL:
        return NULL
    state.limits = limits[0]
    state.violations_left = VIOLATIONS_A_TICK
    state.seed = state.group_index.seed = seed
    state.cid_step = 1
    state.generations_mask = ~<uint32_t> 0
    state.random = hash_bytes(seed, b"queue members", 13)
    state.nonce_random = hash_bytes(seed, b"nonces", 6)
    coder_rows(state)
    state.passages.enter = import_enter
    state.passages.passed = imports_passed
    state.passages.shadows_drop = shadows_drop
    state.passages.shadows_told = shadows_told
    state.passages.traced = traced_subscription
    state.passages.traced_route = traced_route
    state.system = <Link*> calloc(1, sizeof(Link))
    if state.system == NULL or account_new(state, b"$G", 2) == NULL:
        state_free(state)
        return NULL
    state.system.kind = SYSTEM
    state.system.dialect = &state.kinds[<int> SYSTEM].dialect
    state.system.registered = 1
    state.system.headers = 1
    state.system.fd = -1
    return state


cdef void _drop_batch(Sink* sink) noexcept nogil:
    if sink.batch != NULL:
        batch_free(sink.batch)
        sink.batch = NULL


cdef void state_free(State* state) noexcept nogil:
    """Free everything. Links must have been buried by the shell."""
    cdef uint32_t at
    cdef Port* port
    cdef Sink* sink
    cdef Segment* segment
    cdef Block* block
    cdef Record* record
    cdef Farewell* farewell
    cdef Confirmation* confirmation
    cdef Listing* listing
    gates_end(state)
    while state.link_count:
        link_doom(state, state.links[0], CLIENT_CLOSED, False, NULL)
        links_bury(state)
    if state.system != NULL:
        ready_leave(state, state.system)
        while state.system.first_fanout != NULL:
            fanout_end(state, state.system)
    while state.ports != NULL:
        port = state.ports
        port_detach(state, port)
    inner_free(state)
    while state.filled != NULL:
        sink = state.filled
        state.filled = sink.next_filled
        sink.filled = 0
        if sink.port != NULL:
            _drop_batch(sink)
            port_release(sink.port)
    while state.sinks != NULL:
        sink = state.sinks
        state.sinks = sink.next
        _drop_batch(sink)
        if sink.subscription != NULL:
            subscription_drop(state, sink.subscription)
        watch_remove(state, sink)
        sink_release(sink)
    tables_end(state)
    addresses_free(state)
    free(state.paced)
    state_sweep(state)
    while state.graves != NULL:
        state_sweep(state)
    while state.confirmations != NULL:
        confirmation = state.confirmations
        state.confirmations = confirmation.next
        free(confirmation)
    table_clear(&state.sinks_by_id)
    forwards_free(state)
    free(state.group_index.slots)
    while state.segments != NULL:
        segment = state.segments
        state.segments = segment.next
        free(segment)
    while state.blocks != NULL:
        block = state.blocks
        state.blocks = block.next
        free(block)
    if state.read_block != NULL:
        block_drop(state, state.read_block)
    while state.first_record != NULL:
        record = state.first_record
        state.first_record = record.next
        if record.batch != NULL:
            batch_free(record.batch)
        free(record)
    while state.farewells != NULL:
        farewell = state.farewells
        state.farewells = farewell.next
        free(farewell)
    while state.listings != NULL:
        listing = state.listings
        state.listings = listing.next
        free(listing)
    for at in range(INFOS_MAX):
        free(state.infos[at].document)
    if state.system != NULL:
        free(state.system.memo)
    free(state.system)
    table_clear(&state.sids)
    table_clear(&state.port_watches)
    accounts_free(state)
    permissions_free(state)
    coder_free(state)
    free(state.slots)
    free(state.generations)
    free(state.free_slots)
    free(state.links)
    free(state.doomed)
    free(state.picks)
    free(state.shadow_picks)
    free(state.line.words)
    free(state.line.lengths)
    free(state)


cdef void state_sweep(State* state) noexcept nogil:
    """End a turn: free what was unsubscribed, hand over what sinks have got."""
    cdef Subscription* subscription = state.dead
    cdef Subscription* last = NULL
    cdef Sink* sink
    cdef Sink* kept = NULL
    if state.touched != NULL or state.all_touched:
        port_watches_settle(state)
    while subscription != NULL:
        response_mappings_gone(state, subscription)
        last = subscription
        subscription = subscription.next
    dead_sweep(state, last)
    accounts_sweep(state)
    gates_hand_over(state)
    while state.filled != NULL:
        sink = state.filled
        state.filled = sink.next_filled
        if state.gathers and sink_gathers(state, sink):
            sink.next_filled = kept
            kept = sink
            continue
        sink.filled = 0
        sink_flush(state, sink)
        if sink.closed and sink.port != NULL:
            port_release(sink.port)
        elif sink.closed:
            sink_release(sink)
    state.filled = kept


# ---- opening -----------------------------------------------------------------------------------------------------------


cdef bint _slots_grow(State* state) noexcept nogil:
    cdef uint32_t room = state.slot_room * 2 if state.slot_room else 16
    cdef uint32_t at
    cdef void* grown
    grown = realloc(state.slots, room * sizeof(Link*))
    if grown == NULL:
        return False
    state.slots = <Link**> grown
    grown = realloc(state.generations, room * sizeof(uint32_t))
    if grown == NULL:
        return False
    state.generations = <uint32_t*> grown
    grown = realloc(state.free_slots, room * sizeof(uint32_t))
    if grown == NULL:
        return False
    state.free_slots = <uint32_t*> grown
    grown = realloc(state.links, room * sizeof(Link*))
    if grown == NULL:
        return False
    state.links = <Link**> grown
    for at in range(state.slot_room, room):
        state.slots[at] = NULL
        state.generations[at] = 0
        state.free_slots[state.free_count] = room - 1 - (at - state.slot_room)
        # Low slots are used first.
        state.free_count += 1
    state.slot_room = room
    return True


cdef Link* link_open(
    State* state, LinkKindC kind, int listener, bint accepted, bint informed, const char* host, int port, int64_t token
) noexcept nogil:
    """Begin a link and report it; one that is to be `informed` is sent INFO. NULL: no memory."""
    cdef Link* link
    cdef Record* record
    cdef uint32_t slot
    cdef int64_t first
    if state.free_count == 0 and not _slots_grow(state):
        return NULL
    link = <Link*> calloc(1, sizeof(Link))
    if link == NULL:
        return NULL
    state.free_count -= 1
    slot = state.free_slots[state.free_count]
    state.generations[slot] += 1
    state.slots[slot] = link
    link.id = state.id_bits | (<uint64_t> (state.generations[slot] & state.generations_mask) << 32) | slot
    state.next_cid += state.cid_step
    link.cid = state.next_cid
    link.fd = -1
    link.kind = kind
    link.listener = listener
    link.traits = state.kinds[<int> kind].traits
    link.scope = state.kinds[<int> kind].scope
    link.told = state.hears[link.scope]
    link.rank = state.kinds[<int> kind].rank
    link.dialect = &state.kinds[<int> kind].dialect
    link.account_omitted = link.dialect.account == ACCOUNT_NEVER
    link.accepted = accepted
    link.verbose = link.pedantic = link.echo = 1
    # What a client has that sends no CONNECT. Source: nats-server `client.go`, `defaultOpts`.
    if link.traits & IS_USER:
        client_join(state.accounts[0], link)
    else:
        link.account = state.accounts[0]
    link.max_payload = link.max_subscriptions = -1
    link.opened_ns = link.login_from_ns = link.received_ns = state.now_ns
    first = min(ping_interval_ns(state, link), state.kinds[<int> kind].first_ping_ns)
    # At random by up to a fifth. Source: nats-server `client.go`, `setFirstPingTimer`.
    link.ping_due_ns = state.now_ns + first + <int64_t> (random_next(state) % <uint64_t> max(1, first // 5))
    link.port = port
    memcpy(link.host, host, min(strlen(host), sizeof(link.host) - 1))
    link.place = state.link_count
    state.links[state.link_count] = link
    state.link_count += 1
    if accepted and state.nonces[<int> kind] and not nonce_give(state, link):
        link_doom(state, link, READ_ERROR, False, "no randomness for a nonce")
    record = record_new(state, RECORD_OPENED, link, strlen(link.nonce))
    if record != NULL:
        memcpy(record_chars(record), link.nonce, record.length)
        record.number = token
        record.other = listener
        link_row(link, &record.row)
    state.totals.kinds[<int> kind].links += 1
    state.totals.kinds[<int> kind].opened += 1
    state.limited_count += link.traits & IS_LIMITED != 0
    if informed:
        link_info(state, link)
    if link.traits & IS_LIMITED and state.limits.max_connections and state.limited_count > max(state.limits.max_connections, 0):
        link_say(state, link, b"-ERR 'maximum connections exceeded'\r\n")
        link_doom(state, link, MAX_CONNECTIONS_EXCEEDED, True, NULL)
    return link


cdef Link* link_of(State* state, uint64_t id) noexcept nogil:
    """Return a living link; NULL: it is gone, or doomed."""
    cdef uint32_t slot = <uint32_t> id
    cdef Link* link
    if slot >= state.slot_room:
        return NULL
    link = state.slots[slot]
    if link == NULL or link.id != id or link.doomed:
        return NULL
    return link


cdef void link_register(State* state, Link* link) noexcept nogil:
    """Let a link act; its handshake is done."""
    link.registered = 1
    link.parked = 0


cdef void link_row(Link* link, Row* row) noexcept nogil:
    row.link = link.id
    row.kind = link.kind
    row.cid = link.cid
    row.opened_ns = link.opened_ns
    row.received_ns = link.received_ns
    row.rtt_ns = link.rtt_ns
    row.pending = link.pending
    row.in_msgs = link.in_msgs
    row.in_bytes = link.in_bytes
    row.out_msgs = link.out_msgs
    row.out_bytes = link.out_bytes
    row.subscriptions = link.subscription_count
    row.stalls = link.stalls
    row.wire_in_bytes = link.wire_in_bytes
    row.wire_out_bytes = link.wire_out_bytes
    row.port = link.port
    memcpy(row.host, link.host, sizeof(row.host))


# ---- reading -----------------------------------------------------------------------------------------------------------


cdef char* link_window(State* state, Link* link, size_t* room) noexcept nogil:
    """Return where to put what a link sends next, and how much fits; NULL: no memory.

    That is behind what it left of an incomplete frame: in the block that all links share, or in the frame's own.
    """
    if link.big != NULL:
        room[0] = link.big_need - link.big_fill
        if link.lined:
            room[0] = min(room[0], <size_t> CONNECT_READ_BYTES)
        return block_chars(link.big) + link.big_fill
    if state.read_block == NULL or state.read_block.users > 1:
        # Payloads wait to be sent from it: its last segment frees it.
        if state.read_block != NULL:
            block_drop(state, state.read_block)
        state.read_block = block_new(READ_BLOCK_BYTES)
        if state.read_block == NULL:
            return NULL
    if link.left_length:
        memcpy(block_chars(state.read_block), link.left, link.left_length)
    room[0] = READ_BLOCK_BYTES - link.left_length
    return block_chars(state.read_block) + link.left_length


cdef bint _keep(State* state, Link* link, char* at, size_t length, size_t need) noexcept nogil:
    """Keep an incomplete frame until more of it comes; False: no memory."""
    cdef Block* big
    cdef char* left
    if need > FRAME_OWN_BLOCK_BYTES and not link.parked:
        big = block_new(need)
        if big == NULL:
            return False
        memcpy(block_chars(big), at, length)
        link.big = big
        link.big_fill = length
        link.big_need = need
        length = 0
    if length == 0:
        free(link.left)
        link.left = NULL
        link.left_length = 0
        return True
    left = <char*> realloc(link.left, length)
    if left == NULL:
        return False
    memmove(left, at, length)
    link.left = left
    link.left_length = <uint32_t> length
    return True


cdef void _pause(State* state, Link* link) noexcept nogil:
    """Read a link no further for a while: what it publishes to, or who hears of its doings, is behind."""
    paused_add(state, link)
    link.stalls += 1
    link.stalled_by = state.stalled_by.id if state.stalled_by != NULL else 0
    link.stalled_sink = state.stalled_sink
    if link.stalled_sink != NULL:
        atomic_add_users(&link.stalled_sink.users, 1)
    link.stalled_until_ns = state.now_ns + STALL_NS
    state.totals.kinds[link.kind].stalled += 1
    if state.shell.watch != NULL:
        state.shell.watch(state.shell.self, link)


cdef void link_stall(State* state, Link* link) noexcept nogil:
    """Read a link no further for a while: a receiver of its messages at another core is behind."""
    if link.paused:
        return
    state.stalled_by = NULL
    state.stalled_sink = NULL
    _pause(state, link)
    link.stalled_by = (<uint64_t> 1 << FACE_BIT) | <uint64_t> STALLED_NUMBER << 8


cdef inline bint _has_line(Link* link, size_t length) noexcept nogil:
    """Whether the last bytes of a link end a line that is read into a block of its own."""
    return link.lined and memchr(block_chars(link.big) + link.big_fill - length, c"\n", length) != NULL


cdef void link_received(State* state, Link* link, size_t length) noexcept nogil:
    """Handle the bytes that were put into the link's window; with none, what it left before."""
    cdef Block* block = state.read_block
    cdef char* at
    cdef char* end
    if link.coding == NULL:
        link.wire_in_bytes += length
    if length:
        link.received_ns = state.now_ns
    if link.big != NULL:
        link.big_fill += length
        if link.big_fill < link.big_need and not _has_line(link, length):
            return
        block = link.big
        link.big = NULL
        at = block_chars(block)
        end = at + link.big_fill
    else:
        at = block_chars(block)
        end = at + link.left_length + length
        block.users += 1
    link_parse(state, link, at, end, block, length, True)
    block_drop(state, block)


cdef char* link_parse(State* state, Link* link, char* at, char* end, Block* block, size_t length, bint last) noexcept nogil:
    """Let the parser work, then see who must wait for whom; return the first byte that was not handled.

    Args:
        length: Bytes of it that are new.
        last: No more of it follows in the block, so what is left is kept; but for a coded link, whose own block does.
    """
    cdef size_t need = 0
    cdef int64_t before = state.work
    cdef int64_t work, enough
    cdef int64_t records_before = state.record_bytes
    cdef size_t pending_before = link.pending
    cdef char* start = at
    state.stalled_by = NULL
    state.stalled_sink = NULL
    if state.inner != NULL:
        state.inner.is_filled = 0
    at = parse(state, link, at, end, block, &need)
    if link.coding != NULL and block == link.coding.block and (link.parked or link.waiting):
        # Its block holds what is left.
        last = False
    if last and not link.doomed and not _keep(state, link, at, end - at, need):
        link_doom(state, link, READ_ERROR, False, "no memory")
    if link.doomed:
        return at
    work = state.work - before
    if link.waiting or work * 2 > WORK_A_SLICE:
        enough = (at - start) * <int64_t> WORK_A_SLICE // work
        link.read_bytes = <uint32_t> max(<int64_t> UNREGISTERED_READ_BYTES, min(<int64_t> READ_BLOCK_BYTES, enough))
    elif length:
        link.read_bytes = 0
    link_settle(state, link, pending_before, records_before)
    return at


cdef void link_settle(State* state, Link* link, size_t pending_before, int64_t records_before) noexcept nogil:
    """See who must wait for whom after a link's slice, and whether it goes on."""
    if <int64_t> link.pending > state.limits.max_pending and (
        not link.traits & IS_TOLD_INTEREST or (link.pending > pending_before and link_is_over(state, link))
    ):
        # By answers to what it said itself. A route may have more waiting when it has been told all interest.
        link_cut_off(state, link)
    elif not link.paused and (
        (link.traits & STALLS and (state.stalled_by != NULL or state.stalled_sink != NULL))
        or (state.record_bytes != records_before and is_python_behind(state))
        or (state.inner != NULL and state.inner.is_filled)
    ):
        _pause(state, link)
    elif (link.parked or link.held) and state.shell.watch != NULL:
        state.shell.watch(state.shell.self, link)
    link_wake(state, link)


cdef bint link_waits(Link* link) noexcept nogil:
    """Whether a link has something to do without its socket being read, and may do it."""
    if link.doomed:
        return False
    if link.first_fanout != NULL or link.checking != NULL or link.tellings != NULL or gate_is_ready(link):
        return True
    if link.kind == SYSTEM:
        # What Python publishes goes on with its command.
        return port_waits(link) or inner_waits(link)
    if link.parked or link.paused or link.held:
        return False
    return coding_waits(link) if link.coding != NULL else link.waiting


cdef void link_wake(State* state, Link* link) noexcept nogil:
    """Let a link go on in the turns to come, if it has something to do."""
    if link_waits(link):
        ready_add(state, link)


cdef void link_hung_up(State* state, Link* link, int error) noexcept nogil:
    """The peer closed its end, or the socket failed."""
    link_doom(state, link, READ_ERROR if error else CLIENT_CLOSED, False, NULL)


cdef void _leave_sink(Link* link) noexcept nogil:
    """Wait for a sink no more."""
    sink_release(link.stalled_sink)
    link.stalled_sink = NULL


cdef void links_unpause(State* state) noexcept nogil:
    """Read links again whose receivers have caught up, or whose time is up. A full sink has no time: it is waited for."""
    cdef Link* link
    cdef Link* following = state.first_paused
    cdef Link* slow
    if following == NULL or is_python_behind(state):
        return
    while following != NULL:
        link = following
        following = link.next_paused
        if link.doomed:
            continue
        if link.stalled_sink != NULL:
            if not link.stalled_sink.closed and sink_stalls(link.stalled_sink):
                continue
            _leave_sink(link)
        if link.stalled_by >> FACE_BIT == 1 and inner_holds(state, link):
            continue
        if link.stalled_by and state.now_ns < link.stalled_until_ns:
            slow = link_of(state, link.stalled_by)
            if slow != NULL and <int64_t> slow.pending > state.limits.pending_free // 2:
                continue
        paused_leave(state, link)
        link_wake(state, link)
        if state.shell.watch != NULL:
            state.shell.watch(state.shell.self, link)


# ---- ending ------------------------------------------------------------------------------------------------------------


cdef void _keep_farewell(State* state, Link* link) noexcept nogil:
    """Keep the last words of a link for `Core.take_output`."""
    cdef Farewell* farewell
    cdef Segment* segment
    cdef char* at
    if not coding_flush(state, link):
        return
    farewell = <Farewell*> malloc(sizeof(Farewell) + link.pending)
    segment = link.output_head
    if farewell == NULL:
        return
    farewell.link = link.id
    farewell.length = link.pending
    farewell.next = state.farewells
    state.farewells = farewell
    at = <char*> (farewell + 1)
    while segment != NULL:
        memcpy(at, segment.chars, segment.length)
        at += segment.length
        segment = segment.next


cdef Record* _closed_record(State* state, Link* link) noexcept nogil:
    """Write down how a link ended; NULL: no memory, and nobody hears of it."""
    cdef size_t detail = 0
    cdef Record* record
    if link.left != NULL:
        detail = min(strlen(link.left), <size_t> DETAIL_BYTES)
    record = record_made(RECORD_CLOSED, link, detail)
    if record != NULL:
        record.number = link.reason
        record.other = state.now_ns
        link_row(link, &record.row)
        if detail:
            memcpy(record_chars(record), link.left, detail)
    return record


cdef void _end(State* state, Link* link) noexcept nogil:
    """Close the socket of a doomed link, and free all but its subscriptions and messages."""
    state.work += END_WORK
    link.ended = 1
    link.closed = _closed_record(state, link)
    if link.traits & IS_PEER:
        telling_end(link, NULL)
        accounts_leave(state, link)
    coding_farewell(state, link)
    if state.shell.bury != NULL:
        state.shell.bury(state.shell.self, link)
    elif link.last_words and link.pending:
        _keep_farewell(state, link)
    ready_leave(state, link)
    dirty_leave(state, link)
    paused_leave(state, link)
    quotas_leave(state, link)
    gate_leave(state, link)
    if link.stalled_sink != NULL:
        _leave_sink(link)
    output_discard(state, link)
    coding_end(state, link)
    if link.big != NULL:
        block_drop(state, link.big)
        link.big = NULL
    free(link.left)
    link.left = NULL
    free(link.memo)
    link.memo = NULL
    free(link.marks)
    link.marks = NULL
    free(link.loop)
    link.loop = NULL
    ways_end(link)
    assumptions_end(state, link)
    free(link.info)
    link.info = NULL


cdef bint _has_left(State* state, Link* link) noexcept nogil:
    """Let a link's last messages arrive and its subscriptions end, as far as the slice goes; False: some are left."""
    cdef Account* account
    deliver_rest(state, link)
    gate_go_on(state, link)
    if link.first_fanout != NULL or link.at_gate != NULL:
        return False
    while link.subscriptions != NULL:
        if is_work_done(state):
            return False
        account = link.subscriptions.account
        subscription_drop(state, link.subscriptions)
        account_spare(state, account)
    return True


cdef void _bury(State* state, Link* link) noexcept nogil:
    """Free a link, and report its end."""
    cdef uint32_t slot = <uint32_t> link.id
    peer_leave(state, link)
    origin_leave(state, link)
    if link.closed != NULL:
        record_add(state, link.closed)
    if link.traits & IS_USER:
        client_leave(link)
    state.totals.kinds[link.kind].links -= 1
    state.limited_count -= link.traits & IS_LIMITED != 0
    link_permit(link, NULL)
    state.link_count -= 1
    state.links[link.place] = state.links[state.link_count]
    state.links[link.place].place = link.place
    state.slots[slot] = NULL
    state.free_slots[state.free_count] = slot
    state.free_count += 1
    free(link)


cdef void _end_new(State* state) noexcept nogil:
    """Close the sockets of the links that were doomed since the last turn."""
    while state.ended_at < state.doomed_count and not is_work_done(state):
        if not state.doomed[state.ended_at].ended:
            _end(state, state.doomed[state.ended_at])
        state.ended_at += 1


cdef void _bury_ended(State* state) noexcept nogil:
    """Give each of the links whose sockets are closed a share of the turn, in turn, until it is buried."""
    cdef int64_t until = state.work_until
    cdef uint32_t _, most = state.ended_at - state.doomed_at
    cdef Link* link
    for _ in range(most):
        if state.work >= until:
            break
        if state.doomed_next < state.doomed_at or state.doomed_next >= state.ended_at:
            state.doomed_next = state.doomed_at
        link = state.doomed[state.doomed_next]
        if link != NULL:
            work_begin(state, WORK_A_TURN // 4)
            if _has_left(state, link):
                _bury(state, link)
                state.doomed[state.doomed_next] = NULL
            elif link.at_gate != NULL and link.first_fanout == NULL and not gate_is_ready(link):
                # It comes back with the verdict.
                link.lingers = 1
                state.doomed[state.doomed_next] = NULL
        state.doomed_next += 1
    while state.doomed_at < state.ended_at and state.doomed[state.doomed_at] == NULL:
        state.doomed_at += 1
    if state.doomed_at == state.doomed_count:
        state.doomed_at = state.doomed_next = state.ended_at = state.doomed_count = 0


cdef bint links_end(State* state) noexcept nogil:
    """Close and bury links that were doomed, as far as a turn's work goes; return whether some are left."""
    if state.doomed_count == 0:
        return False
    work_begin(state, WORK_A_TURN)
    _end_new(state)
    work_begin(state, WORK_A_TURN)
    _bury_ended(state)
    return state.doomed_count > 0


cdef void links_bury(State* state) noexcept nogil:
    """End all links that were doomed, with the dooms that follow from it."""
    while links_end(state):
        pass
