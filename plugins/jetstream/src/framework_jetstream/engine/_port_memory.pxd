"""The C face of payloads in memory of a port; see `_port_memory.pyx`."""

from libc.stdint cimport uint32_t


cdef class PortMemory:
    cdef char* memory
    cdef uint32_t at
    cdef uint32_t length


# Take over memory whose payload is so long, and begins there. Without memory for the object it is freed.
cdef PortMemory port_memory(char* memory, uint32_t at, uint32_t length)
