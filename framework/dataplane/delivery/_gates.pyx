"""Gates: what clients and leaf nodes publish waits for the verdicts of a plugin.

A message that its publisher may send goes into the batch of the gate on its subject. The batch is handed over at the end of a turn, unless
one waits already to be taken: so batches are as large as the gate is slow. Whoever decides takes it in a thread of its own and answers by
a command, with one record for each message (`GateVerdict`).

The messages of one publisher keep their order: a verdict is carried out when those before it were, in a slice of the publisher. What it
says meanwhile waits, unless it is a message for the same gate (`Link.held`). A link that ends is buried when its last verdict is carried
out. Where gates follow each other, by their order, the messages of one publisher take the second one by one.

A batch that has no answer when its time is over, or none that makes sense, is decided by what the gate was declared to be: open, it
passes; closed, it is refused. The bytes that wait at a gate are bounded: who has more is read no further.

A gate that is taken away, or that another takes the place of, leaves: nothing new comes to it, what waits there is decided on as before.
Where the thread of a port decides, it gets batches among those of its subscriptions, some at a time.

Size: what a message meets between its publisher and its receivers is one list of steps, and each may be the last.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset, strlen

from framework.dataplane.accounts._mappings cimport is_mapped
from framework.dataplane.accounts._permissions cimport FORBIDDEN, is_allowed_to_publish, may_bring, may_publish
from framework.dataplane.accounts._remote_latency cimport is_tracked_reply, remote_latency_begin
from framework.dataplane.delivery._delivery cimport deliver, link_doom_again, record_chars, record_new, trace
from framework.dataplane.delivery._entrance cimport message_enter, message_watched
from framework.dataplane.delivery._message_trace cimport (
    FAULT_PUBLISH, TRACE_SKIPPED, tracing_begin, tracing_end, tracing_refused,
)
from framework.dataplane.delivery._verdicts cimport (
    AWAITED, CHANGED, DELAYED, NEW_BODY, NEW_SUBJECT, PASSED, REFUSED, GateVerdict, GateVerdictC, verdicts_wrong,
)
from framework.dataplane.delivery._watches cimport (
    WATCHED_BY_GATES, unheard_copy, watched_by, watches_changed, watches_count, watches_made, watches_of,
)
from framework.dataplane.links._output cimport output_append
from framework.dataplane.ports._port cimport PortAnswer, port_hear, port_release, stack_push
from framework.dataplane.ports._sinkbatch cimport atomic_add_users
from framework.dataplane.protocol._reserved cimport is_reserved
from framework.dataplane.protocol._violations cimport PUBLISH_SUBJECT, violation_say
from framework.dataplane._state cimport (
    BATCH_BYTES, BATCH_MESSAGES, GUARD_NONE, IS_USER, NO_PUBLISH, NO_REPLY, RECORD_GATE_FAILED, Account, AtGate, Command, Gate, GateBatch,
    Gated, GateTerms, Link, Message, MessageTrace, Port, Record, SinkBatch, framework_row, State, Watches, pthread_cond_t, pthread_mutex_t,
)
from framework.dataplane._work cimport is_work_done, ready_add
from framework.sublist._bytes cimport COPY_SLACK, write_decimal
from framework.sublist._sublist cimport Match, sublist_insert, sublist_match, sublist_remove

cdef extern from "pthread.h" nogil:
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)
    int pthread_cond_signal(pthread_cond_t* condition)
    int pthread_cond_broadcast(pthread_cond_t* condition)
    int pthread_cond_destroy(pthread_cond_t* condition)

cdef enum:
    BATCH_FIRST_MESSAGES = 16
    BATCH_FIRST_BYTES = 4096
    PORT_BATCHES_MAX = 4
    # Of one gate that its port has at a time: what it has can't be taken back.
    NEVER_NS = 0x7fffffffffffffff


# ---- gates -------------------------------------------------------------------------------------------------------------


cdef void gate_release(Gate* gate) noexcept nogil:
    """One user less; the last one frees it. Callable from any thread."""
    if atomic_add_users(&gate.users, -1) == 0:
        pthread_mutex_destroy(&gate.lock)
        pthread_cond_destroy(&gate.filled_or_closed)
        free(gate)


cdef Gate* _gate_with(State* state, int64_t id) noexcept nogil:
    """Return the gate with an id; NULL: it is gone."""
    cdef Gate* gate = state.gates
    while gate != NULL and gate.id != id:
        gate = gate.next
    return gate


cdef void gate_add(State* state, Account* account, Gate* gate, int64_t replaced) noexcept nogil:
    """Let a gate stand on its subject in an account; one for which there is no memory is closed at once.

    Args:
        replaced: Id of the gate that leaves in the same moment; 0: none does.
    """
    cdef Gate* before = _gate_with(state, replaced)
    gate.account = account
    if before != NULL:
        gate.line = before.line
    if gate.port != NULL and gate.port.link == NULL:
        _lose_port(gate)
    if account.watches == NULL:
        account.watches = watches_made(state)
    if account.watches == NULL or not sublist_insert(&account.watches.gates, &gate.interest):
        _close(gate)
        if gate.port != NULL:
            _lose_port(gate)
        gate_release(gate)
        return
    watches_count(account.watches, &gate.interest, 1)
    watches_changed(state, account)
    gate.next = state.gates
    state.gates = gate
    _begin_to_leave(state, before)


cdef void gate_change(State* state, int64_t id, GateTerms* terms) noexcept nogil:
    """Change the terms of a gate; what waits there keeps its time."""
    cdef Gate* gate = _gate_with(state, id)
    if gate == NULL:
        return
    gate.is_open = terms.is_open
    gate.bytes_max = terms.bytes_max
    gate.limit_ns = terms.limit_ns
    _count_bytes(state, gate, 0)
    _let_in(state, gate)


cdef void _close(Gate* gate) noexcept nogil:
    """Tell who takes from a gate that nothing will come any more."""
    pthread_mutex_lock(&gate.lock)
    gate.closed = 1
    pthread_cond_broadcast(&gate.filled_or_closed)
    pthread_mutex_unlock(&gate.lock)


cdef void _begin_to_leave(State* state, Gate* gate) noexcept nogil:
    """Let nothing new come to a gate, which may be NULL; what waits there is decided on as before."""
    if gate == NULL or gate.leaving:
        return
    gate.leaving = 1
    state.gates_wait = 1
    sublist_remove(&gate.account.watches.gates, &gate.interest)
    watches_count(gate.account.watches, &gate.interest, -1)
    watches_changed(state, gate.account)
    if gate.filling != NULL and gate.filling.batch.count:
        _hand_over(gate)
    elif gate.filling != NULL:
        _give_up(state, gate, gate.filling, NULL)
    _let_in(state, gate)


cdef void _go(State* state, Gate* gate) noexcept nogil:
    """Forget a gate that nothing waits at any more."""
    cdef Gate** at = &state.gates
    while at[0] != gate:
        at = &at[0].next
    at[0] = gate.next
    _close(gate)
    if gate.port != NULL:
        _lose_port(gate)
    gate_release(gate)


cdef void gate_remove(State* state, int64_t id) noexcept nogil:
    """Take a gate away, when what waits there is decided."""
    _begin_to_leave(state, _gate_with(state, id))


cdef void gates_end(State* state) noexcept nogil:
    """Take all gates away; what waits there is decided as if its time were over."""
    cdef Gate* gate
    while state.gates != NULL:
        gate = state.gates
        _begin_to_leave(state, gate)
        while gate.first_batch != NULL:
            _give_up(state, gate, gate.first_batch, NULL)
        _go(state, gate)
    state.gates_ended = 1
    _pass_delayed(state, NEVER_NS)


cdef Gate* _gate_behind(Watches* watches, const char* subject, size_t length, Gate* before) noexcept nogil:
    """Return the gate on a subject that comes next in order; NULL: there is none."""
    cdef Match* found = sublist_match(&watches.gates, subject, length)
    cdef Gate* first = NULL
    cdef Gate* gate
    cdef uint32_t at
    for at in range(found.plain_count):
        gate = <Gate*> found.plain[at]
        if before != NULL and (gate.order <= before.order or gate.line == before.line):
            continue
        if first == NULL or gate.order < first.order:
            first = gate
    return first


cdef Gate* gate_of(Watches* watches, const char* subject, size_t length) noexcept nogil:
    """Return the first gate on a subject; NULL: there is none."""
    return _gate_behind(watches, subject, length, NULL)


# ---- batches -----------------------------------------------------------------------------------------------------------


cdef void gate_batch_release(GateBatch* batch) noexcept nogil:
    """One user less; the last one frees it. Callable from any thread."""
    cdef Gate* gate = batch.gate
    if atomic_add_users(&batch.users, -1):
        return
    free(batch.batch.messages)
    free(batch.batch.chars)
    free(batch.messages)
    free(batch.verdicts)
    free(batch)
    gate_release(gate)


cdef void _release(SinkBatch* released) noexcept nogil:
    """Let go of a batch that was taken; a port that has not decided on it has failed. Callable from any thread."""
    cdef GateBatch* batch = <GateBatch*> released
    cdef Port* port = batch.port
    cdef PortAnswer* answer
    if port != NULL:
        answer = NULL if batch.is_answered else <PortAnswer*> calloc(1, sizeof(PortAnswer))
        if answer != NULL:
            answer.gate = batch.gate.id
            answer.serial = batch.serial
            answer.failed = 1
            stack_push(&port.decided, answer)
        batch.port = NULL
        port_release(port)
    gate_batch_release(batch)


cdef GateBatch* _batch_made(State* state, Gate* gate) noexcept nogil:
    """Begin a batch; NULL: no memory."""
    cdef GateBatch* batch = <GateBatch*> calloc(1, sizeof(GateBatch))
    if batch == NULL:
        return NULL
    batch.batch.release = _release
    batch.gate = gate
    batch.users = 1
    atomic_add_users(&gate.users, 1)
    gate.batch_serial += 1
    batch.serial = gate.batch_serial
    batch.due_ns = state.now_ns + gate.limit_ns
    if gate.last_batch != NULL:
        gate.last_batch.next = batch
    else:
        gate.first_batch = batch
    gate.last_batch = batch
    gate.filling = batch
    state.gates_wait = 1
    return batch


cdef bint _batch_room(GateBatch* batch, size_t need) noexcept nogil:
    """Make room for one message more; False: no memory."""
    cdef SinkBatch* inner = &batch.batch
    cdef size_t capacity = max(inner.capacity, <size_t> BATCH_FIRST_BYTES)
    cdef uint32_t room = inner.room * 2 if inner.room else BATCH_FIRST_MESSAGES
    cdef void* grown
    if inner.count == inner.room:
        grown = realloc(inner.messages, room * sizeof(framework_row))
        if grown == NULL:
            return False
        inner.messages = <framework_row*> grown
        grown = realloc(batch.messages, room * sizeof(Gated*))
        if grown == NULL:
            return False
        batch.messages = <Gated**> grown
        inner.room = room
    if inner.used + need > inner.capacity:
        while capacity < inner.used + need:
            capacity *= 2
        grown = realloc(inner.chars, capacity + COPY_SLACK)
        if grown == NULL:
            return False
        inner.chars = <char*> grown
        inner.capacity = capacity
    return True


cdef GateBatch* _batch_for(State* state, Gate* gate, size_t need) noexcept nogil:
    """Return the batch that a message goes into, with room for it; NULL: no memory."""
    cdef GateBatch* batch = gate.filling
    if batch != NULL and batch.batch.count and (batch.batch.count >= BATCH_MESSAGES or batch.batch.used + need > BATCH_BYTES):
        _hand_over(gate)
        batch = NULL
    if batch == NULL:
        batch = _batch_made(state, gate)
    return batch if batch != NULL and _batch_room(batch, need) else NULL


cdef void _hand_over(Gate* gate) noexcept nogil:
    """Let the batch that was filled be taken; where the port is lost, it is given up in the next turn."""
    cdef GateBatch* batch = gate.filling
    gate.filling = NULL
    batch.is_ready = 1
    pthread_mutex_lock(&gate.lock)
    if gate.last_ready != NULL:
        gate.last_ready.next_ready = batch
    else:
        gate.first_ready = batch
    gate.last_ready = batch
    pthread_cond_signal(&gate.filled_or_closed)
    pthread_mutex_unlock(&gate.lock)
    if gate.port != NULL:
        _give_port(gate)
    elif gate.row_kind:
        batch.due_ns = 0


cdef bint _has_idle_taker(Gate* gate) noexcept nogil:
    """Whether nothing waits to be taken, so that it would be taken at once."""
    cdef bint is_idle
    if gate.port != NULL:
        return gate.first_ready == NULL and gate.with_port < 2
    pthread_mutex_lock(&gate.lock)
    is_idle = gate.first_ready == NULL
    pthread_mutex_unlock(&gate.lock)
    return is_idle


cdef void gates_hand_over(State* state) noexcept nogil:
    """Hand over at the end of a turn what was filled, where nothing waits to be taken."""
    cdef Gate* gate = state.gates
    if not state.gates_wait:
        return
    while gate != NULL:
        if gate.filling != NULL and gate.filling.batch.count and _has_idle_taker(gate):
            _hand_over(gate)
        gate = gate.next


cdef void _take_back(Gate* gate, GateBatch* batch) noexcept nogil:
    """Let a batch that is decided be taken no more."""
    cdef GateBatch* before = NULL
    cdef GateBatch* at
    if gate.filling == batch:
        gate.filling = NULL
        return
    pthread_mutex_lock(&gate.lock)
    at = gate.first_ready
    while at != NULL and at != batch:
        before = at
        at = at.next_ready
    if at != NULL:
        if before != NULL:
            before.next_ready = at.next_ready
        else:
            gate.first_ready = at.next_ready
        if gate.last_ready == at:
            gate.last_ready = before
    pthread_mutex_unlock(&gate.lock)


cdef void _answered(Gate* gate, GateBatch* batch) noexcept nogil:
    """Forget a batch among those without an answer."""
    cdef GateBatch* before = NULL
    cdef GateBatch* at = gate.first_batch
    while at != batch:
        before = at
        at = at.next
    if before != NULL:
        before.next = batch.next
    else:
        gate.first_batch = batch.next
    if gate.last_batch == batch:
        gate.last_batch = before
    _take_back(gate, batch)


# ---- ports that decide -------------------------------------------------------------------------------------------------


cdef void _give_port(Gate* gate) noexcept nogil:
    """Give a port the batches of its gate that are ready, as many as it may have."""
    cdef GateBatch* batch
    while gate.first_ready != NULL and gate.with_port < PORT_BATCHES_MAX:
        batch = gate.first_ready
        gate.first_ready = batch.next_ready
        batch.next_ready = NULL
        if gate.first_ready == NULL:
            gate.last_ready = NULL
        gate.with_port += 1
        atomic_add_users(&batch.users, 1)
        atomic_add_users(&gate.port.users, 1)
        batch.port = gate.port
        port_hear(gate.port, &batch.batch)


cdef void _lose_port(Gate* gate) noexcept nogil:
    cdef Port* port = gate.port
    gate.port = NULL
    port_release(port)


cdef void gates_lose_port(State* state, Port* port) noexcept nogil:
    """A port ends: nobody decides at its gates any more, and what waits there has no time left."""
    cdef Gate* gate = state.gates
    cdef GateBatch* batch
    while gate != NULL:
        if gate.port == port:
            batch = gate.first_batch
            while batch != NULL:
                batch.due_ns = 0
                batch = batch.next
            _lose_port(gate)
        gate = gate.next


cdef void gate_answer_of_port(State* state, PortAnswer* answer) noexcept nogil:
    """Take what a port has decided; then it may have more."""
    cdef Gate* gate = _gate_with(state, answer.gate)
    if gate == NULL:
        return
    gate.with_port -= 1
    _take_answer(state, gate, answer.serial, <const char*> (answer + 1), answer.length, answer.failed)
    if gate.port != NULL:
        _give_port(gate)


# ---- what waits --------------------------------------------------------------------------------------------------------


cdef AtGate* _at_gate(Link* link) noexcept nogil:
    if link.at_gate == NULL:
        link.at_gate = <AtGate*> calloc(1, sizeof(AtGate))
    return link.at_gate


cdef inline bint _is_first_decided(Link* link) noexcept nogil:
    """Whether the next verdict on what a link published is there, and due."""
    return link.at_gate != NULL and link.at_gate.first != NULL and link.at_gate.first.verdict > DELAYED


cdef bint gate_is_ready(Link* link) noexcept nogil:
    """Whether something that a link published may go on."""
    return _is_first_decided(link) or (link.at_gate != NULL and link.at_gate.is_front_ready != 0)


cdef void _wake(State* state, Link* link) noexcept nogil:
    """Let a link go on, or its end."""
    if link.lingers:
        link.lingers = 0
        link_doom_again(state, link)
    elif not link.doomed:
        ready_add(state, link)


cdef void _settle(State* state, Link* link) noexcept nogil:
    """Let a link say more, if it waits for nothing any longer."""
    if link.at_gate.first != NULL or link.at_gate.waits_for != NULL:
        return
    free(link.at_gate)
    link.at_gate = NULL
    if link.held:
        link.held = 0
        _wake(state, link)
        if state.shell.watch != NULL and not link.doomed:
            state.shell.watch(state.shell.self, link)
    elif link.lingers:
        _wake(state, link)


cdef void _count_bytes(State* state, Gate* gate, int64_t change) noexcept nogil:
    """Count bytes that come to a gate, or leave it, and whether it is full."""
    state.gates_full -= gate.is_full
    gate.bytes += change
    gate.is_full = gate.bytes >= gate.bytes_max
    state.gates_full += gate.is_full


cdef bint gate_has_room(State* state, Link* link, Gate* gate) noexcept nogil:
    """Whether a gate takes more; a link that it does not take more of is told when it does."""
    cdef AtGate* at_gate
    if not gate.is_full:
        return True
    at_gate = _at_gate(link)
    if at_gate == NULL:
        return True
    if at_gate.waits_for == NULL:
        at_gate.waits_for = gate
        at_gate.previous_waiter = NULL
        at_gate.next_waiter = gate.first_waiter
        if gate.first_waiter != NULL:
            gate.first_waiter.at_gate.previous_waiter = link
        gate.first_waiter = link
        state.gates_wait = 1
    return False


cdef void _stop_waiting(Link* link) noexcept nogil:
    """Wait for room no more."""
    cdef AtGate* at_gate = link.at_gate
    if at_gate.previous_waiter != NULL:
        at_gate.previous_waiter.at_gate.next_waiter = at_gate.next_waiter
    else:
        at_gate.waits_for.first_waiter = at_gate.next_waiter
    if at_gate.next_waiter != NULL:
        at_gate.next_waiter.at_gate.previous_waiter = at_gate.previous_waiter
    at_gate.waits_for = NULL


cdef void _let_in(State* state, Gate* gate) noexcept nogil:
    """Let the links go on that wait for room."""
    cdef Link* link
    while gate.first_waiter != NULL:
        link = gate.first_waiter
        _stop_waiting(link)
        if link.at_gate.first == NULL:
            _settle(state, link)
        elif link.held:
            link.held = 0
            _wake(state, link)
            if state.shell.watch != NULL:
                state.shell.watch(state.shell.self, link)


cdef void gate_leave(State* state, Link* link) noexcept nogil:
    """Let a link that ends wait for its verdicts alone."""
    link.held = 0
    if link.at_gate == NULL:
        return
    if link.at_gate.waits_for != NULL:
        _stop_waiting(link)
    _settle(state, link)


cdef bint _copy(State* state, Gated* gated, Message* message, Gate* gate) noexcept nogil:
    """Copy a message into the batch of a gate, where it awaits its verdict; False: no memory."""
    cdef size_t need = message.subject_length + message.reply_length + message.body_length + 2
    cdef GateBatch* batch = _batch_for(state, gate, need)
    cdef framework_row* row
    cdef char* at
    if batch == NULL:
        return False
    row = &batch.batch.messages[batch.batch.count]
    memset(row, 0, sizeof(framework_row))
    row.link = gated.link.id
    row.tag = gate.tag
    row.kind = gate.row_kind
    row.at = <uint32_t> batch.batch.used
    row.subject_length = <uint32_t> message.subject_length
    row.reply_length = <uint32_t> message.reply_length
    row.header_length = <uint32_t> message.header_length
    row.payload_length = <uint32_t> (message.body_length - message.header_length)
    at = batch.batch.chars + batch.batch.used
    memcpy(at, message.subject, message.subject_length)
    at += message.subject_length
    if message.reply_length:
        memcpy(at, message.reply, message.reply_length)
        at += message.reply_length
    memcpy(at, message.body, message.body_length + 2)
    gated.batch = batch
    gated.at = batch.batch.count
    gated.verdict = AWAITED
    gated.verdict_at = 0
    batch.messages[batch.batch.count] = gated
    batch.batch.count += 1
    batch.batch.used += need
    batch.left += 1
    need += sizeof(framework_row) + sizeof(Gated)
    batch.bytes += need
    _count_bytes(state, gate, need)
    gate.messages += 1
    return True


cdef void _leave(State* state, GateBatch* batch) noexcept nogil:
    """One message less of a batch is on its way; behind the last one it is let go of."""
    batch.left -= 1
    if batch.left == 0:
        _count_bytes(state, batch.gate, -batch.bytes)
        gate_batch_release(batch)


cdef bint _move(State* state, Gated* gated, Message* message, Gate* gate) noexcept nogil:
    """Let a message that has passed a gate wait at the next one; its place among those of its publisher stays. False: no memory."""
    cdef GateBatch* left = gated.batch
    if not _copy(state, gated, message, gate):
        return False
    _leave(state, left)
    return True


cdef Gated* _gated_new(Message* message) noexcept nogil:
    """Return the record of a message that is to wait, with what only messages of leaf nodes have; NULL: no memory."""
    cdef size_t room = sizeof(Gated) + message.queue_count * (sizeof(char*) + sizeof(uint32_t)) + COPY_SLACK
    cdef Gated* gated
    cdef char* at
    cdef uint32_t which
    for which in range(message.queue_count):
        room += message.queue_lengths[which]
    gated = <Gated*> calloc(1, room)
    if gated == NULL:
        return NULL
    gated.hidden = message.hidden
    gated.origin = message.origin
    gated.queue_count = message.queue_count
    gated.queues = <const char**> (gated + 1)
    gated.queue_lengths = <uint32_t*> (gated.queues + message.queue_count)
    at = <char*> (gated.queue_lengths + message.queue_count)
    for which in range(message.queue_count):
        memcpy(at, message.queues[which], message.queue_lengths[which])
        gated.queues[which] = at
        gated.queue_lengths[which] = message.queue_lengths[which]
        at += message.queue_lengths[which]
    return gated


cdef bint _put(State* state, Link* link, Message* message, Gate* gate) noexcept nogil:
    """Let a message wait at a gate, behind all others of its publisher; False: no memory."""
    cdef Gated* gated = _gated_new(message)
    cdef AtGate* at_gate = _at_gate(link)
    if gated == NULL or at_gate == NULL:
        free(gated)
        return False
    gated.link = link
    if not _copy(state, gated, message, gate):
        free(gated)
        return False
    if at_gate.last != NULL:
        at_gate.last.next = gated
    else:
        at_gate.first = gated
    if at_gate.front == NULL:
        at_gate.front = gated
    at_gate.last = gated
    at_gate.gate = gate
    return True


cdef bint gate_take(State* state, Link* link, Message* message, Gate* gate) noexcept nogil:
    """Let a message that its publisher may send wait at a gate, as long as that takes. False: no memory, and it passes.

    One that a closed gate has no memory for is refused.
    """
    while gate != NULL:
        if _put(state, link, message, gate):
            return True
        gate.messages += 1
        gate.failed += 1
        if not gate.is_open:
            _refuse(state, link, message, gate, b"no memory", 9)
            return True
        gate = _gate_behind(gate.account.watches, message.subject, message.subject_length, gate)
    return False


# ---- verdicts ----------------------------------------------------------------------------------------------------------


cdef void _report(State* state, Gate* gate, const char* problem, int64_t count) noexcept nogil:
    """Say in the log what a gate did wrong."""
    cdef Record* record = record_new(state, RECORD_GATE_FAILED, NULL, strlen(problem))
    if record != NULL:
        memcpy(record_chars(record), problem, strlen(problem))
        record.number = gate.id
        record.other = count


cdef void _give_up(State* state, Gate* gate, GateBatch* batch, const char* problem) noexcept nogil:
    """Decide on a batch as the gate was declared to be.

    Args:
        problem: What was wrong with its answer; NULL: there was none in time.
    """
    cdef uint32_t index
    if problem == NULL and gate.row_kind and gate.port == NULL:
        problem = b"has lost its port"
    if problem == NULL:
        problem = b"has not answered in time"
        gate.expired += batch.batch.count
    else:
        gate.failed += batch.batch.count
    if batch.batch.count:
        _report(state, gate, problem, batch.batch.count)
    _answered(gate, batch)
    for index in range(batch.batch.count):
        batch.messages[index].verdict_at = 0
        _decide(state, batch.messages[index], PASSED if gate.is_open else REFUSED)
    if batch.batch.count == 0:
        gate_batch_release(batch)


cdef void _decide(State* state, Gated* gated, GateVerdictC verdict) noexcept nogil:
    """Note a verdict; it is carried out in the publisher's slice."""
    cdef AtGate* at_gate = gated.link.at_gate
    gated.verdict = verdict
    if at_gate.first == gated:
        if verdict == DELAYED:
            _wait_until(state, gated)
        else:
            _wake(state, gated.link)
    elif at_gate.front == gated and verdict > DELAYED:
        at_gate.is_front_ready = 1
        _wake(state, gated.link)


cdef void gate_answer(State* state, Command* command) noexcept nogil:
    """Take the answer of a gate: `number` is its id, `other` the batch.

    `flags` says that there is none: who decides has failed.
    """
    cdef Gate* gate = _gate_with(state, command.number)
    if gate != NULL:
        _take_answer(state, gate, <uint64_t> command.other, <char*> (command + 1), command.length, command.flags)


cdef void _take_answer(State* state, Gate* gate, uint64_t serial, const char* answer, size_t length, bint failed) noexcept nogil:
    """Take the answer to a batch; one that comes too late is forgotten."""
    cdef GateBatch* batch = gate.first_batch
    cdef GateVerdict verdict
    cdef const char* wrong = NULL
    cdef uint32_t index
    while batch != NULL and batch.serial != serial:
        batch = batch.next
    if batch == NULL or batch == gate.filling:
        return
    state.work += batch.batch.count
    if failed:
        wrong = b"has failed"
    elif length:
        batch.verdicts = <char*> realloc(batch.verdicts, length + COPY_SLACK)
        if batch.verdicts != NULL:
            memcpy(batch.verdicts, answer, length)
            wrong = verdicts_wrong(state, batch, batch.verdicts, length)
        else:
            wrong = b"has no memory for its answer"
    if wrong != NULL:
        _give_up(state, gate, batch, wrong)
        return
    _answered(gate, batch)
    for index in range(batch.batch.count):
        if length == 0:
            _decide(state, batch.messages[index], PASSED)
            continue
        memcpy(&verdict, batch.verdicts + batch.messages[index].verdict_at, sizeof(GateVerdict))
        if verdict.verdict == DELAYED:
            batch.messages[index].until_ns = state.now_ns + verdict.delay_ns
        # 0 is the place of a record, too: those without one are decided by how the gate is declared.
        batch.messages[index].verdict_at += 1
        _decide(state, batch.messages[index], <GateVerdictC> verdict.verdict)


# ---- time --------------------------------------------------------------------------------------------------------------


cdef void _set_apart(State* state, Gated* gated) noexcept nogil:
    """Let a message that is to wait lie in a batch of its own, so that the memory of all others is not kept for it."""
    cdef GateBatch* batch = gated.batch
    cdef framework_row* row = &batch.batch.messages[gated.at]
    cdef size_t length = <size_t> row.subject_length + row.reply_length + row.header_length + row.payload_length + 2
    cdef GateBatch* made
    if batch.batch.count == 1:
        return
    made = <GateBatch*> calloc(1, sizeof(GateBatch))
    if made == NULL:
        return
    made.batch.messages = <framework_row*> malloc(sizeof(framework_row))
    made.batch.chars = <char*> malloc(length + COPY_SLACK)
    made.gate = batch.gate
    made.users = 1
    atomic_add_users(&made.gate.users, 1)
    if made.batch.messages == NULL or made.batch.chars == NULL:
        gate_batch_release(made)
        return
    memcpy(made.batch.messages, row, sizeof(framework_row))
    made.batch.messages.at = 0
    memcpy(made.batch.chars, batch.batch.chars + row.at, length)
    made.batch.count = made.left = 1
    made.bytes = length + sizeof(framework_row) + sizeof(Gated)
    _count_bytes(state, made.gate, made.bytes)
    gated.batch = made
    gated.at = 0
    _leave(state, batch)


cdef void _wait_until(State* state, Gated* gated) noexcept nogil:
    """Let the next message of a link pass when it is time, or now when there is no more time."""
    if state.gates_ended:
        gated.verdict = PASSED
        gated.verdict_at = 0
        _wake(state, gated.link)
        return
    _set_apart(state, gated)
    gated.link.at_gate.next_delayed = state.first_delayed
    state.first_delayed = gated.link
    if gated.link.at_gate.next_delayed == NULL or gated.until_ns < state.delays_due_ns:
        state.delays_due_ns = gated.until_ns


cdef void _pass_delayed(State* state, int64_t now_ns) noexcept nogil:
    """Let pass what was to wait until now. Cost: O(links that wait so), when one is due."""
    cdef Link* link = state.first_delayed
    cdef Link* following
    cdef Gated* gated
    state.first_delayed = NULL
    while link != NULL:
        following = link.at_gate.next_delayed
        gated = link.at_gate.first
        if gated.until_ns <= now_ns:
            gated.verdict = PASSED
            gated.verdict_at = 0
            gated.batch.gate.delayed += 1
            _wake(state, link)
        else:
            _wait_until(state, gated)
        state.work += 1
        link = following


cdef void gates_tick(State* state) noexcept nogil:
    """Decide on what has waited for too long, let in who waits for room, and let gates go that have left."""
    cdef Gate* gate = state.gates if state.gates_wait else NULL
    cdef Gate* following
    state.gates_wait = 0
    while gate != NULL:
        following = gate.next
        while gate.first_batch != NULL and state.now_ns >= gate.first_batch.due_ns and gate.first_batch.batch.count:
            _give_up(state, gate, gate.first_batch, NULL)
        if gate.first_waiter != NULL and gate.bytes <= gate.bytes_max // 2:
            _let_in(state, gate)
        if gate.first_batch != NULL or gate.first_waiter != NULL:
            state.gates_wait = 1
        elif gate.leaving:
            _go(state, gate)
        gate = following
    if state.first_delayed != NULL and state.now_ns >= state.delays_due_ns:
        _pass_delayed(state, state.now_ns)


cdef int64_t gates_due_ns(State* state) noexcept nogil:
    """Return when `gates_tick` has something to do; never: the largest number."""
    cdef int64_t due = state.delays_due_ns if state.first_delayed != NULL else NEVER_NS
    cdef Gate* gate = state.gates if state.gates_wait else NULL
    while gate != NULL:
        if gate.first_batch != NULL and gate.first_batch.batch.count:
            due = min(due, gate.first_batch.due_ns)
        if gate.first_waiter != NULL and gate.bytes <= gate.bytes_max // 2:
            due = 0
        gate = gate.next
    return due


# ---- carrying out ------------------------------------------------------------------------------------------------------


cdef void _message_of(Gated* gated, Message* message) noexcept nogil:
    """Set a message to what was published."""
    cdef framework_row* row = &gated.batch.batch.messages[gated.at]
    memset(message, 0, sizeof(Message))
    message.source = gated.link
    message.scope = gated.link.scope
    message.account = gated.batch.gate.account
    message.subject = gated.batch.batch.chars + row.at
    message.subject_length = row.subject_length
    message.reply = message.subject + row.subject_length
    message.reply_length = row.reply_length
    message.body = message.reply + row.reply_length
    message.header_length = row.header_length
    message.body_length = row.header_length + row.payload_length
    message.queues = gated.queues
    message.queue_lengths = gated.queue_lengths
    message.queue_count = gated.queue_count
    message.hidden = gated.hidden
    message.origin = gated.origin


cdef void _say_refused(State* state, Link* link, Message* message, const char* text, size_t length) noexcept nogil:
    """Say `-ERR`, in words that clients take for an error of one message, not of the connection."""
    cdef char line[1024]
    cdef char* at = line
    cdef size_t shown = min(message.subject_length, <size_t> 512)
    if link.doomed or not link.traits & IS_USER:
        # A server would take it for a reason to end the link.
        return
    memcpy(at, b"-ERR 'Permissions Violation for Publish to \"", 44)
    at += 44
    memcpy(at, message.subject, shown)
    at += shown
    memcpy(at, b"\": ", 3)
    at += 3
    memcpy(at, text, length)
    at += length
    memcpy(at, b"'\r\n", 3)
    trace(state, link, False, line, at - line)
    output_append(state, link, line, at + 3 - line)


cdef void _answer_status(State* state, Message* message, int status, const char* text, size_t length) noexcept nogil:
    """Send a status to the reply subject, from this server."""
    cdef Message answer
    cdef char header[512]
    cdef char* at = header
    memcpy(at, b"NATS/1.0 ", 9)
    at += 9
    at += write_decimal(at, status)
    if length:
        at[0] = c" "
        memcpy(at + 1, text, length)
        at += 1 + length
    memcpy(at, b"\r\n\r\n\r\n", 6)
    memset(&answer, 0, sizeof(answer))
    answer.source = state.system
    answer.scope = state.system.scope
    answer.account = message.account
    answer.subject = message.reply
    answer.subject_length = message.reply_length
    answer.body = header
    answer.header_length = answer.body_length = at + 4 - header
    deliver(state, &answer)


cdef void _trace_refused(State* state, Message* message) noexcept nogil:
    """Report a refused message that asks what becomes of it."""
    cdef MessageTrace made
    if message.header_length:
        if tracing_begin(state, message, &made) != TRACE_SKIPPED:
            tracing_refused(message, FAULT_PUBLISH, message.subject, message.subject_length)
        tracing_end(state, message, &made)


cdef void _refuse(State* state, Link* link, Message* message, Gate* gate, const char* text, size_t length) noexcept nogil:
    gate.refused += 1
    _trace_refused(state, message)
    if length:
        _say_refused(state, link, message, text, length)


cdef void _refuse_as_said(State* state, Gated* gated, Message* message) noexcept nogil:
    """Refuse with the texts of the verdict; without one, for lack of it."""
    cdef Gate* gate = gated.batch.gate
    cdef const char* record
    cdef GateVerdict verdict
    if gated.verdict_at == 0:
        _refuse(state, gated.link, message, gate, b"undecided", 9)
        return
    record = gated.batch.verdicts + gated.verdict_at - 1
    memcpy(&verdict, record, sizeof(verdict))
    record += sizeof(verdict)
    _refuse(state, gated.link, message, gate, record, verdict.subject_length)
    if verdict.status and message.reply_length:
        _answer_status(state, message, verdict.status, record + verdict.subject_length, verdict.header_length)


cdef bint _may_say(State* state, Link* link, Message* message) noexcept nogil:
    """Whether a publisher may use the subject that a message has got."""
    if not link.traits & IS_USER:
        return link.guard == GUARD_NONE or may_bring(state, link, message.subject, message.subject_length) != FORBIDDEN
    return link.permissions == NULL or not link.permissions.publish_checked or may_publish(
        state, link, message.subject, message.subject_length,
        sublist_match(&message.account.sublist, message.subject, message.subject_length),
    ) != FORBIDDEN


cdef bint _change(State* state, Gated* gated, Message* message) noexcept nogil:
    """Put what the verdict says in place of a message; False: its publisher may not use that subject."""
    cdef const char* record = gated.batch.verdicts + gated.verdict_at - 1
    cdef GateVerdict verdict
    cdef Link* link = gated.link
    memcpy(&verdict, record, sizeof(verdict))
    record += sizeof(verdict)
    if verdict.what & NEW_BODY:
        message.body = record + verdict.subject_length
        message.header_length = verdict.header_length
        message.body_length = <size_t> verdict.header_length + verdict.payload_length
    if not verdict.what & NEW_SUBJECT:
        return True
    message.subject = record
    message.subject_length = verdict.subject_length
    if not is_reserved(state, NO_PUBLISH, message.subject, message.subject_length) and _may_say(state, link, message):
        return True
    gated.batch.gate.refused += 1
    _report(state, gated.batch.gate, b"has changed a subject to one that its publisher may not use", 1)
    if not link.doomed and link.traits & IS_USER:
        violation_say(state, link, PUBLISH_SUBJECT, message.subject, message.subject_length, NULL, 0, NULL, 0)
    return False


cdef void _bring(State* state, Message* message) noexcept nogil:
    """Deliver what a leaf node has sent. What follows is its server's."""
    cdef bint is_watched = message.account.watches != NULL
    cdef int served
    if is_watched:
        message_watched(state, sublist_match(&message.account.sublist, message.subject, message.subject_length), message)
    served = deliver(state, message)
    if served == 0 and is_watched:
        unheard_copy(state, message)
    if served and message.reply_length and is_tracked_reply(message.reply, message.reply_length):
        remote_latency_begin(state, message)


cdef void gate_enter(State* state, Link* link, Message* message) noexcept nogil:
    """Let a message enter that has passed all gates, with its trace if it asks for one."""
    cdef MessageTrace made
    cdef bint is_handled = True
    made.block = NULL
    if message.header_length:
        is_handled = tracing_begin(state, message, &made) != TRACE_SKIPPED
    if is_handled and not link.traits & IS_USER:
        _bring(state, message)
    elif is_handled:
        message_enter(state, link, message, sublist_match(&message.account.sublist, message.subject, message.subject_length))
    if message.header_length:
        tracing_end(state, message, &made)


cdef Gate* _next_gate(Message* message, Gate* gate) noexcept nogil:
    """Return the gate behind one that a message has passed; NULL: there is none."""
    cdef Watches* watches = message.account.watches
    if watches == NULL or watches.gates.count < (1 if gate.leaving else 2):
        return NULL
    return _gate_behind(watches, message.subject, message.subject_length, gate)


cdef bint _pass_on(State* state, Gated* gated, Message* message) noexcept nogil:
    """Let a message go to the next gate, or in; return whether it waits at a gate now."""
    cdef Gate* following = _next_gate(message, gated.batch.gate)
    while following != NULL:
        if _move(state, gated, message, following):
            return True
        if not following.is_open:
            _refuse(state, gated.link, message, following, b"no memory", 9)
            return False
        following = _next_gate(message, following)
    gate_enter(state, gated.link, message)
    return False


cdef bint _carry_out(State* state, Gated* gated) noexcept nogil:
    """Do with the first message of a link what the verdict says; return whether it waits at another gate now."""
    cdef Gate* gate = gated.batch.gate
    cdef Message message
    _message_of(gated, &message)
    if not gate.account.ours:
        return False
    if gated.verdict == REFUSED:
        _refuse_as_said(state, gated, &message)
        return False
    if gated.verdict == CHANGED:
        if not _change(state, gated, &message):
            return False
        gate.changed += 1
    else:
        gate.passed += 1
    return _pass_on(state, gated, &message)


cdef bint _go_ahead(State* state, Gated* gated) noexcept nogil:
    """Let a message that others are before wait at its next gate already; False: it stays where it is until it is the first.

    What is said of a subject that its publisher may not use must wait for what is said of those before.
    """
    cdef Gate* gate = gated.batch.gate
    cdef Gate* following
    cdef GateVerdict verdict
    cdef Message message
    if gated.verdict == REFUSED:
        return True
    _message_of(gated, &message)
    if gated.verdict == CHANGED:
        memcpy(&verdict, gated.batch.verdicts + gated.verdict_at - 1, sizeof(verdict))
        if verdict.what & NEW_SUBJECT or not _change(state, gated, &message):
            return False
    following = _next_gate(&message, gate)
    if following == NULL:
        return True
    gate.changed += gated.verdict == CHANGED
    gate.passed += gated.verdict == PASSED
    return _move(state, gated, &message, following)


cdef void _advance(State* state, Link* link) noexcept nogil:
    """Let messages that have passed a gate go to the next one while those before them wait there: they are decided on together."""
    cdef AtGate* at_gate = link.at_gate
    at_gate.is_front_ready = 0
    while at_gate.front != NULL and at_gate.front.verdict > DELAYED:
        if is_work_done(state):
            at_gate.is_front_ready = 1
            return
        state.work += 1
        if not _go_ahead(state, at_gate.front):
            return
        at_gate.front = at_gate.front.next


cdef void gate_go_on(State* state, Link* link) noexcept nogil:
    """Carry out verdicts on what a link published, in order, until the next is not there or the slice is used up."""
    cdef Gated* gated
    while _is_first_decided(link) and link.first_fanout == NULL and not is_work_done(state):
        gated = link.at_gate.first
        state.work += 1
        if link.at_gate.front == gated:
            link.at_gate.front = gated.next
        if _carry_out(state, gated):
            break
        link.at_gate.first = gated.next
        if gated.next == NULL:
            link.at_gate.last = NULL
        _leave(state, gated.batch)
        free(gated)
        gated = link.at_gate.first
        if gated != NULL and gated.verdict == DELAYED:
            _wait_until(state, gated)
    if link.at_gate != NULL:
        _advance(state, link)
        _settle(state, link)


# ---- what a link publishes -------------------------------------------------------------------------------------------------


cdef bint gate_holds(State* state, Link* link, Watches* watches, Message* message) noexcept nogil:
    """Whether a message on a gate's subject that may be sent waits there now; then it is traced when it has passed."""
    if not gate_take(state, link, message, gate_of(watches, message.subject, message.subject_length)):
        return False
    if message.trace != NULL:
        free(message.trace.steps)
        message.trace = NULL
    return True


cdef bint gate_lets_in(State* state, Link* link, Message* message, Match** match) noexcept nogil:
    """Whether a message may be handled now: it goes where those go that wait at a gate, or none do; and there is room.

    Args:
        match: Set to that of the subject, when it was looked up and no mapping has to do with it.
    """
    cdef Watches* watches = watches_of(link, message.account)
    cdef Gate* gate = NULL
    if watches == NULL or watches.gates.count == 0 or (
        message.account.tables != NULL and is_mapped(message.account, message.subject, message.subject_length)
    ):
        return link.at_gate == NULL
    match[0] = sublist_match(&message.account.sublist, message.subject, message.subject_length)
    if watched_by(watches, match[0], message.subject, message.subject_length) & WATCHED_BY_GATES:
        gate = gate_of(watches, message.subject, message.subject_length)
    if link.at_gate != NULL and (
        gate != link.at_gate.gate or link.pedantic
        or is_reserved(state, NO_PUBLISH, message.subject, message.subject_length)
        or (message.reply_length and is_reserved(state, NO_REPLY, message.reply, message.reply_length))
        or not is_allowed_to_publish(state, link, message.subject, message.subject_length)
    ):
        # What is said of a message that is refused here would come before what is said of those that wait.
        return False
    return gate == NULL or gate_has_room(state, link, gate)


cdef bint gate_lets_bring(State* state, Link* link, Message* message) noexcept nogil:
    """Whether a message of a leaf node may be handled now; as `gate_lets_in`."""
    cdef Watches* watches = NULL
    cdef Gate* gate = NULL
    if message.account != NULL and message.account.ours:
        watches = watches_of(link, message.account)
    if watches == NULL or watches.gates.count == 0 or not is_gated(link, message) or (
        message.account.tables != NULL and is_mapped(message.account, message.subject, message.subject_length)
    ):
        return link.at_gate == NULL
    gate = gate_of(watches, message.subject, message.subject_length)
    if link.at_gate != NULL and (gate != link.at_gate.gate or not _may_say(state, link, message)):
        return False
    return gate == NULL or gate_has_room(state, link, gate)
