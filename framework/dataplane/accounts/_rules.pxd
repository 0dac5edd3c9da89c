"""The C face of rules as Python writes them; see `_rules.pyx`."""

from libc.stdint cimport uint64_t

from framework.dataplane._state cimport PermissionTable


cdef PermissionTable* table_made(permissions, uint64_t seed, uint64_t serial) except NULL
