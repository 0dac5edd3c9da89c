"""Raft's frames: what one server sends another in one turn, for all groups.

A frame is checked as a whole, before anything of it is taken up: lengths that don't add up, another server's frame, terms and indexes
that no group ever reaches, and whatever the sender's own kind of message can't say. Who sends it is said by the connection.

What the fields of a message are, of which zero is nothing:

    kind                index                 log_term     commit               context        entries
    PRE_VOTE, VOTE      last of the log       its term     -                    -              -
    .._RESPONSE         -                     -            -                    -              -
    APPEND              before the first one  its term     commit index         -              some or none
      asks              of an entry           its term     digest since         digest         none
    APPEND_RESPONSE     durable               LOST: loss   -                    received       -
      answers           durable               digest       index asked of       received       -
      REJECTED          may agree here        its term     `index` of APPEND    -              -
    HEARTBEAT           BEHIND: fetch to it   vouches      commit index         round          -
      BARRIER          of the barrier        loss         commit index         round          -
      MATCHED          acknowledged          its term     commit index         round          -
    HEARTBEAT_RESPONSE  durable               vouches      received             round          -
      LOST              durable               loss         received             round          -
    TIMEOUT_NOW         -                     -            -                    -              -
    READ                -                     -            -                    its id         -
    READ_RESPONSE       may be read           -            -                    its id         -
    FETCH               committed here        its term     wanted up to here    -              -
    RANGE               before the first one  its term     commit index         -              some or none
      COMPACTED         of the snapshot       its term     commit index         -              -
    SNAPSHOT_FETCH      of it; 0: any         -            offset in bytes      missing bytes  -
    SNAPSHOT_CHUNK      of it                 its term     offset in bytes      bytes of all   its members, a piece of it
    BEAT                -                     vouches      -                    takes up       -

A PRE_VOTE has the term that its sender would stand in, and so has the answer that grants it; all others have the sender's own.
An APPEND asks, and an APPEND_RESPONSE answers, what `_comparing.pyx` is about: versions that do not know of that look at none of it. The
first byte of a digest, its highest, is the number of how it is made: any but 0.
A *loss* is the number of what `_losses.pyx` is about. A version that does not know it takes no frame that speaks of one: it hears nothing
of who has lost something, which is safe. By what a server *vouches* is what `_hibernation.pyx` is about; 0: it does not know of that, and
is told no HIBERNATE, and no BEAT, which is of no group and no term. What it *takes up* is the highest of the caller's kinds of entries that
not all versions do, 0: none of these. Who says how many bytes of a snapshot it
misses (1 of any) goes on with what it has when there is a newer one; 0: it does not know of that, and begins anew.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from framework_jetstream.raft._state cimport (
    APPEND, APPEND_RESPONSE, BARRIER, BEAT, BEGIN_ANEW, BEHIND, COMPACTED, ENTRY_DATA, ENTRY_EMPTY, ENTRY_MEMBERS, FAULTY, FETCH,
    HEARTBEAT, HEARTBEAT_RESPONSE, HIBERNATE, KIND_MAX, LOST, MATCHED, PRE_VOTE, PRE_VOTE_RESPONSE, RANGE, READ_RESPONSE, REJECTED,
    SNAPSHOT_CHUNK, TIMEOUT_NOW, TRANSFER, VOTE, VOTE_RESPONSE, RaftEntry, RaftMessage,
)

cdef enum:
    TERM_BITS = 48  # an election each millisecond takes 8,900 years
    INDEX_BITS = 56


cdef void frame_begin(FrameHead* head, uint64_t sender, uint64_t to, uint32_t length, uint32_t count) noexcept nogil:
    """Write the head of a frame of `length` bytes, itself with them."""
    memset(head, 0, sizeof(FrameHead))
    head.magic = FRAME_MAGIC
    head.version = FRAME_VERSION
    head.length = length
    head.count = count
    head.sender = sender
    head.to = to


cdef void message_begin(MessageHead* head, const RaftMessage* message, uint64_t entries_bytes) noexcept nogil:
    """Write the head of a message whose entries, with their heads, take so many bytes."""
    memset(head, 0, sizeof(MessageHead))
    head.length = <uint32_t> (sizeof(MessageHead) + entries_bytes)
    head.kind = message.kind
    head.flags = message.flags
    head.entry_count = message.entry_count
    head.group = message.group
    head.term = message.term
    head.index = message.index
    head.log_term = message.log_term
    head.commit = message.commit
    head.context = message.context


cdef void entry_begin(EntryHead* head, uint64_t term, uint16_t kind, uint32_t length) noexcept nogil:
    memset(head, 0, sizeof(EntryHead))
    head.term = term
    head.kind = kind
    head.length = length


cdef const char* next_entry(const char* at, RaftEntry* entry) noexcept nogil:
    """Read an entry of a checked message; return where the next one stands."""
    cdef const EntryHead* head = <const EntryHead*> at
    entry.term = head.term
    entry.kind = head.kind
    entry.length = head.length
    entry.chars = at + sizeof(EntryHead)
    return entry.chars + entry.length


cdef const char* next_message(const char* at, RaftMessage* message) noexcept nogil:
    """Read a message of a checked frame but for sender and receiver; return where the next one stands."""
    cdef const MessageHead* head = <const MessageHead*> at
    message.group = head.group
    message.term = head.term
    message.index = head.index
    message.log_term = head.log_term
    message.commit = head.commit
    message.context = head.context
    message.need = 0
    message.entries = at + sizeof(MessageHead)
    message.entry_count = head.entry_count
    message.kind = head.kind
    message.flags = head.flags
    return at + head.length


cdef bint _flags_are_good(const RaftMessage* message) noexcept nogil:
    cdef int allowed = 0
    if message.kind in (PRE_VOTE_RESPONSE, VOTE_RESPONSE, READ_RESPONSE):
        allowed = REJECTED
    elif message.kind == APPEND_RESPONSE:
        allowed = REJECTED if message.flags & REJECTED else LOST
    elif message.kind == HEARTBEAT_RESPONSE:
        allowed = LOST | FAULTY if not message.flags & HIBERNATE else HIBERNATE
    elif message.kind == VOTE:
        allowed = TRANSFER
    elif message.kind == HEARTBEAT:
        allowed = BEHIND | BARRIER | BEGIN_ANEW | MATCHED if not message.flags & HIBERNATE else HIBERNATE
    elif message.kind == RANGE:
        allowed = COMPACTED
    return not message.flags & ~allowed


cdef bint _is_of_entry(const RaftMessage* message) noexcept nogil:
    """Return whether `index` and `log_term` are those of an entry, or both 0."""
    return (message.index == 0) == (message.log_term == 0) and message.log_term <= message.term


cdef bint _fields_are_good(const RaftMessage* message) noexcept nogil:
    cdef int kind = message.kind
    if message.flags & (LOST | BARRIER) and not message.log_term:
        return False
    if kind == BEAT or (kind in (HEARTBEAT, HEARTBEAT_RESPONSE) and message.flags & HIBERNATE):
        return message.log_term != 0 and message.index == (message.commit if kind == HEARTBEAT_RESPONSE else 0)
    if kind in (PRE_VOTE, VOTE):
        return _is_of_entry(message) and message.log_term < message.term
    if kind in (APPEND, RANGE, FETCH, SNAPSHOT_CHUNK) and not _is_of_entry(message):
        return False
    if kind == APPEND and message.context:
        return message.index > 0 and message.commit <= message.index and not message.entry_count
    if kind == APPEND_RESPONSE:
        if message.flags & REJECTED:
            return _is_of_entry(message) and message.index <= message.commit
        return message.index <= message.context
    if kind == HEARTBEAT:
        if message.flags & MATCHED:
            return message.flags == MATCHED and message.index > 0 and _is_of_entry(message)
        return message.index == 0 or (message.flags & ~BEGIN_ANEW) in (BEHIND, BARRIER)
    if kind == HEARTBEAT_RESPONSE:
        return message.index <= message.commit
    if kind == RANGE:
        return message.index + message.entry_count <= message.commit and not (message.flags & COMPACTED and message.entry_count)
    return True


cdef bint _entries_are_good(const RaftMessage* message, const char* end) noexcept nogil:
    """Return whether all entries are there, to the last byte, and their terms never go back."""
    cdef const char* at = message.entries
    cdef uint64_t term = message.log_term if message.log_term else 1
    cdef uint32_t _number
    cdef RaftEntry entry
    if message.entry_count and message.kind not in (APPEND, RANGE, SNAPSHOT_CHUNK):
        return False
    for _number in range(message.entry_count):
        if <size_t> (end - at) < sizeof(EntryHead) or (<const EntryHead*> at).length > <size_t> (end - at) - sizeof(EntryHead):
            return False
        if (<const EntryHead*> at).reserved:
            return False
        at = next_entry(at, &entry)
        if entry.term < term or entry.term > message.term or (entry.kind == ENTRY_EMPTY and entry.length):
            return False
        term = entry.term
    return at == end and (message.kind != SNAPSHOT_CHUNK or _chunk_is_good(message))


cdef bint _chunk_is_good(const RaftMessage* message) noexcept nogil:
    """Return whether a chunk has its members and a piece, which ends within the snapshot."""
    cdef RaftEntry members, piece
    if message.entry_count != 2 or not message.index:
        return False
    next_entry(next_entry(message.entries, &members), &piece)
    if members.kind != ENTRY_MEMBERS or piece.kind != ENTRY_DATA or message.commit > message.context:
        return False
    if piece.length > message.context - message.commit:
        return False
    return piece.length > 0 or message.commit == message.context


cdef bint _message_is_good(const RaftMessage* message, const char* end) noexcept nogil:
    if not 0 < message.kind <= KIND_MAX or not _flags_are_good(message):
        return False
    if message.term >> TERM_BITS or message.index >> INDEX_BITS or message.commit >> INDEX_BITS:
        return False
    if not message.term and message.kind in (PRE_VOTE, VOTE, APPEND, HEARTBEAT, TIMEOUT_NOW):
        return False
    return _fields_are_good(message) and _entries_are_good(message, end)


cdef int _messages_check(const char* frame, const FrameHead* head) noexcept nogil:
    cdef const char* at = frame + sizeof(FrameHead)
    cdef const char* end = frame + head.length
    cdef uint32_t _number
    cdef MessageHead told
    cdef RaftMessage message
    for _number in range(head.count):
        if <size_t> (end - at) < sizeof(MessageHead):
            return FRAME_CUT
        memcpy(&told, at, sizeof(MessageHead))
        if told.length > <size_t> (end - at) or told.length < sizeof(MessageHead):
            return FRAME_CUT
        at = next_message(at, &message)
        if told.reserved or told.reserved_too or not _message_is_good(&message, at):
            return FRAME_LIES
    return 0 if at == end else FRAME_CUT


cdef int frame_check(const char* frame, size_t length, uint64_t sender, uint64_t to) noexcept nogil:
    """Look at a frame that came from `sender`; return 0, or why it is refused (FRAME_*)."""
    cdef FrameHead head
    if length < sizeof(FrameHead):
        return FRAME_CUT
    memcpy(&head, frame, sizeof(FrameHead))
    if head.magic != FRAME_MAGIC:
        return FRAME_FOREIGN
    if head.version != FRAME_VERSION:
        return FRAME_NEWER
    if head.length != length or length > FRAME_BYTES_MAX:
        return FRAME_CUT
    if head.sender != sender or head.to != to or not sender or sender == to or head.reserved:
        return FRAME_FOREIGN
    return _messages_check(frame, &head)
