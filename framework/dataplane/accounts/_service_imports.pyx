"""Service imports: pass a request on to the exporter's account, and its answers back.

Each service import of an account has a subscription in its sublist. Delivery notes it; when it is done with the account, the message
passes on to the next, and so forth: never twice by the same service, through HOPS_MAX accounts at most one behind the other, and through
IMPORTS_PASSED_MAX imports at most in all. Requests pass where they were published, answers where the way back is known.
Source: nats-server `client.go`, `processServiceImport`.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from framework.dataplane.delivery._delivery cimport deliver, interest_change
from framework.dataplane.protocol._headers cimport header_set
from framework.dataplane.protocol._info cimport info_put, info_room, own_put, own_room
from framework.dataplane.accounts._latency cimport sample_answered, sample_begin, sample_refused, sample_wanted
from framework.dataplane.accounts._mappings cimport mapping_select, room_for
from framework.dataplane.delivery._message_trace cimport step_service
from framework.dataplane.links._output cimport block_drop
from framework.dataplane.accounts._response_mappings cimport (
    ENDED, NOT_DELIVERED, response_mapping_end, response_mapping_find, response_mapping_new, response_mapping_touch,
)
from framework.dataplane._state cimport (
    HOPS_MAX, IMPORTS_PASSED_MAX, KEEPS_REPLY, SCOPE_HERE, SCOPE_IMPORTS, SERVICE_IMPORT, STAYS_IN_ACCOUNT, STREAM_IMPORT, SYSTEM,
    Account, Block, Hop, Import, Message, MessageTrace, ResponseMapping, State, Subscription, Tables,
)
from framework.dataplane.accounts._stream_imports cimport shadow_enter
from framework.dataplane.protocol._reserved cimport is_reserved
from framework.sublist._bytes cimport COPY_SLACK
from framework.sublist._sublist cimport sublist_insert, sublist_remove
from framework.sublist._transform cimport transform_apply, transform_room

cdef enum:
    BY_HEADER = 2
    # Of `sample_wanted`.


cdef struct Passage:
    # A message on its way through one import, and the memory for what it is there.
    Message message
    Hop hop
    char* subject
    size_t subject_room
    char* mapped
    size_t mapped_room
    Block* block
    char reply[40]
    # Of its own: the way of the answer may be forgotten while the message is delivered.
    char trace_reply[32]
    size_t trace_reply_length


# ---- imports in the sublist -----------------------------------------------------------------------------------------------


cdef void _subscribe(State* state, Account* account, Import* imported) noexcept nogil:
    """Subscribe a service import in the importer's account. Of other servers leaf nodes and hubs alone are told: the others of the cluster
    pass what their own clients publish. Source: nats-server `leafnode.go`, `initLeafNodeSmapAndSendSubs`."""
    cdef Subscription* made = <Subscription*> calloc(1, sizeof(Subscription) + imported.to_length + COPY_SLACK)
    if made == NULL:
        return
    memcpy(<char*> (made + 1), imported.to, imported.to_length)
    made.account = account
    made.imported = imported
    made.interest.subject = <char*> (made + 1)
    made.interest.subject_length = <uint32_t> imported.to_length
    made.interest.weight = 1
    made.interest.scope = SCOPE_IMPORTS
    if not sublist_insert(&account.sublist, &made.interest):
        free(made)
        return
    imported.subscription = made
    interest_change(state, made, 1)


cdef void _unsubscribe(State* state, Import* imported) noexcept nogil:
    """Remove the subscription of a service import; its subscription is freed at the end of the turn."""
    cdef Subscription* subscription = imported.subscription
    if subscription == NULL:
        return
    sublist_remove(&subscription.account.sublist, &subscription.interest)
    interest_change(state, subscription, -1)
    subscription.dead = 1
    subscription.next = state.dead
    state.dead = subscription
    imported.subscription = NULL


cdef void services_set(State* state, Account* account, Tables* before) noexcept nogil:
    """Put the service imports of an account's tables in place of those of the tables before."""
    cdef size_t at
    if account.tables != NULL:
        for at in range(account.tables.service_count):
            _subscribe(state, account, &account.tables.services[at])
    if before != NULL:
        # Behind the new ones: nobody is told that what stays has gone.
        for at in range(before.service_count):
            _unsubscribe(state, &before.services[at])


# ---- delivery's side -------------------------------------------------------------------------------------------------------


cdef bint _may_enter(State* state, Import* imported, Message* message) noexcept nogil:
    """Whether a message may pass the import of a service: no other server has looked at it, and it is not for its own account alone."""
    return state.enters_services >> message.source.scope & 1 and not (
        imported.account == state.system_account and is_reserved(state, STAYS_IN_ACCOUNT, message.subject, message.subject_length)
    )


cdef bint import_enter(State* state, Subscription* subscription, Message* message) noexcept nogil:
    """Deliver to what stands in for a client of another account; a service is noted for when this account is done."""
    cdef Import** grown
    if subscription.imported.kind == STREAM_IMPORT:
        return shadow_enter(state, subscription, message)
    if subscription.dead or (subscription.imported.kind == SERVICE_IMPORT and not _may_enter(state, subscription.imported, message)):
        return False
    if state.waiting_count == state.waiting_room:
        grown = <Import**> realloc(state.waiting, (state.waiting_room * 2 + 8) * sizeof(Import*))
        if grown == NULL:
            return False
        state.waiting = grown
        state.waiting_room = state.waiting_room * 2 + 8
    state.waiting[state.waiting_count] = subscription.imported
    state.waiting_count += 1
    return False


cdef int imports_passed(State* state, uint32_t first, Message* message) noexcept nogil:
    """Let a message pass the imports noted from `first` on; return how many led somewhere."""
    cdef uint32_t at
    cdef int served = 0
    if message.hops == NULL:
        state.imports_left = IMPORTS_PASSED_MAX
    for at in range(first, state.waiting_count):
        if state.imports_left == 0:
            state.totals.circles += 1
            break
        state.imports_left -= 1
        if state.waiting[at].kind == SERVICE_IMPORT:
            served += _request(state, state.waiting[at], message)
        else:
            served += _answered(state, state.waiting[at], message)
    state.waiting_count = first
    return served


# ---- a message on its way ------------------------------------------------------------------------------------------------


cdef bint _is_subject(const Import* imported, const char* subject, size_t length) noexcept nogil:
    return imported.subject_length == length and memcmp(imported.subject, subject, length) == 0


cdef bint _was_there(State* state, Import* imported, Message* message) noexcept nogil:
    """Whether a message came by this service before, or passed too many imports."""
    cdef Hop* hop = message.hops
    if hop != NULL and hop.count >= HOPS_MAX:
        state.totals.circles += 1
        return True
    while hop != NULL:
        if hop.imported.kind == SERVICE_IMPORT and hop.imported.account == imported.account:
            if _is_subject(hop.imported, imported.subject, imported.subject_length):
                state.totals.circles += 1
                return True
        hop = hop.previous
    return False


cdef void _begin(Passage* passage, Import* imported, Account* into, Message* message) noexcept nogil:
    passage.message = message[0]
    passage.message.account = into
    passage.message.hops = &passage.hop
    passage.message.scope = SCOPE_HERE
    passage.message.queue_count = 0
    passage.hop.imported = imported
    passage.hop.previous = message.hops
    passage.hop.count = message.hops.count + 1 if message.hops != NULL else 1
    passage.subject = passage.mapped = NULL
    passage.subject_room = passage.mapped_room = 0
    passage.block = NULL
    passage.trace_reply_length = 0


cdef void _end(State* state, Passage* passage) noexcept nogil:
    free(passage.subject)
    free(passage.mapped)
    if passage.block != NULL:
        block_drop(state, passage.block)


cdef void _set_field(State* state, Passage* passage, const char* key, size_t length, const char* value, size_t value_length) noexcept nogil:
    """Set a header field of the message as it is behind the import."""
    cdef Block* block = header_set(&passage.message, key, length, value, value_length)
    if block == NULL:
        return
    if passage.block != NULL:
        block_drop(state, passage.block)
    passage.block = block


cdef void _map(State* state, Passage* passage) noexcept nogil:
    """Follow the mappings of the account that the message comes into."""
    cdef Message* message = &passage.message
    cdef size_t length = 0
    if message.account.tables != NULL and message.account.tables.mapping_count and mapping_select(
        state, message.account, message.subject, message.subject_length, &passage.mapped, &passage.mapped_room, &length
    ):
        if length:
            message.subject = passage.mapped
        message.subject_length = length
        message.shown = NULL


cdef void _ask_back(Passage* passage, ResponseMapping* answer) noexcept nogil:
    passage.message.reply = passage.reply
    passage.message.reply_length = answer.key.length
    passage.message.hidden = 0
    memcpy(passage.reply, answer.key.chars, answer.key.length)


cdef void _give_up(State* state, Passage* passage) noexcept nogil:
    """Forget the way back of a message that nobody got."""
    cdef ResponseMapping* answer = response_mapping_find(passage.message.account, passage.reply, passage.message.reply_length)
    if answer != NULL:
        response_mapping_end(state, answer, NOT_DELIVERED)


cdef bint _rename(State* state, Passage* passage, Import* imported) noexcept nogil:
    """Give a request the subject by which the exporter serves it; False: no memory."""
    cdef Message* message = &passage.message
    if imported.transform != NULL:
        if not room_for(&passage.subject, &passage.subject_room, transform_room(imported.transform, message.subject_length)):
            return False
        message.subject_length = transform_apply(
            imported.transform, &state.random, message.subject, message.subject_length, passage.subject
        )
        message.subject = passage.subject
    elif not imported.stays:
        message.subject = imported.subject
        message.subject_length = imported.subject_length
    message.shown = NULL
    return True


cdef void _introduce(State* state, Passage* passage, Import* imported, Message* message) noexcept nogil:
    """Tell the service who asks. Through a chain, it is the first import that says how much."""
    cdef bint full = imported.share
    cdef bint names_server = imported.names_server or imported.share
    cdef Account* first = message.account
    cdef Account* via = NULL
    cdef Hop* hop = message.hops
    cdef char* info
    cdef size_t length
    if message.source.info == NULL and (message.source.kind != SYSTEM or message.source.inner == NULL):
        return
    while hop != NULL:
        full = hop.imported.share
        names_server = names_server or hop.imported.names_server or hop.imported.share
        first = hop.imported.home if hop.imported.home != NULL else first
        via = message.account
        hop = hop.previous
    info = <char*> malloc(info_room(state, message.source, via) + own_room(first, via))
    if info == NULL:
        return
    if message.source.info == NULL:
        length = own_put(first, via, info)
    else:
        length = info_put(state, message.source, full, names_server, via, info)
    if length:
        _set_field(state, passage, b"Nats-Request-Info", 17, info, length)
    free(info)


cdef bint _trace(State* state, Passage* passage, Import* imported, Message* message) noexcept nogil:
    """Note that a traced request passes; what the exporter's servers report finds its way back like an answer.

    Returns:
        False: the exporter does not let anybody trace, and the message is for nothing else.
    """
    cdef MessageTrace* trace = message.trace
    cdef Message asked
    cdef ResponseMapping* answer
    step_service(message, imported.account, &passage.message)
    if not imported.allow_trace:
        passage.message.trace = NULL
        _set_field(state, passage, b"Nats-Trace-Dest", 15, b"trace disabled", 14)
        return not trace.only
    asked = message[0]
    asked.reply = trace.destination
    asked.reply_length = trace.destination_length
    answer = response_mapping_new(state, imported.account, &asked, imported.threshold_ns, 1, imported.share, False)
    if answer != NULL:
        answer.trace = 1
        memcpy(passage.trace_reply, answer.key.chars, answer.key.length)
        passage.trace_reply_length = answer.key.length
        _set_field(state, passage, b"Nats-Trace-Dest", 15, passage.trace_reply, passage.trace_reply_length)
        # For the imports behind this one; put back when the message has passed.
        trace.destination = passage.trace_reply
        trace.destination_length = passage.trace_reply_length
    return True


cdef void _traced(State* state, Passage* passage, Message* message, const char* destination, size_t length, uint32_t hops) noexcept nogil:
    """Put the destination back. When no server was sent the message, none will report."""
    cdef ResponseMapping* answer
    message.trace.destination = destination
    message.trace.destination_length = length
    if passage.trace_reply_length and message.trace.hops == hops:
        answer = response_mapping_find(passage.message.account, passage.trace_reply, passage.trace_reply_length)
        if answer != NULL:
            response_mapping_end(state, answer, ENDED)


cdef int _deliver_request(State* state, Passage* passage, Import* imported, Message* message) noexcept nogil:
    cdef MessageTrace* trace = message.trace
    cdef const char* destination
    cdef size_t length
    cdef uint32_t hops
    cdef int served = 0
    if trace == NULL:
        return deliver(state, &passage.message)
    destination = trace.destination
    length = trace.destination_length
    hops = trace.hops
    if _trace(state, passage, imported, message):
        served = deliver(state, &passage.message)
    _traced(state, passage, message, destination, length, hops)
    return served


cdef int _request(State* state, Import* imported, Message* message) noexcept nogil:
    """Let a request pass into the exporter's account; return whether somebody there got it."""
    cdef Passage passage
    cdef ResponseMapping* answer = NULL
    cdef int wanted, served
    cdef bint tracked
    if not imported.account.ours or _was_there(state, imported, message):
        return 0
    wanted = sample_wanted(state, imported, message)
    _begin(&passage, imported, imported.account, message)
    if message.reply_length and not is_reserved(state, KEEPS_REPLY, message.reply, message.reply_length):
        tracked = wanted and imported.response == 0
        answer = response_mapping_new(state, imported.account, message, imported.threshold_ns, imported.response, imported.share, tracked)
        if answer == NULL:
            return 0
        _ask_back(&passage, answer)
        if tracked:
            sample_begin(state, answer, imported, message, wanted == BY_HEADER)
    elif wanted and message.reply_length == 0:
        sample_refused(state, imported, message, wanted == BY_HEADER)
    if not _rename(state, &passage, imported):
        served = 0
    else:
        _map(state, &passage)
        _introduce(state, &passage, imported, message)
        served = _deliver_request(state, &passage, imported, message)
    if answer != NULL and (served == 0 or (message.trace != NULL and message.trace.only)):
        _give_up(state, &passage)
    _end(state, &passage)
    return served


cdef int _answered(State* state, Import* imported, Message* message) noexcept nogil:
    """Let an answer pass back to the requestor's account; return whether somebody there got it."""
    cdef Passage passage
    cdef ResponseMapping* answer = response_mapping_find(imported.account, message.subject, message.subject_length)
    cdef ResponseMapping* back = NULL
    cdef int served
    cdef bint last
    if answer == NULL or (message.hops != NULL and message.hops.count >= HOPS_MAX):
        return 0
    if answer.latency and not answer.sampled:
        sample_answered(state, answer, message)
    _begin(&passage, imported, answer.home, message)
    last = answer.response == 0 or message.body_length == 0
    if not room_for(&passage.subject, &passage.subject_room, answer.asked.key.length + 1):
        _end(state, &passage)
        return 0
    memcpy(passage.subject, answer.asked.key.chars, answer.asked.key.length)
    passage.message.subject = passage.subject
    passage.message.subject_length = answer.asked.key.length
    if message.reply_length and not is_reserved(state, KEEPS_REPLY, message.reply, message.reply_length):
        # An answer may ask back. In an account that imports from itself, that may end this very way, as the oldest of too many.
        back = response_mapping_new(state, answer.home, message, answer.threshold_ns, answer.response, answer.share, False)
        if back != NULL:
            _ask_back(&passage, back)
    _map(state, &passage)
    served = deliver(state, &passage.message)
    if served == 0 and back != NULL:
        _give_up(state, &passage)
    # What was delivered may have ended it.
    answer = response_mapping_find(imported.account, message.subject, message.subject_length)
    if answer != NULL and not answer.trace:
        if served == 0:
            response_mapping_end(state, answer, NOT_DELIVERED)
        elif last:
            response_mapping_end(state, answer, ENDED)
        else:
            response_mapping_touch(state, answer)
    _end(state, &passage)
    return served
