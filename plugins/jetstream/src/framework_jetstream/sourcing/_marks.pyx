"""How far the sources of a stream were stored: the sequence of each one's last message, as `Nats-Stream-Source` of that says it.

    Nats-Stream-Source: <stream> <sequence> <filter> <destination> <subject> [<identity>]

Stream, filter and destination together name a source. Only what came from a source is counted, so there are as many as were configured.
Source: nats-server `stream.go`, `genSourceHeader`, `streamAndSeq`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from framework_jetstream.stream._headers cimport seq_of_text

cdef enum:
    FIELDS_LEAST = 4
    FIELDS = 6
    SOURCES_MAX = 1024
    # That messages of an archive may name.


cdef packed struct MarkRow:
    # Name and identity follow.
    uint64_t seq
    uint32_t name_length
    uint32_t ident_length


cdef bint source_header_read(SourceHeader* source, Text value) noexcept nogil:
    """Take a header apart; False: it names no source, or is of a server older than 2.10."""
    cdef Text fields[FIELDS]
    cdef const char* at = value.chars
    cdef const char* end = value.chars + value.length
    cdef const char* stop
    cdef int count = 0
    memset(source, 0, sizeof(SourceHeader))
    while at != NULL and at <= end and count < FIELDS:
        stop = <const char*> memchr(at, c" ", end - at)
        fields[count].chars = at
        fields[count].length = <uint32_t> ((stop if stop != NULL else end) - at)
        count += 1
        at = stop + 1 if stop != NULL else NULL
    if count < FIELDS_LEAST:
        return False
    source.stream = fields[0]
    source.seq = seq_of_text(fields[1])
    source.rest.chars = fields[2].chars
    source.rest.length = fields[2].length + 1 + fields[3].length
    if count == FIELDS:
        source.ident = fields[5]
    return source.seq != <uint64_t> -1


# ---- finding and changing ------------------------------------------------------------------------------------------------


cdef Mark* marks_find_name(const Marks* marks, const char* name, size_t length) noexcept nogil:
    """Return a source by stream, filter and destination with blanks between them; NULL: nothing of it was stored."""
    cdef uint32_t at
    for at in range(marks.count):
        if marks.rows[at].name_length == length and memcmp(marks.rows[at].chars, name, length) == 0:
            return &marks.rows[at]
    return NULL


cdef Mark* marks_find(const Marks* marks, const SourceHeader* source) noexcept nogil:
    """Return the source that a header names; NULL: nothing of it was stored."""
    cdef uint32_t at, length = source.stream.length + 1 + source.rest.length
    cdef const char* chars
    for at in range(marks.count):
        chars = marks.rows[at].chars
        if marks.rows[at].name_length == length and chars[source.stream.length] == c" " and memcmp(
            chars, source.stream.chars, source.stream.length
        ) == 0 and memcmp(chars + source.stream.length + 1, source.rest.chars, source.rest.length) == 0:
            return &marks.rows[at]
    return NULL


cdef Mark* _made(Marks* marks, uint32_t name_length, uint32_t ident_length) noexcept nogil:
    """Add a row with room for its texts; NULL: no memory."""
    cdef Mark* row
    cdef void* grown
    if marks.count == marks.room:
        grown = realloc(marks.rows, (marks.room * 2 + 4) * sizeof(Mark))
        if grown == NULL:
            return NULL
        marks.rows = <Mark*> grown
        marks.room = marks.room * 2 + 4
    row = &marks.rows[marks.count]
    row.chars = <char*> malloc(<size_t> name_length + ident_length + 1)
    if row.chars == NULL:
        return NULL
    row.name_length = name_length
    row.ident_length = ident_length
    row.losses = 0
    marks.count += 1
    return row


cdef bint _set_ident(Mark* mark, Text ident) noexcept nogil:
    """Let a stream have been made anew; False: no memory."""
    cdef char* grown
    if mark.ident_length == ident.length and memcmp(mark.chars + mark.name_length, ident.chars, ident.length) == 0:
        return True
    grown = <char*> realloc(mark.chars, <size_t> mark.name_length + ident.length + 1)
    if grown == NULL:
        return False
    mark.chars = grown
    memcpy(grown + mark.name_length, ident.chars, ident.length)
    mark.ident_length = ident.length
    return True


cdef bint marks_set(Marks* marks, const SourceHeader* source, uint32_t losses) noexcept nogil:
    """Remember that a message was stored, after so many losses of its stream; False: no memory."""
    cdef Mark* mark = marks_find(marks, source)
    if mark == NULL:
        mark = _made(marks, source.stream.length + 1 + source.rest.length, 0)
        if mark == NULL:
            return False
        memcpy(mark.chars, source.stream.chars, source.stream.length)
        mark.chars[source.stream.length] = b" "
        memcpy(mark.chars + source.stream.length + 1, source.rest.chars, source.rest.length)
    mark.seq = source.seq
    mark.losses = losses
    return _set_ident(mark, source.ident) if source.ident.chars != NULL else True


cdef void marks_take(Marks* marks, Text value) noexcept nogil:
    """Remember what the header of a message in an archive says."""
    cdef SourceHeader source
    if source_header_read(&source, value) and (marks.count < SOURCES_MAX or marks_find(marks, &source) != NULL):
        marks_set(marks, &source, 0)


cdef void marks_free(Marks* marks) noexcept nogil:
    cdef uint32_t at
    for at in range(marks.count):
        free(marks.rows[at].chars)
    free(marks.rows)
    memset(marks, 0, sizeof(Marks))


# ---- in files ------------------------------------------------------------------------------------------------------------


cdef size_t marks_size(const Marks* marks) noexcept nogil:
    """Return how many bytes `marks_write` writes."""
    cdef size_t size = 0
    cdef uint32_t at
    for at in range(marks.count):
        size += sizeof(MarkRow) + marks.rows[at].name_length + marks.rows[at].ident_length
    return size


cdef void marks_write(const Marks* marks, char* to) noexcept nogil:
    """Write all rows."""
    cdef MarkRow row
    cdef const Mark* mark
    cdef uint32_t at
    for at in range(marks.count):
        mark = &marks.rows[at]
        row.seq = mark.seq
        row.name_length = mark.name_length
        row.ident_length = mark.ident_length
        memcpy(to, &row, sizeof(row))
        memcpy(to + sizeof(row), mark.chars, <size_t> mark.name_length + mark.ident_length)
        to += sizeof(row) + mark.name_length + mark.ident_length


cdef bint marks_read(Marks* marks, const char* source, size_t length) noexcept nogil:
    """Add rows up to the end; False: they make no sense."""
    cdef MarkRow row
    cdef Mark* mark
    while length:
        if length < sizeof(row):
            return False
        memcpy(&row, source, sizeof(row))
        source += sizeof(row)
        length -= sizeof(row)
        if length < <uint64_t> row.name_length + row.ident_length:
            return False
        mark = _made(marks, row.name_length, row.ident_length)
        if mark == NULL:
            return False
        mark.seq = row.seq
        memcpy(mark.chars, source, <size_t> row.name_length + row.ident_length)
        source += row.name_length + row.ident_length
        length -= row.name_length + row.ident_length
    return True
