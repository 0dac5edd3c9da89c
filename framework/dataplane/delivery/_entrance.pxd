"""The C face of the entrance; see `_entrance.pyx`."""

from framework.dataplane.accounts._remote_latency cimport remote_latency_end
from framework.dataplane.delivery._delivery cimport deliver_matched, link_say
from framework.dataplane.delivery._ways cimport way_taken
from framework.dataplane.delivery._watches cimport WATCHED_BY_TAPS, watched_by, watches_of
from framework.dataplane.inner._inner_messages cimport inner_enter
from framework.dataplane._state cimport IS_USER, Link, Message, State, Watches
from framework.sublist._sublist cimport Match, sublist_match


cdef void message_watched(State* state, Match* match, Message* message) noexcept nogil
cdef void tell_status(State* state, Message* message, const char* status, size_t status_length) noexcept nogil
cdef void message_unserved(State* state, Message* message) noexcept nogil
cdef void tell_no_responders(State* state, Message* message) noexcept nogil


cdef inline void message_enter(State* state, Link* link, Message* message, Match* match) noexcept nogil:
    """Deliver what a link publishes; here, since every message comes by it.

    Args:
        match: Of the subject, fresh.
    """
    cdef Watches* watches
    if link.traits & IS_USER and state.remote_latencies.table.count:
        remote_latency_end(state, message)
    if link.verbose and not link.doomed:
        link_say(state, link, b"+OK\r\n")
    watches = watches_of(link, message.account)
    if watches != NULL and watched_by(watches, match, message.subject, message.subject_length) & WATCHED_BY_TAPS:
        message_watched(state, match, message)
    if link.ways != NULL:
        if way_taken(state, link, message):
            return
        # It has asked for another subject, perhaps.
        match = sublist_match(&message.account.sublist, message.subject, message.subject_length)
    if state.inner != NULL:
        inner_enter(state, match, message)
    elif deliver_matched(state, match, message) == 0:
        message_unserved(state, message)
