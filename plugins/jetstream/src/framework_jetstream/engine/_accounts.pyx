"""What the streams of each account take of what it may store, and the server's all together.

It is looked at when a message comes, before it is proposed: what is against it then is marked in its entry. So a stream that is read again
decides as it did, whatever the limits are now.

Source: nats-server `jetstream.go`, `wouldExceedLimits`, `limitsExceeded`; `stream.go`, `processJetStreamAtomicBatchMsg`.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._state cimport ACCOUNT_HASH, KEPT_IN_FILES, LIMIT_SERVER, Answer, BatchTerms, command_text
from framework_jetstream.stream._fast_batches cimport FAST_GOOD, FastPlace, fast_read
from framework_jetstream.stream._headers cimport PublishHeaders, Text, header_value, headers_read, seq_of_text, text_is
from framework_jetstream.stream._machine cimport MARK_ACCOUNT_FULL, MARK_BATCH_LARGE, MARK_BATCHES_FULL, MARK_SERVER_FULL, MARK_ZONE_UNKNOWN
from framework_jetstream.stream._messages cimport message_bytes
from framework_jetstream.stream._usage cimport Usage, usage_add
from framework_jetstream.stream._zones cimport zone_find

cdef enum:
    MEMORY = 0
    FILE = 1


cdef void accounts_begin(Engine* engine) noexcept nogil:
    """Let there be no limits, and of batches those that nats-server has by itself."""
    engine.usage[MEMORY].most = engine.usage[FILE].most = -1
    engine.batch_terms.messages_max = 1000
    engine.batch_terms.stream_batches_max = 50
    engine.batch_terms.batches_max = 1000
    engine.batch_terms.timeout_ns = 10000000000
    engine.batch_terms.stream_fast_max = 1000
    engine.batch_terms.fast_max = 50000


cdef void accounts_free(Engine* engine) noexcept nogil:
    cdef uint32_t at
    for at in range(engine.account_room):
        free(engine.accounts[at])
    free(engine.accounts)


cdef Account* _account(Engine* engine, uint32_t number) noexcept nogil:
    """Return an account; NULL: no memory."""
    cdef uint32_t room = max(number + 1, engine.account_room * 2), at
    cdef Account* made
    cdef void* grown
    if number >= engine.account_room:
        grown = realloc(engine.accounts, room * sizeof(Account*))
        if grown == NULL:
            return NULL
        engine.accounts = <Account**> grown
        while engine.account_room < room:
            engine.accounts[engine.account_room] = NULL
            engine.account_room += 1
    if engine.accounts[number] == NULL:
        made = <Account*> calloc(1, sizeof(Account))
        if made == NULL:
            return NULL
        memset(made.hash, c"0", ACCOUNT_HASH)
        for at in range(2):
            made.usage[at].most = -1
            made.usage[at].all = &engine.usage[at]
        engine.accounts[number] = made
    return engine.accounts[number]


cdef void slot_count_in(Engine* engine, Slot* slot) noexcept nogil:
    """Count what a stream has, and what will come, for its account."""
    cdef Account* account = _account(engine, slot.account)
    if account == NULL or slot.stream.messages.usage != NULL:
        return
    slot.stream.messages.usage = &account.usage[slot.kept == KEPT_IN_FILES]
    usage_add(slot.stream.messages.usage, <int64_t> slot.stream.messages.bytes)


cdef void slot_count_out(Slot* slot) noexcept nogil:
    """Wait no more for what was proposed to a stream, which goes."""
    if slot.stream.messages.usage != NULL:
        slot.stream.messages.usage.pending -= slot.pending_bytes
    slot.pending_bytes = 0


cdef void limits_command(Engine* engine, Command* command) noexcept nogil:
    """Take up limits: of the server with those of batches, or of the account whose number the command has."""
    cdef Account* account
    cdef const int64_t* numbers = command.numbers
    if command.verb == LIMIT_SERVER:
        engine.usage[MEMORY].most = numbers[0]
        engine.usage[FILE].most = numbers[1]
        engine.batch_terms.messages_max = numbers[2]
        engine.batch_terms.stream_batches_max = numbers[3]
        engine.batch_terms.batches_max = numbers[4]
        engine.batch_terms.timeout_ns = numbers[5]
        engine.batch_terms.stream_fast_max = numbers[6]
        engine.batch_terms.fast_max = numbers[7]
        engine.has_scoped_acks = numbers[8] != 0
    else:
        account = _account(engine, command.number)
        if account != NULL:
            account.usage[MEMORY].most = numbers[0]
            account.usage[FILE].most = numbers[1]
            memcpy(account.hash, command_text(command, 0), min(command.lengths[0], <size_t> ACCOUNT_HASH))
    answer_made(engine, command.id, 0, 0)


cdef void totals_command(Engine* engine, Command* command) noexcept nogil:
    """Say what all streams have, or those of the account whose number the command has."""
    cdef const Usage* usage = engine.usage
    cdef bint is_of_one = command.numbers[0] != 0
    cdef Answer* answer = answer_made(engine, command.id, 0, 0)
    cdef uint32_t at
    if answer == NULL or is_of_one and (command.number >= engine.account_room or engine.accounts[command.number] == NULL):
        return
    if is_of_one:
        usage = engine.accounts[command.number].usage
    answer.numbers[0] = usage[MEMORY].used
    answer.numbers[1] = usage[FILE].used
    for at in range(0 if is_of_one else engine.slot_count):
        if engine.slots[at] != NULL:
            answer.numbers[2] += <int64_t> engine.slots[at].stream.messages.count


# ---- messages --------------------------------------------------------------------------------------------------------------


cdef int64_t _bytes_of(Slot* slot, const Publish* publish) noexcept nogil:
    return <int64_t> message_bytes(&slot.stream.messages, publish.subject.length, publish.header.length, publish.payload.length)


cdef int64_t _batch_count(Engine* engine) noexcept nogil:
    """Return how many batches are open in all streams."""
    cdef int64_t count = 0
    cdef uint32_t at
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL:
            count += engine.slots[at].stream.batches.count
    return count


cdef uint16_t _marks_of_batch(Engine* engine, Slot* slot, const Publish* publish) noexcept nogil:
    """Return what is against a message of a batch."""
    cdef const BatchTerms* terms = &engine.batch_terms
    cdef PublishHeaders headers
    cdef uint64_t seq
    headers_read(&headers, publish.header.chars, publish.header.length)
    if headers.batch_id.chars == NULL:
        return 0
    seq = seq_of_text(headers.batch_seq)
    if seq == 1 and (
        slot.stream.batches.count >= terms.stream_batches_max or _batch_count(engine) >= terms.batches_max
    ):
        return MARK_BATCHES_FULL
    seq -= text_is(headers.batch_commit, b"eob", 3)
    return MARK_BATCH_LARGE if seq > <uint64_t> terms.messages_max else 0


cdef uint16_t _marks_of_fast(Engine* engine, Slot* slot, const Publish* publish) noexcept nogil:
    """Return what is against a message of a batch that is stored as it comes."""
    cdef FastPlace place
    cdef int64_t count = 0
    cdef uint32_t at
    if fast_read(publish.reply, &place) != FAST_GOOD or place.seq != 1:
        return 0
    for at in range(engine.slot_count):
        if engine.slots[at] != NULL:
            count += engine.slots[at].stream.fast_batches.count
    if slot.stream.fast_batches.count >= engine.batch_terms.stream_fast_max or count >= engine.batch_terms.fast_max:
        return MARK_BATCHES_FULL
    return 0


cdef bint _has_unknown_zone(const Publish* publish) noexcept nogil:
    cdef Text zone = header_value(publish.header.chars, publish.header.length, b"Nats-Schedule-Time-Zone", 23)
    return zone.chars != NULL and zone_find(zone) == NULL


cdef uint16_t marks_of(Engine* engine, Slot* slot, const Publish* publish) noexcept nogil:
    """Return what is against a message that comes now, by limits that no entry knows; several `Mark` together."""
    cdef const Usage* usage = slot.stream.messages.usage
    cdef uint16_t marks = 0
    if usage != NULL:
        if 0 <= usage.all.most < usage.all.used:
            marks |= MARK_SERVER_FULL
        if usage.most >= 0 and usage.used + usage.pending + _bytes_of(slot, publish) > usage.most:
            marks |= MARK_ACCOUNT_FULL
    if publish.reply.length:
        marks |= _marks_of_fast(engine, slot, publish)
    elif slot.stream.limits.allow_atomic and publish.header.length:
        marks |= _marks_of_batch(engine, slot, publish)
    if slot.stream.limits.allow_schedules and publish.header.length and _has_unknown_zone(publish):
        marks |= MARK_ZONE_UNKNOWN
    return marks


cdef void message_wait(Slot* slot, const Publish* publish) noexcept nogil:
    """Count a message that is proposed."""
    cdef int64_t size = _bytes_of(slot, publish)
    if slot.stream.messages.usage != NULL:
        slot.pending_bytes += size
        slot.stream.messages.usage.pending += size


cdef void message_arrived(Slot* slot, const Publish* publish) noexcept nogil:
    """Count no more that a message is proposed, for it is applied."""
    cdef int64_t size = min(_bytes_of(slot, publish), slot.pending_bytes)
    if slot.stream.messages.usage != NULL:
        slot.pending_bytes -= size
        slot.stream.messages.usage.pending -= size
