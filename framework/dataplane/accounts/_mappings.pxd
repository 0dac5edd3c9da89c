"""The C face of subject mappings; see `_mappings.pyx`."""

from libc.stdint cimport uint64_t

from framework.dataplane._state cimport Account, Message, State
from framework.sublist._transform cimport Transform


cdef bint room_for(char** at, size_t* room, size_t need) noexcept nogil
cdef bint mapping_select(
    State* state, Account* account, const char* subject, size_t length, char** into, size_t* room, size_t* result_length
) noexcept nogil
cdef bint is_mapped(Account* account, const char* subject, size_t length) noexcept nogil
cdef bint mapping_apply(State* state, Message* message) noexcept nogil


cdef inline bint is_acknowledgement(const char* reply, size_t length) noexcept nogil:
    """Whether it is a subject on which JetStream waits for acknowledgements."""
    return (
        length > 8 and reply[0] == c"$" and reply[1] == c"J" and reply[2] == c"S" and reply[3] == c"." and reply[4] == c"A"
        and reply[5] == c"C" and reply[6] == c"K" and reply[7] == c"."
    )
