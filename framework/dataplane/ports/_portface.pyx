"""The other side of a port: the table of C functions that its thread calls. None waits, none needs the GIL, one thread at a time calls."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from framework.dataplane._state cimport Link, Port as PortStruct, PortBlock, Sink, SinkBatch, framework_batch
from framework.dataplane.ports._gateface cimport face_decide, face_release
from framework.dataplane.ports._port cimport (
    PORT_BIT, PORT_SUBSCRIBE, PORT_UNSUBSCRIBE, PORT_UNWATCH, PORT_WATCH, PortInterest, PortMessage, flag_get, flag_set, port_release,
    stack_is_empty, stack_push, stack_take,
)
from framework.dataplane.ports._sinkbatch cimport atomic_add, atomic_get, batch_free
from framework.sublist._bytes cimport COPY_SLACK

import os

cdef extern from "unistd.h" nogil:
    int close(int fd)
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    MESSAGE_BYTES_END = 1000000000
    # As of a message in a protocol line.
    SUBJECT_BYTES_MAX = 65536
    FILL_BYTES_MAX = 9
    # CR LF, and what fills a record up.


# ---- C functions -------------------------------------------------------------------------------------------------------


cdef int face_tell_plane(Face* face, bint was_empty) noexcept nogil:
    """Wake the plane where it may not know yet that something waits for it."""
    if was_empty and face.plane_fd >= 0:
        write(face.plane_fd, b"p", 1)
    return FRAMEWORK_PORT_OK


cdef bint _is_plain(const char* chars, uint32_t length) noexcept nogil:
    """Whether it can be a word of a protocol line."""
    cdef uint32_t at
    cdef unsigned char other = 0
    for at in range(length):
        # Without a branch many are looked at with one instruction.
        other |= (<unsigned char> chars[at] <= 32) | (chars[at] == 127)
    return other == 0 and length <= SUBJECT_BYTES_MAX


cdef int _tell(
    Face* face, int verb, uint32_t account, const char* subject, uint32_t subject_length, const char* queue, uint32_t queue_length,
    int64_t tag,
) noexcept nogil:
    """Hand a change of interest over."""
    cdef PortInterest* made
    if flag_get(&face.port.ended):
        return FRAMEWORK_PORT_ENDED
    if not _is_plain(subject, subject_length) or not _is_plain(queue, queue_length):
        return FRAMEWORK_PORT_INVALID
    made = <PortInterest*> malloc(sizeof(PortInterest) + subject_length + queue_length + COPY_SLACK)
    if made == NULL:
        return FRAMEWORK_PORT_MEMORY
    made.tag = tag
    made.verb = verb
    made.account = account
    made.subject_length = subject_length
    made.queue_length = queue_length
    if subject_length:
        memcpy(made + 1, subject, subject_length)
    if queue_length:
        memcpy(<char*> (made + 1) + subject_length, queue, queue_length)
    return face_tell_plane(face, stack_push(&face.port.told, made))


cdef int face_subscribe(
    void* self, uint32_t account, const char* subject, uint32_t subject_length, const char* queue, uint32_t queue_length, int64_t tag,
) noexcept nogil:
    if subject_length == 0:
        return FRAMEWORK_PORT_INVALID
    return _tell(<Face*> self, PORT_SUBSCRIBE, account, subject, subject_length, queue, queue_length, tag)


cdef int face_unsubscribe(void* self, int64_t tag) noexcept nogil:
    return _tell(<Face*> self, PORT_UNSUBSCRIBE, 0, NULL, 0, NULL, 0, tag)


cdef int face_watch(void* self, uint32_t account, const char* subject, uint32_t subject_length, int64_t tag) noexcept nogil:
    if subject_length == 0:
        return FRAMEWORK_PORT_INVALID
    return _tell(<Face*> self, PORT_WATCH, account, subject, subject_length, NULL, 0, tag)


cdef int face_unwatch(void* self, int64_t tag) noexcept nogil:
    return _tell(<Face*> self, PORT_UNWATCH, 0, NULL, 0, NULL, 0, tag)


cdef SinkBatch* face_next(Face* face) noexcept nogil:
    """Return the next batch; NULL: nothing waits, and the plane will ring."""
    cdef PortStruct* port = face.port
    cdef SinkBatch* batch
    cdef char drained[64]
    if face.taken == NULL:
        face.taken = <SinkBatch*> stack_take(&port.heard)
    if face.taken == NULL:
        while read(port.wake_fd, drained, sizeof(drained)) == sizeof(drained):
            pass
        flag_set(&port.sleeps, 1)
        if stack_is_empty(&port.heard):
            if flag_get(&port.ended):
                # So that who waits for it does not wait for ever.
                write(port.wake_write_fd, b"e", 1)
            return NULL
        flag_set(&port.sleeps, 0)
        face.taken = <SinkBatch*> stack_take(&port.heard)
    batch = face.taken
    if batch != NULL:
        face.taken = batch.next
    return batch


cdef const framework_batch* _take(void* self) noexcept nogil:
    cdef SinkBatch* batch = face_next(<Face*> self)
    if batch == NULL:
        return NULL
    batch.view.count = batch.count
    batch.view.rows = batch.messages
    batch.view.chars = batch.chars
    batch.view.owner = batch
    return &batch.view


cdef inline int64_t _record_bytes(const framework_message* message) noexcept nogil:
    """Return how long the record of a message is that makes sense."""
    return (
        sizeof(PortMessage) + message.inbox_length + message.subject_length + message.reply_length + message.header_length
        + message.payload_length + 2 + 7
    ) & ~<int64_t> 7


cdef int64_t message_size(const framework_message* message) noexcept nogil:
    """Return how long the record of a message is; 0: it makes no sense."""
    if not message.subject_length or not (
        _is_plain(message.subject, message.subject_length) and _is_plain(message.reply, message.reply_length)
        and _is_plain(message.inbox, message.inbox_length)
    ):
        return 0
    if <int64_t> message.header_length + message.payload_length >= MESSAGE_BYTES_END:
        return 0
    return _record_bytes(message)


cdef char* _put(char* at, const char* chars, uint32_t length) noexcept nogil:
    if length:
        memcpy(at, chars, length)
    return at + length


cdef void _message_begin(PortMessage* record, const framework_message* message, int64_t size) noexcept nogil:
    record.token = message.token
    record.size = <uint32_t> size
    record.account = message.account
    record.asks = message.asks
    record.inbox_length = message.inbox_length
    record.subject_length = message.subject_length
    record.reply_length = message.reply_length
    record.header_length = message.header_length
    record.payload_length = message.payload_length


cdef void message_write(PortMessage* record, const framework_message* message, int64_t size) noexcept nogil:
    cdef char* at = <char*> (record + 1)
    # What fills a record up is the last that it has.
    memset(<char*> record + size - 8, 0, 8)
    _message_begin(record, message, size)
    at = _put(at, message.inbox, message.inbox_length)
    at = _put(at, message.subject, message.subject_length)
    at = _put(at, message.reply, message.reply_length)
    at = _put(at, message.header, message.header_length)
    at = _put(at, message.payload, message.payload_length)
    memcpy(at, b"\r\n", 2)


cdef bint port_is_behind(PortStruct* port) noexcept nogil:
    """Whether the plane has so much of a port that it takes no more; then it rings when it has less."""
    if atomic_get(&port.said_bytes) < port.said_bytes_max:
        return False
    flag_set(&port.waits, 1)
    return atomic_get(&port.said_bytes) >= port.said_bytes_max


cdef void _block_begin(PortBlock* block, size_t length) noexcept nogil:
    memset(&block.block, 0, sizeof(block.block))
    block.block.users = 1
    block.at = 0
    block.length = length


cdef PortBlock* block_made(size_t length) noexcept nogil:
    cdef PortBlock* made = <PortBlock*> malloc(sizeof(PortBlock) + length + COPY_SLACK)
    if made != NULL:
        _block_begin(made, length)
    return made


cdef PortBlock* block_grown(PortBlock* block, size_t room) noexcept nogil:
    """Return a block that nobody else has yet with room for so many bytes; NULL: no memory, and it is as it was."""
    return <PortBlock*> realloc(block, sizeof(PortBlock) + room + COPY_SLACK)


cdef int face_say(Face* face, PortBlock* block) noexcept nogil:
    atomic_add(&face.port.said_bytes, block.length)
    return face_tell_plane(face, stack_push(&face.port.said, block))


cdef int _publish(void* self, const framework_message* messages, uint32_t count) noexcept nogil:
    cdef Face* face = <Face*> self
    cdef PortBlock* block
    cdef char* record
    cdef int64_t length = 0, size
    cdef uint32_t at
    if flag_get(&face.port.ended):
        return FRAMEWORK_PORT_ENDED
    for at in range(count):
        size = message_size(&messages[at])
        if size == 0:
            return FRAMEWORK_PORT_INVALID
        length += size
    if length == 0:
        return FRAMEWORK_PORT_OK
    if port_is_behind(face.port):
        return FRAMEWORK_PORT_FULL
    block = block_made(length)
    if block == NULL:
        return FRAMEWORK_PORT_MEMORY
    record = <char*> (block + 1)
    for at in range(count):
        size = _record_bytes(&messages[at])
        message_write(<PortMessage*> record, &messages[at], size)
        record += size
    return face_say(face, block)


cdef int _publish_memory(void* self, char* memory, const framework_message* message) noexcept nogil:
    cdef Face* face = <Face*> self
    cdef PortBlock* block = <PortBlock*> memory
    cdef PortMessage* record = <PortMessage*> (block + 1)
    cdef char* payload = <char*> (record + 1) + message.subject_length
    cdef int64_t size = message_size(message)
    cdef char* end
    if flag_get(&face.port.ended):
        return FRAMEWORK_PORT_ENDED
    if size == 0 or message.inbox_length or message.reply_length or message.header_length or message.payload != payload:
        return FRAMEWORK_PORT_INVALID
    if port_is_behind(face.port):
        return FRAMEWORK_PORT_FULL
    _block_begin(block, size)
    _message_begin(record, message, size)
    memcpy(record + 1, message.subject, message.subject_length)
    end = payload + message.payload_length
    memcpy(end, b"\r\n", 2)
    memset(end + 2, 0, <char*> record + size - end - 2)
    return face_say(face, block)


cdef int _has_ended(void* self) noexcept nogil:
    return flag_get(&(<Face*> self).port.ended)


cdef int face_say_records(Face* face, const char* records, size_t length) noexcept nogil:
    """Publish records that were written, or checked, before."""
    cdef PortBlock* block
    if flag_get(&face.port.ended):
        return FRAMEWORK_PORT_ENDED
    if length == 0:
        return FRAMEWORK_PORT_OK
    if port_is_behind(face.port):
        return FRAMEWORK_PORT_FULL
    block = block_made(length)
    if block == NULL:
        return FRAMEWORK_PORT_MEMORY
    memcpy(block + 1, records, length)
    return face_say(face, block)


cdef int face_say_block(Face* face, PortBlock* block) noexcept nogil:
    """Publish the records of a block, which is the plane's then; it stays the caller's unless this says that all is well."""
    if flag_get(&face.port.ended):
        return FRAMEWORK_PORT_ENDED
    if port_is_behind(face.port):
        return FRAMEWORK_PORT_FULL
    return face_say(face, block)


cdef bint are_records(const char* at, size_t length) noexcept nogil:
    """Whether bytes that come from elsewhere are records that `port_go_on` may read."""
    cdef PortMessage record
    cdef framework_message message
    while length:
        if length < sizeof(PortMessage):
            return False
        memcpy(&record, at, sizeof(record))
        if record.size > length or record.size & 7 or record.size < sizeof(PortMessage):
            return False
        memset(&message, 0, sizeof(message))
        message.inbox_length = record.inbox_length
        message.subject_length = record.subject_length
        message.reply_length = record.reply_length
        message.header_length = record.header_length
        message.payload_length = record.payload_length
        if <uint64_t> record.inbox_length + record.subject_length + record.reply_length > record.size - sizeof(PortMessage):
            return False
        message.inbox = at + sizeof(PortMessage)
        message.subject = message.inbox + record.inbox_length
        message.reply = message.subject + record.subject_length
        if message_size(&message) != record.size:
            return False
        length -= record.size
        at += record.size
    return True


# ---- making and ending -------------------------------------------------------------------------------------------------


cdef PortStruct* _port_made(int64_t number, int64_t bytes_max, int overflow, int64_t said_bytes_max) except NULL:
    """Return a port with one user."""
    cdef PortStruct* made = <PortStruct*> calloc(1, sizeof(PortStruct))
    cdef Link* link = <Link*> calloc(1, sizeof(Link))
    cdef Sink* sink = <Sink*> calloc(1, sizeof(Sink))
    if made == NULL or link == NULL or sink == NULL:
        free(made)
        free(link)
        free(sink)
        raise MemoryError
    sink.id = number
    sink.bytes_max = bytes_max
    sink.overflow = overflow
    sink.users = 1
    sink.port = made
    made.sink = sink
    made.link = link
    made.key = (<uint64_t> 1 << PORT_BIT) | <uint64_t> number
    made.said_bytes_max = said_bytes_max
    made.users = 1
    # Nobody has looked yet.
    made.sleeps = 1
    made.wake_fd, made.wake_write_fd = os.pipe()
    os.set_blocking(made.wake_fd, False)
    os.set_blocking(made.wake_write_fd, False)
    return made


cdef Face* face_made(int64_t number, int64_t bytes_max, int overflow, int64_t said_bytes_max, int plane_fd) except NULL:
    """Return a new port and what a thread has of it.

    Args:
        plane_fd: Written to wake the plane, and closed with the face; -1: somebody else turns it.
    """
    cdef Face* made = <Face*> calloc(1, sizeof(Face))
    cdef framework_port* functions
    if made == NULL:
        raise MemoryError
    try:
        made.port = _port_made(number, bytes_max, overflow, said_bytes_max)
    except BaseException:
        free(made)
        raise
    made.plane_fd = plane_fd
    functions = &made.functions
    functions.version = FRAMEWORK_PORT_VERSION
    functions.size = sizeof(framework_port)
    functions.wake_fd = made.port.wake_fd
    functions.self = made
    functions.subscribe = face_subscribe
    functions.unsubscribe = face_unsubscribe
    functions.watch = face_watch
    functions.unwatch = face_unwatch
    functions.take = _take
    functions.release = face_release
    functions.publish = _publish
    functions.has_ended = _has_ended
    functions.decide = face_decide
    functions.publish_memory = _publish_memory
    functions.memory_before = sizeof(PortBlock) + sizeof(PortMessage)
    functions.memory_behind = FILL_BYTES_MAX + COPY_SLACK
    return made


cdef void face_free(Face* face) noexcept nogil:
    """Let go of a port, with what was taken of it and not given to the thread."""
    cdef SinkBatch* batch
    while face.taken != NULL:
        batch = face.taken
        face.taken = batch.next
        batch_free(batch)
    port_release(face.port)
    if face.plane_fd >= 0:
        close(face.plane_fd)
    free(face)
