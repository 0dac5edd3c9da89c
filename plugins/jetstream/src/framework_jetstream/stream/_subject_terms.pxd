"""The C face of what a stream's configuration says of subjects; see `_subject_terms.pyx`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from framework.sublist._transform cimport Transform


cdef struct Room:
    # Memory that is used again for the next text.
    char* chars
    size_t size


cdef struct SubjectTerms:
    # Shared by those who know of it, all in one thread; see `terms_keep`.
    uint32_t users
    Transform* transform
    # Of messages that come; NULL: they keep their subjects.
    Transform* republish
    # Where they are published again; NULL: nowhere.
    uint8_t headers_only
    # Without payloads.
    char* subjects
    # Of the stream, one a line; NULL: nobody asks.
    size_t subjects_length


cdef SubjectTerms* subject_terms_made(dict fields) except? NULL
cdef void terms_drop(SubjectTerms* terms) noexcept nogil
cdef bint terms_hold(const SubjectTerms* terms, const char* subject, size_t length) noexcept nogil
cdef char* room_for(Room* room, size_t size) noexcept nogil
cdef void room_free(Room* room) noexcept nogil
cdef size_t subject_changed(
    const Transform* transform, uint64_t seed, const char* subject, size_t length, Room* room
) noexcept nogil


cdef inline void terms_keep(SubjectTerms* terms) noexcept nogil:
    """Be one more who knows of it, until `terms_drop`."""
    if terms != NULL:
        terms.users += 1
