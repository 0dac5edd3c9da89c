"""Times of the API as text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark_nats.times import text_of, unix_ns_of

YEAR_9999_NS = 253_402_300_800 * 1_000_000_000


@given(st.integers(0, YEAR_9999_NS - 1))
def test_a_time_survives_its_text(unix_ns):
    assert unix_ns == unix_ns_of(text_of(unix_ns))


@pytest.mark.parametrize(
    ("text", "unix_ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:01:00.5Z", 60_500_000_000),
        ("1970-01-02T00:00:00.000Z", 86_400_000_000_000),
    ],
)
def test_fractions_may_be_short(text, unix_ns):
    assert unix_ns == unix_ns_of(text)
