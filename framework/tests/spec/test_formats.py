from __future__ import annotations

import pytest

from framework.spec.formats import duration_text, quoted, rtt_text, time_text, uptime_text


@pytest.mark.parametrize(
    ("wall_ns", "expected"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_763_724_515_122_469_417, "2025-11-21T11:28:35.122469417Z"),
        (1_763_724_515_120_000_000, "2025-11-21T11:28:35.12Z"),
    ],
)
def test_time(wall_ns: int, expected: str) -> None:
    assert time_text(wall_ns) == expected


@pytest.mark.parametrize(
    ("duration_ns", "expected"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1\u00b5s"),
        (262_000, "262\u00b5s"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (245_000_000_000, "4m5s"),
        (18_367_000_000_000, "5h6m7s"),
        (3_600_000_000_000, "1h0m0s"),
    ],
)
def test_duration_is_as_go_prints_it(duration_ns: int, expected: str) -> None:
    assert duration_text(duration_ns) == expected


def test_rtt_is_cut_to_microseconds_below_a_millisecond() -> None:
    assert rtt_text(262_781) == "262\u00b5s"
    assert rtt_text(999) == "999ns"
    assert rtt_text(1_262_781) == "1.262781ms"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m0s"),
        (3_600, "1h0m0s"),
        (86_400, "1d0h0m0s"),
        (31_536_000 + 86_400 + 1, "1y1d0h0m1s"),
    ],
)
def test_uptime(seconds: int, expected: str) -> None:
    assert uptime_text(seconds * 1_000_000_000) == expected


def test_uptime_is_never_negative() -> None:
    assert uptime_text(-5) == "0s"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"hi there", '"hi there"'),
        (b'say "no"\\', r'"say \"no\"\\"'),
        (b"\x00\x07\x08\t\n\x0b\x0c\r\x1f\x7f", r'"\x00\a\b\t\n\v\f\r\x1f\x7f"'),
        (b"\xff\xc3(", r'"\xff\xc3("'),
        ("\u00fc\u2028\U000e0001".encode(), '"\u00fc' + r'\u2028\U000e0001"'),
    ],
)
def test_bytes_are_quoted_as_go_does(data: bytes, expected: str) -> None:
    """As `fmt.Sprintf("%q", ...)` of Go 1.26 printed them."""
    assert quoted(data) == expected


def test_what_is_left_out_stands_in_the_quotes() -> None:
    assert quoted(b"abc", more="...") == '"abc..."'
