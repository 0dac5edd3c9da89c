"""The C face of what clients reach of a stream; see `_serving.pyx`."""

from framework_jetstream.engine._state cimport Command, Engine, Slot
from framework_jetstream.stream._headers cimport Text


cdef Text text_copied(const char* chars, size_t length) noexcept nogil
cdef bint follow_subjects(Engine* engine, Slot* slot, const char* chars, size_t length) noexcept nogil
cdef void follow_direct(Engine* engine, Slot* slot, bint wanted) noexcept nogil
cdef void slot_serve(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef void slot_enter(Engine* engine, Slot* slot, Command* command) noexcept nogil
cdef void slot_lead(Engine* engine, Slot* slot) noexcept nogil
cdef void slot_follow(Engine* engine, Slot* slot) noexcept nogil
