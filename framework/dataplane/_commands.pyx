"""Commands of the control plane, carried out between the turns of the loop."""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane.accounts._accounts cimport account_new, account_remove, client_join, client_leave
from framework.dataplane.links._addresses cimport addresses_change
from framework.dataplane.links._clocks cimport link_ping, route_repeat, times_set
from framework.dataplane.links._coding cimport coding_add
from framework.dataplane.links._deflate cimport deflate_new
from framework.dataplane.delivery._delivery cimport (
    lines_forget, link_doom, link_say, subscription_drop,
)
from framework.dataplane.delivery._gates cimport gate_add, gate_answer, gate_change, gate_remove
from framework.dataplane.delivery._quotas cimport QuotaTerms, quota_release, quota_set, quotas_give
from framework.dataplane.delivery._watches cimport watch_add, watch_remove
from framework.dataplane.delivery._forwards cimport forward_remove, forward_set
from framework.dataplane.protocol._info cimport info_set, names_set
from framework.dataplane.accounts._assumed cimport account_told, assumptions_new
from framework.dataplane.accounts._interest cimport subscription_add
from framework.dataplane.links._links cimport link_of, link_received, link_register, link_wake, link_window
from framework.dataplane._listing cimport listing_close, listing_next, listing_open
from framework.dataplane.links._output cimport output_append
from framework.dataplane.protocol._parser cimport parse
from framework.dataplane.accounts._permissions cimport link_permit, permission_table_keep
from framework.dataplane.accounts._origins cimport origin_set
from framework.dataplane.accounts._routes cimport account_carry, accounts_carry, accounts_pin, peer_join, peers_permit
from framework.dataplane.protocol._server_info cimport server_info_announce, server_info_set
from framework.dataplane.ports._port cimport port_attach, port_detach, port_release
from framework.dataplane.ports._sinkbatch cimport sink_release
from framework.dataplane._state cimport (
    ACCOUNT_NEVER, ACCOUNT_UNLESS_OMITTED, AUTHENTICATION_VIOLATION, ENTERS, IS_PEER, IS_USER, PROTOCOL_VIOLATION, READ_ERROR, S2_STAGE,
    SCOPE_HUB, Account, ClosedStateC, Command, GateTerms, Limits, Link, LoginTerms, PermissionTable, Sink, State, Times,
)
from framework.dataplane._slices cimport confirm, subscriptions_check
from framework.dataplane.accounts._telling cimport loop_set, marks_set
from framework.dataplane.delivery._ways cimport address_set
from framework.dataplane.accounts._stream_imports cimport shadows_add
from framework.dataplane.accounts._tables cimport tables_set
from framework.dataplane._work cimport COMMAND_WORK
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_add, table_find, table_remove
from framework.wire._s2 cimport S2Level

cdef enum:
    SECOND_NS = 1000000000
    # As framework.dataplane.sink.TapKind.
    WATCH_UNHEARD = 2


cdef char* command_chars(Command* command) noexcept nogil:
    return <char*> (command + 1)


cdef void _resume(State* state, Link* link) noexcept nogil:
    """Go on with what the link had sent behind its greeting; if its socket is away, when there is one again."""
    cdef size_t room
    if link.detached:
        return
    link.parked = 0
    link.greeted = 1
    if link.coding != NULL and (link.coding.block != NULL or link.left_length == 0):
        link_wake(state, link)
    elif link.first_fanout != NULL:
        link.waiting = link.left_length != 0
    elif link_window(state, link, &room) == NULL:
        return
    else:
        link_received(state, link, 0)
    if not link.parked and not link.doomed and state.shell.watch != NULL:
        state.shell.watch(state.shell.self, link)


cdef void _set_coding(State* state, Link* link, S2Level level) noexcept nogil:
    if (link.parked or link.coding != NULL) and not coding_add(state, link, S2_STAGE, level):
        link_doom(state, link, READ_ERROR, False, "no memory")


cdef bint stages_add(State* state, Link* link, Command* command) noexcept nogil:
    """Let a link's bytes pass the stages that a command holds, with what came before them behind; False: no memory."""
    cdef uint32_t* stages = <uint32_t*> command_chars(command)
    cdef size_t at, left = command.length - command.split
    if left:
        free(link.left)
        link.left = <char*> malloc(left)
        if link.left == NULL:
            return False
        memcpy(link.left, command_chars(command) + command.split, left)
        link.left_length = <uint32_t> left
    for at in range(command.split // (2 * sizeof(uint32_t))):
        if not coding_add(state, link, stages[2 * at], stages[2 * at + 1]):
            return False
    return True


cdef PermissionTable* _table_of(State* state, int64_t number) noexcept nogil:
    """Return the rules with a number; NULL: 0 has none, and there was no memory for others."""
    return state.permissions[number] if 0 < number < state.permission_room else NULL


cdef void _set_client(State* state, Link* link, Command* command) noexcept nogil:
    """Put what only this client may and may not do in force."""
    cdef ClientTerms* terms = <ClientTerms*> command_chars(command)
    cdef PermissionTable* table
    if not link.traits & IS_USER:
        return
    table = _table_of(state, terms.permissions)
    if terms.permissions and table == NULL:
        # There was no memory for its rules. Without them it might do everything.
        link_doom(state, link, AUTHENTICATION_VIOLATION, False, "no memory")
        return
    link_permit(link, table)
    link.max_subscriptions = terms.max_subscriptions
    link.max_payload = terms.max_payload
    if link.memo != NULL:
        link.memo.line_length = 0
    subscriptions_check(state, link)


cdef void _move(State* state, Link* link, Account* account) noexcept nogil:
    """Let a client act in an account. What it subscribed elsewhere ends: tables of that account would not find it again."""
    if link.account == account:
        return
    while link.subscriptions != NULL:
        subscription_drop(state, link.subscriptions)
    client_leave(link)
    client_join(account, link)


cdef void _resume_client(State* state, Link* link, Command* command) noexcept nogil:
    if not link.traits & IS_USER:
        return
    link.verbose = command.flags & FLAG_VERBOSE != 0
    link.pedantic = command.flags & FLAG_PEDANTIC != 0
    link.echo = command.flags & FLAG_ECHO != 0
    link.headers = command.flags & FLAG_HEADERS != 0
    link.no_responders = command.flags & FLAG_NO_RESPONDERS != 0
    link.protocol = <int> command.other
    _move(state, link, state.accounts[command.number])
    _set_client(state, link, command)
    if link.doomed:
        return
    link_register(state, link)
    if link.verbose and not link.implied:
        link_say(state, link, b"+OK\r\n")
    link.implied = 0
    _resume(state, link)


cdef bint _peer_joins(State* state, Link* link, PeerTerms* terms) noexcept nogil:
    """Let a link be one of those to a server, under its permissions; False: no memory."""
    cdef PermissionTable* table = _table_of(state, terms.permissions)
    if not peer_join(state, link, terms.peer) or (terms.permissions and table == NULL):
        return False
    if table != NULL:
        link_permit(link, table)
    return True


cdef void _register_peer(State* state, Link* link, Command* command) noexcept nogil:
    """Let a link to another server act, by its terms and the row of its kind."""
    cdef PeerTerms* terms = <PeerTerms*> command_chars(command)
    cdef uint32_t* accounts = <uint32_t*> (terms + 1)
    cdef size_t at, count = (command.length - sizeof(PeerTerms)) // sizeof(uint32_t)
    if link.registered or not link.traits & IS_PEER:
        return
    if terms.has_scope:
        link.scope = terms.scope
    link.told = state.hears[link.scope] & ~terms.untold
    link.guard = terms.guard
    if link.scope == SCOPE_HUB:
        # What a hub says has entered there.
        link.traits &= ~ENTERS
    if not _peer_joins(state, link, terms):
        link_doom(state, link, READ_ERROR, False, "no memory")
        return
    link.pool_index = terms.pool_index
    link.pool_size = terms.pool_size
    link.headers = command.flags & FLAG_HEADERS != 0
    if link.dialect.account == ACCOUNT_UNLESS_OMITTED:
        link.account_omitted = command.flags & FLAG_ACCOUNT_OMITTED != 0
    elif link.dialect.account == ACCOUNT_NEVER and (command.flags & FLAG_ALL_ACCOUNTS or count != 1):
        link_doom(state, link, PROTOCOL_VIOLATION, False, "a link of this dialect carries one account")
        return
    link.traces = command.flags & FLAG_TRACES != 0
    link.tells_nothing = command.flags & FLAG_TELLS_NOTHING != 0
    link.takes_origins = command.flags & FLAG_TAKES_ORIGINS != 0
    link.verbose = link.pedantic = 0
    link_register(state, link)
    link_ping(state, link, SECOND_NS)
    # At once: the peer takes a link to be there when it is asked, and how it is coded may depend on the round trip.
    if command.flags & (FLAG_ASSUMES | FLAG_TELLS_UNKNOWN):
        assumptions_new(state, link, command.flags & FLAG_ASSUMES != 0, command.flags & FLAG_TELLS_UNKNOWN != 0)
    if command.flags & FLAG_ALL_ACCOUNTS:
        accounts_carry(state, link)
    for at in range(count):
        if accounts[at] < state.account_count:
            link.account = state.accounts[accounts[at]]
            account_carry(state, link.account, link)
    _resume(state, link)


cdef void _set_peer_permissions(State* state, int kind, int64_t number) noexcept nogil:
    """Put all servers with links of a kind under other rules. Without memory for these the old ones stay: without any they might do
    everything."""
    cdef PermissionTable* table = _table_of(state, number)
    if table != NULL or number == 0:
        peers_permit(state, kind, table)
        lines_forget(state)


cdef bint _subscribe(State* state, Sink* sink, Command* command) noexcept nogil:
    """Let a sink subscribe in its account; False: no memory."""
    cdef char* subject = command_chars(command)
    sink.subscription = subscription_add(
        state, NULL, sink.account, NULL, 0, subject, command.split, subject + command.split, command.length - command.split, 1
    )
    if sink.subscription == NULL:
        return False
    sink.subscription.sink = sink
    if sink.account.tables != NULL:
        shadows_add(state, sink.subscription)
    return True


cdef bint _watch(State* state, Sink* sink, Command* command) noexcept nogil:
    return watch_add(state, sink.account, sink, command_chars(command), command.split, command.flags == WATCH_UNHEARD)


cdef void _leave(State* state, Sink* sink) noexcept nogil:
    """Let a sink get no more messages."""
    if sink.subscription != NULL:
        subscription_drop(state, sink.subscription)
    watch_remove(state, sink)


cdef void _subscribe_sink(State* state, Command* command) noexcept nogil:
    cdef Sink* sink = command.sink
    sink.account = state.accounts[command.number]
    if not (_watch(state, sink, command) if command.flags else _subscribe(state, sink, command)):
        sink_release(sink)
        return
    sink.key.chars = <const char*> &sink.id
    sink.key.length = sizeof(sink.id)
    sink.key.hash = hash_bytes(state.seed, sink.key.chars, sink.key.length)
    if not table_add(&state.sinks_by_id, &sink.key):
        _leave(state, sink)
        sink_release(sink)
        return
    sink.next = state.sinks
    if sink.next != NULL:
        sink.next.previous = sink
    state.sinks = sink
    if command.other:
        _unsubscribe_sink(state, command.other)


cdef void _unsubscribe_sink(State* state, int64_t id) noexcept nogil:
    cdef const char* key = <const char*> &id
    cdef Sink* sink = <Sink*> table_find(&state.sinks_by_id, hash_bytes(state.seed, key, sizeof(id)), key, sizeof(id))
    if sink == NULL:
        return
    table_remove(&state.sinks_by_id, &sink.key)
    if sink.previous != NULL:
        sink.previous.next = sink.next
    else:
        state.sinks = sink.next
    if sink.next != NULL:
        sink.next.previous = sink.previous
    sink.closed = 1
    _leave(state, sink)
    if not sink.filled:
        # Else at the end of the turn, with what it holds.
        sink_release(sink)


cdef bint _publish(State* state, Command* command) noexcept nogil:
    """Publish what a command holds from `split` on, as far as the slice goes; False: there is more of it."""
    cdef size_t need = 0
    cdef char* chars = command_chars(command)
    if state.system.account != state.accounts[command.number]:
        state.system.account = state.accounts[command.number]
        if state.system.memo != NULL:
            state.system.memo.line_length = 0
    command.split = parse(state, state.system, chars + command.split, chars + command.length, NULL, &need) - chars
    link_wake(state, state.system)
    return command.split == command.length


cdef void _set_trace(State* state, bint on) noexcept nogil:
    """Trace the lines of all links, those as well that are not complete, or no more."""
    cdef uint32_t at
    state.trace = on
    lines_forget(state)
    for at in range(state.link_count):
        state.links[at].line_traced = 0


cdef void _set_limits(State* state, Command* command) noexcept nogil:
    memcpy(&state.limits, command_chars(command), sizeof(Limits))
    lines_forget(state)


cdef bint command_apply(State* state, Command* command) noexcept nogil:
    """Carry out one command; what is for a link that has ended does nothing. False: it goes on in the next turn."""
    cdef Link* link
    state.work += COMMAND_WORK
    if command.verb == SET_INFO:
        server_info_set(state, <int> command.number, command_chars(command), command.length)
    elif command.verb == ANNOUNCE_INFO:
        server_info_announce(state)
    elif command.verb == ADD_ACCOUNT:
        account_new(state, command_chars(command), command.length)
    elif command.verb == REMOVE_ACCOUNT:
        account_remove(state, state.accounts[command.number])
    elif command.verb == SUBSCRIBE_SINK:
        _subscribe_sink(state, command)
    elif command.verb == UNSUBSCRIBE_SINK:
        _unsubscribe_sink(state, command.number)
    elif command.verb == OPEN_PORT:
        port_attach(state, command.port)
    elif command.verb == CLOSE_PORT:
        port_detach(state, command.port)
        port_release(command.port)
    elif command.verb == PUBLISH:
        return _publish(state, command)
    elif command.verb == OPEN_LISTING:
        listing_open(state, command.number, command_chars(command), command.length)
    elif command.verb == NEXT_ROWS:
        listing_next(state, command.number, command.other)
    elif command.verb == CLOSE_LISTING:
        listing_close(state, command.number)
    elif command.verb == SET_LIMITS:
        _set_limits(state, command)
    elif command.verb == SET_LINK_TIMES:
        times_set(state, <int> command.number, <Times*> command_chars(command))
    elif command.verb == SET_LOGIN_TERMS:
        state.logins[command.number] = (<LoginTerms*> command_chars(command))[0]
    elif command.verb == SET_TABLES:
        tables_set(state, state.accounts[command.number], command.tables)
        command.tables = NULL
        lines_forget(state)
    elif command.verb == SET_SYSTEM_ACCOUNT:
        state.system_account = state.accounts[command.number] if command.number >= 0 else NULL
    elif command.verb == SET_NAMES:
        names_set(state, command_chars(command), command.split, command.length - command.split - command.number, command.number)
    elif command.verb == PIN_ACCOUNTS:
        accounts_pin(state, <uint32_t*> command_chars(command), command.length // sizeof(uint32_t))
    elif command.verb == SET_PEER_PERMISSIONS:
        _set_peer_permissions(state, <int> command.other, command.number)
    elif command.verb == WATCH_INTEREST:
        state.watch_interest = command.number != 0
    elif command.verb == SET_TRACE:
        _set_trace(state, command.number != 0)
        state.trace_headers_only = command.other & TRACE_HEADERS_ONLY != 0
        state.trace_internal = command.other & TRACE_INTERNAL != 0
    elif command.verb == SET_NONCES:
        state.nonces[command.other] = command.number != 0
    elif command.verb == SET_FORWARD:
        if command.number:
            forward_set(state, command_chars(command), command.length, command.link)
        else:
            forward_remove(state, command_chars(command), command.length)
        lines_forget(state)
    elif command.verb == CHANGE_ADDRESSES:
        return addresses_change(state, command)
    elif command.verb == SET_DEFLATE:
        if state.coder.deflate == NULL:
            state.coder.deflate = deflate_new(<void**> command_chars(command))
    elif command.verb == ADD_GATE:
        gate_add(state, state.accounts[command.number], command.gate, command.other)
        command.gate = NULL
    elif command.verb == REMOVE_GATE:
        gate_remove(state, command.number)
    elif command.verb == CHANGE_GATE:
        gate_change(state, command.number, <GateTerms*> command_chars(command))
    elif command.verb == CHANGE_QUOTA:
        quota_set(command.quota, <QuotaTerms*> command_chars(command))
    elif command.verb == DROP_QUOTA:
        quota_release(command.quota)
    elif command.verb == GIVE_QUOTAS:
        quotas_give(state, command)
    elif command.verb == ANSWER_GATE:
        gate_answer(state, command)
    elif command.verb == CONFIRM:
        confirm(state, command.number)
    elif command.verb == KEEP_PERMISSIONS:
        permission_table_keep(state, <uint32_t> command.number, command.permissions)
        command.permissions = NULL
    else:
        link = link_of(state, command.link)
        if link == NULL:
            return True
        if command.verb == RESUME_CLIENT:
            _resume_client(state, link, command)
        elif command.verb == SET_CLIENT:
            _set_client(state, link, command)
        elif command.verb == SET_CODING:
            _set_coding(state, link, <S2Level> command.number)
        elif command.verb == RESUME:
            _resume(state, link)
        elif command.verb == REGISTER_PEER:
            _register_peer(state, link, command)
        elif command.verb == REPEAT_INTEREST:
            route_repeat(state, link)
        elif command.verb == TELL_ACCOUNT:
            account_told(state, link, state.accounts[command.number], command.other != 0)
        elif command.verb == SET_ADDRESS:
            address_set(state, link, command_chars(command), command.length)
        elif command.verb == MARK_ACCOUNTS:
            marks_set(state, link, command_chars(command), command.split, command.length)
        elif command.verb == SET_LOOP:
            loop_set(state, link, command_chars(command), command.split, command.length)
        elif command.verb == SET_ORIGIN:
            if link.origin == NULL:
                origin_set(state, link, command_chars(command), command.length)
        elif command.verb == SET_CLIENT_INFO:
            info_set(link, command_chars(command), command.split, command.length - command.split)
        elif command.verb == SEND:
            output_append(state, link, command_chars(command), command.length)
        elif command.verb == CLOSE:
            output_append(state, link, command_chars(command), command.length)
            link_doom(state, link, <ClosedStateC> command.number, True, NULL)
    return True
