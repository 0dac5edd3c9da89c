"""The C face of delivery; see `_delivery.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework.dataplane._state cimport (
    SCOPE_LEAF, SCOPE_ROUTE, Account, ClosedStateC, Link, LocalInterest, Message, Record, RecordType, State, Subscription,
)
from framework.sublist._sublist cimport Interest, Match


cdef inline int traffic_of(Link* link) noexcept nogil:
    """Return where an account counts what comes from a server, or goes there: hubs with leaf nodes."""
    return min(<int> link.scope, <int> SCOPE_LEAF) - SCOPE_ROUTE


cdef int deliver_matched(State* state, Match* match, Message* message) noexcept nogil
cdef void deliver_rest(State* state, Link* link) noexcept nogil
cdef bint to_subscription(State* state, Interest* interest, Message* message) noexcept nogil
cdef bint to_route(State* state, Link* to, Message* message) noexcept nogil
cdef int deliver(State* state, Message* message) noexcept nogil
cdef int deliver_to_groups(State* state, Message* message) noexcept nogil
cdef void link_doom_again(State* state, Link* link) noexcept nogil
cdef void link_doom(State* state, Link* link, ClosedStateC reason, bint last_words, const char* detail) noexcept nogil
cdef void link_fills(State* state, Link* to, Link* source) noexcept nogil
cdef void link_count_slow(State* state, Link* link) noexcept nogil
cdef void link_cut_off(State* state, Link* link) noexcept nogil
cdef Record* record_made(RecordType type, Link* link, size_t length) noexcept nogil
cdef void record_add(State* state, Record* record) noexcept nogil
cdef Record* record_new(State* state, RecordType type, Link* link, size_t length) noexcept nogil
cdef char* record_chars(Record* record) noexcept nogil
cdef void subscription_drop(State* state, Subscription* subscription) noexcept nogil
cdef void interest_change(State* state, Subscription* subscription, int change) noexcept nogil
cdef void tell_in_bulk(State* state, Link* route, Account* account, LocalInterest* local) noexcept nogil
cdef void lines_forget(State* state) noexcept nogil
cdef Link* link_way(Link* link, Account* account) noexcept nogil
cdef bint link_is_over(State* state, Link* link) noexcept nogil
cdef void interest_tell_in_bulk(State* state, Link* route, Account* account, LocalInterest* local, bint coming) noexcept nogil
cdef bint link_say(State* state, Link* link, const char* line) noexcept nogil
cdef uint64_t random_next(State* state) noexcept nogil
cdef bint is_python_behind(State* state) noexcept nogil
cdef void trace_body(State* state, Link* link, bint inbound, const char* body, size_t header, size_t length) noexcept nogil
cdef void trace(State* state, Link* link, bint inbound, const char* chars, size_t length) noexcept nogil
