"""The C face of subject mappings; see `_mappings.pyx`."""

from libc.stdint cimport uint64_t

from framework.dataplane._state cimport Account, Message, State, Tables
from framework.sublist._transform cimport Transform


cdef bint room_for(char** at, size_t* room, size_t need) noexcept nogil
cdef bint mapping_select(
    State* state, Account* account, const char* subject, size_t length, char** into, size_t* room, size_t* result_length
) noexcept nogil
cdef bint is_mapped(Account* account, const char* subject, size_t length) noexcept nogil
cdef void mappings_set(State* state, Account* account, Tables* before) noexcept nogil
cdef bint mapping_apply(State* state, Message* message) noexcept nogil
