"""The C face of what other servers are told, and who may speak for which; see `_peers.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._state cimport Command, Engine


cdef bint peer_may_say(const Engine* engine, uint64_t link, uint64_t sender) noexcept nogil
cdef int peer_linked(Engine* engine, Command* command) noexcept nogil
cdef void peers_tell(Engine* engine) noexcept nogil
