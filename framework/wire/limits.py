"""Limits of what a peer may make us parse."""

from __future__ import annotations

from typing import Final

CONTROL_LINE_BYTES_MAX: Final = 4_096
"""Default bound of one protocol line of a client.

Source: nats-server `const.go`, `MAX_CONTROL_LINE_SIZE`.
"""

DOCUMENT_BYTES_MAX: Final = 1024 * 1024
"""JSON of INFO or CONNECT: the longest line that the data plane takes, where `max_control_line`
admits it. A CONNECT with the JWT of a user with many permissions needs more than 64 KiB."""

NUMBER_CHARS_MAX: Final = 20
"""Characters of an integer in JSON: all that fit into 64 bits, sign included."""

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

assert DOCUMENT_BYTES_MAX > CONTROL_LINE_BYTES_MAX
assert len(str(INT64_MIN)) == NUMBER_CHARS_MAX
