"""The order of what sources give, as a stream decides on it when it stores a message: by the stream and the entry alone."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.sourcing._marks cimport Mark, marks_find
from framework_jetstream.stream._machine cimport GIVEN_BY_SOURCE


cdef bint given_is_next(Stream* stream, const Publish* publish, const SourceHeader* source) noexcept nogil:
    """Whether a message of another stream follows on the last one that was stored of it."""
    cdef Mark* mark = NULL
    cdef uint64_t last = stream.messages.last_seq
    cdef uint32_t losses = stream.origin_losses
    if publish.giver == GIVEN_BY_SOURCE:
        mark = marks_find(&stream.sources, source)
        last = mark.seq if mark != NULL else 0
        losses = mark.losses if mark != NULL else 0
        if publish.is_first:
            return True
    return publish.seq > last and (publish.previous_seq == last or losses != stream.losses)
