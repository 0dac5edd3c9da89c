"""The C face of the ways of answers; see `_answers.pyx`."""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport Account, Answer, Door, Message, State, Subscription


cdef enum Ending:
    # Why the way of an answer ends.
    ENDED
    NOT_DELIVERED
    TOO_LATE
    REQUESTOR_GONE
    FORGOTTEN


cdef Answer* answer_new(
    State* state, Account* account, Message* request, int64_t threshold_ns, int response, bint share, bint tracked
) noexcept nogil
cdef Answer* answer_find(Account* account, const char* subject, size_t length) noexcept nogil
cdef void answer_touch(State* state, Answer* answer) noexcept nogil
cdef void answer_end(State* state, Answer* answer, Ending ending) noexcept nogil
cdef void answers_gone(State* state, Subscription* subscription) noexcept nogil
cdef void answers_tick(State* state) noexcept nogil
cdef void answers_forget(State* state, Account* account) noexcept nogil
cdef void answers_free(State* state) noexcept nogil
