"""What Python asks of a consumer: to open, change and end it, and to say how it is; and what its stream tells it."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcpy

from framework_jetstream.consumer._machine cimport (
    Machine, machine_appended, machine_begin, machine_free, machine_has_more, machine_purged, machine_recount, machine_removing,
    machine_settle,
)
from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._consumer_log cimport consumer_change, consumer_leave_log
from framework_jetstream.engine._delivery cimport consumer_expire, request_end, request_refuse
from framework_jetstream.engine._groups cimport (
    CARRIED_KEPT, CARRIED_OUT, group_close, group_describe, group_opened, group_propose, refused_as,
)
from framework_jetstream.engine._state cimport (
    CLOSE_CONSUMER, CONSUMER_STATE, OPEN_CONSUMER, TAG_ACK, TAG_DELIVER, TAG_KIND_SHIFT, TAG_NEXT, TAG_NUMBER_SHIFT, UPDATE_CONSUMER,
    Answer, Group, command_text, consumer_of, ready_add, slot_of,
)
from framework_jetstream.log._log cimport LogPart
from framework_jetstream.log._record cimport OP
from framework_jetstream.stream._headers cimport Text

cdef enum:
    NOT_THERE = 1
    NO_ROOM = 2
    SUBJECT_BYTES = 600
    NAMES_MAX = 255

cdef int64_t NEVER = <int64_t> 0x7fffffffffffffff


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


cdef void _read_filters(Machine* machine, const char* at, const char* end) noexcept nogil:
    """Take filters, one a line, in place of those before."""
    cdef Text filter
    cdef void* grown
    cdef uint32_t old
    for old in range(machine.filter_count):
        free(<void*> machine.filters[old].chars)
    machine.filter_count = 0
    while at < end:
        filter = _line(&at, end)
        grown = realloc(machine.filters, (machine.filter_count + 1) * sizeof(Text)) if filter.chars != NULL else NULL
        if grown == NULL:
            return
        machine.filters = <Text*> grown
        machine.filters[machine.filter_count] = filter
        machine.filter_count += 1


cdef void _read_numbers(ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Take what may change of a consumer: numbers in the order of `Verb.OPEN_CONSUMER`."""
    cdef Machine* machine = &consumer.machine
    machine.terms.ack_policy = <int> command.numbers[1]
    machine.terms.ack_wait_ns = command.numbers[2]
    machine.terms.max_deliver = command.numbers[3]
    machine.terms.max_ack_pending = command.numbers[4]
    consumer.max_waiting = command.numbers[5]
    consumer.max_batch = command.numbers[6]
    consumer.max_expires_ns = command.numbers[7]
    consumer.max_bytes = command.numbers[8]
    consumer.headers_only = command.numbers[9] != 0
    machine.terms.deliver_policy = <int> command.numbers[10]
    machine.terms.start = command.numbers[11]
    consumer.heartbeat_ns = command.numbers[12]
    consumer.inactive_ns = command.numbers[13]


cdef void _read_backoff(Machine* machine, Command* command) noexcept nogil:
    """Take the times between deliveries: behind the first line of the second text, 8 bytes each."""
    cdef uint32_t count = <uint32_t> command.numbers[14]
    cdef const char* times = command_text(command, 1) + command.lengths[1] - count * 8
    free(machine.terms.backoff_ns)
    machine.terms.backoff_count = 0
    machine.terms.backoff_ns = <int64_t*> malloc(count * 8 + 8)
    if machine.terms.backoff_ns != NULL:
        memcpy(machine.terms.backoff_ns, times, count * 8)
        machine.terms.backoff_count = count


cdef int64_t _tag(int64_t kind, ConsumerSlot* consumer) noexcept nogil:
    return kind << TAG_KIND_SHIFT | <int64_t> consumer.number << TAG_NUMBER_SHIFT


cdef uint32_t _subject(
    char* to, const char* prefix, uint32_t length, ConsumerSlot* consumer, const char* end, uint32_t end_length
) noexcept nogil:
    """Write a subject with the names of stream and consumer."""
    cdef uint32_t used = length
    memcpy(to, prefix, length)
    memcpy(to + used, consumer.slot.name.chars, consumer.slot.name.length)
    used += consumer.slot.name.length
    to[used] = b"."
    memcpy(to + used + 1, consumer.name.chars, consumer.name.length)
    used += consumer.name.length + 1
    memcpy(to + used, end, end_length)
    return used + end_length


cdef void _follow(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Hear what clients say to a consumer."""
    cdef char subject[SUBJECT_BYTES]
    cdef uint32_t length = _subject(subject, b"$JS.ACK.", 8, consumer, b".", 1)
    cdef char* prefix = <char*> malloc(length)
    cdef uint32_t account = consumer.slot.account
    consumer.ack_prefix.chars = prefix
    consumer.ack_prefix.length = length if prefix != NULL else 0
    if prefix != NULL:
        memcpy(prefix, subject, length)
    length = _subject(subject, b"$JS.ACK.", 8, consumer, b".>", 2)
    engine.port.subscribe(engine.port.self, account, subject, length, NULL, 0, _tag(TAG_ACK, consumer))
    length = _subject(subject, b"$JS.API.CONSUMER.MSG.NEXT.", 26, consumer, NULL, 0)
    engine.port.subscribe(engine.port.self, account, subject, length, NULL, 0, _tag(TAG_NEXT, consumer))
    if consumer.deliver.chars != NULL:
        engine.port.watch(engine.port.self, account, consumer.deliver.chars, consumer.deliver.length, _tag(TAG_DELIVER, consumer))


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
    if consumer == NULL:
        return NULL
    consumer.number = number
    consumer.wakes_ns = NEVER
    engine.consumers[number] = consumer
    return consumer


cdef int _open(Engine* engine, Command* command) noexcept nogil:
    """Open a consumer: the texts are its name and filters, where it pushes, with times of backoff behind, and what the log is to know."""
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
    if command.lengths[2] and consumer.group == NULL and slot.group != NULL:
        consumer.group = group_opened(engine, NULL, consumer, command)
        if consumer.group == NULL:
            engine.consumers[command.number] = NULL
            free(consumer)
            refused = refused_as(engine, command)
            return refused
    _begin(engine, slot, consumer, command)
    if consumer.group == NULL or consumer.is_restored:
        consumer.is_restored = 0
        consumer_say(engine, consumer, command.id)
        return CARRIED_OUT
    consumer.opening = command
    consumer.is_whole_due = 1
    consumer_change(engine, consumer)
    return CARRIED_KEPT


cdef void _begin(Engine* engine, Slot* slot, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Let a consumer begin, or go on as it was read."""
    cdef const char* at = command_text(command, 0)
    cdef const char* end = at + command.lengths[0]
    consumer.slot = slot
    consumer.active_ns = engine.now_ns
    consumer.beats_ns = engine.now_ns
    _read_numbers(consumer, command)
    consumer.beats_ns = engine.now_ns + consumer.heartbeat_ns
    consumer.name = _line(&at, end)
    _read_filters(&consumer.machine, at, end)
    at = command_text(command, 1)
    consumer.deliver = _line(&at, at + command.lengths[1] - command.numbers[14] * 8)
    _read_backoff(&consumer.machine, command)
    if consumer.is_restored:
        machine_settle(&consumer.machine, &slot.stream, engine.now_ns)
    else:
        machine_begin(&consumer.machine, &slot.stream)
    consumer.next = slot.consumers
    slot.consumers = consumer
    slot.consumer_count += 1
    slot.stream.appended = consumers_appended
    slot.stream.removing = consumers_removing
    _follow(engine, consumer)
    consumer_expire(engine, consumer)


cdef void consumer_close(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """End a consumer; who waits is told."""
    cdef ConsumerSlot** at = &consumer.slot.consumers
    cdef Text reply
    while consumer.first != NULL:
        reply.chars = <char*> (consumer.first + 1)
        reply.length = consumer.first.reply_length
        request_refuse(engine, consumer, reply, b"409 Consumer Deleted", 20)
        request_end(engine, consumer, consumer.first)
    engine.port.unsubscribe(engine.port.self, _tag(TAG_ACK, consumer))
    engine.port.unsubscribe(engine.port.self, _tag(TAG_NEXT, consumer))
    if consumer.deliver.chars != NULL:
        engine.port.unwatch(engine.port.self, _tag(TAG_DELIVER, consumer))
    while at[0] != consumer:
        at = &at[0].next
    at[0] = consumer.next
    consumer.slot.consumer_count -= 1
    if consumer.slot.consumers == NULL:
        consumer.slot.stream.appended = NULL
        consumer.slot.stream.removing = NULL
    engine.consumers[consumer.number] = NULL
    _leave_ready(engine, consumer)
    consumer_leave_log(engine, consumer)
    machine_free(&consumer.machine)
    free(<void*> consumer.name.chars)
    free(<void*> consumer.ack_prefix.chars)
    free(<void*> consumer.deliver.chars)
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


cdef void consumer_say(Engine* engine, ConsumerSlot* consumer, int64_t id) noexcept nogil:
    """Answer delivered and floor in consumer and stream, what waits, was delivered again and is pending, and who waits."""
    cdef Answer* answer = answer_made(engine, id, 0, 0)
    cdef Machine* machine = &consumer.machine
    cdef uint32_t at
    if answer == NULL:
        return
    answer.numbers[0] = <int64_t> machine.consumer_seq
    answer.numbers[1] = <int64_t> machine.delivered_seq
    answer.numbers[2] = <int64_t> machine.floor_consumer_seq
    answer.numbers[3] = <int64_t> machine.floor_seq
    answer.numbers[4] = machine.pending_live
    for at in range(machine.pending_first, machine.pending_end):
        answer.numbers[5] += not machine.pending[at].is_gone and machine.pending[at].deliveries > 1
    answer.numbers[6] = consumer.waiting
    answer.numbers[7] = <int64_t> machine.num_pending
    answer.numbers[8] = consumer.has_interest
    answer.numbers[9] = consumer.last_delivered_ns
    answer.numbers[10] = consumer.last_ack_ns


cdef void _update(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    """Change what may change; where the filters do, what is pending is counted anew."""
    cdef const char* at = command_text(command, 0)
    cdef const char* end = at + command.lengths[0]
    cdef Text name = _line(&at, end)
    free(<void*> name.chars)
    _read_numbers(consumer, command)
    _read_backoff(&consumer.machine, command)
    _read_filters(&consumer.machine, at, end)
    machine_recount(&consumer.machine)
    consumer_expire(engine, consumer)
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
    _update(engine, consumer, command)
    return CARRIED_KEPT


cdef int _close(Engine* engine, ConsumerSlot* consumer, Command* command) noexcept nogil:
    cdef Group* group = consumer.group
    consumer_close(engine, consumer)
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
    if consumer == NULL or consumer.slot == NULL:
        answer_made(engine, command.id, NOT_THERE, 0)
    elif command.verb == CLOSE_CONSUMER:
        return _close(engine, consumer, command)
    elif command.verb == CONSUMER_STATE:
        consumer_say(engine, consumer, command.id)
    elif command.verb == UPDATE_CONSUMER and consumer.group != NULL:
        return _update_logged(engine, consumer, command)
    elif command.verb == UPDATE_CONSUMER:
        _update(engine, consumer, command)
        consumer_say(engine, consumer, command.id)
    return CARRIED_OUT


# ---- what happens to the stream ------------------------------------------------------------------------------------------


cdef void consumers_appended(Stream* stream, const Record* record) noexcept nogil:
    """Tell the consumers of a stream of a message."""
    cdef Slot* slot = <Slot*> stream.owner
    cdef ConsumerSlot* consumer = slot.consumers
    while consumer != NULL:
        machine_appended(&consumer.machine, record)
        if (consumer.first != NULL or consumer.has_interest) and machine_has_more(&consumer.machine):
            ready_add(slot.engine, consumer)
        consumer = consumer.next


cdef void consumers_removing(Stream* stream, const Record* record) noexcept nogil:
    """Tell the consumers of a stream that a message goes."""
    cdef ConsumerSlot* consumer = (<Slot*> stream.owner).consumers
    while consumer != NULL:
        machine_removing(&consumer.machine, record)
        consumer = consumer.next


cdef void consumers_purged(Slot* slot) noexcept nogil:
    """Tell the consumers of a stream that it was purged."""
    cdef ConsumerSlot* consumer = slot.consumers
    while consumer != NULL:
        machine_purged(&consumer.machine)
        consumer = consumer.next
