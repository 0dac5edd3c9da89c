"""What is held at most."""

from typing import Final

FRAME_BYTES: Final = 256 * 1024
"""A frame is made when so much waits; with one batch more it stays below `max_payload` (1 MiB)."""
PAYLOAD_MAX: Final = 384 * 1024
"""The most of one payload that a rule may record: a frame has at least one message."""
FRAMES_UNACKED_MAX: Final = 16
"""Frames on their way to a stream; then batches wait in the plane, which drops what is more."""
ACK_DEADLINE_S: Final = 5.0
"""Without an answer for so long a frame is sent again, under the id that it had."""
SENDS_MAX: Final = 3
"""Then it counts as lost, and the rows as dropped."""
MAKE_RETRY_S: Final = 15.0
"""Between two attempts to make the stream, at most: 10,000 rules may have none."""
MAKE_RETRY_FIRST_S: Final = 0.25
"""Between the first two; twice as long between the next ones."""
RECORDERS_A_TURN: Final = 128
"""That are stopped or started in one turn of the control loop: each takes some 50 us."""
MAKES_AT_ONCE: Final = 16
"""Sinks of an account that wait for a stream to be made; others wait for their turn to ask."""
REQUESTS_MAX: Final = 65_536
"""Requests of a rule that wait for their answer; of more, the oldest have none."""
CLIENTS_GONE_MAX: Final = 4096
"""Clients that are gone, whose messages may still be on their way."""
REDACTIONS_MAX: Final = 32
