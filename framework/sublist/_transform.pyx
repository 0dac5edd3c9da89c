"""Subject transforms: for mappings, imports and republishing.

`transform.py` has taken the destination apart. Here it is carried out, without an allocation and without the GIL.
Source: nats-server `subject_transform.go`, `TransformTokenizedSubject`, whose results for odd arguments are kept: a place outside the token
does not cut it, no partitions are partition 0.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from framework.sublist._bytes cimport write_decimal

import os

from framework.sublist.transform import parse_transform, reversed_transform

cdef enum:
    # As framework.sublist.transform.Function.
    TEXT = 0
    WILDCARD = 1
    PARTITION = 2
    SPLIT_FROM_LEFT = 3
    SPLIT_FROM_RIGHT = 4
    SLICE_FROM_LEFT = 5
    SLICE_FROM_RIGHT = 6
    RIGHT = 7
    LEFT = 8
    SPLIT = 9
    NUMBER_ROOM = 12


cdef Transform* transform_new(object program) except NULL:
    """Return a `framework.sublist.transform.Program` as the plane runs it; `transform_free` frees it."""
    cdef bytes source = program.source.encode()
    texts = [step.text.encode() for step in program.steps]
    cdef size_t step_count = len(texts)
    cdef size_t token_count = sum(len(step.tokens) for step in program.steps)
    cdef size_t need = sizeof(Transform) + step_count * sizeof(Step) + token_count * sizeof(uint32_t)
    cdef Transform* made = <Transform*> calloc(1, need + len(source) + sum(map(len, texts)))
    if made == NULL:
        raise MemoryError
    cdef Step* steps = <Step*> (made + 1)
    cdef uint32_t* tokens = <uint32_t*> (steps + step_count)
    cdef char* chars = <char*> (tokens + token_count)
    cdef bytes text
    made.source = chars
    made.source_length = len(source)
    memcpy(chars, <const char*> source, len(source))
    chars += len(source)
    made.steps = steps
    made.step_count = <uint32_t> step_count
    made.rest_from = program.rest_from
    for at, step in enumerate(program.steps):
        text = texts[at]
        steps[0].function = step.function
        steps[0].number = <int32_t> <uint32_t> (step.number & 0xffffffff)
        steps[0].token_count = <uint32_t> len(step.tokens)
        steps[0].tokens = tokens
        for token in step.tokens:
            tokens[0] = token
            tokens += 1
        steps[0].text = chars
        steps[0].text_length = <uint32_t> len(text)
        memcpy(chars, <const char*> text, len(text))
        chars += len(text)
        steps += 1
    return made


cdef void transform_free(Transform* self) noexcept nogil:
    free(self)


# ---- tokens ------------------------------------------------------------------------------------------------------------


cdef const char* _token(const char* subject, size_t length, uint32_t index, size_t* found) noexcept nogil:
    """Return a token, counted from 0, and its length; past the end: an empty one."""
    cdef size_t at, start = 0
    for at in range(length + 1):
        if at == length or subject[at] == c".":
            if index == 0:
                found[0] = at - start
                return subject + start
            index -= 1
            start = at + 1
    found[0] = 0
    return subject + length


cdef inline size_t _token_end(const char* subject, size_t length, size_t at) noexcept nogil:
    while at < length and subject[at] != c".":
        at += 1
    return at


cdef bint is_subset(const char* subject, size_t length, const char* pattern, size_t pattern_length) noexcept nogil:
    """Whether all that `subject` stands for, wildcards included, is in `pattern`. Source: `sublist.go`, `isSubsetMatchTokenized`."""
    cdef size_t at = 0, where = 0, end, stop
    while True:
        stop = _token_end(pattern, pattern_length, where)
        if at > length:
            return False
        end = _token_end(subject, length, at)
        if end == at:
            return False
        if stop - where == 1 and pattern[where] == c">":
            return True
        if end - at == 1 and subject[at] == c">":
            return False
        if not (stop - where == 1 and pattern[where] == c"*"):
            if end - at != stop - where or memcmp(subject + at, pattern + where, end - at):
                return False
        at = end + 1
        where = stop + 1
        if where > pattern_length:
            return at > length


cdef bint subjects_overlap(const char* one, size_t length, const char* other, size_t other_length) noexcept nogil:
    """Whether some literal subject is in both, wildcards included. Source: `sublist.go`, `SubjectsCollide`."""
    cdef size_t at = 0, where = 0, end, stop
    while True:
        end = _token_end(one, length, at)
        stop = _token_end(other, other_length, where)
        if (end - at == 1 and one[at] == c">") or (stop - where == 1 and other[where] == c">"):
            return True
        if not (end - at == 1 and one[at] == c"*") and not (stop - where == 1 and other[where] == c"*"):
            if end - at != stop - where or memcmp(one + at, other + where, end - at):
                return False
        at = end + 1
        where = stop + 1
        if at > length or where > other_length:
            return at > length and where > other_length


# ---- functions ---------------------------------------------------------------------------------------------------------


cdef inline char* _put(char* at, const char* chars, size_t length) noexcept nogil:
    memcpy(at, chars, length)
    return at + length


cdef char* _put_partition(char* at, const Step* step, const char* subject, size_t length) noexcept nogil:
    """FNV-1a with 32 bits over the tokens one behind the other, or over the whole subject."""
    cdef uint32_t hashed = 2166136261u
    cdef uint32_t which
    cdef size_t index, count
    cdef const char* token
    for which in range(max(1, step.token_count)):
        token = subject
        count = length
        if step.token_count:
            token = _token(subject, length, step.tokens[which], &count)
        for index in range(count):
            hashed = (hashed ^ <unsigned char> token[index]) * 16777619u
    return at + write_decimal(at, hashed % <uint32_t> step.number if step.number else 0)


cdef char* _put_split_at(char* at, const char* token, size_t length, size_t place) noexcept nogil:
    at = _put(at, token, place)
    at[0] = c"."
    return _put(at + 1, token + place, length - place)


cdef char* _put_slices(char* at, const char* token, size_t length, size_t size, size_t first) noexcept nogil:
    """Write `first` bytes, then slices of `size`, then what is left."""
    cdef size_t taken = 0, count = first if first else size
    while taken < length:
        if taken:
            at[0] = c"."
            at += 1
        count = min(count, length - taken)
        at = _put(at, token + taken, count)
        taken += count
        count = size
    return at


cdef size_t _part_end(const Step* step, const char* token, size_t length, size_t start) noexcept nogil:
    """Return where a part of a split token ends. An empty separator parts characters."""
    cdef size_t at = start
    if step.text_length == 0:
        at += 1
        while at < length and (<unsigned char> token[at] & 0xc0) == 0x80:
            at += 1
        return min(at, length)
    while at + step.text_length <= length:
        if memcmp(token + at, step.text, step.text_length) == 0:
            return at
        at += 1
    return length


cdef char* _put_split(char* at, const Step* step, const char* token, size_t length) noexcept nogil:
    """Write the parts between separators, but for empty ones; a dot stands before each part that is not empty, and not the second of two
    of which the first is empty."""
    cdef size_t start = 0, end = 0, count = 0
    cdef bint first_empty = False
    while True:
        end = _part_end(step, token, length, start)
        if count == 0:
            first_empty = end == start
        elif end > start and not (count == 1 and first_empty):
            at[0] = c"."
            at += 1
        at = _put(at, token + start, end - start)
        count += 1
        if end >= length:
            return at
        start = end + step.text_length


cdef char* _put_cut(char* at, const Step* step, const char* token, size_t length) noexcept nogil:
    """Write a token, cut as the function says when the place is inside it."""
    cdef size_t number = <size_t> step.number
    if step.number <= 0 or number >= length:
        return _put(at, token, length)
    if step.function == SPLIT_FROM_LEFT:
        return _put_split_at(at, token, length, number)
    if step.function == SPLIT_FROM_RIGHT:
        return _put_split_at(at, token, length, length - number)
    if step.function == SLICE_FROM_LEFT:
        return _put_slices(at, token, length, number, 0)
    if step.function == SLICE_FROM_RIGHT:
        return _put_slices(at, token, length, number, length % number)
    if step.function == LEFT:
        return _put(at, token, number)
    return _put(at, token + length - number, number)


cdef char* _put_step(char* at, const Step* step, uint64_t* random, const char* subject, size_t length) noexcept nogil:
    cdef const char* token
    cdef size_t count
    cdef int64_t numbers = step.number
    if step.function == TEXT:
        return _put(at, step.text, step.text_length)
    if step.function == PARTITION:
        return _put_partition(at, step, subject, length)
    if step.token_count:
        token = _token(subject, length, step.tokens[0], &count)
        if step.function == WILDCARD:
            return _put(at, token, count)
        if step.function == SPLIT:
            return _put_split(at, step, token, count)
        return _put_cut(at, step, token, count)
    random[0] ^= random[0] << 13
    random[0] ^= random[0] >> 7
    random[0] ^= random[0] << 17
    return at + write_decimal(at, (random[0] >> 33) % <uint64_t> (numbers if numbers > 0 else -numbers) if numbers else 0)


cdef size_t transform_room(const Transform* self, size_t length) noexcept nogil:
    """Return how many bytes the result for a subject of `length` bytes may have."""
    cdef size_t need = 2 + length
    cdef uint32_t at
    for at in range(self.step_count):
        need += 1 + (self.steps[at].text_length if self.steps[at].function == TEXT else max(2 * length, <size_t> NUMBER_ROOM))
    return need


cdef size_t transform_apply(const Transform* self, uint64_t* random, const char* subject, size_t length, char* out) noexcept nogil:
    """Write what becomes of a subject that the source holds; return its length.

    Args:
        random: State of a xorshift generator; not 0.
        out: Has `transform_room` bytes.
    """
    cdef char* at = out
    cdef uint32_t which
    cdef size_t count
    cdef const char* rest
    for which in range(self.step_count):
        if which:
            at[0] = c"."
            at += 1
        at = _put_step(at, &self.steps[which], random, subject, length)
    if self.rest_from >= 0:
        if self.step_count:
            at[0] = c"."
            at += 1
        rest = _token(subject, length, self.rest_from, &count)
        at = _put(at, rest, subject + length - rest)
    return at - out


# ---- for Python --------------------------------------------------------------------------------------------------------


cdef bint _is_literal(const char* subject, size_t length) noexcept nogil:
    cdef size_t at = 0, end
    while True:
        end = _token_end(subject, length, at)
        if end == at or (end - at == 1 and (subject[at] == c"*" or subject[at] == c">")):
            return False
        if end == length:
            return True
        at = end + 1


cdef class SubjectTransform:
    """Makes subjects of other subjects; for use by one thread at a time.

    Args:
        source: What it applies to; may have wildcards. Empty: everything.
        destination: `$1` or `{{wildcard(1)}}` is the first `*` of the source; partition, split, splitFromLeft, splitFromRight,
            sliceFromLeft, sliceFromRight, left, right and random are the other functions.
        strict: It must be reversible, as for imports: each `*` is used, and no other function.

    Raises:
        BadTransform: It makes no sense, or nats-server would refuse it.
    """

    cdef Transform* transform
    cdef uint64_t random
    cdef readonly str source
    cdef readonly str destination

    def __cinit__(self, source: str, destination: str, *, strict: bool = False) -> None:
        program = parse_transform(source, destination, strict=strict)
        self.source = program.source
        self.destination = destination
        self.random = int.from_bytes(os.urandom(8), "little") | 1
        self.transform = transform_new(program)

    def __dealloc__(self) -> None:
        transform_free(self.transform)

    def apply(self, subject: bytes) -> bytes | None:
        """Return what becomes of a subject; None: the source does not hold it, or it is not one to publish to."""
        cdef size_t length = len(subject)
        cdef const char* chars = subject
        if self.source == ">" and self.destination == ">":
            return subject
        if not _is_literal(chars, length) or not is_subset(chars, length, self.transform.source, self.transform.source_length):
            return None
        cdef char* out = <char*> malloc(transform_room(self.transform, length))
        if out == NULL:
            raise MemoryError
        try:
            return out[: transform_apply(self.transform, &self.random, chars, length, out)]
        finally:
            free(out)

    def reversed(self) -> SubjectTransform:
        """Return the way back of a strict transform."""
        source, destination = reversed_transform(self.source, self.destination)
        return SubjectTransform(source, destination, strict=True)
