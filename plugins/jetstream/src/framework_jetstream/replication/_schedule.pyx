"""For which groups something is to be done: those that were touched, those to be looked at, and those for which time says something.

When that is stands in a wheel of ticks, in which a group stands once. Who is not due within a turn of the wheel is looked at once a turn.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._hibernation cimport server_due
from framework_jetstream.raft._time cimport raft_catch_up, raft_due
from framework_jetstream.replication._replicas cimport DUE_PLACES, TOUCHED, UNSETTLED, ReplicaList


# ---- lists -------------------------------------------------------------------------------------------------------------


cdef void _join(Replicas* replicas, Replica* replica, int which) noexcept nogil:
    """Put a group behind all others of a list, if it is not there."""
    cdef ReplicaList* items = &replicas.lists[which]
    if replica.is_in[which]:
        return
    replica.is_in[which] = True
    replica.next_in[which] = NULL
    if items.last != NULL:
        items.last.next_in[which] = replica
    else:
        items.first = replica
    items.last = replica
    items.count += 1


cdef Replica* replica_take(Replicas* replicas, int which) noexcept nogil:
    """Take the first group of a list out of it; NULL: there is none."""
    cdef ReplicaList* items = &replicas.lists[which]
    cdef Replica* first = items.first
    if first == NULL:
        return NULL
    items.first = first.next_in[which]
    if items.first == NULL:
        items.last = NULL
    items.count -= 1
    first.is_in[which] = False
    return first


cdef void _leave(Replicas* replicas, Replica* replica, int which) noexcept nogil:
    cdef size_t left = replicas.lists[which].count if replica.is_in[which] else 0
    cdef Replica* it
    while left:
        it = replica_take(replicas, which)
        left -= 1
        if it != replica:
            _join(replicas, it, which)


cdef void schedule_drop(Replicas* replicas, Replica* replica) noexcept nogil:
    """Do nothing for a group any more."""
    _leave(replicas, replica, TOUCHED)
    _leave(replicas, replica, UNSETTLED)
    _due_drop(replica)


cdef void replica_unsettle(Replicas* replicas, Replica* replica) noexcept nogil:
    """Let a group be among those to be looked at."""
    _join(replicas, replica, UNSETTLED)


cdef void replicas_unsettle(Replicas* replicas) noexcept nogil:
    """Let all groups be looked at."""
    cdef size_t at
    for at in range(replicas.count):
        _join(replicas, replicas.replicas[at], UNSETTLED)


cdef void replica_touch(Replicas* replicas, Replica* replica) noexcept nogil:
    """Take up that something is about to happen in a group: time passes there up to now, and the next turn does what follows."""
    raft_catch_up(replica.raft)
    _join(replicas, replica, TOUCHED)
    _join(replicas, replica, UNSETTLED)


cdef void replica_spoil(Replicas* replicas, Replica* replica) noexcept nogil:
    """Take up that what entries have led to can't be read here."""
    replica_touch(replicas, replica)
    replica.raft.is_faulty = True


# ---- time --------------------------------------------------------------------------------------------------------------


cdef void _due_drop(Replica* replica) noexcept nogil:
    """Forget when a group is due."""
    if replica.due_link == NULL:
        return
    replica.due_link[0] = replica.next_due
    if replica.next_due != NULL:
        replica.next_due.due_link = replica.due_link
    replica.due_link = NULL
    replica.next_due = NULL


cdef void due_put(Replicas* replicas, Replica* replica) noexcept nogil:
    """Remember when a group is due, if it is."""
    cdef uint32_t ticks = raft_due(replica.raft)
    cdef Replica** link
    _due_drop(replica)
    if not ticks:
        return
    link = &replicas.due[(replicas.shared.now + min(ticks, <uint32_t> (DUE_PLACES - 1))) & (DUE_PLACES - 1)]
    replica.next_due = link[0]
    if replica.next_due != NULL:
        replica.next_due.due_link = &replica.next_due
    replica.due_link = link
    link[0] = replica


cdef Replica* due_take(Replicas* replicas, uint64_t tick) noexcept nogil:
    """Take a group that is due at a tick; NULL: none is."""
    cdef Replica* first = replicas.due[tick & (DUE_PLACES - 1)]
    if first != NULL:
        _due_drop(first)
    return first


cdef uint32_t due_next(const Replicas* replicas) noexcept nogil:
    """Return after how many ticks time says something; 0: it does not."""
    cdef uint32_t most = server_due(&replicas.shared, &replicas.settings)
    cdef uint32_t ticks
    if most > DUE_PLACES:
        most = DUE_PLACES
    for ticks in range(1, most + 1):
        if replicas.due[(replicas.expired_tick + ticks) & (DUE_PLACES - 1)] != NULL:
            return ticks
    return most if most < DUE_PLACES else 0
