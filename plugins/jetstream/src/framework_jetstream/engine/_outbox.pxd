"""The C face of what the engine publishes; see `_outbox.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework_jetstream.engine._port cimport framework_message, framework_port
from framework_jetstream.stream._headers cimport Text


cdef struct Page:
    Page* next
    size_t used
    size_t size


cdef struct Outbox:
    const framework_port* port
    framework_message* messages
    uint32_t count
    uint32_t room
    Page* page
    # The one that is being filled; full ones follow.
    size_t bytes
    # Of all pages.
    bint is_blocked
    # The port takes no more until it rings.


cdef char* outbox_chars(Outbox* outbox, size_t length) noexcept nogil
cdef framework_message* outbox_add(Outbox* outbox, uint32_t account, const char* subject, uint32_t length) noexcept nogil
cdef void outbox_copy(Outbox* outbox, Text* text) noexcept nogil
cdef bint outbox_flush(Outbox* outbox) noexcept nogil
cdef void outbox_free(Outbox* outbox) noexcept nogil
