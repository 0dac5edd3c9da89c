"""The subjects that messages of a stream have: by text and by number, with how many messages each has, and where they begin and end.

A subject is 40 bytes and its text, 8 bytes in a page by its number, and 9 to 19 bytes in a table by its hash. Patterns mark numbers in a
bitmap: so a scan over the numbers of messages looks at little memory.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from framework.sublist._bytes cimport hash_bytes

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* at) noexcept nogil

cdef enum:
    NUMBERS_MAX = 0x7fffffff
    EMPTY_KEEPS = 1024
    # Numbers that are given again, not freed, when there is no subject any more: a queue may be empty often.


# ---- patterns ------------------------------------------------------------------------------------------------------------


cdef bint pattern_is_literal(const char* pattern, size_t length) noexcept nogil:
    """Whether a valid subject has no wildcards."""
    cdef size_t at
    for at in range(length):
        if pattern[at] == b"*" and (at == 0 or pattern[at - 1] == b".") and (at + 1 == length or pattern[at + 1] == b"."):
            return False
        if pattern[at] == b">" and at + 1 == length and (at == 0 or pattern[at - 1] == b"."):
            return False
    return True


cdef bint pattern_matches(const char* pattern, size_t pattern_length, const char* subject, size_t length) noexcept nogil:
    """Whether a valid subject with wildcards holds one without."""
    cdef const char* pattern_end = pattern + pattern_length
    cdef const char* end = subject + length
    cdef const char* dot
    while True:
        if pattern_end - pattern == 1 and pattern[0] == b">":
            return subject < end
        if pattern[0] == b"*" and (pattern + 1 == pattern_end or pattern[1] == b"."):
            dot = <const char*> memchr(subject, c".", end - subject)
            subject = dot if dot != NULL else end
            pattern += 1
        else:
            while pattern < pattern_end and pattern[0] != b".":
                if subject == end or subject[0] != pattern[0]:
                    return False
                pattern += 1
                subject += 1
            if subject < end and subject[0] != b".":
                return False
        if pattern == pattern_end or subject == end:
            return pattern == pattern_end and subject == end
        pattern += 1
        subject += 1
        if pattern == pattern_end or subject == end:
            return False


# ---- by text -------------------------------------------------------------------------------------------------------------


cdef void subjects_begin(Subjects* subjects, uint64_t seed) noexcept nogil:
    """Make room for no subjects yet.

    Args:
        seed: Secret, of hashes.
    """
    memset(subjects, 0, sizeof(Subjects))
    subjects.seed = seed
    subjects.number_end = 1


cdef void subjects_free(Subjects* subjects) noexcept nogil:
    cdef uint32_t at = 0
    cdef Subject* subject = subjects_next(subjects, &at)
    while subject != NULL:
        free(subject)
        subject = subjects_next(subjects, &at)
    for at in range(subjects.page_count):
        free(subjects.pages[at])
    free(subjects.pages)
    free(subjects.places)
    free(subjects.marked)
    memset(subjects, 0, sizeof(Subjects))


cdef Subject* _find(const Subjects* subjects, uint32_t hashed, const char* chars, size_t length) noexcept nogil:
    cdef uint32_t at = hashed & subjects.mask
    cdef Subject* found
    if subjects.places == NULL:
        return NULL
    while subjects.places[at].number:
        if subjects.places[at].hash == hashed:
            found = subject_by_number(subjects, subjects.places[at].number)
            if found.length == length and memcmp(subject_chars(found), chars, length) == 0:
                return found
        at = (at + 1) & subjects.mask
    return NULL


cdef Subject* subjects_find(const Subjects* subjects, const char* chars, size_t length) noexcept nogil:
    """Return a subject; NULL: no message has it."""
    return _find(subjects, <uint32_t> hash_bytes(subjects.seed, chars, length), chars, length)


cdef void subjects_expect(const Subjects* subjects, const SubjectText* texts, uint32_t count) noexcept nogil:
    """Let what is looked up next, at most `AHEAD` subjects, come from memory together: each on its own waits three times.

    A look at each stage is a guess: where two subjects want the same place, the wrong one comes.
    """
    cdef uint32_t[AHEAD] numbers
    cdef uint32_t at, hashed
    if subjects.places == NULL:
        return
    for at in range(count):
        hashed = <uint32_t> hash_bytes(subjects.seed, texts[at].chars, texts[at].length)
        numbers[at] = hashed & subjects.mask
        prefetch(&subjects.places[numbers[at]])
    for at in range(count):
        numbers[at] = subjects.places[numbers[at]].number
        if numbers[at]:
            prefetch(&subjects.pages[numbers[at] >> PAGE_SHIFT][numbers[at] & (PAGE_SUBJECTS - 1)])
    for at in range(count):
        if numbers[at]:
            prefetch(subject_by_number(subjects, numbers[at]))


cdef bint _grow(Subjects* subjects) noexcept nogil:
    """Let one more subject find a place; False: no memory."""
    cdef uint32_t count = subjects.mask + 1 if subjects.places != NULL else 0
    cdef uint32_t wanted = max(count * 2, <uint32_t> 8)
    cdef uint32_t at, to
    cdef SubjectPlace* places
    if (subjects.count + 1) * <uint64_t> 8 <= count * <uint64_t> 7:
        return True
    places = <SubjectPlace*> calloc(wanted, sizeof(SubjectPlace))
    if places == NULL:
        return False
    for at in range(count):
        if subjects.places[at].number:
            to = subjects.places[at].hash & (wanted - 1)
            while places[to].number:
                to = (to + 1) & (wanted - 1)
            places[to] = subjects.places[at]
    free(subjects.places)
    subjects.places = places
    subjects.mask = wanted - 1
    subjects.bytes += (wanted - count) * sizeof(SubjectPlace)
    return True


cdef bint _make_page(Subjects* subjects) noexcept nogil:
    """Let there be a page for the next number; False: no memory."""
    cdef uint32_t count = subjects.page_count
    cdef void* grown
    cdef Subject** page
    if subjects.number_end >> PAGE_SHIFT < count:
        return True
    if count & (count - 1) == 0:
        grown = realloc(subjects.pages, (count * 2 + (count == 0)) * sizeof(Subject**))
        if grown == NULL:
            return False
        subjects.pages = <Subject***> grown
        subjects.bytes += (count + (count == 0)) * sizeof(Subject**)
    page = <Subject**> malloc(PAGE_SUBJECTS * sizeof(Subject*))
    if page == NULL:
        return False
    subjects.pages[count] = page
    subjects.page_count += 1
    subjects.bytes += PAGE_SUBJECTS * sizeof(Subject*)
    return True


cdef Subject* subjects_have(Subjects* subjects, const char* chars, size_t length) noexcept nogil:
    """Return a subject, which is made if it is not there yet; NULL: no memory. One with no messages is to be used or forgotten."""
    cdef uint32_t at, hashed, number = subjects.free_number
    cdef Subject* found
    if subjects.recent:
        found = subject_by_number(subjects, subjects.recent)
        if found.length == length and memcmp(subject_chars(found), chars, length) == 0:
            return found
    hashed = <uint32_t> hash_bytes(subjects.seed, chars, length)
    found = _find(subjects, hashed, chars, length)
    if found != NULL:
        subjects.recent = found.number
        return found
    if subjects.number_end == NUMBERS_MAX or not _grow(subjects) or not _make_page(subjects):
        return NULL
    found = <Subject*> malloc(sizeof(Subject) + length)
    if found == NULL:
        return NULL
    if number:
        subjects.free_number = <uint32_t> (<size_t> subject_by_number(subjects, number) >> 1)
    else:
        number = subjects.number_end
        subjects.number_end += 1
    memset(found, 0, sizeof(Subject))
    found.number = number
    found.hash = hashed
    found.length = <uint32_t> length
    memcpy(<char*> (found + 1), chars, length)
    subjects.pages[number >> PAGE_SHIFT][number & (PAGE_SUBJECTS - 1)] = found
    at = hashed & subjects.mask
    while subjects.places[at].number:
        at = (at + 1) & subjects.mask
    subjects.places[at].hash = hashed
    subjects.places[at].number = number
    subjects.recent = number
    subjects.count += 1
    subjects.bytes += sizeof(Subject) + length
    return found


cdef void _leave_place(Subjects* subjects, const Subject* subject) noexcept nogil:
    """Free the place of a subject in the table; those behind it move up, so that no tombstone is needed."""
    cdef uint32_t mask = subjects.mask
    cdef uint32_t at = subject.hash & mask
    cdef uint32_t hole, home
    while subjects.places[at].number != subject.number:
        at = (at + 1) & mask
    hole = at
    while True:
        at = (at + 1) & mask
        if subjects.places[at].number == 0:
            break
        home = subjects.places[at].hash & mask
        if ((at - home) & mask) >= ((at - hole) & mask):
            subjects.places[hole] = subjects.places[at]
            hole = at
    subjects.places[hole].number = 0


cdef void subjects_forget(Subjects* subjects, Subject* subject) noexcept nogil:
    """Forget a subject that no message has; its number may be given again."""
    cdef uint32_t number = subject.number
    _leave_place(subjects, subject)
    subjects.pages[number >> PAGE_SHIFT][number & (PAGE_SUBJECTS - 1)] = <Subject*> (<size_t> subjects.free_number << 1 | 1)
    subjects.free_number = number
    if subjects.recent == number:
        subjects.recent = 0
    subjects.count -= 1
    subjects.bytes -= sizeof(Subject) + subject.length
    if subjects.is_held:
        subject.first_seq = <uint64_t> subjects.gone
        subjects.gone = subject
    else:
        free(subject)
    if subjects.count == 0 and subjects.number_end > EMPTY_KEEPS:
        _begin_again(subjects)


cdef void _begin_again(Subjects* subjects) noexcept nogil:
    """Free all that is there for subjects, of which there are none."""
    cdef uint64_t seed = subjects.seed
    cdef uint8_t is_held = subjects.is_held
    cdef Subject* gone = subjects.gone
    subjects_free(subjects)
    subjects_begin(subjects, seed)
    subjects.is_held = is_held
    subjects.gone = gone


cdef const Subject** subjects_hold(Subjects* subjects) noexcept nogil:
    """Return all subjects by number, whose texts another thread may read until they are released; NULL: no memory, they are not held."""
    cdef const Subject** made = <const Subject**> malloc((subjects.number_end + PAGE_SUBJECTS) * sizeof(Subject*))
    cdef uint32_t page
    if made == NULL:
        return NULL
    for page in range(subjects.page_count):
        if page << PAGE_SHIFT < subjects.number_end:
            memcpy(made + (page << PAGE_SHIFT), subjects.pages[page], PAGE_SUBJECTS * sizeof(Subject*))
    subjects.is_held = 1
    return made


cdef void subjects_release(Subjects* subjects) noexcept nogil:
    """Nobody else reads texts any more."""
    cdef Subject* gone
    subjects.is_held = 0
    while subjects.gone != NULL:
        gone = subjects.gone
        subjects.gone = <Subject*> gone.first_seq
        free(gone)


cdef Subject* subjects_next(const Subjects* subjects, uint32_t* at) noexcept nogil:
    """Return the next subject in a walk over all, in order of their numbers; NULL: that was the last one.

    Args:
        at: 0 before the walk; subjects that are forgotten or made meanwhile do no harm.
    """
    cdef Subject* found
    while at[0] + 1 < subjects.number_end:
        at[0] += 1
        if at[0] + AHEAD < subjects.number_end:
            prefetch(&subject_by_number(subjects, at[0] + AHEAD).length)
        found = subject_by_number(subjects, at[0])
        if not <size_t> found & 1:
            return found
    return NULL


# ---- marks ---------------------------------------------------------------------------------------------------------------


cdef void marks_clear(Subjects* subjects) noexcept nogil:
    """Begin a scan: no subject is marked. Cost: O(subjects / 64)."""
    cdef uint32_t wanted = (subjects.number_end >> 6) + 1
    cdef void* grown
    if wanted > subjects.marked_count:
        grown = realloc(subjects.marked, wanted * sizeof(uint64_t))
        if grown == NULL:
            wanted = subjects.marked_count
        else:
            subjects.bytes += (wanted - subjects.marked_count) * sizeof(uint64_t)
            subjects.marked = <uint64_t*> grown
            subjects.marked_count = wanted
    if subjects.marked != NULL:
        memset(subjects.marked, 0, subjects.marked_count * sizeof(uint64_t))


cdef inline uint64_t _mark(Subjects* subjects, const Subject* subject) noexcept nogil:
    """Mark a subject; return how many messages it has if it was not marked."""
    cdef uint64_t bit = <uint64_t> 1 << (subject.number & 63)
    cdef uint32_t at = subject.number >> 6
    if at >= subjects.marked_count or subjects.marked[at] & bit:
        return 0
    subjects.marked[at] |= bit
    return subject.count


cdef uint64_t subjects_mark(Subjects* subjects, const char* pattern, size_t length) noexcept nogil:
    """Mark the subjects that a pattern holds, beside those that are marked; return how many messages those have that were not.

    Cost: O(subjects), O(1) without wildcards.
    """
    cdef uint64_t count = 0
    cdef uint32_t at = 0
    cdef Subject* subject
    if pattern_is_literal(pattern, length):
        subject = subjects_find(subjects, pattern, length)
        return _mark(subjects, subject) if subject != NULL else 0
    subject = subjects_next(subjects, &at)
    while subject != NULL:
        if pattern_matches(pattern, length, subject_chars(subject), subject.length):
            count += _mark(subjects, subject)
        subject = subjects_next(subjects, &at)
    return count
