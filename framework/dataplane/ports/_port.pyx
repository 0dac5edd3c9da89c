"""Ports: subscribers and publishers inside this process, on threads of their own that never need Python.

A port and the plane share three stacks, each taken whole by one side: batches for the port, interest of the port, messages of the port.
*Interest first*: the plane takes the messages that are there, then all interest, then publishes; and it looks for interest again behind
each read of a socket. So what a port has subscribed to before it let anybody know is heard, and a reply finds the interest in its subject.

What a port says is done in slices, as if it were a connection that has sent it; it is one of the plane's own, without a socket.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from framework.dataplane._state cimport (
    REFERENCE_PENDING_BYTES, STALLS, SYSTEM, Account, Block, Link, Message, Port, PortBlock, PortFull, SinkBatch, State, Subscription,
)
from framework.dataplane._work cimport COMMAND_WORK, LINE_WORK, is_work_done, ready_leave
from framework.dataplane.accounts._interest cimport is_valid_subject, subscription_add
from framework.dataplane.accounts._stream_imports cimport shadows_add
from framework.dataplane.delivery._delivery cimport deliver, subscription_drop
from framework.dataplane.delivery._fanouts cimport fanout_end
from framework.dataplane.delivery._forwards cimport is_forwarded
from framework.dataplane.delivery._gates cimport gate_answer_of_port, gates_lose_port
from framework.dataplane.inner._inner_messages cimport inner_ask, inner_begin, inner_is_full
from framework.dataplane.links._links cimport link_of, link_wake
from framework.dataplane.links._output cimport block_drop
from framework.dataplane.ports._port_watches cimport port_unwatch, port_unwatch_all, port_watch
from framework.dataplane.ports._sinkbatch cimport atomic_add, atomic_add_users, batch_free, sink_release, sink_say
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_add, table_find, table_remove

cdef extern from "unistd.h" nogil:
    int close(int fd)
    ssize_t write(int fd, const void* source, size_t count)

cdef extern from "framework_port.h":
    enum:
        FRAMEWORK_ROW_ANSWER
        FRAMEWORK_WORD_NOBODY
        FRAMEWORK_WORD_FULL
        FRAMEWORK_WORD_ROOM
        FRAMEWORK_WORD_REFUSED

cdef enum:
    TAG_KEY_BYTES = 16
    FULLS_MAX = 65536


# ---- ends --------------------------------------------------------------------------------------------------------------


cdef void _ring(Port* port) noexcept nogil:
    write(port.wake_write_fd, b"p", 1)


cdef void port_wake(Port* port) noexcept nogil:
    """Let the port's thread look again, if it waits. Callable from any thread."""
    if flag_get(&port.sleeps) and flag_set(&port.sleeps, 0):
        _ring(port)


cdef void _free_all(void* node) noexcept nogil:
    cdef void* following
    while node != NULL:
        following = (<void**> node)[0]
        free(node)
        node = following


cdef void _forget_heard(Port* port) noexcept nogil:
    """Free what waits for a port's thread."""
    cdef SinkBatch* batch = <SinkBatch*> stack_take(&port.heard)
    cdef SinkBatch* following
    while batch != NULL:
        following = batch.next
        batch_free(batch)
        batch = following


cdef void port_release(Port* port) noexcept nogil:
    """One user less: the plane, a gate, a batch of one, or who holds it; the last one frees it. Callable from any thread."""
    if atomic_add_users(&port.users, -1):
        return
    _forget_heard(port)
    _free_all(stack_take(&port.told))
    _free_all(stack_take(&port.said))
    _free_all(stack_take(&port.decided))
    sink_release(port.sink)
    free(port.fulls)
    close(port.wake_fd)
    close(port.wake_write_fd)
    free(port)


cdef void port_attach(State* state, Port* port) noexcept nogil:
    """Let a port be heard."""
    port.link.kind = SYSTEM
    port.link.registered = 1
    port.link.headers = 1
    port.link.traits = STALLS
    port.link.fd = -1
    port.link.inner = port
    port.next = state.ports
    state.ports = port


cdef void _said_drop(State* state, Port* port) noexcept nogil:
    """Let the first block go that a port has said; links may still send from it."""
    cdef PortBlock* block = port.first_said
    port.first_said = <PortBlock*> block.block.next
    if port.first_said == NULL:
        port.last_said = NULL
    atomic_add(&port.said_bytes, -<int64_t> block.length)
    block_drop(state, &block.block)


cdef void port_detach(State* state, Port* port) noexcept nogil:
    """End a port: nothing reaches it any more, and what it has said and was not published yet is forgotten."""
    cdef Port** at = &state.ports
    while at[0] != NULL and at[0] != port:
        at = &at[0].next
    if at[0] == NULL:
        return
    at[0] = port.next
    port_unwatch_all(state, port)
    while port.subscriptions != NULL:
        subscription_drop(state, port.subscriptions)
    ready_leave(state, port.link)
    while port.link.first_fanout != NULL:
        fanout_end(state, port.link)
    while port.first_said != NULL:
        _said_drop(state, port)
    free(port.link)
    port.link = NULL
    flag_set(&port.ended, 1)
    gates_lose_port(state, port)
    # Batches of gates among it count as users.
    _forget_heard(port)
    _ring(port)
    port.sink.closed = 1
    if not port.sink.filled:
        # Else at the end of the turn, with what it holds.
        port_release(port)


cdef void ports_end(State* state) noexcept nogil:
    """Let ports know that the plane turns no more."""
    cdef Port* port = state.ports
    while port != NULL:
        flag_set(&port.ended, 1)
        _ring(port)
        port = port.next


# ---- what it hears -------------------------------------------------------------------------------------------------------


cdef void port_hear(Port* port, SinkBatch* batch) noexcept nogil:
    """Hand a batch over to the port's thread."""
    stack_push(&port.heard, batch)
    port_wake(port)


# ---- its interest --------------------------------------------------------------------------------------------------------


cdef Subscription* _tagged(State* state, Port* port, int64_t tag) noexcept nogil:
    """Return the port's subscription with a tag; NULL: there is none."""
    cdef char key[TAG_KEY_BYTES]
    cdef void* found
    memcpy(key, &port.key, sizeof(port.key))
    memcpy(key + sizeof(port.key), &tag, sizeof(tag))
    found = table_find(&state.sids, hash_bytes(state.seed, key, TAG_KEY_BYTES), key, TAG_KEY_BYTES)
    if found == NULL:
        return NULL
    return <Subscription*> (<char*> found - <size_t> &(<Subscription*> NULL).key)


cdef void port_forget(State* state, Subscription* subscription) noexcept nogil:
    """Take a subscription that ends out of its port's list."""
    cdef Port* port = subscription.sink.port
    table_remove(&state.sids, &subscription.key)
    if subscription.previous != NULL:
        subscription.previous.next = subscription.next
    else:
        port.subscriptions = subscription.next
    if subscription.next != NULL:
        subscription.next.previous = subscription.previous


cdef bint _subscribe(State* state, Port* port, PortInterest* interest) noexcept nogil:
    cdef Account* account = state.accounts[interest.account]
    cdef char* subject = <char*> (interest + 1)
    cdef Subscription* made
    if _tagged(state, port, interest.tag) != NULL:
        return False
    made = subscription_add(
        state, NULL, account, <char*> &interest.tag, sizeof(interest.tag), subject, interest.subject_length,
        subject + interest.subject_length, interest.queue_length, 1,
    )
    if made == NULL:
        return False
    memcpy(made + 1, &port.key, sizeof(port.key))
    made.key.hash = hash_bytes(state.seed, made.key.chars, made.key.length)
    if not table_add(&state.sids, &made.key):
        subscription_drop(state, made)
        return False
    made.sink = port.sink
    made.previous = NULL
    made.next = port.subscriptions
    if made.next != NULL:
        made.next.previous = made
    port.subscriptions = made
    if account.tables != NULL:
        shadows_add(state, made)
    return True


cdef bint _take_interest(State* state, Port* port, PortInterest* interest) noexcept nogil:
    """Put one thing in force that a port said of its interest; False: it can't be."""
    cdef Subscription* gone
    if interest.verb == PORT_UNSUBSCRIBE:
        gone = _tagged(state, port, interest.tag)
        if gone != NULL:
            subscription_drop(state, gone)
        return True
    if interest.verb == PORT_UNWATCH:
        port_unwatch(state, port, interest.tag)
        return True
    if interest.account >= state.account_count or not is_valid_subject(<char*> (interest + 1), interest.subject_length):
        return False
    if interest.verb == PORT_WATCH:
        return port_watch(
            state, port, state.accounts[interest.account], <char*> (interest + 1), interest.subject_length, interest.tag
        )
    return _subscribe(state, port, interest)


cdef void ports_hear_interest(State* state) noexcept nogil:
    """Put all interest in force that ports have told so far."""
    cdef Port* port = state.ports
    cdef PortInterest* interest
    cdef PortInterest* following
    while port != NULL:
        interest = <PortInterest*> stack_take(&port.told)
        while interest != NULL:
            following = interest.next
            state.work += COMMAND_WORK
            if not _take_interest(state, port, interest):
                sink_say(state, port.sink, interest.tag, FRAMEWORK_ROW_ANSWER, FRAMEWORK_WORD_REFUSED)
            free(interest)
            interest = following
        port = port.next


# ---- its messages --------------------------------------------------------------------------------------------------------


cdef void _look_for_room(State* state, Port* port) noexcept nogil:
    """Tell a port which of those that had much waiting have caught up, or are gone."""
    cdef uint32_t at, kept = 0
    cdef Link* slow
    for at in range(port.full_count):
        slow = link_of(state, port.fulls[at].link)
        if slow != NULL and <int64_t> slow.pending > state.limits.pending_free // 2:
            port.fulls[kept] = port.fulls[at]
            kept += 1
        else:
            sink_say(state, port.sink, port.fulls[at].token, FRAMEWORK_ROW_ANSWER, FRAMEWORK_WORD_ROOM)
    port.full_count = kept


cdef void _hear_answers(State* state, Port* port) noexcept nogil:
    """Take what a port has decided on batches of gates."""
    cdef PortAnswer* answer = <PortAnswer*> stack_take(&port.decided)
    cdef PortAnswer* following
    while answer != NULL:
        following = answer.next
        gate_answer_of_port(state, answer)
        free(answer)
        answer = following


cdef void ports_listen(State* state) noexcept nogil:
    """Take what ports have said: verdicts, and their messages, to be published in slices, behind all their interest."""
    cdef Port* port = state.ports
    cdef PortBlock* block
    while port != NULL:
        _hear_answers(state, port)
        block = <PortBlock*> stack_take(&port.said)
        if block != NULL:
            if port.last_said != NULL:
                port.last_said.block.next = &block.block
            else:
                port.first_said = block
            while block.block.next != NULL:
                block = <PortBlock*> block.block.next
            port.last_said = block
        if port.full_count:
            _look_for_room(state, port)
        port = port.next
    ports_hear_interest(state)
    port = state.ports
    while port != NULL:
        link_wake(state, port.link)
        port = port.next


cdef bint port_waits(Link* link) noexcept nogil:
    """Whether the port behind one of the plane's own links has something to publish."""
    return link.inner != NULL and link.inner.first_said != NULL


cdef void _remember_full(State* state, Port* port, int64_t token) noexcept nogil:
    """Say that the receiver of a message has much waiting, and remember to say when it has not."""
    cdef uint32_t at
    cdef void* grown
    for at in range(port.full_count):
        if port.fulls[at].link == state.stalled_by.id:
            port.fulls[at].token = token
            break
    else:
        if port.full_count == port.full_room:
            grown = realloc(port.fulls, (port.full_room * 2 + 16) * sizeof(PortFull)) if port.full_room < FULLS_MAX else NULL
            if grown == NULL:
                # Never told that there is room, it might wait for ever.
                return
            port.fulls = <PortFull*> grown
            port.full_room = port.full_room * 2 + 16
        port.fulls[port.full_count].link = state.stalled_by.id
        port.fulls[port.full_count].token = token
        port.full_count += 1
    sink_say(state, port.sink, token, FRAMEWORK_ROW_ANSWER, FRAMEWORK_WORD_FULL)


cdef inline Block* _to_hold(PortBlock* block, PortMessage* record) noexcept nogil:
    """Return what links hold that send a body from where it lies; NULL: they would keep far more than that for it."""
    return &block.block if block.length <= max(<size_t> REFERENCE_PENDING_BYTES, <size_t> 2 * record.size) else NULL


cdef void _publish(State* state, Port* port, PortBlock* block, PortMessage* record) noexcept nogil:
    """Publish one message of a port, and answer what became of it if it asks."""
    cdef Message message
    cdef const char* chars = <char*> (record + 1)
    cdef int served
    if record.account >= state.account_count:
        if record.asks:
            sink_say(state, port.sink, record.token, FRAMEWORK_ROW_ANSWER, FRAMEWORK_WORD_REFUSED)
        return
    message.source = port.link
    message.account = state.accounts[record.account]
    message.subject = chars if record.inbox_length else chars + record.inbox_length
    message.subject_length = record.inbox_length if record.inbox_length else record.subject_length
    message.shown = chars + record.inbox_length if record.inbox_length else NULL
    message.shown_length = record.subject_length
    chars += record.inbox_length + record.subject_length
    message.reply = chars
    message.reply_length = record.reply_length
    message.body = chars + record.reply_length
    message.header_length = record.header_length
    message.body_length = record.header_length + record.payload_length
    message.block = _to_hold(block, record)
    message.queue_count = 0
    message.hops = NULL
    message.scope = port.link.scope
    message.hidden = 0
    message.origin = 0
    message.trace = NULL
    state.stalled_by = NULL
    state.stalled_sink = NULL
    if state.inner != NULL:
        inner_begin(state)
    if not is_forwarded(state, &message, &served):
        served = deliver(state, &message)
    if not record.asks:
        return
    if state.inner != NULL:
        inner_ask(state, served, record.token)
    if served == 0:
        sink_say(state, port.sink, record.token, FRAMEWORK_ROW_ANSWER, FRAMEWORK_WORD_NOBODY)
    elif state.stalled_by != NULL:
        _remember_full(state, port, record.token)


cdef void port_unheard(State* state, uint64_t key, int64_t token) noexcept nogil:
    """Answer a port that nobody got what it delivered, where only another core could know."""
    cdef Port* port = state.ports
    while port != NULL:
        if port.key == key:
            sink_say(state, port.sink, token, FRAMEWORK_ROW_ANSWER, FRAMEWORK_WORD_NOBODY)
        port = port.next


cdef void port_go_on(State* state, Link* link) noexcept nogil:
    """Publish what a port has said, as far as the slice goes."""
    cdef Port* port = link.inner
    cdef PortBlock* block
    cdef PortMessage* record
    if state.inner != NULL and inner_is_full(state):
        # It is looked at again in each turn.
        return
    while port.first_said != NULL and link.first_fanout == NULL and not is_work_done(state):
        block = port.first_said
        if block.at < block.length:
            record = <PortMessage*> (<char*> (block + 1) + block.at)
            block.at += record.size
            state.work += LINE_WORK
            _publish(state, port, block, record)
            continue
        _said_drop(state, port)
        if flag_get(&port.waits) and flag_set(&port.waits, 0):
            _ring(port)
    state.stalled_by = NULL
    state.stalled_sink = NULL
    link_wake(state, link)
