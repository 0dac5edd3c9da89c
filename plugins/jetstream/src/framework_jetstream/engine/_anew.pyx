"""A group begins anew: what this server has of it can't be read, or is given up (`raft/_repairs.pyx`), and others have all of it.

It is dropped, in the log as well, and opened as one that is lost (`raft/_losses.pyx`): so it comes from its leader as it comes to a server
that was away for long. That is done when the leader says that there are enough others; until then nothing is served that can't be read.
"""

from libc.stdint cimport uint64_t

from framework_jetstream.engine._arrivals cimport arrival_leave
from framework_jetstream.engine._loading cimport load_leave
from framework_jetstream.engine._reading cimport reading_refuse
from framework_jetstream.engine._replica_states cimport consumers_follow
from framework_jetstream.engine._replicated cimport consumer_follows, group_follow
from framework_jetstream.engine._segments cimport segments_leave_job, segments_remove
from framework_jetstream.engine._serving cimport follow_direct
from framework_jetstream.engine._state cimport Slot
from framework_jetstream.log._appending cimport log_group_begin_anew
from framework_jetstream.raft._members cimport members_now
from framework_jetstream.raft._state cimport FOLLOWER, RaftMembers
from framework_jetstream.replication._replicas cimport Replica, replica_close, replica_open
from framework_jetstream.stream._usage cimport Usage
from framework_jetstream.stream._whole cimport whole_begin


cdef void _empty(Engine* engine, Slot* slot) noexcept nogil:
    """Let nothing be left of a stream but what is configured."""
    cdef Usage* usage = slot.stream.messages.usage
    follow_direct(engine, slot, False)
    consumers_follow(engine, slot)
    load_leave(slot)
    arrival_leave(engine, slot)
    segments_leave_job(engine, slot)
    segments_remove(engine, slot)
    whole_begin(&slot.stream)
    slot.stream.messages.usage = usage
    slot.stream.losses = 0


cdef bint group_begins_anew(Engine* engine, Group* group) noexcept nogil:
    """Drop what this server has of a stream or consumer, and open it as lost; False: not now.

    It is not led here, and may begin anew.
    """
    cdef Replica* replica = group.replica
    cdef uint64_t id = replica.raft.group
    cdef RaftMembers members
    cdef bint has_repaired = replica.raft.has_repaired
    cdef const RaftMembers* known = members_now(replica.raft)
    if replica.raft.role != FOLLOWER or not log_group_begin_anew(engine.log, group.number):
        return False
    if group.leads_term:
        group_follow(engine, group)
    if known != NULL:
        members = known[0]
        members.index = 0
    replica_close(engine.replicas, replica)
    group.replica = replica_open(engine.replicas, group.number, id, &members if known != NULL else NULL)
    if group.replica != NULL:
        group.replica.keeps_bytes = group.consumer != NULL
    if group.replica != NULL and group.slot != NULL:
        group.replica.raft.digests = group.slot.stream.digests
        group.replica.raft.has_repaired = has_repaired
    group.is_created = 0
    group.differs_edition = 0
    group.applied = group.proposed = group.saved_in = group.saved_at = group.due = group.needed_from = 0
    if group.slot != NULL:
        _empty(engine, group.slot)
        reading_refuse(engine, group.slot, False)
    elif group.consumer != NULL and group.consumer.opened != NULL:
        consumer_follows(engine, group.consumer)
    engine.has_appended = True
    return True
