"""The C face of joining cores; see `_joining.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework.dataplane._state cimport State

cdef enum:
    CORES_MAX = 32
    CORE_BIT = 56
    # Of a link's id: from here on the number of its core.
    GENERATIONS_JOINED = 0xFFFFFF
    FACE_BIT = 62
    # Ids that no link of a socket has.
    STALLED_NUMBER = 0xFFFF
    # In place of a core's number: a client of this one waits for a receiver at another.


cdef enum:
    FILLED_BYTES = 1048576
    # Of one queue; until half of that, who filled it waits.


cdef enum Plant:
    # Mistakes that tests plant; as framework.dataplane.inner.plant.Plant.
    NO_PLANT = 0
    INTEREST_AT_TURNS_ONLY = 1
    INTEREST_BEFORE_HEADS = 2


cdef bint cores_join(State** states, uint32_t count, int plant) noexcept nogil
cdef void inner_free(State* state) noexcept nogil
