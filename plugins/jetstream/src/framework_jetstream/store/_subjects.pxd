"""The C face of the subjects that messages have; see `_subjects.pyx`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef struct Subject:
    # A subject that messages have; its text follows. It stays where it is.
    uint64_t count
    uint64_t first_seq
    # If it is not known: no message of it is before.
    uint64_t last_seq
    # If it is not known: no message of it is behind.
    uint32_t number
    # Above 0; given again when no message has the subject any more.
    uint32_t hash
    uint32_t length
    uint8_t first_is_known
    uint8_t last_is_known


cdef struct SubjectPlace:
    uint32_t hash
    uint32_t number
    # 0: nothing is here.


cdef struct Subjects:
    uint64_t seed
    SubjectPlace* places
    uint32_t mask
    uint32_t count
    Subject*** pages
    # By `number >> PAGE_SHIFT`; of a number that is free, twice the next such number and 1.
    uint32_t page_count
    uint32_t number_end
    # No number from this one on was given yet.
    uint32_t free_number
    uint32_t recent
    # The number that was asked for last; 0: it is gone.
    uint64_t* marked
    # A bit a number; that of 0 is never set.
    uint32_t marked_count
    uint64_t bytes
    # Memory of all of it, but for what malloc needs itself.
    uint8_t is_held
    # Another thread reads texts: those of subjects that are forgotten stay until it has.
    Subject* gone
    # They, the last one first: `first_seq` of each is the next one.


cdef struct SubjectText:
    const char* chars
    uint32_t length


cdef enum:
    PAGE_SHIFT = 6
    PAGE_SUBJECTS = 64
    AHEAD = 16
    # Subjects that are on their way from memory: many take as long as all of it does, not as each one after the other.


cdef inline const char* subject_chars(const Subject* subject) noexcept nogil:
    return <const char*> (subject + 1)


cdef inline Subject* subject_by_number(const Subjects* subjects, uint32_t number) noexcept nogil:
    """Return the subject with a number that messages have."""
    return subjects.pages[number >> PAGE_SHIFT][number & (PAGE_SUBJECTS - 1)]


cdef inline bint number_is_marked(const Subjects* subjects, uint32_t number) noexcept nogil:
    return number >> 6 < subjects.marked_count and (subjects.marked[number >> 6] >> (number & 63)) & 1


cdef inline void unmark(Subjects* subjects, uint32_t number) noexcept nogil:
    """Mark no more what is marked."""
    subjects.marked[number >> 6] &= ~(<uint64_t> 1 << (number & 63))


cdef void subjects_begin(Subjects* subjects, uint64_t seed) noexcept nogil
cdef void subjects_free(Subjects* subjects) noexcept nogil
cdef Subject* subjects_find(const Subjects* subjects, const char* chars, size_t length) noexcept nogil
cdef void subjects_expect(const Subjects* subjects, const SubjectText* texts, uint32_t count) noexcept nogil
cdef Subject* subjects_have(Subjects* subjects, const char* chars, size_t length) noexcept nogil
cdef void subjects_forget(Subjects* subjects, Subject* subject) noexcept nogil
cdef const Subject** subjects_hold(Subjects* subjects) noexcept nogil
cdef void subjects_release(Subjects* subjects) noexcept nogil
cdef Subject* subjects_next(const Subjects* subjects, uint32_t* at) noexcept nogil
cdef void marks_clear(Subjects* subjects) noexcept nogil
cdef uint64_t subjects_mark(Subjects* subjects, const char* pattern, size_t length) noexcept nogil
cdef bint pattern_matches(const char* pattern, size_t pattern_length, const char* subject, size_t length) noexcept nogil
cdef bint pattern_is_literal(const char* pattern, size_t length) noexcept nogil
