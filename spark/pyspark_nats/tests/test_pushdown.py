"""What filters say about what is read: never less than what passes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

found = pytest.importorskip("pyspark.sql.datasource", reason="needs pyspark: ./dev test -e spark")
pushdown = pytest.importorskip("pyspark_nats.pushdown")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBERS = st.integers(-3, 12)
COMPARED = {
    "EqualTo": lambda row, value: row == value,
    "GreaterThan": lambda row, value: row > value,
    "GreaterThanOrEqual": lambda row, value: row >= value,
    "LessThan": lambda row, value: row < value,
    "LessThanOrEqual": lambda row, value: row <= value,
    "In": lambda row, value: row in value,
}
"""Filters and what they mean."""


def at(microseconds):
    return EPOCH + timedelta(microseconds=microseconds)


@st.composite
def some_filters(draw, number):
    """Draw filters of a column: the name of each, and its value as a number."""
    names = draw(st.lists(st.sampled_from(sorted(COMPARED)), max_size=3))
    return [
        (name, draw(st.lists(number, min_size=1, max_size=3) if name == "In" else number))
        for name in names
    ]


def filters_of(column, drawn, value=lambda it: it):
    return [
        getattr(found, name)((column,), tuple(map(value, it)) if name == "In" else value(it))
        for name, it in drawn
    ]


def passes(drawn, row):
    return all(COMPARED[name](row, value) for name, value in drawn)


@given(some_filters(NUMBERS))
def test_sequences_that_pass_are_read(drawn):
    limits = pushdown.limits_of(filters_of("sequence", drawn), ())

    passing = [row for row in range(1, 20) if passes(drawn, row)]
    assert all(limits.first <= row < limits.end for row in passing)
    if not any(name == "In" for name, _ in drawn):
        read = [row for row in range(1, 20) if limits.first <= row < limits.end]
        assert passing == read


@given(some_filters(NUMBERS), st.integers(0, 15_000))
def test_times_that_pass_are_read(drawn, row_ns):
    """Of the column `timestamp` all nanoseconds of a microsecond are the same."""
    limits = pushdown.limits_of(filters_of("timestamp", drawn, at), ())
    by_ns = pushdown.limits_of(
        filters_of("timestamp_ns", drawn, lambda it: it * 1000), ()
    )  # fmt: skip

    is_read, is_read_by_ns = (
        it.begin_ns <= row_ns and (it.end_ns is None or row_ns < it.end_ns)
        for it in (limits, by_ns)
    )
    assert is_read or not passes(drawn, row_ns // 1000)
    assert is_read_by_ns or not (row_ns % 1000 == 0 and passes(drawn, row_ns // 1000))


@pytest.mark.parametrize(
    ("filters", "begin_ns", "end_ns"),
    [
        ((), 0, None),
        ((("GreaterThan", datetime(2026, 1, 1)),), 0, None),  # noqa: DTZ001 - no zone, no time
        ((("GreaterThan", "2026"),), 0, None),
        ((("LessThan", datetime(9999, 1, 1, tzinfo=UTC)),), 0, None),
        ((("GreaterThan", datetime(1969, 1, 1, tzinfo=UTC)),), 0, None),
        ((("GreaterThanOrEqual", at(7)), ("LessThanOrEqual", at(9))), 7_000, 10_000),
    ],
)
def test_times_that_say_nothing_bound_nothing(filters, begin_ns, end_ns):
    limits = pushdown.limits_of(filters_of("timestamp", filters), ())

    assert (begin_ns, end_ns) == (limits.begin_ns, limits.end_ns)


@pytest.mark.parametrize(
    ("name", "value", "subjects"),
    [
        ("EqualTo", "a.b", ("a.b",)),
        ("In", ("a", "b", "a"), ("a", "b")),
        ("StringStartsWith", "a.b.c", ("a.b.>",)),
        ("StringStartsWith", "a", ()),
        ("EqualTo", "a..b", ()),
        ("EqualTo", 7, ()),
    ],
)
def test_subjects(name, value, subjects):
    filters = [getattr(found, name)(("subject",), value)]

    assert subjects == pushdown.limits_of(filters, ()).subjects
    assert () == pushdown.limits_of(filters, ("a.>",)).subjects
