"""The C face of groups of the log; see `_groups.pyx`."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from framework_jetstream.engine._state cimport Command, ConsumerSlot, Engine, Group, Proposal, Slot
from framework_jetstream.log._log cimport LogPart
from framework_jetstream.raft._members cimport members_now
from framework_jetstream.raft._state cimport RaftMembers


cdef enum Carried:
    # What has become of a command.
    CARRIED_OUT = 0
    CARRIED_KEPT
    # It is answered later, and stays.
    CARRIED_BUSY
    # The log has no room now: it is tried again.


cdef enum:
    STATUS_NOT_THERE = 1
    STATUS_NO_ROOM = 2
    STATUS_NOT_STORED = 3
    # The disk is full, or the log has ended.
    STATUS_NOT_LEADER = 16
    # Another server leads what it is about; or did, and nobody knows whether it was done.
    STATUS_OFFLINE = 17
    # What keeps its segments fails.
    STATUS_NOT_NOW = 18
    # Other servers can't have it too, for now: it is too large, or is being saved.


cdef Group* group_made(Engine* engine, uint32_t number, Slot* slot, ConsumerSlot* consumer) noexcept nogil
cdef Group* group_opened(Engine* engine, Slot* slot, ConsumerSlot* consumer, Command* command) noexcept nogil
cdef void group_describe(Group* group, const char* text, size_t length) noexcept nogil
cdef Group* group_of(Engine* engine, uint32_t number) noexcept nogil
cdef uint64_t group_propose(
    Engine* engine, Group* group, uint16_t kind, const LogPart* parts, uint32_t count, Command* command, const char* replies,
    size_t length,
) noexcept nogil
cdef inline bint group_leads(const Group* group) noexcept nogil:
    """Whether this server decides what a group does; in memory it always does."""
    return group == NULL or group.replica == NULL or group.leads_term != 0


cdef inline bint group_speaks(const Engine* engine, const Group* group) noexcept nogil:
    """Whether the world hears of what this server applies of a group: not again, and by one server only."""
    return not engine.is_replaying and group_leads(group)


cdef inline bint group_is_shared(const Group* group) noexcept nogil:
    """Whether several servers have what a group has: then others have what a flipped bit takes here."""
    cdef const RaftMembers* members = members_now(group.replica.raft) if group.replica != NULL else NULL
    return members != NULL and members.count > 1


cdef inline uint64_t group_next_index(const Group* group) noexcept nogil:
    """Return the index of the next entry that is proposed."""
    return group.replica.raft.log.last_index + 1 if group.replica != NULL else group.proposed + 1


cdef Proposal* group_applied(Engine* engine, Group* group, uint64_t index, uint64_t term) noexcept nogil
cdef void proposals_drop(Engine* engine, Group* group) noexcept nogil
cdef void group_close(Engine* engine, Group* group, Command* command) noexcept nogil
cdef int group_close_abandoned(Engine* engine, Command* command) noexcept nogil
cdef bint groups_are_abandoned(Engine* engine) noexcept nogil
cdef void group_closed(Engine* engine, Group* group) noexcept nogil
cdef void groups_close_rest(Engine* engine) noexcept nogil
cdef void group_free(Group* group) noexcept nogil
cdef int refused_as(Engine* engine, Command* command) noexcept nogil
cdef bint texts_add(char** texts, size_t* used, size_t* room, const char* text, uint32_t length) noexcept nogil
