"""Groups of several servers, as the engine drives them: time and frames come in, who leads changes, frames go out.

A stream of several servers goes through the same entries at all of them. The one that leads hears clients, proposes what they want
and answers when it is applied; the others apply. Who begins to lead has applied all that was committed before, so nothing that it
answers is old.

A consumer decides at once where it is led, and tells its group what has come of it. The others keep what they were told, as after a
start; one that begins to lead goes on from there, as soon as its stream has here what was delivered; where that takes too long another
server leads. One that leads no more forgets what it has decided since, and is again what its group knows.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._anew cimport group_begins_anew
from framework_jetstream.engine._carrying cimport waiting_run
from framework_jetstream.engine._consumer_commands cimport (
    consumer_begin, consumer_close, consumer_expect, consumer_forget, consumer_made, consumer_say, consumer_tell_waiting, consumer_update,
)
from framework_jetstream.engine._consumer_log cimport consumer_change
from framework_jetstream.engine._doubts cimport doubts_drop, doubts_review
from framework_jetstream.engine._groups cimport (
    CARRIED_KEPT, CARRIED_OUT, STATUS_NOT_LEADER, STATUS_NOT_STORED, group_close, group_describe, group_of, group_opened, proposals_drop,
    refused_as,
)
from framework_jetstream.engine._operations cimport OP_CREATE, operation_propose
from framework_jetstream.engine._peers cimport peer_may_say, peers_tell
from framework_jetstream.engine._port cimport FRAMEWORK_ROW_MESSAGE, framework_batch, framework_row
from framework_jetstream.engine._state cimport (
    CLOSE_CONSUMER, CONTROL_EVENTS_SHIFT, EVENT_DIFFERS, EVENT_FOLLOWS, EVENT_LEADS, EVENT_REPAIRS, EVENT_WAITS, NUMBERS,
    REPAIRS_LOSS, REPAIRS_OTHER, STREAM_EVENTS_SHIFT, UPDATE_CONSUMER, Answer, Waiting, command_free, command_text, slot_of,
)
from framework_jetstream.engine._replica_states cimport consumer_reads
from framework_jetstream.engine._retention cimport retention_review
from framework_jetstream.engine._serving cimport follow_direct, slot_enter, slot_follow, slot_lead
from framework_jetstream.engine._sharing cimport consumer_share, stream_share
from framework_jetstream.engine._stream_commands cimport slot_close
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.log._performing cimport log_is_small
from framework_jetstream.raft._catching_up cimport is_fetching
from framework_jetstream.raft._digests cimport Digests
from framework_jetstream.raft._elections cimport transfer_begin
from framework_jetstream.raft._raft_messages cimport FrameHead
from framework_jetstream.raft._state cimport LEADER, PEERS_MAX, Raft, RaftMembers
from framework_jetstream.raft._time cimport raft_catch_up
from framework_jetstream.replication._replicas cimport (
    Replica, UNSETTLED, replica_go_on, replica_open, replicas_expire, replicas_step, replicas_tick, replicas_turn,
)
from framework_jetstream.replication._schedule cimport due_next, replica_take, replica_unsettle, replicas_unsettle
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport READS_OF_LEADER

cdef enum:
    TICK_NS = 25000000
    TICKS_MAX = 1000
    # After a longer pause it is no matter how long it was.
    FRAMES_MAX = 1024
    # Taken in one turn.
    WAITED_ELECTIONS = 2
    # Election timeouts for which a consumer waits for its stream before another server is to lead it.

cdef uint64_t ALL = <uint64_t> -1


cdef bint slot_compares(Slot* slot) noexcept nogil:
    """Let a stream have a digest, since others have it too; False: no memory."""
    if slot.stream.digests == NULL:
        slot.stream.digests = <Digests*> calloc(1, sizeof(Digests))
    if slot.group != NULL and slot.group.replica != NULL:
        slot.group.replica.raft.digests = slot.stream.digests
    return slot.stream.digests != NULL


# ---- opening -------------------------------------------------------------------------------------------------------------


cdef bint replicated_join(Engine* engine, Group* group, const Command* command) noexcept nogil:
    """Let other servers commit entries of a group as well, as the numbers of a command say; False: no memory, or it makes no sense."""
    cdef const int64_t* numbers = &command.numbers[REPLICAS_AT]
    cdef RaftMembers members
    cdef int64_t count = numbers[1] & ~MAY_HAVE_BEEN
    cdef uint32_t at
    if engine.replicas == NULL or count < 0 or count > NUMBERS - REPLICAS_AT - 2:
        return False
    memset(&members, 0, sizeof(members))
    members.count = <uint32_t> count
    members.voters = (<uint32_t> 1 << members.count) - 1
    for at in range(members.count):
        members.ids[at] = <uint64_t> numbers[2 + at]
    # Who is told of no members hears of them, when a leader adds it.
    group.replica = replica_open(engine.replicas, group.number, <uint64_t> numbers[0], &members if members.count else NULL)
    if group.replica == NULL:
        return False
    group.replica.keeps_bytes = group.consumer != NULL  # one that is led here no more is again what its entries say
    group.replica.is_control = group.slot == NULL and group.consumer == NULL
    return group.slot == NULL or slot_compares(group.slot)


cdef int replicated_stream_open(Engine* engine, Slot* slot, Command* command) noexcept nogil:
    """Have a stream here that other servers have too; it is answered at once, and served where it is led. A `Carried`."""
    if slot.group != NULL and slot.group.replica == NULL:
        return stream_share(engine, slot, command)
    if slot.group == NULL:
        slot.group = group_opened(engine, slot, NULL, command)
        if slot.group == NULL:
            slot_close(engine, slot)
            return refused_as(engine, command)
        if not replicated_join(engine, slot.group, command):
            group_close(engine, slot.group, NULL)
            answer_made(engine, command.id, STATUS_NOT_STORED, 0)
            return CARRIED_OUT
    slot_enter(engine, slot, command)
    slot.opened = command
    if slot.group.replica.is_held:
        replica_go_on(engine.replicas, slot.group.replica)
    answer_made(engine, command.id, 0, 0)
    return CARRIED_KEPT


cdef int replicated_consumer_open(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Have a consumer here that other servers have too; it is answered at once, and begins where it is led. A `Carried`."""
    cdef int refused
    if consumer.group != NULL and consumer.group.replica == NULL:
        return consumer_share(engine, consumer, command)
    if consumer.group == NULL:
        consumer.group = group_opened(engine, NULL, consumer, command)
        if consumer.group == NULL:
            consumer_forget(engine, consumer)
            refused = refused_as(engine, command)
            return refused
        if not replicated_join(engine, consumer.group, command):
            group_close(engine, consumer.group, NULL)
            consumer_forget(engine, consumer)
            answer_made(engine, command.id, STATUS_NOT_STORED, 0)
            return CARRIED_OUT
    consumer.is_restored = 1
    consumer.opened = command
    consumer_expect(engine, consumer)
    answer_made(engine, command.id, 0, 0)
    return CARRIED_KEPT


cdef int _reopen(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Let a consumer have another configuration, here now, and whenever it is led here later; all its servers are told to."""
    cdef Command* before = consumer.opened
    cdef bint wants_others = before.lengths[0] != command.lengths[0] or memcmp(
        command_text(before, 0), command_text(command, 0), command.lengths[0]
    ) != 0
    if consumer.group != NULL:
        group_describe(consumer.group, command_text(command, 2), command.lengths[2])
    consumer.opened = command
    command_free(before)
    if wants_others:
        consumer.machine.is_refiltered = 1
    if consumer.slot != NULL:
        consumer_update(engine, consumer, command)
        consumer_change(engine, consumer)
    else:
        consumer_expect(engine, consumer)
    consumer_say(engine, consumer, command.id)
    return CARRIED_KEPT


cdef int replicated_consumer_command(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Close or change a consumer, or say that another server leads it; a `Carried`."""
    cdef Group* group = consumer.group
    cdef Slot* slot = slot_of(engine, <uint64_t> consumer.opened.numbers[0])
    if command.verb == UPDATE_CONSUMER:
        return _reopen(engine, consumer, command)
    if command.verb != CLOSE_CONSUMER:
        answer_made(engine, command.id, STATUS_NOT_LEADER, 0)
        return CARRIED_OUT
    if consumer.slot != NULL:
        consumer_close(engine, consumer)
    else:
        consumer_forget(engine, consumer)
    if slot != NULL:
        retention_review(slot, 0)
    if group == NULL:
        # It was closed with its stream.
        answer_made(engine, command.id, 0, 0)
        return CARRIED_OUT
    group_close(engine, group, command)
    return CARRIED_KEPT


# ---- who leads -----------------------------------------------------------------------------------------------------------


cdef void _tell(Engine* engine, uint64_t number, int event, uint64_t term) noexcept nogil:
    """Say that this server leads a group, or does no more."""
    cdef Answer* told = answer_made(engine, -<int64_t> number, event, 0)
    if told != NULL:
        told.numbers[0] = <int64_t> term


cdef uint64_t _number_of(const Group* group) noexcept nogil:
    """Return by which number events of a group are told."""
    if group.slot != NULL:
        return (<uint64_t> 1 << STREAM_EVENTS_SHIFT) + group.slot.number
    if group.control:
        return (<uint64_t> 1 << CONTROL_EVENTS_SHIFT) + group.control
    return group.consumer.number


cdef bint _create(Engine* engine, Slot* slot) noexcept nogil:
    """Propose the first entry of a stream, with what it is at first; False: not now.

    Who begins with it later, with nothing, may have been told of the stream as it is by then.
    """
    cdef Text description
    description.chars = slot.group.description
    description.length = <uint32_t> slot.group.description_bytes
    return operation_propose(engine, slot, OP_CREATE, 0, 0, description, NULL) == CARRIED_KEPT


cdef bint _consumer_begins(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Let a consumer begin or go on here; False: its stream has not here yet what was delivered."""
    cdef Slot* slot = slot_of(engine, <uint64_t> consumer.opened.numbers[0]) if consumer.opened != NULL else NULL
    if slot == NULL or slot.is_restored or slot.stream.messages.last_seq < consumer.machine.delivered_seq:
        return False
    consumer.is_restored = consumer.group.is_created
    consumer_begin(engine, slot, consumer, consumer.opened)
    consumer.is_restored = 0
    consumer.is_whole_due = 1
    consumer_change(engine, consumer)
    doubts_review(slot, 0, consumer.machine.cursor)
    return True


cdef void _lead(Engine* engine, Group* group) noexcept nogil:
    """Begin to lead, if it can be done now."""
    cdef uint64_t term = group.replica.raft.term
    if group.slot != NULL and (group.slot.opened == NULL or group.slot.is_restored):
        return
    group.leads_term = term
    group.proposed = group.replica.raft.log.last_index
    group.applied = max(group.applied, group.replica.raft.applied)
    if group.control:
        pass
    elif group.consumer != NULL:
        if not _consumer_begins(engine, group.consumer):
            group.leads_term = 0
            return
    elif group.slot.group.is_created:
        group.slot.is_saving = 0
        slot_lead(engine, group.slot)
        doubts_review(group.slot, 0, ALL)
    elif not _create(engine, group.slot):
        group.leads_term = 0
        return
    _tell(engine, _number_of(group), EVENT_LEADS, term)


cdef void consumer_follows(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Forget what a consumer has decided here; without memory it is heard of no more until the next start."""
    cdef Group* group = consumer.group
    cdef Command* opened = consumer.opened
    cdef uint32_t number = consumer.number
    cdef uint8_t is_refiltered = consumer.machine.is_refiltered
    consumer_tell_waiting(engine, consumer, b"409 Leadership Change", 21)
    consumer.opened = NULL
    consumer_close(engine, consumer)
    consumer = consumer_made(engine, number)
    if consumer == NULL:
        free(opened)
        return
    consumer.group = group
    consumer.opened = opened
    consumer.is_restored = 1
    consumer.machine.is_refiltered = is_refiltered
    group.consumer = consumer
    consumer_expect(engine, consumer)
    consumer_reads(engine, consumer)


cdef void group_follow(Engine* engine, Group* group) noexcept nogil:
    """Lead no more."""
    cdef Waiting* waiting
    cdef uint64_t number = _number_of(group)
    proposals_drop(engine, group)
    group.proposed = group.applied
    group.leads_term = 0
    group.saved_at = 0
    if group.slot != NULL:
        group.slot.is_saving = 0
        slot_follow(engine, group.slot)
        doubts_drop(group.slot)
        waiting = group.slot.waiting
        while waiting != NULL:
            waiting.behind = 0
            waiting = waiting.next
        waiting_run(engine, group.slot)
    elif group.consumer != NULL and group.consumer.slot != NULL:
        consumer_follows(engine, group.consumer)
    _tell(engine, number, EVENT_FOLLOWS, 0)


cdef bint _leads(const Replica* replica) noexcept nogil:
    """Whether this server leads a group, and has applied all that was committed before."""
    return replica.raft.role == LEADER and replica.raft.applied >= replica.raft.term_index


cdef bint _is_fresh(const Replica* replica) noexcept nogil:
    """Whether a server that follows has as good as all that its leader has: it hears it, fetches nothing, and applies what it knows of."""
    cdef const Raft* raft = replica.raft
    if raft.loss or raft.is_faulty:
        return False
    return raft.leader != 0 and raft.heard_ticks < raft.settings.election_ticks and not is_fetching(raft) and raft.applied == raft.commit


cdef void _settle_direct(Engine* engine, Group* group) noexcept nogil:
    """Answer direct gets of a stream at all servers that are not far behind; where its leader alone is to, at that."""
    cdef Slot* slot = group.slot
    cdef bint is_follower = not group.leads_term
    group.replica.raft.stays_awake = slot.stream.limits.allow_direct == READS_OF_LEADER  # it needs a lease at any time
    if slot.opened == NULL or slot.is_restored:
        return
    if not slot.stream.limits.allow_direct or (is_follower and slot.stream.limits.allow_direct == READS_OF_LEADER):
        follow_direct(engine, slot, False)
    elif not is_follower or not group.is_created:
        follow_direct(engine, slot, not is_follower)
    elif _is_fresh(group.replica):
        follow_direct(engine, slot, True)
    elif group.replica.raft.heard_ticks >= group.replica.raft.settings.election_ticks or is_fetching(group.replica.raft):
        follow_direct(engine, slot, False)


cdef void _settle_repair(Engine* engine, Group* group) noexcept nogil:
    """Tell whether something of a group is lost here, when that has changed and somebody listens."""
    cdef const Raft* raft = group.replica.raft
    cdef uint8_t is_repaired = REPAIRS_LOSS if raft.loss else REPAIRS_OTHER if raft.is_faulty and raft.has_repaired else raft.is_faulty
    if group.is_repaired == is_repaired:
        return
    if (group.slot != NULL and group.slot.opened == NULL) or (group.consumer != NULL and group.consumer.opened == NULL):
        return
    group.is_repaired = is_repaired
    _tell(engine, _number_of(group), EVENT_REPAIRS, is_repaired)


cdef void _settle_differing(Engine* engine, Group* group) noexcept nogil:
    """Tell at which servers the stream has come to differ from what it is here, if any was known to, or is."""
    cdef const Raft* raft = group.replica.raft
    cdef uint64_t found[PEERS_MAX]
    cdef uint32_t at, count = 0
    cdef Answer* told
    if group.slot == NULL or group.slot.opened == NULL or raft.role != LEADER:
        return
    for at in range(raft.peer_count):
        if raft.peers[at].differs:
            found[count] = raft.peers[at].id
            count += 1
    group.differs_edition = raft.differs_edition
    if count or group.has_differed:
        told = answer_made(engine, -<int64_t> _number_of(group), EVENT_DIFFERS, count * sizeof(uint64_t))
        if told != NULL:
            memcpy(answer_bytes(told), found, count * sizeof(uint64_t))
    group.has_differed = count > 0


cdef void _lead_elsewhere(Engine* engine, Group* group) noexcept nogil:
    """Let other voters lead, one after the other, a consumer that cannot begin here: where its stream leaves first, it never can.

    Its actor is told, too: where nobody else has it, that adds those who are to.
    """
    cdef Raft* raft = group.replica.raft
    cdef uint32_t election = raft.settings.election_ticks
    cdef uint64_t to
    raft_catch_up(raft)
    if raft.transferee or raft.elapsed < WAITED_ELECTIONS * election:
        return
    if group.waits_term != raft.term:
        group.waits_term = raft.term
        _tell(engine, _number_of(group), EVENT_WAITS, raft.term)
    to = raft.peers[(raft.now // election) % raft.peer_count].id
    if to != raft.id:
        transfer_begin(raft, to)


cdef bint _settle(Engine* engine, Replica* replica, bint is_applied) noexcept nogil:
    """Settle what a group is here; True: it has to be looked at again, though nothing happens in it."""
    cdef Group* group = group_of(engine, replica.number)
    cdef bint stays = False
    if group == NULL or (group.slot == NULL and group.consumer == NULL and not group.control):
        return False
    if group.is_repaired or replica.raft.loss or replica.raft.is_faulty:
        _settle_repair(engine, group)
        if replica.raft.is_faulty and replica.raft.role == LEADER and replica.raft.peer_count > 1:
            # Whoever was to lead may have been behind, or not have heard of it.
            stays = True
            if not replica.raft.transferee:
                transfer_begin(replica.raft, 0)
        if replica.raft.is_faulty and replica.raft.may_begin_anew and not group.control:
            if group_begins_anew(engine, group):
                return False
            stays = True
    if group.differs_edition != replica.raft.differs_edition:
        _settle_differing(engine, group)
    if group.leads_term and (not _leads(replica) or group.leads_term != replica.raft.term):
        group_follow(engine, group)
    if is_applied and not group.leads_term and _leads(replica) and not replica.raft.is_faulty:
        _lead(engine, group)
        if not group.leads_term and group.consumer != NULL:
            _lead_elsewhere(engine, group)
    if is_applied and group.slot != NULL:
        _settle_direct(engine, group)
    return stays or not is_applied or (_leads(replica) and not group.leads_term)


cdef void replicated_settle(Engine* engine, bint is_applied) noexcept nogil:
    """End to lead what Raft says another server does, and, behind what was applied, begin to lead what this one does.

    Only groups are looked at in which something has happened; all of them, when commands were carried out.
    """
    cdef Replica* replica
    cdef size_t left
    if engine.replicas == NULL:
        return
    if engine.settles_all:
        engine.settles_all = not is_applied
        replicas_unsettle(engine.replicas)
    left = engine.replicas.lists[UNSETTLED].count
    while left:
        replica = replica_take(engine.replicas, UNSETTLED)
        left -= 1
        if _settle(engine, replica, is_applied):
            replica_unsettle(engine.replicas, replica)


# ---- other servers -------------------------------------------------------------------------------------------------------


cdef void _take_frame(Engine* engine, const framework_batch* batch, const framework_row* row) noexcept nogil:
    cdef const char* frame = batch.chars + row.at + row.subject_length + row.reply_length + row.header_length
    cdef FrameHead head
    if row.kind != FRAMEWORK_ROW_MESSAGE:
        return
    if row.payload_length < sizeof(head):
        engine.replicas.lies += 1
        return
    memcpy(&head, frame, sizeof(head))
    if not peer_may_say(engine, row.link, head.sender):
        engine.replicas.lies += 1
        return
    replicas_step(engine.replicas, head.sender, frame, row.payload_length)


cdef void _turn(Engine* engine) noexcept nogil:
    replicas_turn(engine.replicas)
    if not log_is_small(engine.log, 0):
        engine.has_appended = True


cdef void replicated_hear(Engine* engine) noexcept nogil:
    """Let time pass in groups of several servers, and take what other servers say."""
    cdef const framework_batch* batch = NULL
    cdef int64_t ticks
    cdef uint32_t at
    cdef int taken = 0
    if engine.replicas == NULL:
        return
    if engine.ticked_ns == 0:
        # What was promised before a start holds for an election timeout from here on.
        engine.ticked_ns = engine.now_ns
    ticks = (engine.now_ns - engine.ticked_ns) // TICK_NS
    if ticks > 0:
        engine.ticked_ns = engine.ticked_ns + ticks * TICK_NS if ticks <= TICKS_MAX else engine.now_ns
        replicas_tick(engine.replicas, <uint32_t> min(ticks, <int64_t> TICKS_MAX))
    while taken < FRAMES_MAX and not engine.replicas.is_blocked:
        batch = engine.peers.take(engine.peers.self)
        if batch == NULL:
            break
        for at in range(batch.count):
            _take_frame(engine, batch, &batch.rows[at])
        taken += batch.count
        engine.peers.release(engine.peers.self, batch)
        engine.took_ns = engine.now_ns
    # An engine that had no processor for a while hears first who has led meanwhile.
    replicas_expire(engine.replicas)
    _turn(engine)


cdef void replicated_speak(Engine* engine) noexcept nogil:
    """Tell other servers what follows from this turn."""
    cdef int64_t due
    if engine.replicas == NULL:
        return
    _turn(engine)
    due = due_next(engine.replicas)
    if engine.settles_all or engine.replicas.lists[UNSETTLED].count:
        due = 1
    if due:
        wake_at(engine, engine.ticked_ns + due * TICK_NS)
    peers_tell(engine)
