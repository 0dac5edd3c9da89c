"""The C face of subject transforms; see `_transform.pyx`."""

from libc.stdint cimport int32_t, uint32_t, uint64_t


cdef struct Step:
    # Makes one token of the destination, or more.
    int32_t function
    int32_t number
    uint32_t token_count
    uint32_t text_length
    const uint32_t* tokens
    const char* text


cdef struct Transform:
    # In one piece of memory with what it points at.
    const char* source
    size_t source_length
    const Step* steps
    uint32_t step_count
    int32_t rest_from
    # The source's tokens from here on follow the steps; -1: none does.


cdef Transform* transform_new(object program) except NULL
cdef void transform_free(Transform* self) noexcept nogil
cdef size_t transform_room(const Transform* self, size_t length) noexcept nogil
cdef size_t transform_apply(const Transform* self, uint64_t* random, const char* subject, size_t length, char* out) noexcept nogil
cdef bint subjects_overlap(const char* one, size_t length, const char* other, size_t other_length) noexcept nogil
cdef bint is_subset(const char* subject, size_t length, const char* pattern, size_t pattern_length) noexcept nogil
