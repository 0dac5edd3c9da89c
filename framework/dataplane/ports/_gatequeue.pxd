"""The C face of what takes from gates; see `_gatequeue.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Gate


cdef Gate* gate_made(bytes subject, int64_t id, int64_t order, bint is_open, int64_t bytes_max, int64_t limit_ns) except NULL
cdef object gate_queue(Gate* gate)
