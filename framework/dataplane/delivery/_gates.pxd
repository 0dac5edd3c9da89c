"""The C face of gates; see `_gates.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport SCOPE_LEAF, Account, Command, Gate, GateBatch, GateTerms, Link, Message, Port, State, Watches
from framework.dataplane.ports._port cimport PortAnswer
from framework.sublist._sublist cimport Match


cdef inline bint is_gated(Link* link, Message* message) noexcept nogil:
    """Whether gates see what a server has sent: of leaf nodes, but for what a stream delivers."""
    return link.scope == SCOPE_LEAF and message.shown == NULL


cdef void gate_add(State* state, Account* account, Gate* gate, int64_t replaced) noexcept nogil
cdef void gate_change(State* state, int64_t id, GateTerms* terms) noexcept nogil
cdef void gate_remove(State* state, int64_t id) noexcept nogil
cdef void gate_release(Gate* gate) noexcept nogil
cdef void gate_batch_release(GateBatch* batch) noexcept nogil
cdef void gate_answer(State* state, Command* command) noexcept nogil
cdef void gate_answer_of_port(State* state, PortAnswer* answer) noexcept nogil
cdef void gates_lose_port(State* state, Port* port) noexcept nogil
cdef void gates_tick(State* state) noexcept nogil
cdef void gates_hand_over(State* state) noexcept nogil
cdef void gates_end(State* state) noexcept nogil
cdef int64_t gates_due_ns(State* state) noexcept nogil
cdef Gate* gate_of(Watches* watches, const char* subject, size_t length) noexcept nogil
cdef bint gate_has_room(State* state, Link* link, Gate* gate) noexcept nogil
cdef bint gate_take(State* state, Link* link, Message* message, Gate* gate) noexcept nogil
cdef bint gate_holds(State* state, Link* link, Watches* watches, Message* message) noexcept nogil
cdef bint gate_lets_in(State* state, Link* link, Message* message, Match** match) noexcept nogil
cdef void gate_go_on(State* state, Link* link) noexcept nogil
cdef bint gate_is_ready(Link* link) noexcept nogil
cdef void gate_leave(State* state, Link* link) noexcept nogil
cdef bint gate_lets_bring(State* state, Link* link, Message* message) noexcept nogil
cdef void gate_enter(State* state, Link* link, Message* message) noexcept nogil
