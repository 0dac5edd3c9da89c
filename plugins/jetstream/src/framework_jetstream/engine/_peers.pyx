"""Other servers: what they are told, and which of them each route leads to: nobody speaks for a server that has a route of its own.

No client may publish where frames come. Those of servers of other clusters come by a gateway, or by the route of who has the gateway.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from framework_jetstream.engine._groups cimport CARRIED_OUT
from framework_jetstream.engine._port cimport FRAMEWORK_PORT_OK, framework_message
from framework_jetstream.engine._state cimport PeerLink
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.replication._replicas cimport OutgoingFrame

cdef enum:
    SUBJECT_BYTES = 128
    NUMBER_BYTES = 16
    COMMITS_WAIT_NS = 50000
    # By then a client that was answered has sent the next message, if it sends one after the other: commits go with that.


cdef uint32_t _place(const Engine* engine, uint64_t link) noexcept nogil:
    """Return where a connection is, or the number of all."""
    cdef uint32_t at = 0
    while at < engine.peer_link_count and engine.peer_links[at].link != link:
        at += 1
    return at


cdef bint peer_may_say(const Engine* engine, uint64_t link, uint64_t sender) noexcept nogil:
    """Whether a frame that is said to be from a server may come by a connection: by any, unless another one leads to that server."""
    cdef uint32_t at
    cdef bint is_elsewhere = False
    for at in range(engine.peer_link_count):
        if engine.peer_links[at].server == sender:
            if engine.peer_links[at].link == link:
                return True
            is_elsewhere = True
    return not is_elsewhere


cdef int peer_linked(Engine* engine, Command* command) noexcept nogil:
    """Hear to which server a connection leads, 0: to none any more; nobody is answered. A `Carried`."""
    cdef uint64_t link = <uint64_t> command.numbers[0]
    cdef uint32_t at = _place(engine, link)
    cdef PeerLink* grown
    if command.numbers[1] == 0:
        if at < engine.peer_link_count:
            engine.peer_link_count -= 1
            engine.peer_links[at] = engine.peer_links[engine.peer_link_count]
        return CARRIED_OUT
    if at == engine.peer_link_count:
        grown = <PeerLink*> realloc(engine.peer_links, (at + 1) * sizeof(PeerLink))
        if grown == NULL:
            return CARRIED_OUT
        engine.peer_links = grown
        engine.peer_link_count += 1
    engine.peer_links[at].link = link
    engine.peer_links[at].server = <uint64_t> command.numbers[1]
    return CARRIED_OUT


cdef uint32_t _subject(Engine* engine, uint64_t server, char* to) noexcept nogil:
    """Write where a server hears of others: the prefix, and its number in hexadecimal digits."""
    cdef uint32_t at, digit
    memcpy(to, engine.peers_prefix.chars, engine.peers_prefix.length)
    for at in range(NUMBER_BYTES):
        digit = <uint32_t> (server >> (4 * (NUMBER_BYTES - 1 - at)) & 15)
        to[engine.peers_prefix.length + at] = <char> (c"0" + digit if digit < 10 else c"a" + digit - 10)
    return engine.peers_prefix.length + NUMBER_BYTES


cdef void _say(Engine* engine, OutgoingFrame* frame) noexcept nogil:
    """Hand a frame over to the port, with its memory; what it does not take is lost, as the network may lose it."""
    cdef char subject[SUBJECT_BYTES]
    cdef framework_message message
    memset(&message, 0, sizeof(message))
    message.account = engine.peers_account
    message.subject, message.subject_length = subject, _subject(engine, frame.to, subject)
    message.payload, message.payload_length = frame.chars, <uint32_t> frame.used
    if engine.peers.publish_memory(engine.peers.self, frame.memory, &message) == FRAMEWORK_PORT_OK:
        frame.memory = frame.chars = NULL
    frame.used = frame.count = 0
    frame.waits_until_ns = 0


cdef bint _can_wait(Engine* engine, OutgoingFrame* frame) noexcept nogil:
    """Whether a frame tells of commits alone, and has not waited long: clients are answered first, and it may go with what comes next."""
    if not frame.can_wait:
        return False
    if not frame.waits_until_ns:
        frame.waits_until_ns = engine.now_ns + COMMITS_WAIT_NS
    wake_at(engine, frame.waits_until_ns)
    return engine.now_ns < frame.waits_until_ns


cdef void peers_tell(Engine* engine) noexcept nogil:
    """Send other servers what there is for them."""
    cdef OutgoingFrame* frame
    cdef size_t at
    for at in range(engine.replicas.frame_count):
        frame = &engine.replicas.frames[at]
        if frame.used and not _can_wait(engine, frame):
            _say(engine, frame)
