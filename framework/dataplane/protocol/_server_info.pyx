"""INFO that links are sent: the control plane's JSON object, and what differs from link to link.

A client gets it when it connects, behind its first PONG, and whenever it changes after that. Source: nats-server `client.go`,
`generateClientInfoJSON`, `processPing`; `route.go`, `sendAsyncInfoToClients`.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strlen

from framework.dataplane.protocol._info cimport text_put
from framework.dataplane.links._clocks cimport login_terms
from framework.dataplane.links._output cimport output_append, output_commit, output_reserve
from framework.dataplane._state cimport IS_USER, NUMBERED, Account, Link, ServerInfo, State
from framework.sublist._bytes cimport write_decimal

cdef extern from "string.h" nogil:
    void* memmem(const void* where, size_t where_length, const void* what, size_t length)

cdef enum:
    FIELDS_BYTES = 192
    # Names of the fields that are added, three numbers and an address.


cdef void server_info_set(State* state, int kind, const char* chars, size_t length) noexcept nogil:
    """Keep the document of a listener, or of a kind of links."""
    cdef const char* field = b"\"max_payload\":"
    cdef char* document = <char*> malloc(length + 1)
    cdef ServerInfo* info = &state.infos[kind]
    cdef char* at
    if document == NULL:
        return
    memcpy(document, chars, length)
    document[length] = 0
    free(info.document)
    info.document = document
    info.length = length
    info.version += 1
    info.asks_login = memmem(document, length, b"\"auth_required\":true", 20) != NULL
    info.payload_at = info.payload_end = 0
    at = <char*> memmem(document, length, field, strlen(field))
    if at != NULL:
        at += strlen(field)
        info.payload_at = at - document
        while c"0" <= at[0] <= c"9" or at[0] == c"-":
            at += 1
        info.payload_end = at - document


cdef inline ServerInfo* _info_of(State* state, Link* link) noexcept nogil:
    """Return what links of a listener are greeted with; without a document of its own it is that of its kind."""
    cdef ServerInfo* info = &state.infos[link.listener]
    return info if info.document != NULL else &state.infos[link.kind]


cdef void server_info_announce(State* state) noexcept nogil:
    """Send a new INFO to clients that take it at any time; one that waits for its first PONG gets it behind that."""
    cdef uint32_t at
    cdef Link* link
    for at in range(state.link_count):
        link = state.links[at]
        if not link.traits & IS_USER or not link.ponged or link.protocol < 1 or link.doomed:
            continue
        if link.info_version != _info_of(state, link).version:
            link_info(state, link)


cdef void _append_document(State* state, Link* link) noexcept nogil:
    """Append the document without its last brace; with the client's own limit in place of everybody's."""
    cdef ServerInfo* info = _info_of(state, link)
    cdef char limit[24]
    if link.max_payload < 0 or link.max_payload >= state.limits.max_payload or not info.payload_at:
        output_append(state, link, info.document, info.length - 1)
        return
    output_append(state, link, info.document, info.payload_at)
    output_append(state, link, limit, write_decimal(limit, link.max_payload))
    output_append(state, link, info.document + info.payload_end, info.length - 1 - info.payload_end)


cdef void _append_client(State* state, Link* link, bint connected) noexcept nogil:
    """Append what is this client's alone.

    Args:
        connected: Name its account, too.
    """
    cdef Account* account = link.account
    cdef char* room = output_reserve(state, link, FIELDS_BYTES + (2 * account.name_length if connected else 0))
    cdef char* at = room
    if room == NULL:
        return
    memcpy(at, b",\"client_id\":", 13)
    at += 13 + write_decimal(at + 13, link.cid)
    memcpy(at, b",\"client_ip\":", 13)
    at = text_put(at + 13, link.host, strlen(link.host))
    if link.registered and login_terms(state, link).required and not _info_of(state, link).asks_login:
        # Who need not log in is greeted without it, and told afterwards. Source: nats-server `server.go`, `createClientEx`.
        memcpy(at, b",\"auth_required\":true", 21)
        at += 21
    if connected:
        memcpy(at, b",\"connect_info\":true,\"remote_account\":", 38)
        at = text_put(at + 38, account.name, account.name_length)
        if account == state.system_account:
            memcpy(at, b",\"acc_is_sys\":true", 18)
            at += 18
    output_commit(state, link, at - room)


cdef void _send(State* state, Link* link, bint connected) noexcept nogil:
    cdef char number[24]
    if _info_of(state, link).length < 2:
        return
    link.info_version = _info_of(state, link).version
    output_append(state, link, b"INFO ", 5)
    _append_document(state, link)
    if link.traits & IS_USER:
        _append_client(state, link, connected)
    if link.traits & NUMBERED:
        output_append(state, link, b",\"client_id\":", 13)
        output_append(state, link, number, write_decimal(number, link.cid))
    if link.nonce[0] and not link.registered:
        output_append(state, link, b",\"nonce\":\"", 10)
        output_append(state, link, link.nonce, strlen(link.nonce))
        output_append(state, link, b"\"", 1)
    output_append(state, link, b"} \r\n", 4)


cdef void link_info(State* state, Link* link) noexcept nogil:
    """Send INFO; to a client with its number and address."""
    _send(state, link, False)


cdef void link_info_connected(State* state, Link* link) noexcept nogil:
    """Send the INFO that tells a client which account it is in."""
    _send(state, link, True)
