"""The C face of refused operations; see `_violations.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport Link, State, Subscription


cdef enum ViolationC:
    # As framework.dataplane.event.Violation; a test holds them equal.
    PUBLISH_SUBJECT = 0
    PUBLISH_REPLY = 1
    SUBSCRIBE_SUBJECT = 2
    SUBSCRIBE_TOKENS = 3
    SUBSCRIPTION_ENDED = 4


cdef struct ViolationRecord:
    # Head of the record of a violation; subject, queue and sid follow.
    uint32_t subject_length
    uint32_t queue_length
    uint32_t missed


cdef bint is_reserved_group(const char* queue, size_t length) noexcept nogil
cdef void violation_say(
    State* state, Link* link, ViolationC violation, const char* subject, size_t length, const char* queue, size_t queue_length,
    const char* sid, size_t sid_length
) noexcept nogil
