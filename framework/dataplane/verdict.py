"""What a gate decides on each message, and how that is written for the plane.

An answer is one record for each message of the batch, in order: its head, then its texts, as
`GateVerdict` in `delivery/_verdicts.pxd` has them. An answer without a byte lets all messages pass.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.dataplane.ports._sinkbatch import Batch

HEAD: Final = struct.Struct("=BBHIIIq")
"""Verdict, what is changed, status, lengths of three texts, nanoseconds."""
DELAYED, PASSED, CHANGED, REFUSED = 1, 2, 3, 4
NEW_SUBJECT, NEW_BODY = 1, 2
DELAY_S_MAX: Final = 60.0
TEXT_BYTES_MAX: Final = 256
"""Of what is said of a refusal."""


class Pass(Struct, frozen=True):
    """The message goes on as it is."""


class Rewrite(Struct, frozen=True, kw_only=True):
    """The message goes on with something else in place of what was published; None: that stays."""

    subject: str | None = None
    """Its publisher must be allowed to publish there; else the message is refused."""
    header: bytes | None = None
    """Header block with its `NATS/1.0` line and the empty line at its end; empty: none."""
    payload: bytes | None = None


class Refuse(Struct, frozen=True, kw_only=True):
    """The message goes no further; in silence, unless something is to be said."""

    error: str = ""
    """Said to its publisher by `-ERR`, behind the subject; at most 256 bytes. Empty: nothing."""
    status: int = 0
    """Of a message to its reply subject, such as 400; 0: none is sent."""
    description: str = ""
    """Stands behind the status; at most 256 bytes."""


class Delay(Struct, frozen=True):
    """The message goes on later; so does what its publisher says behind it."""

    seconds: float
    """Above 0, at most 60."""


Verdict: TypeAlias = Pass | Rewrite | Refuse | Delay
PASS: Final = Pass()
_PASSED: Final = HEAD.pack(PASSED, 0, 0, 0, 0, 0, 0)


def encoded_verdicts(batch: Batch, verdicts: Sequence[Verdict]) -> bytes:
    """Return the answer to a batch.

    Raises:
        ValueError: There are too few or too many verdicts, or one holds what it should not.
        TypeError: Something is no verdict.
    """
    verdicts = verdicts if isinstance(verdicts, list) else list(verdicts)
    if len(verdicts) != len(batch):
        raise ValueError(f"{len(verdicts)} verdicts for {len(batch)} messages")
    if verdicts.count(PASS) == len(verdicts):
        return b""
    return b"".join([_record(batch, index, it) for index, it in enumerate(verdicts)])


def _record(batch: Batch, index: int, verdict: Verdict) -> bytes:
    match verdict:
        case Pass():
            return _PASSED
        case Rewrite():
            return _changed(batch, index, verdict)
        case Refuse():
            return _refused(verdict)
        case Delay(seconds) if 0 < seconds <= DELAY_S_MAX:
            return HEAD.pack(DELAYED, 0, 0, 0, 0, 0, max(1, int(seconds * 1e9)))
        case Delay(seconds):
            raise ValueError(f"a delay is above 0 and at most {DELAY_S_MAX:.0f} s, not {seconds!r}")
        case _:
            raise TypeError(f"a verdict is a Pass, Rewrite, Refuse or Delay, not {verdict!r:.80}")


def _changed(batch: Batch, index: int, rewrite: Rewrite) -> bytes:
    subject = b"" if rewrite.subject is None else rewrite.subject.encode()
    what = NEW_SUBJECT if rewrite.subject is not None else 0
    if rewrite.header is None and rewrite.payload is None:
        if not what:
            return _PASSED
        return HEAD.pack(CHANGED, what, 0, len(subject), 0, 0, 0) + subject
    header = bytes(batch.header(index)) if rewrite.header is None else rewrite.header
    payload = bytes(batch.payload(index)) if rewrite.payload is None else rewrite.payload
    if header and not (header.startswith(b"NATS/1.0") and header.endswith(b"\r\n\r\n")):
        raise ValueError(f"no header block: {header!r:.80}")
    lengths = len(subject), len(header), len(payload)
    head = HEAD.pack(CHANGED, what | NEW_BODY, 0, *lengths, 0)
    return b"".join((head, subject, header, payload, b"\r\n"))


def _refused(refuse: Refuse) -> bytes:
    error, description = refuse.error.encode(), refuse.description.encode()
    for text in (error, description):
        if len(text) > TEXT_BYTES_MAX or not text.decode().isprintable() or b"'" in text:
            raise ValueError(f"what is said must fit into a line of 256 bytes, not {text!r:.80}")
    return (
        HEAD.pack(REFUSED, 0, refuse.status, len(error), len(description), 0, 0)
        + error
        + description
    )
