"""Which server each connection between servers leads to: nobody speaks for another one.

Frames come by routes alone, straight from who has made them, and no client may publish there. What comes by a connection that is not told
yet is sent again.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport realloc

from framework_jetstream.engine._groups cimport CARRIED_OUT
from framework_jetstream.engine._state cimport PeerLink


cdef uint32_t _place(const Engine* engine, uint64_t link) noexcept nogil:
    """Return where a connection is, or the number of all."""
    cdef uint32_t at = 0
    while at < engine.peer_link_count and engine.peer_links[at].link != link:
        at += 1
    return at


cdef bint peer_may_say(const Engine* engine, uint64_t link, uint64_t sender) noexcept nogil:
    """Whether a connection leads to the server that a frame is said to be from."""
    cdef uint32_t at = _place(engine, link)
    return at < engine.peer_link_count and engine.peer_links[at].server == sender


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
