"""Whole numbers of any length beside Python's."""

from __future__ import annotations

import pytest
from framework_jetstream.stream._streamhandle import added
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(), st.integers(), st.integers(0, 5))
def test_sums_are_those_of_python(one, other, zeros):
    sign = b"-" if one < 0 else b"+"

    assert added(sign + b"0" * zeros + b"%d" % abs(one), b"%d" % other) == b"%d" % (one + other)


@pytest.mark.parametrize("text", [b"", b"+", b"-", b"1.5", b"0x1", b"1 ", b"--1", b"1_000"])
def test_what_is_no_number_is_told(text):
    assert added(text, b"1") is None
    assert added(b"1", text) is None
