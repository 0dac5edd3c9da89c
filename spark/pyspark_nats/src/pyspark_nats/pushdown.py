"""What filters of a query say about sequences and subjects, so that less is read."""

from __future__ import annotations

from dataclasses import dataclass
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
    from collections.abc import Iterable

SEQ_MAX = 1 << 63
SUBJECTS_MAX = 64
"""More filters than that are not sent to the server."""


@dataclass(frozen=True, slots=True)
class Limits:
    """No row outside of them can pass the filters; rows inside may not."""

    first: int = 1
    end: int = SEQ_MAX
    subjects: tuple[str, ...] = ()
    """None: as the options say."""

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
    chosen: tuple[str, ...] = ()
    for each in filters:
        attribute = getattr(each, "attribute", None)
        if attribute == ("sequence",):
            low, high = _sequences(each)
            first, end = max(first, low), min(end, high)
        elif attribute == ("subject",) and not subjects and not chosen:
            chosen = _subjects(each)
    return Limits(first, end, chosen)


def of_sequences(filters: Iterable[Filter]) -> list[Filter]:
    """Return those filters that are of the sequence alone."""
    return [it for it in filters if getattr(it, "attribute", None) == ("sequence",)]


def _sequences(each: Filter) -> tuple[int, int]:
    """Return the first sequence that passes, and the one behind the last."""
    first, end = 1, SEQ_MAX
    match each:
        case EqualTo(value=int(value)):
            first, end = value, value + 1
        case GreaterThan(value=int(value)):
            first = value + 1
        case GreaterThanOrEqual(value=int(value)):
            first = value
        case LessThan(value=int(value)):
            end = value
        case LessThanOrEqual(value=int(value)):
            end = value + 1
        case In(value=values) if values and all(isinstance(it, int) for it in values):
            first, end = min(values), max(values) + 1
    return first, end


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
