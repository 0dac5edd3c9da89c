"""Which server each route leads to: nobody speaks for a server that has a route of its own.

No client may publish where frames come. Those of servers of other clusters come by a gateway, or by the route of who has the gateway.
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
