"""Groups of several servers whose entries Python applies, as those of the meta group; and what is asked of any such group.

A control group has no state here: each entry that is committed is told as an event, in order, and who proposed it is answered. What entries
have led to is said to the engine as a text, which takes their place.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._doubts cimport doubts_answered
from framework_jetstream.engine._groups cimport (
    CARRIED_KEPT, CARRIED_OUT, STATUS_NOT_LEADER, STATUS_NOT_NOW, STATUS_NOT_STORED, STATUS_NOT_THERE, group_close, group_made,
    group_opened, group_propose, refused_as,
)
from framework_jetstream.engine._peers cimport peer_linked
from framework_jetstream.engine._replicated cimport replicated_join
from framework_jetstream.engine._segments cimport files_are_needed
from framework_jetstream.engine._state cimport (
    CHANGE_MEMBER, CLOSE_GROUP, CONTROL_EVENTS_SHIFT, EVENT_ENTRY, EVENT_SAVE, EVENT_STATE,
    GROUP_STATE, LINK_PEER, NAME_CONSUMERS, OPEN_GROUP,
    PROPOSE, RESIGN, SET_ASIDE, SNAPSHOT_GROUP, Answer, ConsumerSlot, Slot, command_text, consumer_of, slot_of,
)
from framework_jetstream.log._log cimport LogPart
from framework_jetstream.log._record cimport OP
from framework_jetstream.raft._catching_up cimport is_fetching
from framework_jetstream.raft._changes cimport change_members
from framework_jetstream.raft._elections cimport transfer_begin
from framework_jetstream.raft._entries cimport log_last_term
from framework_jetstream.raft._members cimport members_now
from framework_jetstream.raft._raft cimport raft_set_aside
from framework_jetstream.raft._state cimport LEADER, REFUSED_MEMBERS, Raft, RaftMembers
from framework_jetstream.replication._replicas cimport replica_snapshot
from framework_jetstream.replication._schedule cimport replica_touch

cdef enum:
    # Of what something is asked.
    OF_STREAM = 0
    OF_CONSUMER = 1
    OF_CONTROL = 2
    SAVE_AGAIN_NS = 1000000000


cdef packed struct PeerState:
    # As Python reads it.
    uint64_t server
    uint64_t match
    uint64_t quiet_ticks
    # Since it was heard.
    uint64_t votes
    # 0: it learns only.


# ---- what comes ----------------------------------------------------------------------------------------------------------


cdef void _tell(Engine* engine, Group* group, int event, const LogEntry* entry) noexcept nogil:
    """Tell of an entry."""
    cdef size_t length = entry.length if event == EVENT_STATE else 0
    cdef uint32_t at
    cdef Answer* told
    for at in range(entry.part_count):
        length += entry.parts[at].length
    told = answer_made(engine, -<int64_t> ((<uint64_t> 1 << CONTROL_EVENTS_SHIFT) + group.control), event, length)
    if told == NULL:
        return
    told.numbers[0] = <int64_t> entry.index
    told.numbers[1] = <int64_t> entry.term
    memcpy(answer_bytes(told), entry.chars, length)


cdef void control_apply(Engine* engine, Group* group, const LogEntry* entry, Proposal* proposal) noexcept nogil:
    """Tell of an entry that is committed, and then who proposed it."""
    cdef Answer* answer
    _tell(engine, group, EVENT_ENTRY, entry)
    if proposal != NULL and proposal.command != NULL:
        answer = answer_made(engine, proposal.command.id, 0, 0)
        if answer != NULL:
            answer.numbers[0] = <int64_t> entry.index


cdef void control_restore(Engine* engine, Group* group, const LogEntry* entry) noexcept nogil:
    """Tell what entries have led to that are here no more."""
    _tell(engine, group, EVENT_STATE, entry)


cdef void controls_save(Engine* engine) noexcept nogil:
    """Have what control groups have come to put in place of entries in files to be given up: nothing else takes these from there."""
    cdef Group* group = engine.controls
    cdef Answer* told
    while group != NULL:
        if group.replica != NULL and engine.now_ns - group.asked_ns >= SAVE_AGAIN_NS and files_are_needed(engine, group):
            group.asked_ns = engine.now_ns
            told = answer_made(engine, -<int64_t> ((<uint64_t> 1 << CONTROL_EVENTS_SHIFT) + group.control), EVENT_SAVE, 0)
            if told != NULL:
                # With those of elections and members, of which nobody is told.
                told.numbers[0] = <int64_t> group.replica.raft.applied
        group = group.next_control


# ---- commands ------------------------------------------------------------------------------------------------------------


cdef Group* control_made(Engine* engine, uint32_t number, uint32_t control) noexcept nogil:
    """Let a group of the log be a control group; NULL: no memory."""
    cdef Group* made = group_made(engine, number, NULL, NULL)
    if made != NULL:
        made.control = control
        made.is_created = 1
        made.next_control = engine.controls
        engine.controls = made
    return made


cdef Group* _control(Engine* engine, uint32_t control) noexcept nogil:
    """Return a control group; NULL: there is none."""
    cdef Group* group = engine.controls
    while group != NULL and group.control != control:
        group = group.next_control
    return group


cdef int _open(Engine* engine, Command* command) noexcept nogil:
    """Open a control group, or go on with one that was read; the third text says what it is."""
    cdef Group* group = _control(engine, command.number)
    if group == NULL:
        group = group_opened(engine, NULL, NULL, command)
        if group == NULL:
            return refused_as(engine, command)
        if not replicated_join(engine, group, command):
            group_close(engine, group, NULL)
            answer_made(engine, command.id, STATUS_NOT_STORED, 0)
            return CARRIED_OUT
        group.control = command.number
        group.replica.raft.stays_awake = True  # by it servers know of each other
        group.is_created = 1
        group.next_control = engine.controls
        engine.controls = group
    answer_made(engine, command.id, 0, 0)
    return CARRIED_OUT


cdef int _propose(Engine* engine, Group* group, Command* command) noexcept nogil:
    cdef LogPart part
    part.chars = command_text(command, 0)
    part.length = <uint32_t> command.lengths[0]
    part.goes_on = False
    if group_propose(engine, group, OP, &part, 1, command, NULL, 0):
        return CARRIED_KEPT
    return refused_as(engine, command)


cdef int _snapshot(Engine* engine, Group* group, Command* command) noexcept nogil:
    """Keep what entries up to the first number have led to, which is the first text."""
    cdef bint done = replica_snapshot(
        engine.replicas, group.replica, <uint64_t> command.numbers[0], command_text(command, 0), <uint32_t> command.lengths[0], 0
    )
    engine.has_appended = True
    answer_made(engine, command.id, 0 if done else STATUS_NOT_STORED, 0)
    return CARRIED_OUT


cdef int _close(Engine* engine, Group* group, Command* command) noexcept nogil:
    cdef Group** at = &engine.controls
    while at[0] != group:
        at = &at[0].next_control
    at[0] = group.next_control
    group_close(engine, group, command)
    return CARRIED_KEPT


cdef uint64_t _votes(Raft* raft, uint64_t server) noexcept nogil:
    cdef const RaftMembers* members = members_now(raft)
    cdef uint32_t at
    for at in range(members.count):
        if members.ids[at] == server:
            return members.voters >> at & 1
    return 0


cdef int _change_member(Engine* engine, Raft* raft, const Command* command) noexcept nogil:
    """Change one member as the second number says, the third is who; answered with the index, or with why it is refused now."""
    cdef uint64_t index = change_members(raft, <int> command.numbers[1], <uint64_t> command.numbers[2])
    cdef Answer* answer = answer_made(engine, command.id, 0 if index else STATUS_NOT_STORED, 0)
    if answer != NULL:
        answer.numbers[0] = <int64_t> index if index else raft.refused
    engine.has_appended = True
    return CARRIED_OUT


cdef void _say(Engine* engine, Raft* raft, const Command* command) noexcept nogil:
    """Answer term, leader, last index, commit, applied, role, index of the snapshot, ticks since a leader was heard and after how many
    there may be an election; members, as their leader has them.

    Behind that for whom it voted, the term of the last entry, whether it fetches entries that it lacks, whether what entries have led to
    can't be read, whether what was durable is lost, the index of the barrier where that has ended since the start, and whether it leads
    as the leader before wanted it.
    """
    cdef Answer* answer = answer_made(engine, command.id, 0, raft.peer_count * sizeof(PeerState))
    cdef PeerState state
    cdef uint32_t at
    if answer == NULL:
        return
    answer.numbers[0] = <int64_t> raft.term
    answer.numbers[1] = <int64_t> raft.leader
    answer.numbers[2] = <int64_t> raft.log.last_index
    answer.numbers[3] = <int64_t> raft.commit
    answer.numbers[4] = <int64_t> raft.applied
    answer.numbers[5] = raft.role
    answer.numbers[6] = <int64_t> raft.log.snapshot_index
    answer.numbers[7] = 0 if raft.role == LEADER else raft.heard_ticks
    answer.numbers[8] = raft.settings.election_ticks
    answer.numbers[9] = <int64_t> raft.vote
    answer.numbers[10] = <int64_t> log_last_term(&raft.log)
    answer.numbers[11] = is_fetching(raft)
    answer.numbers[12] = raft.is_faulty
    answer.numbers[13] = raft.loss != 0
    answer.numbers[14] = <int64_t> raft.barrier
    answer.numbers[15] = raft.is_handed_over
    for at in range(raft.peer_count):
        state.server = raft.peers[at].id
        state.match = raft.peers[at].match
        state.quiet_ticks = raft.now - raft.peers[at].heard_tick
        state.votes = _votes(raft, state.server)
        memcpy(answer_bytes(answer) + at * sizeof(state), &state, sizeof(state))


cdef Group* _asked(Engine* engine, const Command* command) noexcept nogil:
    """Return the group of a stream, consumer or control group, as the first number says; NULL: it is not there."""
    cdef Slot* slot
    cdef ConsumerSlot* consumer
    if command.numbers[0] == OF_STREAM:
        slot = slot_of(engine, command.number)
        return slot.group if slot != NULL else NULL
    if command.numbers[0] == OF_CONSUMER:
        consumer = consumer_of(engine, command.number)
        return consumer.group if consumer != NULL else NULL
    return _control(engine, command.number)


cdef int group_command(Engine* engine, Command* command) noexcept nogil:
    """Carry out a command to a group of several servers; a `Carried`."""
    cdef Group* group
    cdef bint is_asked = command.verb >= GROUP_STATE
    if command.verb == LINK_PEER:
        return peer_linked(engine, command)
    if command.verb == OPEN_GROUP:
        return _open(engine, command)
    if command.verb == NAME_CONSUMERS:
        return doubts_answered(engine, command)
    group = _asked(engine, command) if is_asked else _control(engine, command.number)
    if group != NULL and group.replica != NULL:
        replica_touch(engine.replicas, group.replica)
    if group == NULL or group.replica == NULL:
        answer_made(engine, command.id, STATUS_NOT_THERE, 0)
    elif command.verb == PROPOSE:
        return _propose(engine, group, command)
    elif command.verb == SNAPSHOT_GROUP:
        return _snapshot(engine, group, command)
    elif command.verb == CLOSE_GROUP:
        return _close(engine, group, command)
    elif command.verb == GROUP_STATE:
        _say(engine, group.replica.raft, command)
    elif command.verb == RESIGN:
        group.replica.raft.is_faulty = group.replica.raft.is_mute = True
        transfer_begin(group.replica.raft, 0)
        answer_made(engine, command.id, 0, 0)
    elif command.verb == SET_ASIDE:
        raft_set_aside(group.replica.raft)
        answer_made(engine, command.id, 0, 0)
    elif command.verb == CHANGE_MEMBER:
        return _change_member(engine, group.replica.raft, command)
    else:
        answer_made(engine, command.id, _step_down(group.replica.raft, <uint64_t> command.numbers[1]), 0)
    return CARRIED_OUT


cdef int _step_down(Raft* raft, uint64_t to) noexcept nogil:
    """Let another server lead, 0: whoever has most; return a status."""
    if transfer_begin(raft, to):
        return 0
    return STATUS_NOT_NOW if raft.refused == REFUSED_MEMBERS else STATUS_NOT_LEADER
