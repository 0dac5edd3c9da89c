"""Let a message enter the cluster: what a link may publish, and gates have let pass, goes to taps and receivers from here.

Who asked for an answer and has no receiver is told so. Source: nats-server `client.go`, `processInboundClientMsg`; ADR-4.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport subscription_drop
from framework.dataplane.delivery._watches cimport (
    WATCHED_BY_TAPS, unheard_copy, watched_by, watched_copy, watches_of,
)
from framework.dataplane.links._output cimport output_commit, output_reserve
from framework.dataplane._state cimport Link, Message, State, Subscription, Watches
from framework.sublist._bytes cimport write_decimal
from framework.sublist._sublist cimport Match, sublist_match


cdef void tell_status(State* state, Message* message, const char* status, size_t status_length) noexcept nogil:
    """Answer a client's request by a status, in place of whoever would; where it listens for that itself.

    Args:
        status: Behind `NATS/1.0 `.

    Source: nats-server `client.go`, `sendNoResponders`; ADR-4 for the status line.
    """
    cdef Link* link = message.source
    cdef Match* match = sublist_match(&message.account.sublist, message.reply, message.reply_length)
    cdef Subscription* subscription
    cdef uint32_t at
    cdef char* room
    cdef char* head
    cdef size_t length = 9 + status_length + 16 + message.subject_length + 4
    for at in range(match.plain_count):
        subscription = <Subscription*> match.plain[at]
        if subscription.link != link or subscription.dead:
            continue
        room = output_reserve(state, link, message.reply_length + subscription.sid_length + length + 64)
        if room == NULL:
            return
        head = room
        memcpy(head, b"HMSG ", 5)
        head += 5
        memcpy(head, message.reply, message.reply_length)
        head += message.reply_length
        head[0] = c" "
        memcpy(head + 1, subscription.sid, subscription.sid_length)
        head += 1 + subscription.sid_length
        head[0] = c" "
        head += 1 + write_decimal(head + 1, length)
        head[0] = c" "
        head += 1 + write_decimal(head + 1, length)
        memcpy(head, b"\r\nNATS/1.0 ", 11)
        memcpy(head + 11, status, status_length)
        head += 11 + status_length
        memcpy(head, b"\r\nNats-Subject: ", 16)
        head += 16
        memcpy(head, message.subject, message.subject_length)
        head += message.subject_length
        memcpy(head, b"\r\n\r\n\r\n", 6)
        output_commit(state, link, head + 6 - room)
        # No message of anybody: as in nats-server, counters know nothing of it, but an UNSUB does.
        if subscription.max_msgs:
            subscription.msgs += 1
            if subscription.msgs >= subscription.max_msgs:
                subscription_drop(state, subscription)
        return


cdef void tell_no_responders(State* state, Message* message) noexcept nogil:
    """Tell a client that nobody is there to answer."""
    tell_status(state, message, b"503", 3)


cdef inline bint _is_sent(Message* message) noexcept nogil:
    """Whether anybody gets a message that is not traced only."""
    return message.trace == NULL or not message.trace.only


cdef void message_watched(State* state, Match* match, Message* message) noexcept nogil:
    """Give a message that is about to be delivered to those who watch its subject."""
    cdef Watches* watches = message.account.watches
    if watched_by(watches, match, message.subject, message.subject_length) & WATCHED_BY_TAPS and _is_sent(message):
        watched_copy(state, match, message)


cdef void message_unserved(State* state, Message* message) noexcept nogil:
    """Do what follows when a message has found no receiver."""
    cdef Link* link = message.source
    if watches_of(link, message.account) != NULL and _is_sent(message):
        unheard_copy(state, message)
    if message.reply_length and link.no_responders and not link.doomed:
        tell_no_responders(state, message)
