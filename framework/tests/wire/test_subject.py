from __future__ import annotations

import pytest

from framework.wire.subject import is_literal, is_subset, is_valid_subject

LITERALS = ["a", "a.b", "$SYS.REQ", "a*", "*a.b", "a>", "a.>b", "ä.ö", "a.b\x01"]
PATTERNS = ["*", ">", "a.*", "a.>", "*.*.>", "*.b"]
INVALID = [
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    ">.a",
    "a.>.b",
    "a b",
    "a\tb",
    "a\r",
    "\n",
    "a\x00b",
    "a.> ",
]


@pytest.mark.parametrize("subject", LITERALS)
def test_literal(subject):
    assert is_valid_subject(subject)
    assert is_literal(subject)


@pytest.mark.parametrize("subject", PATTERNS)
def test_pattern(subject):
    assert is_valid_subject(subject)
    assert not is_literal(subject)


@pytest.mark.parametrize("subject", INVALID)
def test_invalid(subject):
    assert not is_valid_subject(subject)
    assert not is_literal(subject)


@pytest.mark.parametrize(
    ("subject", "pattern"),
    [("a.b", "a.b"), ("a.b", "a.*"), ("a.*", "a.*"), ("a.>", ">"), ("a.b.c", "a.>"), ("*", "*")],
)
def test_what_a_pattern_holds_is_a_subset(subject, pattern):
    assert is_subset(subject, pattern)


@pytest.mark.parametrize(
    ("subject", "pattern"),
    [
        ("a", "a.>"),
        ("a.>", "a.*"),
        ("*", "a"),
        ("a.b", "a"),
        ("a", "a.b"),
        (">", "*"),
        ("b.c", "a.*"),
    ],
)
def test_what_a_pattern_does_not_hold_is_none(subject, pattern):
    assert not is_subset(subject, pattern)
