"""The C face of the core; see `_core.pyx`."""

from libc.stdint cimport int64_t, uint64_t

from framework.dataplane._state cimport Account, Command, Link, Port, Quota, Record, State, pthread_mutex_t


cdef extern from "pthread.h" nogil:
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes) noexcept
    int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept
    int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept
    int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept


cdef class Core:
    cdef State* state
    cdef pthread_mutex_t lock
    # Guards what is first and last below, but for what is taken; held for some instructions only.
    cdef Command* first_command
    cdef Command* last_command
    cdef Command* first_taken
    # The loop's own: what it has taken and not carried out yet.
    cdef Command* last_taken
    cdef Record* first_shared
    cdef Record* last_shared
    cdef int wake_fd
    # Written when the first command waits; -1: nobody sleeps.
    cdef int holding
    # How many want that several commands wake it at once.
    cdef unsigned held
    # Commands since the first of those.
    cdef int event_write_fd
    # Written when the first event waits.
    cdef readonly int event_fd
    cdef object kinds
    # A set of those that have rows.
    cdef dict account_indexes
    # By name.
    cdef set removed_accounts
    cdef dict permissions
    # [permissions, how often they were added] by number.
    cdef dict permission_numbers
    cdef list free_permissions
    cdef object permissions_lock
    cdef uint64_t next_permissions
    # Tables made so far: a table is never taken for another one.
    cdef int64_t next_sink
    cdef dict quotas
    # Where each is, by number.
    cdef int64_t next_quota
    cdef Quota* first_quota
    cdef Account** seen
    # Accounts by number, as far as somebody asked for them.
    cdef size_t seen_count
    cdef size_t seen_room

    cdef void begin_turn(self, int64_t now_ns) noexcept nogil
    cdef void end_turn(self) noexcept nogil
    cdef void hand_over(self) noexcept nogil
    cdef void apply_shell(self, Command* command) noexcept nogil
    cdef Command* _order(self, int verb, uint64_t link, int64_t number, int64_t other, bytes data) except NULL
    cdef Command* _stages(self, int verb, uint64_t link, stages, bytes left) except NULL
    cdef int post_port(self, int verb, Port* port) except -1
    cdef void _post(self, Command* command) noexcept nogil
    cdef bytes _terms(self, permissions, max_subscriptions, max_payload)
    cdef bytes _indexes(self, accounts)
    cdef object _check_permissions(self, permissions)
    cdef object _parse_fed(self, uint64_t link, bytes data)
    cdef object _feed_parked(self, Link* link, const char* at, size_t count)
    cdef object _feed_coded(self, Link* link, const char* at, size_t count)
    cdef void _give_back(self) noexcept nogil
    cdef bint _commands_next(self) noexcept nogil
    cdef void _go_on(self) noexcept nogil
    cdef Account* _account(self, size_t number) except? NULL
