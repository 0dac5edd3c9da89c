"""The C face of watches; see `_watches.pyx`."""

from framework.dataplane._state cimport ENTERS, Account, Link, Message, Sink, State, Watches
from framework.sublist._sublist cimport Match


cdef enum:
    # Bits of `Match.watched`.
    WATCHED_BY_TAPS = 1
    WATCHED_BY_GATES = 2


cdef bint watch_add(State* state, Account* account, Sink* sink, const char* subject, size_t length, bint unheard) noexcept nogil
cdef void watch_remove(State* state, Sink* sink) noexcept nogil
cdef Watches* watches_made(State* state) noexcept nogil
cdef void watches_changed(State* state, Account* account) noexcept nogil
cdef void watches_free(Account* account) noexcept nogil
cdef Match* watch_match(Watches* watches, const char* subject, size_t length) noexcept nogil
cdef int watched_by(Watches* watches, Match* match, const char* subject, size_t length) noexcept nogil
cdef void watchers_copy(State* state, Match* watchers, Message* message) noexcept nogil
cdef void watchers_copy_run(
    State* state, Match* watchers, Message* message, const char* body, size_t frame, size_t count
) noexcept nogil
cdef bint is_heard_unheard(Watches* watches, const char* subject, size_t length) noexcept nogil
cdef void unheard_copy(State* state, Message* message) noexcept nogil


cdef inline Watches* watches_of(Link* link, Account* account) noexcept nogil:
    """Return who watches what a link publishes in an account; NULL: nobody."""
    return account.watches if link.traits & ENTERS else NULL
