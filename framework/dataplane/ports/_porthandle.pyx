"""Ports as Python has them."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_New, PyCapsule_SetContext
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from framework.dataplane._commands cimport CLOSE_PORT, OPEN_PORT
from framework.dataplane._core cimport Core
from framework.dataplane._state cimport PortBlock, SinkBatch
from framework.dataplane.ports._gateface cimport face_answer
from framework.dataplane.ports._port cimport PortMessage, flag_get
from framework.dataplane.ports._portface cimport (
    FRAMEWORK_PORT_CAPSULE, FRAMEWORK_PORT_ENDED, FRAMEWORK_PORT_FULL, FRAMEWORK_PORT_INVALID, FRAMEWORK_PORT_MEMORY, FRAMEWORK_PORT_OK,
    Face, are_records, block_grown, block_made, face_free, face_made, face_next, face_say_block, face_say_records, face_subscribe,
    face_unsubscribe, face_unwatch, face_watch, framework_message, message_size, message_write,
)
from framework.dataplane.ports._sinkbatch cimport atomic_add_users, atomic_get, batch_made, batch_of

import os

from framework.dataplane.verdict import encoded_verdicts


def open_port(core: Core, number: int, bytes_max: int, overflow: int, said_bytes_max: int) -> Port:
    """Return a new port of a core, as `Core.open_port`."""
    cdef Core to = core
    cdef Port made = Port.__new__(Port)
    made.core = core
    made.face = face_made(number, bytes_max, overflow, said_bytes_max, os.dup(to.wake_fd) if to.wake_fd >= 0 else -1)
    atomic_add_users(&made.face.port.users, 1)
    to.post_port(OPEN_PORT, made.face.port)
    return made


cdef void _capsule_ends(object capsule) noexcept:
    Py_DECREF(<object> PyCapsule_GetContext(capsule))


cdef object _check(int outcome):
    if outcome == FRAMEWORK_PORT_INVALID:
        raise ValueError("a subject, a reply, a queue group or an inbox that can't stand in a protocol line, or 1 GB or more")
    if outcome == FRAMEWORK_PORT_MEMORY:
        raise MemoryError
    if outcome == FRAMEWORK_PORT_ENDED:
        raise BrokenPipeError("the port has ended")
    return outcome != FRAMEWORK_PORT_FULL


@cython.final
cdef class Outgoing:
    """Messages that a port is to publish, in order; `Port.publish` empties it."""

    cdef PortBlock* block
    # Records, as the plane takes them; NULL: none.
    cdef size_t room
    # Bytes that it has for them.

    def __dealloc__(self) -> None:
        free(self.block)

    def __len__(self) -> int:
        """Return how many bytes its records have."""
        return 0 if self.block == NULL else self.block.length

    def add(
        self, account: int, subject: bytes, payload: bytes, *, reply: bytes = b"", header: bytes = b"", inbox: bytes = b"",
        token: int | None = None,
    ) -> None:
        """Add a message.

        Args:
            account: Number of the account.
            subject: Without wildcards.
            payload: Its bytes.
            reply: Reply subject; empty: none.
            header: A block that begins with `NATS/1.0`; empty: none.
            inbox: Who subscribes to it gets the message, and sees `subject`; empty: the subject itself.
            token: Shown by the rows that say what became of it; None: nothing is said.

        Raises:
            ValueError: A word has blanks or control characters, or the message has 1 GB or more.
        """
        cdef framework_message message
        cdef int64_t size
        memset(&message, 0, sizeof(message))
        message.subject, message.subject_length = subject, len(subject)
        message.reply, message.reply_length = reply, len(reply)
        message.header, message.header_length = header, len(header)
        message.payload, message.payload_length = payload, len(payload)
        message.inbox, message.inbox_length = inbox, len(inbox)
        message.account = account
        message.asks = token is not None
        message.token = token or 0
        size = message_size(&message)
        if size == 0:
            _check(FRAMEWORK_PORT_INVALID)
        message_write(<PortMessage*> self.room_for(size), &message, size)

    def records(self) -> bytes:
        """Return a copy of its records, for `Port.publish_batch`."""
        return b"" if self.block == NULL else (<char*> (self.block + 1))[:self.block.length]

    cdef char* room_for(self, size_t size) except NULL:
        """Return where a record goes, behind those that are there; none of its bytes is written yet."""
        cdef size_t before = 0 if self.block == NULL else self.block.length
        cdef size_t room = max(before + size, before + before // 2)
        cdef PortBlock* grown
        if self.block == NULL or self.room < before + size:
            grown = block_made(room) if self.block == NULL else block_grown(self.block, room)
            if grown == NULL:
                raise MemoryError
            self.block = grown
            self.room = room
        self.block.length = before + size
        return <char*> (self.block + 1) + before


@cython.final
cdef class Port:
    """A subscriber and publisher inside this process; see `framework_port.h` for what its rows and words mean.

    One thread at a time uses it. Nothing here waits: poll `fileno()`, and `take` until it returns None. What is never closed ends with
    its server.
    """

    cdef object core
    cdef Face* face
    cdef bint closed

    def __init__(self, *args: object) -> None:
        raise TypeError("ports are opened by ServerContext.open_port")

    def __dealloc__(self) -> None:
        if self.face != NULL:
            face_free(self.face)

    def fileno(self) -> int:
        """Return a descriptor that is readable when something has come since `take` found nothing."""
        return self.face.port.wake_fd

    @property
    def has_ended(self) -> bool:
        """Whether the server stops, or it was closed: nothing comes any more."""
        return flag_get(&self.face.port.ended) != 0

    @property
    def dropped(self) -> int:
        """How many rows it has lost because it held `bytes_max` already."""
        return self.face.port.sink.dropped

    @property
    def said_bytes(self) -> int:
        """Bytes of records that it has published and the plane has not."""
        return atomic_get(&self.face.port.said_bytes)

    def capsule(self) -> object:
        """Return the port as a capsule `framework.port.1` with a `framework_port`, for compiled code; it keeps the port."""
        capsule = PyCapsule_New(&self.face.functions, FRAMEWORK_PORT_CAPSULE, _capsule_ends)
        PyCapsule_SetContext(capsule, <void*> self)
        Py_INCREF(self)
        return capsule

    def subscribe(self, account: int, subject: bytes, queue: bytes = b"", *, tag: int) -> None:
        """Subscribe; what a tag stands for already is answered by a row, word REFUSED.

        Args:
            account: Number of the account.
            subject: Valid; may have wildcards.
            queue: Queue group; empty: plain.
            tag: Of the caller's choice, 64 bits with a sign; its messages show it.
        """
        _check(face_subscribe(self.face, account, subject, len(subject), queue, len(queue), tag))

    def unsubscribe(self, tag: int) -> None:
        """End a subscription; what came for it before is still taken."""
        _check(face_unsubscribe(self.face, tag))

    def watch(self, account: int, subject: bytes, *, tag: int) -> None:
        """Be told by rows whether anybody is interested in a subject without wildcards, here or elsewhere."""
        _check(face_watch(self.face, account, subject, len(subject), tag))

    def unwatch(self, tag: int) -> None:
        """End a watch."""
        _check(face_unwatch(self.face, tag))

    def take(self) -> Batch | None:
        """Return the next batch; None: nothing waits. Its bytes count until the batch and all views into it are gone."""
        cdef SinkBatch* batch = face_next(self.face)
        return batch_made(batch) if batch != NULL else None

    def decide(self, batch: Batch, verdicts: Sequence[Verdict] | bytes) -> None:
        """Decide on a batch of a gate.

        Args:
            batch: That `take` returned, of the kind GATED; it is decided on once.
            verdicts: One for each message, in order; or their records, without a byte: all of it passes.

        Raises:
            ValueError: It is of no gate, or was decided on; or the verdicts make no sense.
        """
        cdef bytes answer = verdicts if isinstance(verdicts, bytes) else encoded_verdicts(batch, verdicts)
        cdef int outcome = face_answer(self.face, batch_of(batch), <const char*> answer, len(answer))
        if outcome == FRAMEWORK_PORT_INVALID:
            raise ValueError("it is of no gate, or was decided on")
        _check(outcome)

    def outgoing(self) -> Outgoing:
        """Return an empty list of messages to publish."""
        return Outgoing()

    def publish(self, messages: Outgoing) -> bool:
        """Publish messages; False: too much waits already, nothing was done, and `fileno()` tells when there is room."""
        if messages.block == NULL:
            return _check(FRAMEWORK_PORT_ENDED if self.has_ended else FRAMEWORK_PORT_OK)
        if not _check(face_say_block(self.face, messages.block)):
            return False
        messages.block = NULL
        return True

    def publish_batch(self, buffer) -> bool:
        """Publish records, as another port's `Outgoing` or compiled code lays them out; else as `publish`.

        Args:
            buffer: Records without a gap, in the byte order of this machine, each a multiple of eight bytes: token (8 bytes, signed); then
                of four bytes each the length of the record, account, whether it asks, and lengths of inbox, subject, reply, header block
                and payload; then these five, CR LF, and zeros.

        Raises:
            ValueError: It is not made of such records.
        """
        cdef Py_buffer view
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            if not are_records(<const char*> view.buf, view.len):
                raise ValueError("not made of whole records with subjects that can stand in a protocol line")
            return _check(face_say_records(self.face, <const char*> view.buf, view.len))
        finally:
            PyBuffer_Release(&view)

    def close(self) -> None:
        """End it: it hears nothing more, and what it has published and the plane has not is forgotten."""
        cdef Core core = self.core
        if self.closed:
            return
        self.closed = True
        atomic_add_users(&self.face.port.users, 1)
        core.post_port(CLOSE_PORT, self.face.port)
