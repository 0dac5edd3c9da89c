"""The port of a server, as `framework_port.h` has it."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef extern from "framework_port.h":
    enum:
        FRAMEWORK_PORT_OK
        FRAMEWORK_PORT_FULL
        FRAMEWORK_PORT_ENDED
        FRAMEWORK_ROW_MESSAGE
        FRAMEWORK_ROW_ANSWER
        FRAMEWORK_ROW_INTEREST
        FRAMEWORK_WORD_NOBODY
        FRAMEWORK_WORD_FULL
        FRAMEWORK_WORD_ROOM
        FRAMEWORK_WORD_REFUSED
        FRAMEWORK_WORD_SOMEBODY
    const char* FRAMEWORK_PORT_CAPSULE
    ctypedef struct framework_row:
        uint64_t link
        int64_t tag
        uint32_t at
        uint32_t subject_length
        uint32_t reply_length
        uint32_t header_length
        uint32_t payload_length
        uint16_t kind
        uint16_t word
    ctypedef struct framework_batch:
        uint32_t count
        const framework_row* rows
        const char* chars
        void* owner
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
        int (*publish_memory)(void* self, char* memory, const framework_message* message) noexcept nogil
        uint32_t memory_before
        uint32_t memory_behind
