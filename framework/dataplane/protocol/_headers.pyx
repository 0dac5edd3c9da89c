"""Message headers: find a field, set a field.

A block is a version line, fields and an empty line, each with CR LF. Source: ADR-4; nats-server `client.go`, `setHeader`, `sliceHeader`.
"""

from libc.string cimport memchr, memcmp, memcpy

from framework.dataplane.links._output cimport block_chars, block_new
from framework.dataplane._state cimport Block, Message


cdef bint _same_key(const char* left, const char* right, size_t length, bint any_case) noexcept nogil:
    """Whether two keys are the same; `right` is in small letters when case does not matter."""
    cdef size_t at
    if not any_case:
        return memcmp(left, right, length) == 0
    for at in range(length):
        if (left[at] | 0x20 if c"A" <= left[at] <= c"Z" else left[at]) != right[at]:
            return False
    return True


cdef inline const char* _line_end(const char* at, const char* end) noexcept nogil:
    """Return the first byte behind a line."""
    at = <const char*> memchr(at, c"\n", end - at)
    return end if at == NULL else at + 1


cdef const char* _field(const char* at, const char* end, const char* key, size_t key_length, bint any_case) noexcept nogil:
    """Return the line of a field at or behind the line `at`; NULL: there is none."""
    while at < end:
        if <size_t> (end - at) > key_length and at[key_length] == c":" and _same_key(at, key, key_length, any_case):
            return at
        at = _line_end(at, end)
    return NULL


cdef const char* header_value(
    const char* header, size_t length, const char* key, size_t key_length, bint any_case, size_t* value_length
) noexcept nogil:
    """Return the first value of a field without blanks around it; NULL: there is none.

    Args:
        key: In small letters when `any_case`.
    """
    cdef const char* end = header + length
    cdef const char* at = _field(_line_end(header, end), end, key, key_length, any_case)
    cdef const char* stop
    if at == NULL:
        return NULL
    stop = _line_end(at, end)
    at += key_length + 1
    while at < stop and (at[0] == c" " or at[0] == c"\t"):
        at += 1
    while stop > at and (stop[-1] == c"\n" or stop[-1] == c"\r" or stop[-1] == c" " or stop[-1] == c"\t"):
        stop -= 1
    value_length[0] = stop - at
    return at


cdef char* _put(char* at, const char* chars, size_t length) noexcept nogil:
    memcpy(at, chars, length)
    return at + length


cdef Block* header_set(
    Message* message, const char* key, size_t key_length, const char* value, size_t value_length
) noexcept nogil:
    """Let a message have one field of this key, the last one; it may have had no header before.

    Returns:
        The block that the message lies in now, for the caller to drop; NULL: no memory, and nothing was changed.
    """
    cdef Block* block = block_new(message.body_length + key_length + value_length + 32)
    cdef const char* line = message.body
    cdef const char* end = message.body + (message.header_length - 2 if message.header_length > 2 else 0)
    cdef const char* following
    cdef char* at
    cdef char* begin
    if block == NULL:
        return NULL
    begin = at = block_chars(block)
    if line == end:
        at = _put(at, b"NATS/1.0\r\n", 10)
    while line < end:
        following = _line_end(line, end)
        if not (
            line > message.body and <size_t> (end - line) > key_length and line[key_length] == c":"
            and memcmp(line, key, key_length) == 0
        ):
            at = _put(at, line, following - line)
        line = following
    at = _put(at, key, key_length)
    at = _put(at, b": ", 2)
    at = _put(at, value, value_length)
    at = _put(at, b"\r\n\r\n", 4)
    _put(at, message.body + message.header_length, message.body_length - message.header_length + 2)
    message.body_length = (at - begin) + message.body_length - message.header_length
    message.header_length = at - begin
    message.body = begin
    message.block = block
    return block
