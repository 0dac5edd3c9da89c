"""The C face of what a port's thread has of it; see `_portface.pyx`."""

from libc.stdint cimport int64_t, uint16_t, uint32_t

from framework.dataplane._state cimport Port as PortStruct, PortBlock, SinkBatch, framework_batch
from framework.dataplane.ports._port cimport PortMessage

cdef extern from "framework_port.h":
    enum:
        FRAMEWORK_PORT_VERSION
        FRAMEWORK_PORT_OK
        FRAMEWORK_PORT_FULL
        FRAMEWORK_PORT_ENDED
        FRAMEWORK_PORT_INVALID
        FRAMEWORK_PORT_MEMORY
        FRAMEWORK_ROW_GATED
    const char* FRAMEWORK_PORT_CAPSULE
    ctypedef struct framework_message:
        const char* subject
        const char* reply
        const char* header
        const char* payload
        const char* inbox
        uint32_t subject_length
        uint32_t reply_length
        uint32_t header_length
        uint32_t payload_length
        uint32_t inbox_length
        uint32_t account
        uint32_t asks
        int64_t token
    ctypedef struct framework_verdict:
        uint16_t verdict
        uint16_t changes
        uint16_t status
        int64_t delay_ns
        const char* subject
        const char* header
        const char* payload
        const char* error
        const char* description
        uint32_t subject_length
        uint32_t header_length
        uint32_t payload_length
        uint32_t error_length
        uint32_t description_length
    ctypedef struct framework_port:
        uint32_t version
        uint32_t size
        int wake_fd
        void* self
        int (*subscribe)(
            void* self, uint32_t account, const char* subject, uint32_t subject_length, const char* queue, uint32_t queue_length,
            int64_t tag,
        ) noexcept nogil
        int (*unsubscribe)(void* self, int64_t tag) noexcept nogil
        int (*watch)(void* self, uint32_t account, const char* subject, uint32_t subject_length, int64_t tag) noexcept nogil
        int (*unwatch)(void* self, int64_t tag) noexcept nogil
        const framework_batch* (*take)(void* self) noexcept nogil
        void (*release)(void* self, const framework_batch* batch) noexcept nogil
        int (*publish)(void* self, const framework_message* messages, uint32_t count) noexcept nogil
        int (*has_ended)(void* self) noexcept nogil
        int (*decide)(void* self, const framework_batch* batch, const framework_verdict* verdicts, uint32_t count) noexcept nogil
        int (*publish_memory)(void* self, char* memory, const framework_message* message) noexcept nogil
        uint32_t memory_before
        uint32_t memory_behind


cdef struct Face:
    # What a thread has of a port.
    framework_port functions
    PortStruct* port
    SinkBatch* taken
    # Batches that were taken from the port and not given to the thread yet.
    int plane_fd
    # Wakes the plane; -1: somebody else turns it.


cdef Face* face_made(int64_t number, int64_t bytes_max, int overflow, int64_t said_bytes_max, int plane_fd) except NULL
cdef int face_tell_plane(Face* face, bint was_empty) noexcept nogil
cdef void face_free(Face* face) noexcept nogil
cdef int face_subscribe(
    void* self, uint32_t account, const char* subject, uint32_t subject_length, const char* queue, uint32_t queue_length, int64_t tag,
) noexcept nogil
cdef int face_unsubscribe(void* self, int64_t tag) noexcept nogil
cdef int face_watch(void* self, uint32_t account, const char* subject, uint32_t subject_length, int64_t tag) noexcept nogil
cdef int face_unwatch(void* self, int64_t tag) noexcept nogil
cdef SinkBatch* face_next(Face* face) noexcept nogil
cdef int64_t message_size(const framework_message* message) noexcept nogil
cdef void message_write(PortMessage* record, const framework_message* message, int64_t size) noexcept nogil
cdef PortBlock* block_made(size_t length) noexcept nogil
cdef PortBlock* block_grown(PortBlock* block, size_t room) noexcept nogil
cdef int face_say_block(Face* face, PortBlock* block) noexcept nogil
cdef int face_say_records(Face* face, const char* records, size_t length) noexcept nogil
cdef bint are_records(const char* at, size_t length) noexcept nogil
