"""The C face of watches; see `_watches.pyx`."""

from framework.dataplane._state cimport ENTERS, Account, Link, Message, Sink, State, Watches
from framework.sublist._sublist cimport Interest, Match


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
cdef void watched_find(Watches* watches, Match* match, const char* subject, size_t length) noexcept nogil
cdef void watches_count(Watches* watches, Interest* rule, int change) noexcept nogil
cdef void watched_copy(State* state, Match* match, Message* message) noexcept nogil
cdef void watchers_copy_run(
    State* state, Match* watchers, Message* message, const char* body, size_t frame, size_t count
) noexcept nogil
cdef bint is_heard_unheard(Watches* watches, const char* subject, size_t length) noexcept nogil
cdef void unheard_copy(State* state, Message* message) noexcept nogil


cdef inline int watched_by(Watches* watches, Match* match, const char* subject, size_t length) noexcept nogil:
    """Return who watches a subject: taps, gates, both or nobody. Cost: a comparison, when it was asked before.

    Args:
        match: Of the subject in the account. It keeps the answer.
    """
    if match.watch_serial != watches.serial:
        watched_find(watches, match, subject, length)
    return match.watched


cdef inline Watches* watches_of(Link* link, Account* account) noexcept nogil:
    """Return who watches what a link publishes in an account; NULL: nobody."""
    return account.watches if link.traits & ENTERS else NULL
