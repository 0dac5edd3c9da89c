"""Messages of one stream: by sequence in blocks, and by subject.

A message costs 8 bytes beside its own, its time and the length of its header: where its bytes begin, and the number of its subject. Of a
subject it is known how many messages it has, and where they begin and end; where they lie between is found by looking through the numbers,
some ten thousand of them in a microsecond. Only where a subject keeps a few messages of many, so that the one behind its first is asked for
with each publish, the way to it is kept: 4 bytes more a message.

No clock and no limits: the stream decides what is kept.

Size: one struct, which every function here reads or changes.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

from framework_jetstream.store._block cimport (
    BLOCK_BYTES, BODY_BYTES_MAX, HAS_HEADER, NO_MESSAGE, Entry, block_append, block_copied, block_entry, block_free, block_from,
    block_index, block_last_seq, block_made, block_make_room, block_memory, block_packed, block_resident, block_seq, block_set_next,
    body_bytes, entry_begin, header_bytes, text_bytes,
)
from framework_jetstream.store._lean cimport block_leaned, block_time
from framework_jetstream.store._subjects cimport (
    number_is_marked, pattern_is_literal, pattern_matches, subject_by_number, subject_chars, subjects_begin, subjects_find,
    subjects_forget, subjects_free, subjects_have,
)
from framework_jetstream.stream._usage cimport usage_add

cdef enum:
    PACKS_BELOW = 4
    # A block of which less than one part of so many lives is packed.
    NEXT_MAX = 0xffffffff


# ---- blocks --------------------------------------------------------------------------------------------------------------


cdef void messages_count_block(Messages* messages, const Block* block, int sign) noexcept nogil:
    """Count a block that comes (1) or goes (-1)."""
    messages.absent += <size_t> (sign * (block.data == NULL))
    if messages.resident != NULL:
        messages.resident[0] += <uint64_t> (sign * <int64_t> block_resident(block))


cdef size_t messages_place(Messages* messages, uint64_t seq) noexcept nogil:
    """Return which block has a sequence, if one has it: the last one that does not begin behind it, else the first one."""
    cdef size_t low = messages.looked_at, high = messages.block_end, middle
    cdef BlockPlace* blocks = messages.blocks
    if messages.block_begin <= low < high and blocks[low].first_seq <= seq:
        # The same again, or the next one: as a rule.
        if low + 1 == high or seq < blocks[low + 1].first_seq:
            return low
        low += 1
        if low + 1 == high or seq < blocks[low + 1].first_seq:
            messages.looked_at = low
            return low
    low = messages.block_begin
    while high - low > 1:
        middle = low + (high - low) // 2
        if blocks[middle].first_seq <= seq:
            low = middle
        else:
            high = middle
    messages.looked_at = low
    return low


cdef Block* _block_added(Messages* messages, uint64_t seq, size_t wanted) noexcept nogil:
    """Begin a block behind the others; NULL: no memory."""
    cdef void* grown
    cdef const Block* last = messages.blocks[messages.block_end - 1].block if messages.block_end > messages.block_begin else NULL
    cdef size_t before = max(last.size, last.used) if last != NULL else 0
    cdef Block* made
    if messages.block_end == messages.block_room:
        grown = realloc(messages.blocks, (messages.block_room * 2 + 1) * sizeof(BlockPlace))
        if grown == NULL:
            return NULL
        messages.blocks = <BlockPlace*> grown
        messages.block_room = messages.block_room * 2 + 1
    made = block_made(seq, wanted, before)
    if made != NULL:
        messages.blocks[messages.block_end].first_seq = seq
        messages.blocks[messages.block_end].block = made
        messages.block_end += 1
        messages_count_block(messages, made, 1)
        if messages.block_end - messages.block_begin > 1 and messages.blocks[messages.block_end - 2].block.live == 0:
            # As the last one it had to stay.
            _block_out(messages, messages.block_end - 2)
    return made


cdef void _block_out(Messages* messages, size_t at) noexcept nogil:
    """Forget a block."""
    cdef size_t count
    messages_count_block(messages, messages.blocks[at].block, -1)
    block_free(messages.blocks[at].block)
    if at == messages.block_begin:
        messages.block_begin += 1
        if messages.block_begin > messages.block_end // 2:
            count = messages.block_end - messages.block_begin
            memmove(messages.blocks, messages.blocks + messages.block_begin, count * sizeof(BlockPlace))
            messages.block_begin = 0
            messages.block_end = count
        return
    messages.block_end -= 1
    memmove(messages.blocks + at, messages.blocks + at + 1, (messages.block_end - at) * sizeof(BlockPlace))


cdef void block_replace(Messages* messages, size_t at, Block* made) noexcept nogil:
    """Have another block in the place of one."""
    messages_count_block(messages, messages.blocks[at].block, -1)
    messages_count_block(messages, made, 1)
    block_free(messages.blocks[at].block)
    messages.blocks[at].block = made


cdef void _pack(Messages* messages, size_t at) noexcept nogil:
    """Pack a block, together with the one before if that is packed and both are small; one whose bytes are asked for stays as it is."""
    cdef Block* block = messages.blocks[at].block
    cdef Block* before = messages.blocks[at - 1].block if at > messages.block_begin else NULL
    cdef Block* made
    if block.data == NULL:
        made = block_leaned(block, True) if not block.is_asked and block.live < block.count // 2 else NULL
        if made != NULL:
            block_replace(messages, at, made)
        return
    if before != NULL and before.data != NULL and before.places != NULL and before.live and (
        before.live_bytes + block.live_bytes + (before.live + block.live) * (sizeof(Entry) + sizeof(uint32_t)) <= BLOCK_BYTES // 2
        and block_last_seq(block) - before.first_seq <= <uint64_t> NEXT_MAX
    ):
        made = block_packed(before, block)
        if made != NULL:
            block_replace(messages, at - 1, made)
            _block_out(messages, at)
        return
    made = block_packed(block, NULL)
    if made != NULL:
        block_replace(messages, at, made)


cdef Block* _changeable(Messages* messages, size_t at) noexcept nogil:
    """Return a block that is held as one that may be changed: a copy in its place."""
    cdef Block* block = messages.blocks[at].block
    cdef Block* made = block_copied(block)
    if made == NULL:
        messages.is_spoiled = 1
        return block
    block_replace(messages, at, made)
    return made


# ---- looking for messages ------------------------------------------------------------------------------------------------


cdef Record _absent_record(Messages* messages, Block* block, uint32_t index) noexcept nogil:
    """Return what is known of a message whose bytes are not in memory."""
    cdef Record record
    cdef Entry* entry = block_entry(block, index)
    cdef uint32_t length = text_bytes(entry, body_bytes(block, index))
    record.subject = subject_by_number(&messages.subjects, entry.subject)
    record.seq = block_seq(block, index)
    record.time_ns = block_time(block, index)
    record.header_length = length if entry.offset & <uint32_t> HAS_HEADER else 0
    record.payload_length = length - record.header_length
    record.chars = NULL
    return record


cdef Record _record(Messages* messages, Block* block, uint32_t index) noexcept nogil:
    cdef Record record
    cdef Entry* entry = block_entry(block, index)
    cdef const char* body = block.data + entry_begin(entry)
    cdef uint32_t length
    if block.data == NULL:
        return _absent_record(messages, block, index)
    if block.ahead:
        messages.ahead_seq = block.first_seq
    if block.age == 0:
        block.age = 1
    length = body_bytes(block, index) - <uint32_t> sizeof(int64_t)
    record.subject = subject_by_number(&messages.subjects, entry.subject)
    record.seq = block_seq(block, index)
    memcpy(&record.time_ns, body, sizeof(int64_t))
    record.header_length = 0
    record.chars = body + sizeof(int64_t)
    if entry.offset & <uint32_t> HAS_HEADER:
        record.header_length = header_bytes(block, entry)
        record.chars += sizeof(uint32_t)
        length -= <uint32_t> sizeof(uint32_t)
    record.payload_length = length - record.header_length
    return record


cdef Record _no_record() noexcept nogil:
    cdef Record record
    memset(&record, 0, sizeof(Record))
    return record


cdef Record messages_get(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the message with a sequence; `seq` of it is 0: there is none."""
    cdef uint32_t index
    cdef Block* block
    if messages.block_begin == messages.block_end:
        return _no_record()
    block = messages.blocks[messages_place(messages, seq)].block
    index = block_index(block, seq)
    return _no_record() if index == <uint32_t> NO_MESSAGE else _record(messages, block, index)


cdef Record messages_get_whole(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the same with its bytes, which are read at once where they are not in memory; those that can't be read are none."""
    cdef Record record = messages_get(messages, seq)
    if not record_is_absent(&record):
        return record
    if messages.fetch != NULL and messages.fetch(messages.owner, messages.blocks[messages_place(messages, seq)].block):
        return messages_get(messages, seq)
    record.chars = b""
    record.header_length = record.payload_length = 0
    return record


cdef uint64_t messages_seq_from(Messages* messages, int64_t time_ns) noexcept nogil:
    """Return the first sequence at a time or behind it; above the last one: there is none. Cost: O(log messages)."""
    cdef uint64_t low = messages.first_seq, high = messages.last_seq + 1, middle
    cdef Record record
    while low < high:
        middle = low + (high - low) // 2
        record = messages_next(messages, middle)
        if record.seq == 0 or record.time_ns >= time_ns:
            high = middle
        else:
            low = record.seq + 1
    return low


cdef Record messages_next(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the first message with a sequence or a higher one; `seq` of it is 0: there is none."""
    cdef size_t at
    cdef uint32_t index
    cdef Block* block
    if messages.block_begin == messages.block_end:
        return _no_record()
    at = messages_place(messages, seq)
    while at < messages.block_end:
        block = messages.blocks[at].block
        if block.live:
            for index in range(block_from(block, seq), block.count):
                if block_entry(block, index).subject:
                    messages.looked_at = at
                    return _record(messages, block, index)
        at += 1
    return _no_record()


cdef Record messages_first(Messages* messages) noexcept nogil:
    """Return the first message; `seq` of it is 0: there is none."""
    return messages_get(messages, messages.first_seq) if messages.count else _no_record()


cdef Record messages_next_marked(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the first message whose subject is marked, from a sequence on; `seq` of it is 0: there is none."""
    cdef size_t at
    cdef uint32_t index
    cdef Block* block
    if messages.block_begin == messages.block_end:
        return _no_record()
    at = messages_place(messages, seq)
    while at < messages.block_end:
        block = messages.blocks[at].block
        if block.live:
            for index in range(block_from(block, seq), block.count):
                if number_is_marked(&messages.subjects, block_entry(block, index).subject):
                    messages.looked_at = at
                    return _record(messages, block, index)
        at += 1
    return _no_record()


cdef Record messages_previous_marked(Messages* messages, uint64_t seq) noexcept nogil:
    """Return the last message whose subject is marked, up to a sequence; `seq` of it is 0: there is none."""
    cdef size_t at = messages.block_begin
    cdef uint32_t index
    cdef Block* block
    if messages.block_begin < messages.block_end:
        at = messages_place(messages, seq) + 1
    while at > messages.block_begin:
        at -= 1
        block = messages.blocks[at].block
        index = block_from(block, seq + 1)
        while index:
            index -= 1
            if number_is_marked(&messages.subjects, block_entry(block, index).subject):
                return _record(messages, block, index)
    return _no_record()


cdef bint _is_wanted(const Messages* messages, uint32_t number, const Text* filters, uint32_t filter_count) noexcept nogil:
    cdef Subject* subject = subject_by_number(&messages.subjects, number)
    cdef uint32_t at
    for at in range(filter_count):
        if pattern_matches(filters[at].chars, filters[at].length, subject_chars(subject), subject.length):
            return True
    return False


cdef Record messages_next_matching(Messages* messages, uint64_t seq, const Text* filters, uint32_t filter_count) noexcept nogil:
    """Return the first message whose subject one of some patterns holds, from a sequence on; `seq` of it is 0: there is none."""
    cdef size_t at
    cdef uint32_t index, number
    cdef uint32_t refused = 0
    cdef Block* block
    cdef Subject* subject
    if filter_count == 0:
        return messages_next(messages, seq)
    if filter_count == 1 and pattern_is_literal(filters[0].chars, filters[0].length):
        subject = subjects_find(&messages.subjects, filters[0].chars, filters[0].length)
        seq = _seq_of_number(messages, subject, seq) if subject != NULL else 0
        return messages_get(messages, seq) if seq else _no_record()
    if messages.block_begin == messages.block_end:
        return _no_record()
    at = messages_place(messages, seq)
    while at < messages.block_end:
        block = messages.blocks[at].block
        if block.live:
            for index in range(block_from(block, seq), block.count):
                number = block_entry(block, index).subject
                if number == 0 or number == refused:
                    continue
                if _is_wanted(messages, number, filters, filter_count):
                    messages.looked_at = at
                    return _record(messages, block, index)
                refused = number
        at += 1
    return _no_record()


cdef uint64_t messages_count_marked(Messages* messages, uint64_t seq) noexcept nogil:
    """Return how many messages from a sequence on have a subject that is marked. Cost: about 1 ns a message."""
    cdef uint64_t found = 0
    cdef const uint64_t* marked = messages.subjects.marked
    cdef size_t at
    cdef Block* block
    cdef const Entry* entry
    cdef const Entry* last
    if messages.block_begin == messages.block_end or messages.subjects.marked_count <= messages.subjects.number_end >> 6:
        return 0
    for at in range(messages_place(messages, seq), messages.block_end):
        block = messages.blocks[at].block
        entry = block_entry(block, block_from(block, seq))
        last = block.entries - block.count
        while entry >= last:
            found += (marked[entry.subject >> 6] >> (entry.subject & 63)) & 1
            entry -= 1
    return found


# ---- messages of a subject -----------------------------------------------------------------------------------------------


cdef Subject* messages_subject(Messages* messages, const char* subject, size_t length) noexcept nogil:
    """Return a subject that messages have; NULL: none has it."""
    return subjects_find(&messages.subjects, subject, length)


cdef uint64_t _seq_of_number(Messages* messages, Subject* subject, uint64_t seq) noexcept nogil:
    """Return the first message of a subject from a sequence on; 0: there is none."""
    cdef size_t at
    cdef uint32_t index
    cdef Block* block
    if seq > subject.last_seq:
        return 0
    if seq <= subject.first_seq:
        if subject.first_is_known:
            return subject.first_seq
        seq = subject.first_seq
    if seq == subject.last_seq and subject.last_is_known:
        return seq
    at = messages_place(messages, seq)
    while at < messages.block_end and messages.blocks[at].first_seq <= subject.last_seq:
        block = messages.blocks[at].block
        for index in range(block_from(block, seq), block.count):
            if block_entry(block, index).subject == subject.number:
                messages.looked_at = at
                return block_seq(block, index)
        at += 1
    return 0


cdef uint64_t messages_first_of(Messages* messages, Subject* subject) noexcept nogil:
    """Return the first message of a subject. Cost: O(1), or O(distance) behind a removal."""
    if not subject.first_is_known:
        subject.first_seq = _seq_of_number(messages, subject, subject.first_seq)
        subject.first_is_known = True
    return subject.first_seq


cdef uint64_t messages_last_of(Messages* messages, Subject* subject) noexcept nogil:
    """Return the last message of a subject. Cost: O(1), or O(distance) if the last one was removed."""
    cdef size_t at
    cdef uint32_t index
    cdef Block* block
    if subject.last_is_known:
        return subject.last_seq
    at = messages_place(messages, subject.last_seq) + 1
    while at > messages.block_begin:
        at -= 1
        block = messages.blocks[at].block
        index = block_from(block, subject.last_seq + 1)
        while index:
            index -= 1
            if block_entry(block, index).subject == subject.number:
                subject.last_seq = block_seq(block, index)
                subject.last_is_known = True
                return subject.last_seq
    return 0


cdef void _remember_next(Messages* messages, uint64_t seq, uint64_t next_seq) noexcept nogil:
    """Keep how far it is from a message to the next one of its subject."""
    cdef Block* block = messages.blocks[messages_place(messages, seq)].block
    cdef uint32_t index = block_index(block, seq)
    if index != <uint32_t> NO_MESSAGE and next_seq - seq <= <uint64_t> NEXT_MAX:
        block_set_next(block, index, <uint32_t> (next_seq - seq))


cdef void _follow_next(Subject* subject, const Block* block, uint32_t index) noexcept nogil:
    """Move the begin of a subject behind a message that goes: to the next one, if that is known."""
    cdef uint64_t seq = block_seq(block, index)
    subject.first_seq = seq + 1
    subject.first_is_known = False
    if block.nexts != NULL and index < block.next_room and block.nexts[index]:
        # It may have been removed as well; but none is before it.
        subject.first_seq = seq + block.nexts[index]


cdef void messages_keep_nexts(Messages* messages, bint wanted) noexcept nogil:
    """Keep the way from each message to the next one of its subject, or not. Cost: O(messages)."""
    cdef size_t at = messages.block_end
    cdef uint32_t index, number
    cdef uint64_t seq
    cdef uint64_t* later
    cdef Block* block
    if messages.keeps_nexts == wanted:
        return
    messages.keeps_nexts = wanted
    later = <uint64_t*> calloc(messages.subjects.number_end, sizeof(uint64_t)) if wanted else NULL
    while at > messages.block_begin:
        at -= 1
        block = messages.blocks[at].block
        if not wanted:
            free(block.nexts)
            block.nexts = NULL
            block.next_room = 0
            continue
        index = block.count
        while index and later != NULL:
            index -= 1
            number = block_entry(block, index).subject
            seq = block_seq(block, index)
            if number and later[number] and later[number] - seq <= <uint64_t> NEXT_MAX:
                block_set_next(block, index, <uint32_t> (later[number] - seq))
            later[number] = seq
    free(later)


# ---- messages ------------------------------------------------------------------------------------------------------------


cdef void messages_begin(
    Messages* messages, uint64_t seed, uint32_t overhead, uint32_t header_overhead, uint64_t first_seq
) noexcept nogil:
    """Make room for no messages yet.

    Args:
        seed: Secret, of hashes.
        overhead: Bytes that each message counts beside its own.
        header_overhead: Bytes more where it has headers.
        first_seq: Of the first message; 0: 1.
    """
    memset(messages, 0, sizeof(Messages))
    subjects_begin(&messages.subjects, seed)
    messages.overhead = overhead
    messages.header_overhead = header_overhead
    messages.first_seq = first_seq
    messages.last_seq = first_seq - 1 if first_seq else 0


cdef Record messages_append(
    Messages* messages, const char* subject, size_t subject_length, const char* header, size_t header_length, const char* payload,
    size_t payload_length, int64_t time_ns,
) noexcept nogil:
    """Add a message behind all others, and return it; `seq` of it is 0: no memory, and nothing has changed.

    Args:
        header, payload: NULL: they are in a segment alone; nobody may look at them before `messages_lean`.
    """
    cdef uint64_t seq = messages.last_seq + 1
    cdef size_t size = sizeof(int64_t) + (sizeof(uint32_t) + header_length if header_length else 0) + payload_length
    cdef Subject* of = subjects_have(&messages.subjects, subject, subject_length)
    cdef Block* block = messages.blocks[messages.block_end - 1].block if messages.block_end > messages.block_begin else NULL
    cdef uint64_t before
    if of == NULL:
        return _no_record()
    if block == NULL or not block_make_room(block, seq, size):
        block = _block_added(messages, seq, size + sizeof(Entry)) if size <= BODY_BYTES_MAX else NULL
        if block == NULL:
            if of.count == 0:
                subjects_forget(&messages.subjects, of)
            return _no_record()
    if of.count == 0:
        of.first_seq = seq
        of.first_is_known = True
    elif messages.keeps_nexts:
        before = messages_last_of(messages, of)
        _remember_next(messages, before, seq)
    of.last_seq = seq
    of.last_is_known = True
    of.count += 1
    block_append(block, of.number, time_ns, header, header_length, payload, payload_length)
    messages.last_seq = seq
    messages.last_time_ns = time_ns
    if messages.count == 0:
        messages.first_seq = seq
    messages.count += 1
    messages.bytes += message_bytes(messages, subject_length, header_length, payload_length)
    usage_add(messages.usage, <int64_t> message_bytes(messages, subject_length, header_length, payload_length))
    return _record(messages, block, block.count - 1)


cdef uint32_t _leave_subject(Messages* messages, const Block* block, uint32_t index, uint64_t seq) noexcept nogil:
    """Count a message of a subject no more; return how long the subject is."""
    cdef Subject* subject = subject_by_number(&messages.subjects, block_entry(block, index).subject)
    cdef uint32_t length = subject.length
    subject.count -= 1
    if subject.count == 0:
        subjects_forget(&messages.subjects, subject)
        return length
    if seq == subject.first_seq:
        _follow_next(subject, block, index)
    if seq == subject.last_seq:
        subject.last_seq = seq - 1
        subject.last_is_known = False
    if subject.count == 1 and subject.last_is_known:
        subject.first_seq = subject.last_seq
        subject.first_is_known = True
    elif subject.count == 1 and subject.first_is_known:
        subject.last_seq = subject.first_seq
        subject.last_is_known = True
    return length


cdef void _move_first(Messages* messages, size_t at, uint32_t index) noexcept nogil:
    """Find the first message, from an entry on."""
    cdef Block* block
    while at < messages.block_end:
        block = messages.blocks[at].block
        while block.live and index < block.count:
            if block_entry(block, index).subject:
                messages.first_seq = block_seq(block, index)
                return
            index += 1
        index = 0
        at += 1
    messages.first_seq = messages.last_seq + 1


cdef void messages_remove(Messages* messages, uint64_t seq) noexcept nogil:
    """Forget a message, if there is one with this sequence. Bytes of others may have moved."""
    cdef size_t at
    cdef Block* block
    cdef uint32_t index, length
    cdef uint64_t before = messages.bytes
    if messages.count == 0:
        return
    at = messages_place(messages, seq)
    block = messages.blocks[at].block
    index = block_index(block, seq)
    if index == <uint32_t> NO_MESSAGE:
        return
    if block.is_held and (block.live > 1 or at + 1 == messages.block_end):
        block = _changeable(messages, at)
    length = body_bytes(block, index)
    messages.count -= 1
    messages.bytes -= _leave_subject(messages, block, index, seq) + text_bytes(block_entry(block, index), length) + messages.overhead
    if block_entry(block, index).offset & <uint32_t> HAS_HEADER:
        messages.bytes -= messages.header_overhead
    usage_add(messages.usage, <int64_t> messages.bytes - <int64_t> before)
    if not block.is_held or messages.is_spoiled:
        # Else it goes as a whole, below.
        block_entry(block, index).subject = 0
    block.live -= 1
    block.live_bytes -= length
    if seq == messages.first_seq:
        _move_first(messages, at, index)
    if at + 1 < messages.block_end:
        if block.live == 0:
            _block_out(messages, at)
        elif block.live_bytes < block.used // PACKS_BELOW:
            _pack(messages, at)


cdef void messages_skip_to(Messages* messages, uint64_t seq) noexcept nogil:
    """Let the next message have a sequence, if that is higher than it would have."""
    if seq > messages.last_seq + 1:
        messages.last_seq = seq - 1
        if messages.count == 0:
            messages.first_seq = seq


cdef uint64_t messages_memory(const Messages* messages) noexcept nogil:
    """Return the bytes of memory that messages take, but for what malloc needs itself. Cost: O(blocks)."""
    cdef uint64_t found = messages.subjects.bytes + messages.block_room * sizeof(BlockPlace)
    cdef size_t at
    for at in range(messages.block_begin, messages.block_end):
        found += block_memory(messages.blocks[at].block)
    return found


cdef void messages_free(Messages* messages) noexcept nogil:
    """Free all messages."""
    cdef size_t at
    usage_add(messages.usage, -<int64_t> messages.bytes)
    for at in range(messages.block_begin, messages.block_end):
        messages_count_block(messages, messages.blocks[at].block, -1)
        block_free(messages.blocks[at].block)
    free(messages.blocks)
    subjects_free(&messages.subjects)
    memset(messages, 0, sizeof(Messages))
