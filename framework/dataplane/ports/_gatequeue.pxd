"""The C face of what takes from gates; see `_gatequeue.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Gate, GateTerms


cdef Gate* gate_made(bytes subject, int64_t id, int64_t order, GateTerms terms) except NULL
cdef object gate_queue(Gate* gate)
