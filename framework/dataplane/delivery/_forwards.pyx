"""Forwards: prefixes of subjects that say by themselves which link a message takes, whoever is interested.

They are asked before the match, the longest first. A prefix that leads nowhere but here is taken off, and the rest is matched: so a reply
finds its way through clusters by the names of a cluster and a server, of which each server knows those next to it.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from framework.dataplane.delivery._delivery cimport link_way, to_route
from framework.dataplane._state cimport FORWARDED, FORWARDS_MAX, HIDES_ADDRESS, SCOPE_HERE, WAY_BYTES_MAX, Forward, Link, Message, State


cdef Forward** _place_of(State* state, const char* prefix, size_t length) noexcept nogil:
    """Return where the forward of a prefix hangs, or where one would: behind those that are longer."""
    cdef Forward** at = &state.forwards
    while at[0] != NULL and (at[0].length > length or (at[0].length == length and memcmp(at[0].prefix, prefix, length))):
        at = &at[0].next
    return at


cdef bint forward_set(State* state, const char* prefix, size_t length, uint64_t link) noexcept nogil:
    """Let subjects with a prefix go to a link, or be taken for what follows the prefix; False: no memory, or too many.

    Args:
        link: Its id; 0: here. A link that is gone gets nothing, and nobody else does.
    """
    cdef Forward** at = _place_of(state, prefix, length)
    cdef Forward* made
    if at[0] != NULL and at[0].length == length:
        at[0].link = link
        return True
    made = <Forward*> calloc(1, sizeof(Forward) + length) if state.forward_count < FORWARDS_MAX else NULL
    if made == NULL:
        return False
    made.prefix = <char*> (made + 1)
    memcpy(<char*> (made + 1), prefix, length)
    made.length = length
    made.link = link
    made.next = at[0]
    at[0] = made
    state.forward_count += 1
    state.reserved_first[<unsigned char> prefix[0]] |= FORWARDED
    return True


cdef void forward_remove(State* state, const char* prefix, size_t length) noexcept nogil:
    """Match subjects with a prefix as all others again."""
    cdef Forward** at = _place_of(state, prefix, length)
    cdef Forward* gone = at[0]
    if gone == NULL or gone.length != length:
        return
    at[0] = gone.next
    free(gone)
    state.forward_count -= 1


cdef void forwards_free(State* state) noexcept nogil:
    cdef Forward* gone
    while state.forwards != NULL:
        gone = state.forwards
        state.forwards = gone.next
        free(gone)


cdef Link* _link_of(State* state, uint64_t id) noexcept nogil:
    """Return a link that may be sent something; NULL: it is gone."""
    cdef Link* link = state.slots[<unsigned int> id] if <unsigned int> id < state.slot_room else NULL
    return link if link != NULL and link.id == id and link.registered and not link.doomed and link.peer != NULL else NULL


cdef uint32_t address_length(State* state, const char* subject, size_t length) noexcept nogil:
    """Return how long the address is that a subject begins with; 0: there is none, or not all of one with a subject behind it."""
    cdef uint32_t which, tokens, at
    for which in range(state.reserved_count):
        at = state.reserved[which].length
        if not state.reserved[which].treatment & HIDES_ADDRESS or length <= at or memcmp(subject, state.reserved[which].prefix, at):
            continue
        tokens = state.reserved[which].hidden_tokens
        while tokens and at < length and at < <uint32_t> WAY_BYTES_MAX:
            tokens -= subject[at] == c"."
            at += 1
        return at if tokens == 0 and at < length else 0
    return 0


cdef bint forward_pass(State* state, Message* message, int* served) noexcept nogil:
    """Give a message to the link that its prefix says; False: it is to be matched, without the prefix if that leads here.

    Args:
        served: Set to how many have got it.
    """
    cdef Forward* forward = state.forwards
    cdef Link* link
    if not state.reserved_first[<unsigned char> message.subject[0]] & FORWARDED:
        return False
    while forward != NULL and (
        message.subject_length <= forward.length or memcmp(message.subject, forward.prefix, forward.length)
    ):
        forward = forward.next
    if forward == NULL:
        # An address that leads nowhere is no subject: nobody here is to see it. Source: nats-server `gateway.go`, `handleGatewayReply`.
        return message.scope != SCOPE_HERE and address_length(state, message.subject, message.subject_length) > 0
    if forward.link == 0:
        message.subject += forward.length
        message.subject_length -= forward.length
        # Only this server is told: whoever else is interested hears it from here, as if it had begun here.
        message.scope = SCOPE_HERE
        return False
    link = _link_of(state, forward.link)
    if link != NULL and (message.scope == SCOPE_HERE or link.peer != message.source.peer):
        state.pick_count = 0
        served[0] = to_route(state, link_way(link, message.account), message)
    return True
