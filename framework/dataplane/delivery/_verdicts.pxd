"""Records of the verdicts of gates; see `_verdicts.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from framework.dataplane._state cimport GateBatch, State


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


cdef const char* verdicts_wrong(State* state, GateBatch* batch, const char* answer, size_t length) noexcept nogil
