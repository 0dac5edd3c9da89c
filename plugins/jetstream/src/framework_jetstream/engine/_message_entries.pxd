"""What stands in the parts of entries BATCH and COMPRESSED, the messages of a stream."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t


cdef enum:
    MARK_BITS = 4


cdef packed struct BatchHead:
    # The first part of an entry BATCH.
    int64_t time_ns
    # Unix time of all its messages.
    uint64_t applied
    # The last entry that was applied when it was proposed, and the last sequence then: where an entry is lost, sequences go on from there.
    uint64_t last_seq


cdef packed struct MessageHead:
    # Subject, header and payload follow.
    uint32_t header_length
    uint16_t subject_length
    uint16_t flags
    # What was against it when it was proposed, as `Mark` says, in MARK_BITS; above them the length of its reply subject, where that says
    # something of the message itself. Then the reply subject stands behind the subject.


cdef enum HeadFlag:
    # In the length of a header; these numbers are in files. With the first or the second one an OriginHead follows.
    HEAD_LENGTH = 0xfffffff
    HEAD_SOURCED = 1 << 28
    HEAD_MIRRORED = 1 << 29
    HEAD_FIRST = 1 << 30
    # Of a consumer.


cdef packed struct OriginHead:
    # What a message was elsewhere.
    uint64_t seq
    uint64_t previous_seq
    int64_t time_ns
    uint32_t input
    # Of the server that proposed it.


cdef packed struct StagedHead:
    # Of a message that is to be proposed.
    MessageHead head
    OriginHead origin


cdef packed struct CompressedHead:
    # The first part of an entry COMPRESSED; the second one is a stream of S2.
    BatchHead batch
    uint32_t count
    # Messages.
    uint32_t length
    # Of what is compressed: the messages as parts of BATCH have them, then how long each is, as uint32.
