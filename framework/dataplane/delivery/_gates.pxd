"""The C face of gates, and the records of their verdicts; see `_gates.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from framework.dataplane._state cimport Account, Command, Gate, GateBatch, Link, Message, State, Watches
from framework.sublist._sublist cimport Match


cdef enum GateVerdictC:
    AWAITED = 0
    # None yet; no record has it.
    DELAYED = 1
    PASSED = 2
    CHANGED = 3
    REFUSED = 4


cdef enum GateChange:
    # Bits of `GateVerdict.what` with CHANGED: what is in place of what was published.
    NEW_SUBJECT = 1
    NEW_BODY = 2
    # Header block and payload.


cdef enum:
    DELAY_NS_MAX = 60000000000
    REFUSAL_BYTES_MAX = 256
    # Of each text that is said of a refusal.
    STATUS_MAX = 999


cdef struct GateVerdict:
    # The record of one verdict, followed by its texts. An answer is one of each message, in order; one without a byte lets all pass.
    uint8_t verdict
    uint8_t what
    uint16_t status
    # REFUSED: of the message to the reply subject; 0: none is sent.
    uint32_t subject_length
    # CHANGED: of the new subject, the first text. REFUSED: of what is said by -ERR; empty: nothing.
    uint32_t header_length
    # CHANGED: of the new header block, the second text. REFUSED: of the description beside the status.
    uint32_t payload_length
    # CHANGED: of the new payload, which CR LF follow where there is a new body.
    int64_t delay_ns
    # DELAYED: until it passes.


cdef void gate_add(State* state, Account* account, Gate* gate) noexcept nogil
cdef void gate_remove(State* state, int64_t id) noexcept nogil
cdef void gate_release(Gate* gate) noexcept nogil
cdef void gate_batch_release(GateBatch* batch) noexcept nogil
cdef void gate_answer(State* state, Command* command) noexcept nogil
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
