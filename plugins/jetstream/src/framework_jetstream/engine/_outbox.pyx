"""What the engine publishes: gathered over a turn, said to the port in batches.

Texts are copied to pages that stay where they are until the next flush; headers and payloads may as well stay in a stream's records,
since no stream changes before they are said.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from framework_jetstream.engine._port cimport FRAMEWORK_PORT_FULL, FRAMEWORK_PORT_OK

cdef enum:
    PAGE_BYTES = 65536


cdef char* outbox_chars(Outbox* outbox, size_t length) noexcept nogil:
    """Return room for a text until the next flush; NULL: no memory."""
    cdef Page* page = outbox.page
    cdef size_t size
    if page == NULL or page.size - page.used < length:
        size = max(length, <size_t> PAGE_BYTES)
        page = <Page*> malloc(sizeof(Page) + size)
        if page == NULL:
            return NULL
        page.size = size
        page.used = 0
        page.next = outbox.page
        outbox.page = page
        outbox.bytes += size
    page.used += length
    return <char*> (page + 1) + page.used - length


cdef void outbox_copy(Outbox* outbox, Text* text) noexcept nogil:
    """Let a text stay as it is until the next flush; without memory it becomes empty."""
    cdef char* room = outbox_chars(outbox, text.length)
    if room == NULL:
        text.length = 0
        return
    memcpy(room, text.chars, text.length)
    text.chars = room


cdef framework_message* outbox_add(Outbox* outbox, uint32_t account, const char* subject, uint32_t length) noexcept nogil:
    """Add a message, to be filled in at once; NULL: no memory.

    Args:
        subject: Is copied.
    """
    cdef char* room = outbox_chars(outbox, length)
    cdef framework_message* message
    cdef void* grown
    if room == NULL:
        return NULL
    if outbox.count == outbox.room:
        grown = realloc(outbox.messages, (outbox.room * 2 + 64) * sizeof(framework_message))
        if grown == NULL:
            return NULL
        outbox.messages = <framework_message*> grown
        outbox.room = outbox.room * 2 + 64
    message = &outbox.messages[outbox.count]
    outbox.count += 1
    memset(message, 0, sizeof(framework_message))
    memcpy(room, subject, length)
    message.subject = room
    message.subject_length = length
    message.account = account
    return message


cdef bint outbox_flush(Outbox* outbox) noexcept nogil:
    """Publish what was gathered; False: the port takes no more now, and it stays."""
    cdef Page* page
    cdef uint32_t at
    cdef int said = FRAMEWORK_PORT_OK
    if outbox.count:
        said = outbox.port.publish(outbox.port.self, outbox.messages, outbox.count)
        if said == FRAMEWORK_PORT_FULL:
            outbox.is_blocked = True
            return False
        if said != FRAMEWORK_PORT_OK:
            # One of them makes no sense to the port, or there is little memory: the others are not lost with it.
            for at in range(outbox.count):
                outbox.port.publish(outbox.port.self, &outbox.messages[at], 1)
    outbox.is_blocked = False
    outbox.count = 0
    while outbox.page != NULL and outbox.page.next != NULL:
        page = outbox.page
        outbox.page = page.next
        free(page)
    outbox.bytes = 0
    if outbox.page != NULL:
        outbox.bytes = outbox.page.size
        outbox.page.used = 0
    return True


cdef void outbox_free(Outbox* outbox) noexcept nogil:
    cdef Page* page
    while outbox.page != NULL:
        page = outbox.page
        outbox.page = page.next
        free(page)
    free(outbox.messages)
    memset(outbox, 0, sizeof(Outbox))
