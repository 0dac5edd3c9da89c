"""What of a consumer's configuration decides on deliveries, as Python hands it over."""

from libc.string cimport memset


cdef ConsumerTerms terms_made(dict fields):
    """Return terms of which a dict has the fields by name, without times of backoff."""
    cdef ConsumerTerms made
    memset(&made, 0, sizeof(made))
    made.ack_policy = fields.get("ack_policy", 0)
    made.deliver_policy = fields.get("deliver_policy", 0)
    made.priority_policy = fields.get("priority_policy", 0)
    made.start = fields.get("start", 0)
    made.ack_wait_ns = fields.get("ack_wait_ns", 0)
    made.max_deliver = fields.get("max_deliver", 0)
    made.max_ack_pending = fields.get("max_ack_pending", 0)
    made.max_waiting = fields.get("max_waiting", 0)
    made.max_batch = fields.get("max_batch", 0)
    made.max_expires_ns = fields.get("max_expires_ns", 0)
    made.max_bytes = fields.get("max_bytes", 0)
    made.heartbeat_ns = fields.get("heartbeat_ns", 0)
    made.inactive_ns = fields.get("inactive_ns", 0)
    made.rate_bytes = fields.get("rate_bytes", 0)
    made.rate_burst_bytes = fields.get("rate_burst_bytes", 0)
    made.pause_until_ns = fields.get("pause_until_ns", 0)
    made.pinned_ns = fields.get("pinned_ns", 0)
    made.sample_percent = fields.get("sample_percent", 0)
    made.headers_only = fields.get("headers_only", 0)
    made.flow_control = fields.get("flow_control", 0)
    made.replays = fields.get("replays", 0)
    return made
