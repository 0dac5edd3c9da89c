"""What a request for an export asks for, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.wire.subject import is_valid_subject
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.api.times import ns_from_text
from framework_jetstream.exports.table import COLUMNS, Table, table_of

if TYPE_CHECKING:
    from framework_jetstream.api.records import StreamExportRequest, StreamState

FRAME_BYTES: Final = 512 * 1024
FRAME_BYTES_MIN: Final = 4096
FRAME_BYTES_MAX: Final = 1024 * 1024
WINDOW_BYTES: Final = 2 * 1024 * 1024
"""Of frames that were asked for and have not been sent."""
FILTERS_MAX: Final = 1000


class ExportPlan(Struct, frozen=True, kw_only=True):
    """What is exported, and in which pieces."""

    table: Table
    first_seq: int
    last_seq: int
    begin_ns: int
    end_ns: int
    """Unix times of messages, the first that is wanted and the first that is not; 0: any."""
    filters: tuple[str, ...]
    """None: messages of all subjects."""
    frame_bytes: int
    """At most, where there is more than one row."""

    @property
    def window(self) -> int:
        """Return how many frames may be asked for at a time."""
        return max(WINDOW_BYTES // self.frame_bytes, 1)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send, by sequences alone."""
        return self.first_seq > self.last_seq

    @property
    def is_of_all(self) -> bool:
        """Whether a message that is not exported is not there."""
        return not self.filters and not self.begin_ns and not self.end_ns


def plan_of(wanted: StreamExportRequest, state: StreamState, max_payload: int) -> ExportPlan:
    """Return what is to be exported.

    Args:
        wanted: The request.
        state: Of the stream: what comes later is not exported.
        max_payload: Bytes of a message of this server.

    Raises:
        ApiFailure: The request makes no sense.
    """
    frame_bytes = wanted.max_frame_bytes or FRAME_BYTES
    return ExportPlan(
        table=table_of(_columns(wanted.columns)),
        first_seq=max(wanted.seq, state.first_seq),
        last_seq=min(wanted.up_to_seq or state.last_seq, state.last_seq),
        begin_ns=_time(wanted.start_time),
        end_ns=_time(wanted.up_to_time) + 1 if wanted.up_to_time else 0,
        filters=_filters(wanted.filter_subjects or []),
        frame_bytes=min(max(frame_bytes, FRAME_BYTES_MIN), FRAME_BYTES_MAX, max_payload),
    )


def _columns(names: list[str] | None) -> list[str]:
    unknown = [it for it in names or () if it not in COLUMNS]
    if unknown or len(set(names or ())) < len(names or ()):
        valid = ", ".join(COLUMNS)
        raise _refused(f"columns must be some of {valid}, each once")
    return names or []


def _filters(subjects: list[str]) -> tuple[str, ...]:
    if len(subjects) > FILTERS_MAX:
        raise _refused(f"at most {FILTERS_MAX} filter subjects")
    for at, subject in enumerate(subjects):
        if not is_valid_subject(subject):
            raise _refused(f"invalid filter subject {subject!r}")
        if any(do_overlap(subject, other) for other in subjects[:at]):
            raise failure(ErrCode.CONSUMER_OVERLAPPING_SUBJECT_FILTERS)
    return () if ">" in subjects else tuple(subjects)


def _time(text: str | None) -> int:
    try:
        return ns_from_text(text) if text else 0
    except (ValueError, OverflowError):
        raise _refused(f"{text!r} is no time") from None


def _refused(problem: str) -> Exception:
    return failure(ErrCode.STREAM_GENERAL, err=problem)
