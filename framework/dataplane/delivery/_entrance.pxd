"""The C face of the entrance; see `_entrance.pyx`."""

from framework.dataplane._state cimport Link, Message, State
from framework.sublist._sublist cimport Match


cdef void message_watched(State* state, Match* match, Message* message) noexcept nogil
cdef void message_enter(State* state, Link* link, Message* message, Match* match) noexcept nogil
