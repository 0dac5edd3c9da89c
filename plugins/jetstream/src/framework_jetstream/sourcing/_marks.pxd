"""The C face of how far sources were stored; see `_marks.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.stream._headers cimport Text


cdef struct Mark:
    # One source: what was stored last of it.
    char* chars
    # Its name, then the identity of its stream.
    uint32_t name_length
    uint32_t ident_length
    uint32_t losses
    # Of its stream, when that was stored.
    uint64_t seq


cdef struct Marks:
    Mark* rows
    uint32_t count
    uint32_t room


cdef struct SourceHeader:
    # What `Nats-Stream-Source` says.
    Text stream
    Text rest
    # Filter and destination, with a blank between them: with the stream they are the name of a source.
    Text ident
    # Empty: it says none.
    uint64_t seq


cdef bint source_header_read(SourceHeader* source, Text value) noexcept nogil
cdef Mark* marks_find(const Marks* marks, const SourceHeader* source) noexcept nogil
cdef Mark* marks_find_name(const Marks* marks, const char* name, size_t length) noexcept nogil
cdef bint marks_set(Marks* marks, const SourceHeader* source, uint32_t losses) noexcept nogil
cdef void marks_take(Marks* marks, Text value) noexcept nogil
cdef size_t marks_size(const Marks* marks) noexcept nogil
cdef void marks_write(const Marks* marks, char* to) noexcept nogil
cdef bint marks_read(Marks* marks, const char* source, size_t length) noexcept nogil
cdef void marks_free(Marks* marks) noexcept nogil
