"""What filters of a query say about sequences, times and subjects, so that less is read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from pyspark_nats.options import is_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SEQ_MAX = 1 << 63
TIME_MAX_NS = (1 << 63) - (1 << 60)
"""Later ones, of 2225 on, bound nothing."""
SUBJECTS_MAX = 64
"""More filters than that are not sent to the server."""
_EDGES: dict[type[Filter], tuple[int | None, int | None]] = {
    EqualTo: (0, 1),
    GreaterThan: (1, None),
    GreaterThanOrEqual: (0, None),
    LessThan: (None, 0),
    LessThanOrEqual: (None, 1),
}
"""How far behind its value the first number lies that passes, and the first that is too high."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US_NS = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """No row outside of them can pass the filters; rows inside may not."""

    first: int = 1
    end: int = SEQ_MAX
    subjects: tuple[str, ...] = ()
    """None: as the options say."""
    begin_ns: int = 0
    """Unix time of the first message that may pass."""
    end_ns: int | None = None
    """The one behind the last; None: any."""

    def clamp(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of `start` <= sequence < `end` that is within."""
        return max(start, self.first), min(end, self.end)


def limits_of(filters: Iterable[Filter], subjects: tuple[str, ...]) -> Limits:
    """Return what all `filters` together allow.

    Args:
        filters: All must hold.
        subjects: Filters of the option; with some of them, filters on the subject are Spark's.
    """
    first, end = 1, SEQ_MAX
    begin_ns, end_ns = 0, TIME_MAX_NS
    chosen: tuple[str, ...] = ()
    for each in filters:
        match getattr(each, "attribute", None):
            case ("sequence",):
                low, high = _between(each, _whole)
                first = max(first, low or 1)
                end = min(end, SEQ_MAX if high is None else high)
            case ("timestamp",):
                low, high = _between(each, _us)
                begin_ns = max(begin_ns, (low or 0) * _US_NS)
                end_ns = min(end_ns, TIME_MAX_NS if high is None else high * _US_NS)
            case ("timestamp_ns",):
                low, high = _between(each, _whole)
                begin_ns = max(begin_ns, low or 0)
                end_ns = min(end_ns, TIME_MAX_NS if high is None else high)
            case ("subject",) if not subjects and not chosen:
                chosen = _subjects(each)
    is_ended = end_ns < TIME_MAX_NS
    return Limits(first, end, chosen, min(begin_ns, TIME_MAX_NS), end_ns if is_ended else None)


def of_sequences(filters: Iterable[Filter]) -> list[Filter]:
    """Return those filters that are of the sequence alone."""
    return [it for it in filters if getattr(it, "attribute", None) == ("sequence",)]


def _between(each: Filter, number: Callable[[object], int | None]) -> tuple[int | None, int | None]:
    """Return the first number that passes, and the one behind the last; None: any.

    Args:
        each: Of a column whose values are whole numbers, or times in whole microseconds.
        number: Gives that of a value; None: it has none, so nothing is known.
    """
    if isinstance(each, In):
        found = [number(it) for it in each.value]
        known = [it for it in found if it is not None]
        return (min(known), max(known) + 1) if known and len(known) == len(found) else (None, None)
    after_first, after_end = _EDGES.get(type(each), (None, None))
    value = number(getattr(each, "value", None))
    if value is None:
        return None, None
    return (
        None if after_first is None else value + after_first,
        None if after_end is None else value + after_end,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _us(value: object) -> int | None:
    """Return the microseconds of a time since 1970 UTC."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _subjects(each: Filter) -> tuple[str, ...]:
    """Return wildcard filters that let through all that passes; none: can't say."""
    match each:
        case EqualTo(value=str(value)):
            found: tuple[str, ...] = (value,)
        case In(value=values) if values and all(isinstance(it, str) for it in values):
            found = tuple(dict.fromkeys(values))
        case StringStartsWith(value=str(value)) if "." in value:
            found = (value[: value.rindex(".")] + ".>",)
        case _:
            return ()
    is_sent = len(found) <= SUBJECTS_MAX and all(is_subject(it, wildcards=True) for it in found)
    return found if is_sent else ()
