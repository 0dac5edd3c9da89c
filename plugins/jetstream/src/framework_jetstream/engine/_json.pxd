"""The C face of the reader of small JSON objects; see `_json.pyx`."""

from libc.stdint cimport int64_t, uint32_t

from framework_jetstream.engine._outbox cimport Outbox
from framework_jetstream.stream._headers cimport Text


cdef struct Json:
    const char* at
    const char* end
    Outbox* outbox
    # Has room for texts with escapes.
    bint has_failed


cdef bint json_begin(Json* json, const char* chars, size_t length, Outbox* outbox) noexcept nogil
cdef bint json_key(Json* json, Text* key) noexcept nogil
cdef bint json_end(Json* json) noexcept nogil
cdef int64_t json_int(Json* json) noexcept nogil
cdef bint json_bool(Json* json) noexcept nogil
cdef Text json_text(Json* json) noexcept nogil
cdef bint json_item(Json* json, bint is_first) noexcept nogil
cdef bint json_null(Json* json) noexcept nogil
cdef void json_skip(Json* json) noexcept nogil
cdef uint32_t write_json_text(char* to, Text text) noexcept nogil
