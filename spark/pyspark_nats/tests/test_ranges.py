"""Cutting a stretch of a stream: every sequence once, whatever the numbers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pyspark_nats.ranges import cut_by_count, cut_even, part_count

numbers = st.integers(0, 1000)


@given(st.integers(1, 10**12), numbers, st.integers(1, 50))
def test_even_parts_cover_once(start, width, parts):
    found = cut_even(start, start + width, parts)

    assert [start, start + width][: 2 if width else 0] == (
        [found[0][0], found[-1][1]] if found else []
    )
    assert all(a[1] == b[0] for a, b in pairwise(found))
    assert all(low < high for low, high in found)
    assert max((b - a for a, b in found), default=0) <= -(-width // parts)


@given(st.integers(0, 10**9), st.integers(1, 50), st.integers(1, 10**6))
def test_parts_are_no_larger_than_allowed(count, at_least, most):
    parts = part_count(count, at_least, most)

    assert 0 <= parts <= count
    assert parts * most >= count
    assert parts >= min(at_least, count)


@given(st.sets(st.integers(1, 300)), st.integers(1, 9))
def test_parts_by_count_hold_all_that_match(matching, parts):
    found = cut_by_count(1, 301, parts, lambda seq: sum(it >= seq for it in matching))
    held = [sum(low <= it < high for it in matching) for low, high in found]

    assert sum(held) == len(matching)
    assert all(held)
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    assert len(found) <= max(parts, 1) + 1
