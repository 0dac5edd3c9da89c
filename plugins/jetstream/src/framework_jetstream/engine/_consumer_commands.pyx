"""What Python asks of a consumer: to open, change and end it, and to say how it is; and what its stream tells it.

Size: one function for each thing that is asked or told.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcpy

from framework_jetstream.consumer._consumer_machine cimport (
    Machine, machine_ack_pending, machine_appended, machine_begin, machine_free, machine_has_more, machine_has_strays,
    machine_pending, machine_purged, machine_recount, machine_redelivered, machine_removing, machine_reset, machine_settle,
)
from framework_jetstream.consumer._terms cimport DELIVER_ALL, DELIVER_BY_START_SEQ, DELIVER_BY_START_TIME, ConsumerTerms
from framework_jetstream.engine._advisories cimport advise_gave_up
from framework_jetstream.engine._alarms cimport alarm_join, alarm_leave
from framework_jetstream.engine._answers cimport answer_bytes, answer_made
from framework_jetstream.engine._consumer_log cimport consumer_change, consumer_leave_log, consumer_touch
from framework_jetstream.engine._consumer_subjects cimport consumer_follow, consumer_unfollow, deliver_unwatch, deliver_watch
from framework_jetstream.engine._delivery cimport consumer_expire
from framework_jetstream.engine._filters cimport Wanting, filters_join, filters_leave, wanting_next, wanting_of
from framework_jetstream.engine._groups cimport (
    CARRIED_KEPT, CARRIED_OUT, STATUS_NOT_NOW, group_close, group_describe, group_opened, group_propose, refused_as,
)
from framework_jetstream.engine._needs cimport consumer_followed
from framework_jetstream.engine._pacing cimport pace_begin, pace_update
from framework_jetstream.engine._replicated cimport REPLICAS_AT, replicated_consumer_command, replicated_consumer_open
from framework_jetstream.engine._retention cimport retention_review, retention_wants
from framework_jetstream.engine._state cimport (
    CLOSE_CONSUMER, CONSUMER_STATE, OPEN_CONSUMER, RESET_CONSUMER, UNPIN_CONSUMER, UPDATE_CONSUMER, Answer, Group, command_free,
    command_text, consumer_of, ready_add, slot_of,
)
from framework_jetstream.engine._statuses cimport request_refuse
from framework_jetstream.engine._waiting cimport pin_forget, request_end
from framework_jetstream.log._log cimport LogPart
from framework_jetstream.log._record cimport OP
from framework_jetstream.store._subjects cimport subject_chars
from framework_jetstream.stream._headers cimport Text, text_is
from framework_jetstream.stream._messages cimport Record, messages_seq_from

cdef enum:
    NOT_THERE = 1
    NO_ROOM = 2
    BELOW_START_SEQ = 3
    BELOW_START_TIME = 4
    NOT_ALLOWED = 5
    NAMES_MAX = 255


cdef Text _line(const char** at, const char* end) noexcept nogil:
    """Return a copy of the next line, and move behind it; NULL: there is none, or it is empty."""
    cdef const char* line_end
    cdef Text line
    cdef char* room
    line.chars = NULL
    line.length = 0
    if at[0] >= end:
        return line
    line_end = <const char*> memchr(at[0], c"\n", end - at[0])
    if line_end == NULL:
        line_end = end
    line.length = <uint32_t> (line_end - at[0])
    room = <char*> malloc(line.length + 1) if line.length else NULL
    if room != NULL:
        memcpy(room, at[0], line.length)
    line.chars = room
    at[0] = line_end + 1
    return line


cdef void _free_lines(Text** lines, uint32_t* count) noexcept nogil:
    cdef uint32_t at
    for at in range(count[0]):
        free(<void*> lines[0][at].chars)
    free(lines[0])
    lines[0] = NULL
    count[0] = 0


cdef void _read_lines(Text** lines, uint32_t* count, const char* at, const char* end) noexcept nogil:
    """Take texts, one a line, in place of those before."""
    cdef Text line
    cdef void* grown
    _free_lines(lines, count)
    while at < end:
        line = _line(&at, end)
        grown = realloc(lines[0], (count[0] + 1) * sizeof(Text)) if line.chars != NULL else NULL
        if grown == NULL:
            free(<void*> line.chars)
            return
        lines[0] = <Text*> grown
        lines[0][count[0]] = line
        count[0] += 1


cdef void _read_terms(ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Take what may change of a consumer: terms, and behind the texts the times between deliveries, 8 bytes each."""
    cdef Machine* machine = &consumer.machine
    cdef uint32_t count = <uint32_t> command.numbers[1]
    cdef const char* times = command_text(command, 1) + command.lengths[1] - count * 8
    free(machine.terms.backoff_ns)
    machine.terms = command.terms
    machine.terms.backoff_count = 0
    machine.terms.backoff_ns = <int64_t*> malloc(count * 8 + 8)
    if machine.terms.backoff_ns != NULL:
        memcpy(machine.terms.backoff_ns, times, count * 8)
        machine.terms.backoff_count = count


cdef void _read_targets(ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Take where a consumer pushes, and its priority groups, one a line."""
    cdef const char* at = command_text(command, 1)
    cdef const char* end = at + command.lengths[1] - command.numbers[1] * 8
    cdef Text deliver = _line(&at, end)
    free(<void*> consumer.deliver.chars)
    consumer.deliver = deliver
    _read_lines(&consumer.groups, &consumer.group_count, at, end)


cdef void _gave_up(Machine* machine, uint64_t seq, uint32_t deliveries) noexcept nogil:
    """Tell who listens, and the log, that a message is delivered no more."""
    # The machine is the first member of its slot.
    cdef ConsumerSlot* consumer = <ConsumerSlot*> machine
    consumer_touch(consumer.slot.engine, consumer, seq)
    advise_gave_up(consumer.slot.engine, consumer, seq, deliveries)


cdef bint _make_room(Engine* engine, uint32_t number) noexcept nogil:
    cdef uint32_t room = max(number + 1, engine.consumer_room * 2)
    cdef void* grown
    if number < engine.consumer_room:
        return True
    grown = realloc(engine.consumers, room * sizeof(ConsumerSlot*))
    if grown == NULL:
        return False
    engine.consumers = <ConsumerSlot**> grown
    while engine.consumer_room < room:
        engine.consumers[engine.consumer_room] = NULL
        engine.consumer_room += 1
    return True


cdef ConsumerSlot* consumer_made(Engine* engine, uint32_t number) noexcept nogil:
    """Make a consumer that nobody can reach yet; NULL: no memory."""
    cdef ConsumerSlot* consumer = <ConsumerSlot*> calloc(1, sizeof(ConsumerSlot)) if _make_room(engine, number) else NULL
    if consumer == NULL or not alarm_join(&engine.alarms, &consumer.alarm, consumer):
        free(consumer)
        return NULL
    consumer.number = number
    engine.consumers[number] = consumer
    return consumer


cdef bint _is_early(const Slot* slot, const ConsumerSlot* consumer) noexcept nogil:
    """Whether a stream of several servers has not here yet what a consumer that was read has delivered before."""
    if not consumer.is_restored or slot.group == NULL or slot.group.replica == NULL:
        return False
    return slot.is_restored or slot.stream.messages.last_seq < consumer.machine.delivered_seq


cdef void consumers_late_begin(Engine* engine, Slot* slot) noexcept nogil:
    """Let consumers go on that have waited for messages of their stream."""
    cdef ConsumerSlot* consumer
    cdef uint32_t at
    for at in range(engine.consumer_room if engine.late_count else 0):
        consumer = engine.consumers[at]
        if consumer != NULL and consumer.is_late and consumer.opened.numbers[0] == slot.number and not _is_early(slot, consumer):
            consumer.is_late = 0
            engine.late_count -= 1
            consumer_begin(engine, slot, consumer, consumer.opened)
            consumer.is_restored = 0
            command_free(consumer.opened)
            consumer.opened = NULL


cdef void consumers_restored(Slot* slot) noexcept nogil:
    """Let consumers that are this server's alone go on with what has taken the place of all messages of their stream."""
    cdef ConsumerSlot* consumer = slot.consumers
    while consumer != NULL:
        machine_settle(&consumer.machine, &slot.stream, slot.engine.now_ns)
        ready_add(slot.engine, consumer)
        consumer = consumer.next


cdef int _log_memory(Engine* engine, Slot* slot, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Let the log know from now on of a consumer that was in memory alone, before other servers are to have it."""
    if slot.group == NULL or not command.lengths[2] or consumer.opening != NULL:
        answer_made(engine, command.id, STATUS_NOT_NOW, 0)
        return CARRIED_OUT
    if consumer.group == NULL:
        consumer.group = group_opened(engine, NULL, consumer, command)
    if consumer.group == NULL:
        return refused_as(engine, command)
    consumer.opening = command
    consumer.is_whole_due = 1
    consumer_change(engine, consumer)
    return CARRIED_KEPT


cdef int _open(Engine* engine, Command* command) noexcept nogil:
    """Open a consumer: texts are its name and filters; where it pushes and its groups, with backoff behind; what the log is to know."""
    cdef Slot* slot = slot_of(engine, <uint64_t> command.numbers[0])
    cdef ConsumerSlot* consumer = consumer_of(engine, command.number)
    cdef int refused
    if slot == NULL:
        answer_made(engine, command.id, NOT_THERE, 0)
        return CARRIED_OUT
    if consumer == NULL:
        consumer = consumer_made(engine, command.number)
    if consumer == NULL:
        answer_made(engine, command.id, NO_ROOM, 0)
        return CARRIED_OUT
    if command.numbers[REPLICAS_AT]:
        return replicated_consumer_open(engine, consumer, command)
    if consumer.slot != NULL:
        return _log_memory(engine, slot, consumer, command)
    if command.lengths[2] and consumer.group == NULL and slot.group != NULL:
        consumer.group = group_opened(engine, NULL, consumer, command)
        if consumer.group == NULL:
            consumer_forget(engine, consumer)
            refused = refused_as(engine, command)
            return refused
    if _is_early(slot, consumer):
        engine.late_count += 1
        consumer.is_late = 1
        consumer.opened = command
        consumer_say(engine, consumer, command.id)
        return CARRIED_KEPT
    consumer_begin(engine, slot, consumer, command)
    if consumer.group == NULL or consumer.is_restored:
        consumer.is_restored = 0
        consumer_say(engine, consumer, command.id)
        return CARRIED_OUT
    consumer.opening = command
    consumer.is_whole_due = 1
    consumer_change(engine, consumer)
    return CARRIED_KEPT


cdef void consumer_begin(Engine* engine, Slot* slot, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Let a consumer begin, or go on as it was read."""
    cdef const char* at = command_text(command, 0)
    cdef const char* end = at + command.lengths[0]
    consumer.slot = slot
    consumer.active_ns = engine.now_ns
    consumer.beats_ns = engine.now_ns
    _read_terms(consumer, command)
    consumer.beats_ns = engine.now_ns + consumer.machine.terms.heartbeat_ns
    consumer.name = _line(&at, end)
    _read_lines(&consumer.machine.filters, &consumer.machine.filter_count, at, end)
    _read_targets(consumer, command)
    consumer.machine.gave_up = _gave_up
    if consumer.is_restored:
        machine_settle(&consumer.machine, &slot.stream, engine.now_ns)
    else:
        machine_begin(&consumer.machine, &slot.stream)
    pace_begin(engine, consumer)
    consumer.next = slot.consumers
    slot.consumers = consumer
    slot.consumer_count += 1
    slot.has_strays |= machine_has_strays(&consumer.machine)
    filters_join(slot, consumer)
    slot.stream.appended = consumers_appended
    slot.stream.removing = consumers_removing
    slot.stream.wanted = retention_wants
    consumer_follow(engine, consumer)
    consumer_expire(engine, consumer)


cdef void consumer_expect(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Know what a consumer wants that other servers have too, before it is led here: where messages stay until it has acknowledged them."""
    cdef const char* at = command_text(consumer.opened, 0)
    cdef const char* end = at + consumer.opened.lengths[0]
    cdef Text name = _line(&at, end)
    free(<void*> name.chars)
    _read_terms(consumer, consumer.opened)
    _read_lines(&consumer.machine.filters, &consumer.machine.filter_count, at, end)
    consumer_followed(engine, consumer)


cdef void consumer_tell_waiting(Engine* engine, ConsumerSlot* consumer, const char* status, uint32_t length) noexcept nogil:
    """Tell who waits why nothing comes any more."""
    cdef Text reply
    while consumer.first != NULL:
        reply.chars = <char*> (consumer.first + 1)
        reply.length = consumer.first.reply_length
        request_refuse(engine, consumer, reply, status, length)
        request_end(engine, consumer, consumer.first)


cdef void consumer_close(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """End a consumer; who waits is told."""
    cdef ConsumerSlot** at = &consumer.slot.consumers
    consumer_tell_waiting(engine, consumer, b"409 Consumer Deleted", 20)
    consumer_unfollow(engine, consumer)
    while at[0] != consumer:
        at = &at[0].next
    filters_leave(consumer.slot, consumer)
    at[0] = consumer.next
    consumer.slot.consumer_count -= 1
    if consumer.slot.consumers == NULL:
        consumer.slot.stream.appended = NULL
        consumer.slot.stream.removing = NULL
        consumer.slot.stream.wanted = NULL
    _leave_ready(engine, consumer)
    consumer_leave_log(engine, consumer)
    consumer_forget(engine, consumer)


cdef void consumer_forget(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Free a consumer that nobody can reach any more."""
    engine.consumers[consumer.number] = NULL
    engine.late_count -= consumer.is_late
    alarm_leave(&engine.alarms, &consumer.alarm)
    machine_free(&consumer.machine)
    free(<void*> consumer.name.chars)
    free(<void*> consumer.ack_prefix.chars)
    free(<void*> consumer.deliver.chars)
    _free_lines(&consumer.groups, &consumer.group_count)
    command_free(consumer.opened)
    free(consumer)


cdef void _leave_ready(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    cdef ConsumerSlot** at = &engine.ready
    cdef ConsumerSlot* before = NULL
    if not consumer.is_ready:
        return
    while at[0] != consumer:
        before = at[0]
        at = &at[0].next_ready
    at[0] = consumer.next_ready
    if engine.last_ready == consumer:
        engine.last_ready = before


cdef Answer* consumer_say(Engine* engine, ConsumerSlot* consumer, int64_t id) noexcept nogil:
    """Answer delivered and floor in consumer and stream, what waits, was delivered again and is pending, and who waits.

    Behind that whether it has a receiver, Unix times of the last delivery, acknowledgement and pin; bytes are the pin's id.
    """
    cdef Answer* answer = answer_made(engine, id, 0, consumer.pin_length)
    cdef Machine* machine = &consumer.machine
    if answer == NULL:
        return NULL
    answer.numbers[0] = <int64_t> machine.consumer_seq
    answer.numbers[1] = <int64_t> machine.delivered_seq
    answer.numbers[2] = <int64_t> machine.floor_consumer_seq
    answer.numbers[3] = <int64_t> machine.floor_seq
    answer.numbers[4] = <int64_t> machine_ack_pending(machine)
    answer.numbers[5] = <int64_t> machine_redelivered(machine)
    answer.numbers[6] = consumer.waiting
    answer.numbers[7] = <int64_t> machine_pending(machine)
    answer.numbers[8] = consumer.has_interest
    answer.numbers[9] = consumer.last_delivered_ns
    answer.numbers[10] = consumer.last_ack_ns
    answer.numbers[11] = consumer.pinned_unix_ns
    memcpy(answer_bytes(answer), consumer.pin, consumer.pin_length)
    return answer


cdef void _retarget(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Take the priority groups, and push to another subject."""
    cdef Text before = consumer.deliver
    consumer.deliver.chars = NULL
    _read_targets(consumer, command)
    if before.chars != NULL and consumer.deliver.chars != NULL and not text_is(
        before, consumer.deliver.chars, consumer.deliver.length
    ):
        deliver_unwatch(engine, consumer)
        consumer.has_interest = 0
        deliver_watch(engine, consumer)
    free(<void*> before.chars)


cdef void consumer_update(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Change what may change; where the filters do, what is pending is counted anew."""
    cdef const char* at = command_text(command, 0)
    cdef const char* end = at + command.lengths[0]
    cdef Text name = _line(&at, end)
    free(<void*> name.chars)
    _read_terms(consumer, command)
    _retarget(engine, consumer, command)
    filters_leave(consumer.slot, consumer)
    _read_lines(&consumer.machine.filters, &consumer.machine.filter_count, at, end)
    filters_join(consumer.slot, consumer)
    consumer.slot.has_strays |= machine_has_strays(&consumer.machine)
    machine_recount(&consumer.machine)
    pace_update(engine, consumer)
    retention_review(consumer.slot, consumer.machine.floor_seq + 1)
    consumer_expire(engine, consumer)
    ready_add(engine, consumer)


cdef int _refusal_of_reset(ConsumerSlot* consumer, uint64_t seq) noexcept nogil:
    """Say why a consumer can't begin again at a sequence; 0: it can."""
    cdef ConsumerTerms* terms = &consumer.machine.terms
    if seq == 0 or terms.deliver_policy == DELIVER_ALL:
        return 0
    if terms.deliver_policy == DELIVER_BY_START_SEQ:
        return BELOW_START_SEQ if seq < <uint64_t> terms.start else 0
    if terms.deliver_policy == DELIVER_BY_START_TIME:
        return BELOW_START_TIME if seq < messages_seq_from(&consumer.slot.stream.messages, terms.start) else 0
    return NOT_ALLOWED


cdef void _reset(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Begin again at a sequence, and answer the state with that at its end; statuses 3 to 5 say why not."""
    cdef uint64_t seq = <uint64_t> command.numbers[0]
    cdef int refusal = _refusal_of_reset(consumer, seq)
    cdef Answer* answer
    if refusal:
        answer_made(engine, command.id, refusal, 0)
        return
    seq = machine_reset(&consumer.machine, seq)
    consumer.last_delivered_ns = consumer.last_ack_ns = 0
    consumer.is_whole_due = 1
    consumer_change(engine, consumer)
    retention_review(consumer.slot, seq)
    answer = consumer_say(engine, consumer, command.id)
    if answer != NULL:
        answer.numbers[12] = <int64_t> seq
    ready_add(engine, consumer)


cdef int _update_logged(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Change a consumer, and answer when the log knows its configuration, which is the third text."""
    cdef LogPart part
    part.chars = command_text(command, 2)
    part.length = <uint32_t> command.lengths[2]
    part.goes_on = False
    if not group_propose(engine, consumer.group, OP, &part, 1, command, NULL, 0):
        return refused_as(engine, command)
    group_describe(consumer.group, command_text(command, 2), command.lengths[2])
    consumer_update(engine, consumer, command)
    return CARRIED_KEPT


cdef int _close(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    cdef Group* group = consumer.group
    cdef Slot* slot = consumer.slot
    cdef uint64_t begin = consumer.machine.floor_seq + 1
    if consumer.machine.exceeded.count:
        begin = min(begin, consumer.machine.exceeded.seqs[0])
    consumer_close(engine, consumer)
    retention_review(slot, begin)
    if group == NULL or engine.log.failed:
        answer_made(engine, command.id, 0, 0)
        return CARRIED_OUT
    group_close(engine, group, command)
    return CARRIED_KEPT


cdef int consumer_command(Engine* engine, Command* command) noexcept nogil:
    """Carry out a command to a consumer, and answer it; status 1: it is not there. A `Carried`."""
    cdef ConsumerSlot* consumer
    if command.verb == OPEN_CONSUMER:
        return _open(engine, command)
    consumer = consumer_of(engine, command.number)
    if consumer != NULL and consumer.opened != NULL and (command.verb in (CLOSE_CONSUMER, UPDATE_CONSUMER) or consumer.slot == NULL):
        return replicated_consumer_command(engine, consumer, command)
    if consumer == NULL or consumer.slot == NULL:
        answer_made(engine, command.id, NOT_THERE, 0)
    elif command.verb == CLOSE_CONSUMER:
        return _close(engine, consumer, command)
    elif command.verb == CONSUMER_STATE:
        consumer_say(engine, consumer, command.id)
    elif command.verb == RESET_CONSUMER:
        _reset(engine, consumer, command)
    elif command.verb == UNPIN_CONSUMER:
        pin_forget(engine, consumer)
        ready_add(engine, consumer)
        answer_made(engine, command.id, 0, 0)
    elif command.verb == UPDATE_CONSUMER and consumer.group != NULL:
        return _update_logged(engine, consumer, command)
    elif command.verb == UPDATE_CONSUMER:
        consumer_update(engine, consumer, command)
        consumer_say(engine, consumer, command.id)
    return CARRIED_OUT


# ---- what happens to the stream ------------------------------------------------------------------------------------------


cdef void consumers_appended(Stream* stream, const Record* record) noexcept nogil:
    """Tell the consumers of a stream of a message."""
    cdef Slot* slot = <Slot*> stream.owner
    cdef Wanting wanting = wanting_of(slot, subject_chars(record.subject), record.subject.length)
    cdef ConsumerSlot* consumer = wanting_next(&wanting)
    while consumer != NULL:
        machine_appended(&consumer.machine, record)
        if (consumer.first != NULL or consumer.has_interest) and machine_has_more(&consumer.machine):
            ready_add(slot.engine, consumer)
        consumer = wanting_next(&wanting)


cdef void consumers_removing(Stream* stream, const Record* record) noexcept nogil:
    """Tell the consumers of a stream that a message goes."""
    cdef Slot* slot = <Slot*> stream.owner
    cdef ConsumerSlot* consumer = slot.consumers
    cdef Wanting wanting
    if slot.has_strays:
        while consumer != NULL:
            machine_removing(&consumer.machine, record)
            consumer = consumer.next
        return
    wanting = wanting_of(slot, subject_chars(record.subject), record.subject.length)
    consumer = wanting_next(&wanting)
    while consumer != NULL:
        machine_removing(&consumer.machine, record)
        consumer = wanting_next(&wanting)


cdef void consumers_purged(Slot* slot) noexcept nogil:
    """Tell the consumers of a stream that it was purged."""
    cdef ConsumerSlot* consumer = slot.consumers
    while consumer != NULL:
        machine_purged(&consumer.machine)
        consumer = consumer.next
