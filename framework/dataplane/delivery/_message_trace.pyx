"""Message traces: note each step of a traced message, report all as one event. Source: ADR-41.

A message may ask to be traced only: then it reaches no client, but still other servers, each of which reports its own part. Python
formats the report and publishes it. Source: ADR-41; nats-server `msgtrace.go`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcmp, memcpy, memset

from framework.dataplane.delivery._delivery cimport is_python_behind, random_next, record_chars, record_new, to_route, to_subscription
from framework.dataplane.protocol._headers cimport header_set, header_value
from framework.dataplane.accounts._interest cimport is_literal_subject
from framework.dataplane.accounts._latency cimport traceparent_asks
from framework.dataplane.accounts._mappings cimport room_for
from framework.dataplane.links._output cimport block_drop
from framework.dataplane.accounts._permissions cimport is_allowed_to_publish, may_hear
from framework.dataplane._state cimport (
    IS_USER, NO_PUBLISH, RECORD_MESSAGE_TRACE, Account, Block, Link, Message, MessageTrace, Record, State, Subscription,
)
from framework.dataplane.protocol._reserved cimport is_reserved
from framework.dataplane.protocol._violations cimport PUBLISH_SUBJECT, violation_say
from framework.sublist._bytes cimport write_decimal


cdef enum:
    STEPS_BYTES_MAX = 4194304
    # Of one message; more are not told.


# ---- whether a message is traced -----------------------------------------------------------------------------------------


cdef bint _may_ask(const char* header, size_t length) noexcept nogil:
    """Whether a field begins as those do by which a message asks; what this costs is all that other headers cost."""
    cdef const char* end = header + length
    cdef const char* at = header
    while True:
        at = <const char*> memchr(at, c"\n", end - at)
        if at == NULL or end - at < 13:
            return False
        at += 1
        if at[0] == c"N" and at[5] == c"T" and at[1] == c"a" and at[11] == c"D":
            # Nats-Trace-Dest
            return True
        if (at[0] | 0x20) == c"t" and (at[5] | 0x20) == c"p" and at[11] == c":":
            # traceparent
            return True


cdef bint _is_on(const char* value, size_t length) noexcept nogil:
    if length == 1:
        return value[0] == c"1"
    if length == 2:
        return (value[0] | 0x20) == c"o" and (value[1] | 0x20) == c"n"
    return (
        length == 4 and (value[0] | 0x20) == c"t" and (value[1] | 0x20) == c"r" and (value[2] | 0x20) == c"u"
        and (value[3] | 0x20) == c"e"
    )


cdef bint _is_destination(State* state, const char* subject, size_t length) noexcept nogil:
    """Whether a trace can be published there: on routes and to clients, the subject must fit into a line."""
    cdef size_t at
    if <int64_t> length > state.limits.max_control_line:
        return False
    for at in range(length):
        if <unsigned char> subject[at] <= 32:
            return False
    return is_literal_subject(subject, length)


cdef void _disable(State* state, Message* message, MessageTrace* made) noexcept nogil:
    """Let no other server trace it either."""
    cdef Block* block = header_set(message, b"Nats-Trace-Dest", 15, b"trace disabled", 14)
    if block != NULL:
        made.block = block


cdef bint _asks_by_account(State* state, Message* message, MessageTrace* made) noexcept nogil:
    """Whether a sampled `traceparent` asks, and the account says where the trace goes; the origin of a message draws lots."""
    cdef size_t length = 0
    cdef const char* value = header_value(message.body, message.header_length, b"traceparent", 11, True, &length)
    cdef int percent
    if value == NULL or not traceparent_asks(value, length):
        return False
    if message.account.tables == NULL or message.account.tables.trace_destination_length == 0:
        return False
    percent = message.account.tables.trace_percent
    if message.source.traits & IS_USER and 0 < percent < 100 and <int> ((random_next(state) >> 32) % 100) >= percent:
        _disable(state, message, made)
        return False
    made.destination = message.account.tables.trace_destination
    made.destination_length = message.account.tables.trace_destination_length
    return True


cdef Tracing _asks(State* state, Message* message, MessageTrace* made) noexcept nogil:
    """Find out whether and where to a message is traced. What can't be traced and wants nothing else is not handled at all."""
    cdef size_t length = 0
    cdef const char* value = header_value(message.body, message.header_length, b"Nats-Trace-Dest", 15, False, &length)
    cdef Link* link = message.source
    if value == NULL or length == 0:
        return TRACED if _asks_by_account(state, message, made) else UNTRACED
    if length == 14 and memcmp(value, b"trace disabled", 14) == 0:
        return UNTRACED
    made.destination = value
    made.destination_length = length
    value = header_value(message.body, message.header_length, b"Nats-Trace-Only", 15, False, &length)
    made.only = value != NULL and _is_on(value, length)
    if header_value(message.body, message.header_length, b"Nats-Trace-Origin-Account", 25, False, &length) != NULL and length:
        # Servers of old put it there: they trace in another way.
        if not made.only:
            _disable(state, message, made)
        return TRACE_SKIPPED if made.only else UNTRACED
    if not _is_destination(state, made.destination, made.destination_length):
        return TRACE_SKIPPED if made.only else UNTRACED
    if is_reserved(state, NO_PUBLISH, made.destination, made.destination_length) or not is_allowed_to_publish(
        state, link, made.destination, made.destination_length
    ):
        if link.traits & IS_USER:
            violation_say(state, link, PUBLISH_SUBJECT, made.destination, made.destination_length, NULL, 0, NULL, 0)
        return TRACE_SKIPPED
    return TRACED


cdef Tracing tracing_begin(State* state, Message* message, MessageTrace* made) noexcept nogil:
    """Begin the trace of a message with a header block, if it asks for it; `tracing_end` ends it in any case."""
    cdef Tracing tracing
    made.block = NULL
    if not _may_ask(message.body, message.header_length):
        return UNTRACED
    memset(made, 0, sizeof(MessageTrace))
    made.header = message.body
    made.header_length = message.header_length
    made.size = message.body_length
    tracing = _asks(state, message, made)
    if tracing == TRACED and is_python_behind(state):
        # Who reads no reports has not asked for them: a message of a hundred bytes may make megabytes of steps.
        tracing = TRACE_SKIPPED if made.only else UNTRACED
    if tracing != TRACED:
        return tracing
    made.account = message.account
    made.subject = message.subject
    made.subject_length = message.subject_length
    if not message.source.traits & IS_USER:
        made.hop = header_value(message.body, message.header_length, b"Nats-Trace-Hop", 14, False, &made.hop_length)
        if made.hop == NULL:
            made.hop_length = 0
    message.trace = made
    return TRACED


# ---- steps -----------------------------------------------------------------------------------------------------------------


cdef char* _put(char* at, const char* chars, size_t length) noexcept nogil:
    if length:
        memcpy(at, chars, length)
    return at + length


cdef void _step(
    MessageTrace* self, StepRecord* step, const char* first, size_t first_length, const char* second, size_t second_length,
    const char* third, size_t third_length
) noexcept nogil:
    """Note a step; without memory, or behind too many others, it is lost."""
    cdef size_t need = sizeof(StepRecord) + first_length + second_length + third_length
    cdef char* at
    if self.steps_length + need > STEPS_BYTES_MAX:
        return
    if self.steps_length + need > self.steps_room and not room_for(
        &self.steps, &self.steps_room, 2 * self.steps_room + need + 1024
    ):
        return
    step.lengths[0] = <uint32_t> first_length
    step.lengths[1] = <uint32_t> second_length
    step.lengths[2] = <uint32_t> third_length
    at = _put(self.steps + self.steps_length, <char*> step, sizeof(StepRecord))
    at = _put(at, first, first_length)
    at = _put(at, second, second_length)
    _put(at, third, third_length)
    self.steps_length += need
    self.step_count += 1


cdef StepRecord _begun(StepKind kind, Account* account) noexcept nogil:
    cdef StepRecord step
    memset(&step, 0, sizeof(step))
    step.kind = kind
    step.account = account.index if account != NULL else NO_ACCOUNT
    return step


cdef void step_mapped(Message* message) noexcept nogil:
    """Note that a mapping has changed the subject."""
    cdef StepRecord step = _begun(STEP_MAPPED, NULL)
    _step(message.trace, &step, message.subject, message.subject_length, NULL, 0, NULL, 0)


cdef void step_stream(Message* message, Account* account, const char* to, size_t length) noexcept nogil:
    """Note that another account imports the message."""
    cdef StepRecord step = _begun(STEP_STREAM, account)
    _step(message.trace, &step, to, length, NULL, 0, NULL, 0)


cdef void step_service(Message* message, Account* account, Message* there) noexcept nogil:
    """Note that a request passes to another account."""
    cdef StepRecord step = _begun(STEP_SERVICE, account)
    _step(
        message.trace, &step, message.subject, message.subject_length, there.subject, there.subject_length, NULL, 0
    )


cdef void _step_sent(
    Message* message, Link* to, Subscription* reached, const char* hop, size_t hop_length, TraceFault fault
) noexcept nogil:
    """Note that a message was sent to a client or a server, or why not."""
    cdef StepRecord step = _begun(STEP_SENT, NULL)
    cdef const char* subject = NULL
    cdef const char* queue = NULL
    cdef size_t length = 0, queue_length = 0
    step.link = to.id
    step.cid = to.cid
    step.link_kind = to.kind
    step.fault = fault
    if to.traits & IS_USER:
        subject = reached.interest.subject
        length = reached.interest.subject_length
        queue = reached.interest.queue
        queue_length = reached.interest.queue_length
        if to.account != message.trace.account:
            step.account = to.account.index
    _step(message.trace, &step, subject, length, queue, queue_length, hop, hop_length)


# ---- delivery ----------------------------------------------------------------------------------------------------------------


cdef TraceFault _fault(State* state, Subscription* subscription, Message* message) noexcept nogil:
    """Return why a client can't have a message."""
    cdef Link* link = subscription.link
    if link == message.source and not link.echo:
        return FAULT_NO_ECHO
    if subscription.filtered and not may_hear(state, subscription, message.subject, message.subject_length):
        return FAULT_DENIED
    if subscription.dead:
        return FAULT_ENDED
    return FAULT_CLOSED if link.doomed else NO_FAULT


cdef bint traced_delivery(State* state, Subscription* subscription, Message* message, Subscription* reached) noexcept nogil:
    """Deliver to a client and note it; what is traced only counts as delivered.

    Args:
        reached: Stands where the message was: the subscription, or its shadow.
    """
    cdef Message bare = message[0]
    cdef TraceFault fault
    cdef bint delivered
    bare.trace = NULL
    if subscription.link == NULL:
        return to_subscription(state, &subscription.interest, &bare)
    fault = _fault(state, subscription, message)
    if fault == NO_FAULT and not message.trace.only:
        delivered = to_subscription(state, &subscription.interest, &bare)
        fault = NO_FAULT if delivered else FAULT_CLOSED
    _step_sent(message, subscription.link, reached, NULL, 0, fault)
    return fault == NO_FAULT


cdef bint traced_subscription(State* state, Subscription* subscription, Message* message) noexcept nogil:
    return traced_delivery(state, subscription, message, subscription)


cdef bint traced_route(State* state, Link* to, Message* message) noexcept nogil:
    """Send to another server, which goes on with the trace under a number of its own; one that can't gets nothing to trace only."""
    cdef MessageTrace* self = message.trace
    cdef Message bare = message[0]
    cdef Block* block
    cdef char hop[512]
    cdef size_t length = 0
    cdef TraceFault fault = NO_FAULT
    cdef bint delivered = False
    self.hops += 1
    if self.hop_length and self.hop_length < sizeof(hop) - 24:
        memcpy(hop, self.hop, self.hop_length)
        hop[self.hop_length] = c"."
        length = self.hop_length + 1
    length += write_decimal(hop + length, self.hops)
    bare.trace = NULL
    if not to.traces:
        fault = FAULT_ONLY_NO_SUPPORT if self.only else FAULT_NO_SUPPORT
    if fault != FAULT_ONLY_NO_SUPPORT:
        block = header_set(&bare, b"Nats-Trace-Hop", 14, hop, length)
        delivered = to_route(state, to, &bare)
        if block != NULL:
            block_drop(state, block)
        if not delivered:
            fault = FAULT_CLOSED
    _step_sent(message, to, NULL, hop, length, fault)
    return delivered


# ---- the report ----------------------------------------------------------------------------------------------------------------


cdef void tracing_refused(Message* message, TraceFault fault, const char* word, size_t length) noexcept nogil:
    """Note that a client may not publish this; `word` is the subject or reply that it may not."""
    if message.trace != NULL:
        message.trace.fault = fault
        message.trace.refused = word
        message.trace.refused_length = length


cdef void _report(State* state, Message* message, MessageTrace* self) noexcept nogil:
    cdef TraceRecord head
    cdef Record* record
    cdef char* at
    memset(&head, 0, sizeof(head))
    head.at_ns = state.now_ns
    head.cid = message.source.cid
    head.account = self.account.index
    head.size = <uint32_t> self.size
    head.hops = self.hops
    head.fault = self.fault
    head.lengths[0] = <uint32_t> self.destination_length
    head.lengths[1] = <uint32_t> self.subject_length
    head.lengths[2] = <uint32_t> self.header_length
    head.lengths[3] = <uint32_t> self.refused_length
    head.step_count = self.step_count
    record = record_new(
        state, RECORD_MESSAGE_TRACE, message.source,
        sizeof(head) + self.destination_length + self.subject_length + self.header_length + self.refused_length + self.steps_length,
    )
    if record == NULL:
        return
    at = _put(record_chars(record), <char*> &head, sizeof(head))
    at = _put(at, self.destination, self.destination_length)
    at = _put(at, self.subject, self.subject_length)
    at = _put(at, self.header, self.header_length)
    at = _put(at, self.refused, self.refused_length)
    _put(at, self.steps, self.steps_length)


cdef void tracing_end(State* state, Message* message, MessageTrace* made) noexcept nogil:
    """Report what became of a message, if it was traced."""
    if message.trace != NULL:
        _report(state, message, made)
        free(made.steps)
        message.trace = NULL
    if made.block != NULL:
        block_drop(state, made.block)
