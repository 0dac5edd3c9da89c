"""What a stream's configuration says of subjects: what becomes of those of its messages, and where messages are published again.

Source: nats-server `stream.go`, `setupStreamTransforms`; `subject_transform.go`, `Match`.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcpy

from framework.sublist._transform cimport (
    is_subset, subjects_overlap, transform_apply, transform_free, transform_new, transform_room,
)


cdef SubjectTerms* subject_terms_made(dict fields) except? NULL:
    """Return terms of which a dict has the fields by name, known to one; NULL: nothing is said of subjects.

    Args:
        fields: `transform` and `republish` are a `framework.sublist.transform.Program` each; `subjects` has those of the stream, one a
            line.

    Raises:
        MemoryError: There is none.
    """
    cdef SubjectTerms* made
    cdef bytes subjects = fields.get("subjects", b"")
    transform, republish = fields.get("transform"), fields.get("republish")
    if transform is None and republish is None and not subjects:
        return NULL
    made = <SubjectTerms*> calloc(1, sizeof(SubjectTerms))
    if made == NULL:
        raise MemoryError
    made.users = 1
    made.headers_only = fields.get("republish_headers_only", 0)
    made.subjects_length = len(subjects)
    made.subjects = <char*> malloc(made.subjects_length + 1)
    try:
        if made.subjects == NULL:
            raise MemoryError
        memcpy(made.subjects, <const char*> subjects, made.subjects_length)
        if transform is not None:
            made.transform = transform_new(transform)
        if republish is not None:
            made.republish = transform_new(republish)
    except MemoryError:
        terms_drop(made)
        raise
    return made


cdef void terms_drop(SubjectTerms* terms) noexcept nogil:
    """Know of it no more; whoever is the last one frees it."""
    if terms == NULL:
        return
    terms.users -= 1
    if terms.users:
        return
    transform_free(terms.transform)
    transform_free(terms.republish)
    free(terms.subjects)
    free(terms)


cdef bint terms_hold(const SubjectTerms* terms, const char* subject, size_t length) noexcept nogil:
    """Whether a subject overlaps with one of the stream's."""
    cdef const char* at = terms.subjects if terms != NULL else NULL
    cdef const char* end = at + terms.subjects_length if terms != NULL else NULL
    cdef const char* line_end
    while at < end:
        line_end = <const char*> memchr(at, c"\n", end - at)
        line_end = line_end if line_end != NULL else end
        if subjects_overlap(at, line_end - at, subject, length):
            return True
        at = line_end + 1
    return False


cdef char* room_for(Room* room, size_t size) noexcept nogil:
    """Return memory for a text, which forgets the one before; NULL: there is none."""
    if size > room.size:
        free(room.chars)
        room.size = 0
        room.chars = <char*> malloc(size * 2)
        if room.chars != NULL:
            room.size = size * 2
    return room.chars


cdef void room_free(Room* room) noexcept nogil:
    free(room.chars)
    room.chars = NULL
    room.size = 0


cdef size_t subject_changed(
    const Transform* transform, uint64_t seed, const char* subject, size_t length, Room* room
) noexcept nogil:
    """Write what becomes of a subject into a room; return its length, 0: the source does not hold it, or there is no memory.

    Args:
        seed: Of what the transform draws: replicas that are told the same draw the same.
    """
    cdef uint64_t random = (seed + 1) * <uint64_t> 0x9E3779B97F4A7C15 | 1
    if not is_subset(subject, length, transform.source, transform.source_length):
        return 0
    if room_for(room, transform_room(transform, length)) == NULL:
        return 0
    return transform_apply(transform, &random, subject, length, room.chars)
