"""Response permissions (`allow_responses`): replies that a client may publish though its permissions do not allow their subjects.

Oldest first in a list, by subject in a table; at most REPLIES_MAX for a client, of which the oldest go. A second message with the same
reply allows as many answers again: nats-server takes it for an answer, and then refuses both. Source: nats-server `client.go`,
`deliverMsg`, `responseAllowed`, `pruneReplyPerms`.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free

from framework.dataplane._state cimport REPLIES_MAX, Link, PermissionTable, Replies, Reply, State
from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport table_clear, table_find, table_make, table_remove


cdef Replies* replies_new() noexcept nogil:
    return <Replies*> calloc(1, sizeof(Replies))


cdef void _unlink(Replies* replies, Reply* reply) noexcept nogil:
    if reply.previous != NULL:
        reply.previous.next = reply.next
    else:
        replies.first = reply.next
    if reply.next != NULL:
        reply.next.previous = reply.previous
    else:
        replies.last = reply.previous


cdef void _link_last(Replies* replies, Reply* reply) noexcept nogil:
    reply.next = NULL
    reply.previous = replies.last
    if replies.last != NULL:
        replies.last.next = reply
    else:
        replies.first = reply
    replies.last = reply


cdef void _forget(Replies* replies, Reply* reply) noexcept nogil:
    _unlink(replies, reply)
    table_remove(&replies.table, &reply.key)
    free(reply)


cdef void replies_free(Replies* replies) noexcept nogil:
    cdef Reply* reply
    while replies.first != NULL:
        reply = replies.first
        replies.first = reply.next
        free(reply)
    table_clear(&replies.table)
    free(replies)


cdef void reply_owe(State* state, Link* link, const char* subject, size_t length) noexcept nogil:
    """Let a client answer to a message that it was sent just now."""
    cdef PermissionTable* table = link.permissions
    cdef Replies* replies = link.replies
    cdef uint64_t hashed = hash_bytes(state.seed, subject, length)
    cdef Reply* reply
    while replies.first != NULL and (replies.first.until_ns <= state.now_ns or replies.table.count >= REPLIES_MAX):
        _forget(replies, replies.first)
    reply = <Reply*> table_find(&replies.table, hashed, subject, length)
    if reply != NULL:
        _unlink(replies, reply)
        _link_last(replies, reply)
    else:
        reply = <Reply*> table_make(&replies.table, sizeof(Reply), 0, subject, length, hashed)
        if reply == NULL:
            return
        _link_last(replies, reply)
    reply.left += table.answers_max
    reply.until_ns = state.now_ns + table.answers_ns


cdef bint reply_is_due(State* state, Replies* replies, const char* subject, size_t length) noexcept nogil:
    """Whether a client owes an answer to this subject; it owes one less now."""
    cdef Reply* reply = <Reply*> table_find(&replies.table, hash_bytes(state.seed, subject, length), subject, length)
    if reply == NULL:
        return False
    if state.now_ns >= reply.until_ns:
        _forget(replies, reply)
        return False
    reply.left -= 1
    if reply.left == 0:
        _forget(replies, reply)
    return True
