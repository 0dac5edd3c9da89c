"""The C face of permissions; see `_permissions.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework.dataplane._state cimport Link, PermissionTable, State, Subscription
from framework.sublist._sublist cimport Match


cdef enum Allowed:
    FORBIDDEN = 0
    ALLOWED = 1
    AS_ANSWER = 2
    # For this once: to the reply subject of a message that the client was sent.


cdef PermissionTable* permission_table_new(uint64_t seed, uint64_t serial) noexcept nogil
cdef bint permission_rule_add(
    PermissionTable* table, bint publish, bint deny, const char* subject, size_t length, const char* queue, size_t queue_length
) noexcept nogil
cdef void permission_table_release(PermissionTable* table) noexcept nogil
cdef bint permission_table_keep(State* state, uint32_t number, PermissionTable* table) noexcept nogil
cdef void permissions_free(State* state) noexcept nogil
cdef bint is_allowed_to_publish(State* state, Link* link, const char* subject, size_t length) noexcept nogil
cdef Allowed may_publish(State* state, Link* link, const char* subject, size_t length, Match* match) noexcept nogil
cdef bint may_subscribe(Link* link, const char* subject, size_t length, const char* queue, size_t queue_length) noexcept nogil
cdef bint may_hear(State* state, Subscription* subscription, const char* subject, size_t length) noexcept nogil
cdef bint may_import(State* state, Link* peer, PermissionTable* table, const char* subject, size_t length) noexcept nogil
cdef bint may_export(State* state, Link* peer, const char* subject, size_t length) noexcept nogil
cdef bint may_send(State* state, Link* peer, const char* subject, size_t length) noexcept nogil
cdef Allowed may_bring(State* state, Link* peer, const char* subject, size_t length) noexcept nogil
cdef bint needs_filter(Link* link, const char* subject, size_t length) noexcept nogil
cdef void link_permit(Link* link, PermissionTable* table) noexcept nogil
