"""The C face of the parser; see `_parser.pyx`."""

from framework.dataplane._state cimport Block, Link, State


cdef char* parse(State* state, Link* link, char* at, char* end, Block* block, size_t* need) noexcept nogil
