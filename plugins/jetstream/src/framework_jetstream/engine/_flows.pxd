"""The C face of what clients are told in the midst of batches; see `_flows.pyx`."""

from framework_jetstream.engine._state cimport Engine, Slot
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport Outcome


cdef void flows_say(Engine* engine, Slot* slot, Text reply, Outcome* outcome) noexcept nogil
