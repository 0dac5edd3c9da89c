from __future__ import annotations

from datetime import timedelta

import pytest

from framework.topology.conversion import convert_value
from framework.topology.node import table_from_plain
from framework.topology.option import Kind, Option
from framework.topology.place import Place


def convert(kind, value, **fields):
    option = Option(name="option", kind=kind, help="An option", **fields)
    return convert_value(option, table_from_plain(value, Place("file", 1, 1)))


@pytest.mark.parametrize(
    ("kind", "value", "converted"),
    [
        (Kind.BOOL, True, True),
        (Kind.BOOL, "Off", False),
        (Kind.INT, 7, 7),
        (Kind.INT, "-7", -7),
        (Kind.PORT, 4222, 4222),
        (Kind.PORT, -1, 0),
        (Kind.PORT, 0, None),
        (Kind.SIZE, 1024, 1024),
        (Kind.SIZE, "8MB", 8 * 1024**2),
        (Kind.DURATION, 5, 5.0),
        (Kind.DURATION, 0.5, 0.5),
        (Kind.DURATION, "1m30s", 90.0),
        (Kind.DURATION, "7", 7.0),
        (Kind.DURATION, timedelta(milliseconds=10), 0.01),
        (Kind.STRING, "", ""),
        (Kind.STRINGS, "one", ("one",)),
        (Kind.STRINGS, ["one", "two"], ("one", "two")),
        (Kind.STRINGS, [], ()),
        (Kind.URLS, ["nats://a:1", " nats://b:2 ", "nats://a:1"], ("nats://a:1", "nats://b:2")),
        (Kind.LISTEN, 4222, ("", 4222)),
        (Kind.LISTEN, "127.0.0.1:-1", ("127.0.0.1", -1)),
        (Kind.MAP, {"a": "b"}, {"a": "b"}),
    ],
)
def test_values(kind, value, converted):
    assert convert(kind, value) == converted


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (Kind.BOOL, 1, "expected true or false, found 1"),
        (Kind.BOOL, "maybe", 'expected true or false, found "maybe"'),
        (Kind.INT, True, "expected a number, found true"),
        (Kind.INT, "4x", 'expected a number, found "4x"'),
        (Kind.INT, "9" * 5000, "expected a number"),
        (Kind.INT, 1.5, "expected a number, found 1.5"),
        (Kind.PORT, 65536, "expected a port from 1 to 65535, or -1 for any free one, found 65536"),
        (Kind.SIZE, [], "expected a number, found a list"),
        (Kind.DURATION, True, "expected a duration such as 10s, found true"),
        (Kind.DURATION, "soon", "expected a duration such as 10s"),
        (Kind.STRING, 123, "expected a text, found 123; put it in quotes"),
        (Kind.STRING, ["a"], "expected a text, found a list$"),
        (Kind.STRINGS, [1], "expected a text, found 1; put it in quotes"),
        (Kind.URLS, ["host:1"], "expected a URL"),
        (Kind.URLS, ["nats://:1"], "expected a host in nats://:1"),
        (Kind.LISTEN, 1.5, "expected a port or host:port, found 1.5"),
        (Kind.LISTEN, "nowhere", "could not parse address"),
        (Kind.MAP, "a", 'expected a block of texts, found "a"'),
    ],
)
def test_what_a_kind_does_not_hold(kind, value, problem):
    with pytest.raises(ValueError, match=problem):
        convert(kind, value)


def test_bounds_are_inclusive_and_named_with_their_unit():
    bounds = {"minimum": 1, "maximum": 2_000, "unit": "PINGs"}

    assert convert(Kind.INT, 1, **bounds) == 1
    assert convert(Kind.INT, 2_000, **bounds) == 2_000
    with pytest.raises(ValueError, match="expected at least 1 PINGs, found 0 PINGs"):
        convert(Kind.INT, 0, **bounds)
    with pytest.raises(ValueError, match="expected at most 2,000 PINGs, found 2,001 PINGs"):
        convert(Kind.INT, 2_001, **bounds)
    with pytest.raises(ValueError, match="expected at least 30s, found 5s"):
        convert(Kind.DURATION, "5s", minimum=30.0)


def test_zero_may_mean_the_default():
    assert convert(Kind.INT, 0, zero_is_default=True, default=2, minimum=1) == 2


def test_choices():
    choices = ("default", "close", "retry")

    assert convert(Kind.STRING, "close", choices=choices) == "close"
    with pytest.raises(ValueError, match='expected default, close or retry, found "never"'):
        convert(Kind.STRING, "never", choices=choices)


def test_an_option_has_the_last_word():
    with pytest.raises(ValueError, match=r"^not this one$"):
        convert(Kind.STRING, "x", check=lambda _: "not this one")
