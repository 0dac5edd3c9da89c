"""What cores of one server send each other: messages, and what comes back of them.

*Interest first*: a core looks how far messages of the others are there, then takes all interest, then messages no further than it has seen
them. So whatever made somebody send a message, a subscription to its reply above all, is known before the message goes on.

A message keeps the scope that it came from; one of a client comes as of INNER. It names the queue groups for which the other core was
picked. Where the members of one have just left, that core passes it on for that group alone.

*Nobody there*: a request whose only receivers are at one other core says so; when none of them is there any more, it comes back as
undelivered, and its client hears of that as if nobody had been here.

*Back-pressure*: no core waits for another. While more than FILLED_BYTES wait in a queue, whoever fills it is read no further. What a
core's clients don't read comes back as a `stall` of the client that publishes it.

Size: records, and what comes back of them, are one protocol of two sides.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

from framework.dataplane._state cimport (
    HIDES_ADDRESS, Hop, IMPORTS_PASSED_MAX, Inner, InnerPeer, Link, Message, PICKED_FOR_GROUPS, ResponseMapping, SCOPE_HERE, SCOPE_INNER,
    STALL_NS, STALLS, State,
)
from framework.dataplane._work cimport BYTES_A_WORK, LINE_WORK, is_work_done
from framework.dataplane.accounts._response_mappings cimport NOT_DELIVERED, response_mapping_end, response_mapping_find
from framework.dataplane.delivery._delivery cimport deliver, deliver_matched, deliver_to_groups
from framework.dataplane.delivery._entrance cimport message_unserved, tell_no_responders
from framework.dataplane.delivery._ways cimport address_hide
from framework.dataplane.inner._fifo cimport (
    Fifo, fifo_add, fifo_behind, fifo_head, fifo_show, fifo_take, fifo_taken, fifo_waiting, full_fence,
)
from framework.dataplane.inner._inner_interest cimport inner_hear
from framework.dataplane.inner._joining cimport FILLED_BYTES, INTEREST_BEFORE_HEADS, STALLED_NUMBER
from framework.dataplane.ports._port cimport PORT_BIT, port_unheard
from framework.dataplane.links._links cimport link_of, link_stall, link_wake
from framework.sublist._bytes cimport COPY_SLACK

cdef enum:
    PASSED_MAX = 16
    # Cores that one message may be passed on by, each time for groups whose members have just left.
    MAPPINGS_MAX = 16
    # Of replies, one behind the other.

cdef enum:
    MESSAGE = 1
    UNDELIVERED
    STALL

cdef enum:
    # Flags of a message.
    SOLE = 1 << 0
    # Nobody else was given it, and its sender wants to know when nobody gets it.
    GROUPS_ONLY = 1 << 1
    # It is for the groups that it names; all others have been served.
    IMPORTED = 1 << 2
    # It came through the import of a service.
    STALLED = 1 << 3
    # Its sender can be told to wait.


cdef struct InnerMessage:
    # Behind it: for each group the length of its name in four bytes, and the name; subject, reply, shown subject, body and CR LF.
    uint32_t size
    uint8_t kind
    uint8_t scope
    uint8_t flags
    uint8_t passed
    uint64_t source
    # The link that sent it, at the core `origin`, or the key of the port; 0: none.
    int64_t token
    # Of what a port delivers.
    uint32_t account
    uint32_t queue_count
    uint32_t subject_length
    uint32_t reply_length
    uint32_t shown_length
    # 0: it is the subject.
    uint32_t header_length
    uint32_t body_length
    uint16_t origin


cdef Hop THROUGH_A_SERVICE


# ---- sent --------------------------------------------------------------------------------------------------------------


cdef char* _put(char* at, const char* chars, size_t length) noexcept nogil:
    if length:
        memcpy(at, chars, length)
    return at + length


cdef size_t _names_length(State* state, Link* to) noexcept nogil:
    """Return how many bytes the names of the groups take for which a core was picked."""
    cdef size_t length = 0
    cdef uint32_t which
    for which in range(state.pick_count):
        if state.picks[which].link.peer == to.peer:
            length += 4 + state.picks[which].queue_length
    return length


cdef char* _put_names(State* state, Link* to, InnerMessage* record, char* at) noexcept nogil:
    cdef uint32_t which
    record.queue_count = 0
    for which in range(state.pick_count):
        if state.picks[which].link.peer == to.peer:
            memcpy(at, &state.picks[which].queue_length, 4)
            at = _put(at + 4, state.picks[which].queue, state.picks[which].queue_length)
            record.queue_count += 1
    return at


cdef void _put_origin(State* state, Link* to, Message* message, InnerMessage* record) noexcept nogil:
    """Write where a message has come from: one that is passed on, from where it came here."""
    cdef InnerMessage* came = <InnerMessage*> state.inner.current
    record.flags = 0
    record.passed = 0
    record.origin = state.inner.number
    record.source = message.source.inner.key if message.source.inner != NULL else message.source.id
    record.token = 0
    if came != NULL and message.scope != SCOPE_HERE:
        record.flags = GROUPS_ONLY
        record.passed = came.passed + 1
        record.origin = came.origin
        record.source = came.source
        record.token = came.token
        record.flags |= came.flags & STALLED
    elif message.source.joined != NULL:
        # An answer that goes back through an import.
        record.source = 0
    elif message.source.traits & STALLS:
        record.flags |= STALLED
    if message.hops != NULL:
        record.flags |= IMPORTED


cdef bint inner_send(State* state, Link* to, Message* message) noexcept nogil:
    """Write a message to another core, with the queue groups that were picked for it; False: it can't be delivered there."""
    cdef Inner* inner = state.inner
    cdef Fifo* fifo = to.joined.said
    cdef InnerMessage* record
    cdef size_t shown = message.shown_length if message.shown != NULL else 0
    cdef size_t need = sizeof(InnerMessage) + message.subject_length + message.reply_length + shown + message.body_length + 2
    cdef char* at
    if message.trace != NULL and message.trace.only:
        return False
    record = <InnerMessage*> fifo_add(fifo, need + (_names_length(state, to) if state.pick_count else 0))
    if record == NULL:
        state.totals.dropped += 1
        return False
    record.kind = MESSAGE
    record.scope = message.scope
    record.account = message.account.index
    record.queue_count = 0
    record.subject_length = <uint32_t> message.subject_length
    record.reply_length = <uint32_t> message.reply_length
    record.shown_length = <uint32_t> shown
    record.header_length = <uint32_t> message.header_length
    record.body_length = <uint32_t> message.body_length
    _put_origin(state, to, message, record)
    at = <char*> (record + 1)
    if state.pick_count:
        at = _put_names(state, to, record, at)
    at = _put(at, message.subject, message.subject_length)
    at = _put(at, message.reply, message.reply_length)
    at = _put(at, message.shown, shown)
    memcpy(at, message.body, message.body_length + 2)
    state.work += <int64_t> message.body_length // BYTES_A_WORK
    inner.unshown = 1
    inner.sent += 1
    inner.served += record.queue_count + (to.peer.picked != PICKED_FOR_GROUPS)
    inner.last_sent = record
    if fifo_waiting(fifo) > FILLED_BYTES:
        inner.is_filled = 1
        state.stalled_by = to
    return True


cdef void inner_show(State* state) noexcept nogil:
    """Let the other cores see what was written for them."""
    cdef Inner* inner = state.inner
    cdef uint32_t at
    if not inner.unshown:
        return
    inner.unshown = 0
    for at in range(inner.count):
        if inner.peers[at].said != NULL:
            fifo_show(inner.peers[at].said)
    # Behind this, what goes out to sockets says that it was told.
    full_fence()


cdef bint inner_is_first(State* state) noexcept nogil:
    """Whether the message of another core comes from the core that has read it."""
    cdef InnerMessage* came = <InnerMessage*> state.inner.current
    return came != NULL and came.passed == 0


cdef bint inner_may_pass(State* state) noexcept nogil:
    """Whether the message of another core may be passed on once more."""
    cdef InnerMessage* came = <InnerMessage*> state.inner.current
    return came != NULL and came.passed < PASSED_MAX


# ---- nobody there --------------------------------------------------------------------------------------------------------


cdef void _begin(Inner* inner) noexcept nogil:
    inner.sent = inner.served = 0
    inner.last_sent = NULL


cdef bint _went_to_one_core(Inner* inner, int served) noexcept nogil:
    """Whether a message that was served so often went to one other core and to nobody else."""
    return inner.sent == 1 and <uint32_t> served == inner.served


cdef void inner_enter(State* state, Match* match, Message* message) noexcept nogil:
    """Deliver what a link publishes; one that wants an answer hears of it when nobody is there."""
    cdef int served
    _begin(state.inner)
    served = deliver_matched(state, match, message)
    if served == 0:
        message_unserved(state, message)
    elif message.reply_length and message.source.no_responders and _went_to_one_core(state.inner, served):
        (<InnerMessage*> state.inner.last_sent).flags |= SOLE


cdef void inner_begin(State* state) noexcept nogil:
    """Count anew to whom a message of a port goes."""
    _begin(state.inner)


cdef void inner_ask(State* state, int served, int64_t token) noexcept nogil:
    """Let the message of a port that was served so often come back, with its token, if it went to one core and nobody gets it there."""
    cdef InnerMessage* record = <InnerMessage*> state.inner.last_sent
    if _went_to_one_core(state.inner, served):
        record.flags |= SOLE
        record.token = token


cdef void _say_undelivered(State* state, InnerMessage* came, const char* subject, const char* reply) noexcept nogil:
    """Let the core from which a request comes know that nobody got it."""
    cdef InnerMessage* record
    cdef char* at
    if came.origin == state.inner.number:
        _undelivered(state, came, subject, reply)
        return
    record = <InnerMessage*> fifo_add(
        state.inner.peers[came.origin].said, sizeof(InnerMessage) + came.subject_length + came.reply_length
    )
    if record == NULL:
        return
    record.kind = UNDELIVERED
    record.origin = came.origin
    record.source = came.source
    record.token = came.token
    record.account = came.account
    record.subject_length = came.subject_length
    record.reply_length = came.reply_length
    at = _put(<char*> (record + 1), subject, came.subject_length)
    _put(at, reply, came.reply_length)
    state.inner.unshown = 1


cdef void _find_way_back(State* state, Message* message) noexcept nogil:
    """Follow the way of an answer through imports of services, and end it, to the account and reply of who asked."""
    cdef ResponseMapping* answer
    cdef char* reply
    cdef int _
    for _ in range(MAPPINGS_MAX):
        answer = response_mapping_find(message.account, message.reply, message.reply_length)
        if answer == NULL:
            return
        reply = _kept(state, answer.asked.key.chars, answer.asked.key.length)
        message.account = answer.home
        message.reply = reply
        message.reply_length = answer.asked.key.length if reply != NULL else 0
        response_mapping_end(state, answer, NOT_DELIVERED)


cdef char* _kept(State* state, const char* chars, size_t length) noexcept nogil:
    """Copy a subject to where transforms write; NULL: no memory."""
    cdef void* grown
    if state.scratch_room < length:
        grown = realloc(state.scratch, length + COPY_SLACK)
        if grown == NULL:
            return NULL
        state.scratch = <char*> grown
        state.scratch_room = length
    memcpy(state.scratch, chars, length)
    return state.scratch


cdef void _undelivered(State* state, InnerMessage* record, const char* subject, const char* reply) noexcept nogil:
    """Tell a client of this core that nobody got its request."""
    cdef Message message
    if record.source >> PORT_BIT:
        port_unheard(state, record.source, record.token)
        return
    message.source = link_of(state, record.source)
    if message.source == NULL or record.account >= state.account_count:
        return
    message.account = state.accounts[record.account]
    message.subject = subject
    message.subject_length = record.subject_length
    message.reply = reply
    message.reply_length = record.reply_length
    _find_way_back(state, &message)
    if message.reply_length and message.source.no_responders:
        tell_no_responders(state, &message)


# ---- received ------------------------------------------------------------------------------------------------------------


cdef bint _name_room(Inner* inner, uint32_t count) noexcept nogil:
    cdef void* grown
    if count <= inner.name_room:
        return True
    grown = realloc(inner.names, count * sizeof(char*))
    if grown == NULL:
        return False
    inner.names = <const char**> grown
    grown = realloc(inner.name_lengths, count * sizeof(uint32_t))
    if grown == NULL:
        return False
    inner.name_lengths = <uint32_t*> grown
    inner.name_room = count
    return True


cdef const char* _take_names(Inner* inner, InnerMessage* record, Message* message) noexcept nogil:
    """Read the names of the groups; return what follows them. Without memory there are none."""
    cdef const char* at = <char*> (record + 1)
    cdef uint32_t which, length
    cdef bint has_room = _name_room(inner, record.queue_count)
    for which in range(record.queue_count):
        memcpy(&length, at, 4)
        if has_room:
            inner.names[which] = at + 4
            inner.name_lengths[which] = length
        at += 4 + length
    message.queues = inner.names
    message.queue_lengths = inner.name_lengths
    message.queue_count = record.queue_count if has_room else 0
    return at


cdef void _read(State* state, InnerPeer* peer, InnerMessage* record, Message* message) noexcept nogil:
    """Take a record for a message that the other core has sent by its link."""
    cdef const char* at = _take_names(state.inner, record, message)
    message.source = peer.faces[<int> SCOPE_INNER]
    message.account = state.accounts[record.account] if record.account < state.account_count else NULL
    message.subject = at
    message.subject_length = record.subject_length
    message.reply = at + record.subject_length
    message.reply_length = record.reply_length
    message.shown = message.reply + record.reply_length if record.shown_length else NULL
    message.shown_length = record.shown_length
    message.body = message.reply + record.reply_length + record.shown_length
    message.header_length = record.header_length
    message.body_length = record.body_length
    message.block = NULL
    message.hops = &THROUGH_A_SERVICE if record.flags & IMPORTED else NULL
    message.scope = SCOPE_INNER if record.scope == SCOPE_HERE else record.scope
    message.trace = NULL
    message.origin = 0
    message.hidden = 0
    if message.reply_length and state.reserved_first[<uint8_t> message.reply[0]] & HIDES_ADDRESS:
        address_hide(state, message)


cdef void _say_stall(State* state, InnerPeer* peer, InnerMessage* came) noexcept nogil:
    """Let a client of another core know that a receiver here has much waiting; not for each of its messages."""
    cdef InnerMessage* record
    cdef InnerPeer* to = &state.inner.peers[came.origin]
    if not came.flags & STALLED or to.said == NULL:
        return
    if to.stalled == came.source and state.now_ns - to.stalled_ns < STALL_NS // 2:
        return
    record = <InnerMessage*> fifo_add(to.said, sizeof(InnerMessage))
    if record == NULL:
        return
    record.kind = STALL
    record.source = came.source
    to.stalled = came.source
    to.stalled_ns = state.now_ns
    state.inner.unshown = 1


cdef void _deliver(State* state, InnerPeer* peer, InnerMessage* record) noexcept nogil:
    """Deliver a message of another core here, and to the servers that links of this core lead to."""
    cdef Inner* inner = state.inner
    cdef Message message
    cdef int served = 0
    _read(state, peer, record, &message)
    inner.current = record
    _begin(inner)
    state.imports_left = IMPORTS_PASSED_MAX
    state.stalled_by = NULL
    state.stalled_sink = NULL
    if message.account != NULL and message.account.ours:
        served = deliver_to_groups(state, &message) if record.flags & GROUPS_ONLY else deliver(state, &message)
    if record.flags & SOLE and served == 0:
        _say_undelivered(state, record, message.subject, message.reply)
    elif record.flags & SOLE and _went_to_one_core(inner, served):
        (<InnerMessage*> inner.last_sent).flags |= SOLE
    if state.stalled_by != NULL or state.stalled_sink != NULL:
        _say_stall(state, peer, record)
    inner.current = NULL


cdef void _take(State* state, InnerPeer* peer, InnerMessage* record) noexcept nogil:
    cdef const char* subject = <char*> (record + 1)
    cdef Link* link
    if record.kind == MESSAGE:
        _deliver(state, peer, record)
    elif record.kind == UNDELIVERED:
        _undelivered(state, record, subject, subject + record.subject_length)
    else:
        link = link_of(state, record.source)
        if link != NULL and link.traits & STALLS and state.limits.fast_producer_stall:
            link_stall(state, link)


cdef void inner_go_on(State* state, Link* link) noexcept nogil:
    """Take messages of another core, as far as they were seen and the slice goes."""
    cdef InnerPeer* peer = link.joined
    cdef void* record
    while link.first_fanout == NULL and not is_work_done(state):
        record = fifo_take(peer.hears)
        if record == NULL:
            break
        state.work += LINE_WORK
        _take(state, peer, <InnerMessage*> record)
    fifo_taken(peer.hears)
    state.stalled_by = NULL
    state.stalled_sink = NULL
    link_wake(state, link)


# ---- turns -------------------------------------------------------------------------------------------------------------


cdef void inner_look(State* state, uint64_t records_max) noexcept nogil:
    """See how far messages of other cores are there.

    Args:
        records_max: Of each core no more than so many that are new; for who simulates cores whose memory others see late.
    """
    cdef Inner* inner = state.inner
    cdef InnerPeer* peer
    cdef uint32_t at
    inner.has_looked = 1
    if inner.plant == INTEREST_BEFORE_HEADS:
        inner_hear(state)
        return
    for at in range(inner.count):
        peer = &inner.peers[at]
        if peer.hears != NULL:
            peer.head = fifo_head(peer.hears)
            if records_max != ALL_RECORDS:
                peer.head = fifo_behind(peer.hears, peer.head, records_max)


cdef void inner_listen(State* state) noexcept nogil:
    """Let messages of other cores be taken that are there now, behind all interest that is there then."""
    cdef Inner* inner = state.inner
    cdef InnerPeer* peer
    cdef uint32_t at
    if not inner.has_looked:
        inner_look(state, ALL_RECORDS)
    inner.has_looked = 0
    if inner.plant != INTEREST_BEFORE_HEADS:
        inner_hear(state)
    for at in range(inner.count):
        peer = &inner.peers[at]
        if peer.hears != NULL:
            if inner.plant == INTEREST_BEFORE_HEADS:
                peer.head = fifo_head(peer.hears)
            peer.hears.until = peer.head
            link_wake(state, peer.faces[<int> SCOPE_INNER])


cdef bint inner_waits(Link* link) noexcept nogil:
    """Whether there are messages of the core behind one of the plane's own links that may be taken now."""
    return link.joined != NULL and link.scope == SCOPE_INNER and link.joined.hears.taken != link.joined.hears.until


cdef bint inner_is_busy(State* state) noexcept nogil:
    """Whether other cores have said something that was not taken."""
    cdef uint32_t at
    cdef InnerPeer* peer
    for at in range(state.inner.count):
        peer = &state.inner.peers[at]
        if peer.hears != NULL and (fifo_head(peer.hears) != peer.hears.taken or fifo_head(peer.heard) != peer.heard.taken):
            return True
    return False


cdef bint inner_holds(State* state, Link* link) noexcept nogil:
    """Whether a link waits still that was paused because of another core: of the queue to it, or of a receiver there."""
    cdef Inner* inner = state.inner
    cdef uint32_t number = <uint32_t> link.stalled_by >> 8
    if number == STALLED_NUMBER:
        return state.now_ns < link.stalled_until_ns
    return _waiting(&inner.peers[number]) > FILLED_BYTES // 2


cdef uint64_t _waiting(InnerPeer* peer) noexcept nogil:
    """Return how much waits in the fuller one of the queues to another core."""
    return max(fifo_waiting(peer.said), fifo_waiting(peer.told))


cdef bint inner_is_full(State* state) noexcept nogil:
    """Whether more than may wait in a queue to another core."""
    cdef uint32_t at
    for at in range(state.inner.count):
        if state.inner.peers[at].said != NULL and _waiting(&state.inner.peers[at]) > FILLED_BYTES:
            return True
    return False
