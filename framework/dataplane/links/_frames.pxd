"""The C face of WebSocket frames; see `_websocket.pyx`."""

from libc.stdint cimport int64_t, uint64_t, uint8_t

from framework.dataplane.links._deflate cimport ZStream


cdef enum:
    CONTROL_BYTES = 125


cdef struct Frames:
    # What is known of the frames of a link.
    uint64_t left
    # Payload bytes of the frame under way that are yet to come.
    size_t bare
    # Raw bytes of a compressed message that are unmasked already.
    int64_t message_plain
    # Of the compressed message under way, so far.
    int64_t pongs_until
    # Of `wire_out_bytes`, when all pongs are sent.
    ZStream* inflater
    # Of a compressed message under way; NULL: of none.
    uint8_t mask[4]
    uint8_t mask_at
    uint8_t is_masked
    # The frame under way is.
    uint8_t must_mask
    # The peer masks its frames.
    uint8_t masks
    # This server does: it has dialed.
    uint8_t deflates
    uint8_t final
    # The frame under way is the last of its message.
    uint8_t compressed
    # The message under way is.
    uint8_t in_message
    uint8_t whole
    # The frame is handled when all of it is there.
    uint8_t more
    # There may be more that is inflated already.
    uint8_t tail
    # Bytes of the end of a compressed message that were told.
    uint8_t wrong
    # What is found of the compressed message, for when all before it is handled: see `_websocket.pyx`.
    uint8_t pongs
    # That wait.
    uint8_t closes
    # `close` says why it ends, not its reason.
    uint8_t close_length
    char close[CONTROL_BYTES]
