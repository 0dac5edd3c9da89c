"""The C face of groups that begin anew; see `_anew.pyx`."""

from framework_jetstream.engine._state cimport Engine, Group


cdef bint group_begins_anew(Engine* engine, Group* group) noexcept nogil
