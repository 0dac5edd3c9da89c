"""The C face of a consumer's terms; see `_terms.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef enum AckPolicy:
    ACK_NONE = 0
    ACK_ALL
    ACK_EXPLICIT
    ACK_FLOW_CONTROL
    # As ACK_ALL, by the answers to requests of flow control.


cdef enum DeliverPolicy:
    DELIVER_ALL = 0
    DELIVER_LAST
    DELIVER_NEW
    DELIVER_BY_START_SEQ
    DELIVER_BY_START_TIME
    DELIVER_LAST_PER_SUBJECT


cdef enum PriorityPolicy:
    PRIORITY_NONE = 0
    PRIORITY_OVERFLOW
    PRIORITY_PINNED
    PRIORITY_PRIORITIZED


cdef struct ConsumerTerms:
    # What of a consumer's configuration decides on deliveries; limits below 1 are none.
    int ack_policy
    int deliver_policy
    int priority_policy
    int64_t start
    # A sequence, or a Unix time.
    int64_t ack_wait_ns
    int64_t max_deliver
    int64_t max_ack_pending
    int64_t max_waiting
    int64_t max_batch
    int64_t max_expires_ns
    int64_t max_bytes
    int64_t heartbeat_ns
    int64_t inactive_ns
    # It goes when nobody has used it for so long; 0: never.
    int64_t rate_bytes
    # A second; 0: as fast as it goes.
    int64_t rate_burst_bytes
    int64_t pause_until_ns
    # Unix time up to which nothing is delivered; 0: none.
    int64_t pinned_ns
    # How long a client stays pinned that asks for nothing.
    int64_t sample_percent
    # Of acknowledgements that are told; 0: none are.
    uint8_t headers_only
    uint8_t flow_control
    uint8_t replays
    # At the rate at which messages came.
    int64_t* backoff_ns
    uint32_t backoff_count


cdef ConsumerTerms terms_made(dict fields)
