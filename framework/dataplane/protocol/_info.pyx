"""`Nats-Request-Info`: the JSON that services get about the client that asks.

Source: nats-server `client.go`, `getClientInfo`, `addServerAndClusterInfo`; `events.go`, `ClientInfo`.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane._state cimport Account, Link, State
from framework.sublist._bytes cimport write_decimal

cdef enum:
    FIELDS_BYTES = 96
    # Names of fields, and a round trip.


cdef bint info_set(Link* link, const char* chars, size_t brief, size_t full) noexcept nogil:
    """Keep the JSON objects of a link, the brief one before the full one; False: no memory."""
    cdef char* made = <char*> malloc(brief + full + 1)
    if made == NULL:
        return False
    memcpy(made, chars, brief + full)
    free(link.info)
    link.info = made
    link.info_brief = <uint32_t> brief
    link.info_full = <uint32_t> full
    return True


cdef bint names_set(State* state, const char* chars, size_t server, size_t cluster, size_t node) noexcept nogil:
    """Keep the names of this server and its cluster, and by which others address it; False: no memory."""
    cdef char* made = <char*> malloc(server + cluster + 1)
    if made == NULL:
        return False
    memcpy(made, chars, server + cluster)
    free(state.names)
    state.names = made
    state.server_length = server
    state.cluster_length = cluster
    memcpy(state.node, chars + server + cluster, node)
    state.node[node] = 0
    return True


cdef char* _put(char* at, const char* chars, size_t length) noexcept nogil:
    memcpy(at, chars, length)
    return at + length


cdef char* text_put(char* at, const char* chars, size_t length) noexcept nogil:
    """Write a JSON string; names have no control characters."""
    cdef size_t which
    at[0] = c'"'
    at += 1
    for which in range(length):
        if chars[which] == c'"' or chars[which] == c"\\":
            at[0] = c"\\"
            at += 1
        at[0] = chars[which]
        at += 1
    at[0] = c'"'
    return at + 1


cdef size_t info_room(State* state, Link* link, Account* via) noexcept nogil:
    """Return how many bytes `info_put` may write."""
    return (
        link.info_brief + link.info_full + FIELDS_BYTES + 2 * (state.server_length + state.cluster_length)
        + (2 * via.name_length if via != NULL else 0)
    )


cdef size_t info_put(State* state, Link* link, bint full, bint names_server, Account* via, char* out) noexcept nogil:
    """Write the JSON object of a client; return its length, 0 when nothing is known of it.

    Args:
        full: All that the client lets services know, not just its account.
        names_server: Name this server, too; the full object does so already.
        via: The account whose import the request came through last, when that is not the client's.
    """
    cdef char* at = out
    cdef size_t length = link.info_full if full else link.info_brief
    if link.info == NULL or length < 3:
        return 0
    at = _put(at, link.info + (link.info_brief if full else 0), length - 1)
    if link.rtt_ns:
        at = _put(at, b',"rtt":', 7)
        at += write_decimal(at, link.rtt_ns)
    if via != NULL:
        at = _put(at, b',"svc":', 7)
        at = text_put(at, via.name, via.name_length)
    if names_server and not full:
        at = _put(at, b',"server":', 10)
        at = text_put(at, state.names, state.server_length)
        if state.cluster_length:
            at = _put(at, b',"cluster":', 11)
            at = text_put(at, state.names + state.server_length, state.cluster_length)
    at[0] = c"}"
    return at + 1 - out


cdef size_t own_room(Account* account, Account* via) noexcept nogil:
    """Return how many bytes `own_put` may write."""
    return FIELDS_BYTES + 2 * account.name_length + (2 * via.name_length if via != NULL else 0)


cdef size_t own_put(Account* account, Account* via, char* out) noexcept nogil:
    """Write the JSON object of what this server asks itself in an account, by a port; return its length.

    Args:
        via: The account whose import the request came through last, when that is another one.
    """
    cdef char* at = text_put(_put(out, b'{"acc":', 7), account.name, account.name_length)
    if via != NULL:
        at = text_put(_put(at, b',"svc":', 7), via.name, via.name_length)
    at[0] = c"}"
    return at + 1 - out
