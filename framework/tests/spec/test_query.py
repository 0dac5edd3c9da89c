from __future__ import annotations

import pytest

from framework.errors import BadQuery
from framework.spec.query import read_bool, read_int, read_unsigned


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(text: str) -> None:
    assert read_bool({"subs": text}, "subs")


@pytest.mark.parametrize("text", ["", "0", "f", "F", "FALSE", "false", "False"])
def test_false(text: str) -> None:
    assert not read_bool({"subs": text}, "subs")


def test_absent_is_false_or_zero() -> None:
    assert not read_bool({}, "subs")
    assert read_int({}, "limit") == 0
    assert read_unsigned({}, "cid") == 0


def test_numbers() -> None:
    assert read_int({"limit": "-7"}, "limit") == -7
    assert read_unsigned({"cid": "18446744073709551615"}, "cid") == 2**64 - 1


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (
            read_bool,
            "x",
            "Error decoding boolean for 'it': strconv.ParseBool: parsing \"x\": invalid syntax",
        ),
        (
            read_int,
            "x",
            "Error decoding int for 'it': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            read_unsigned,
            "-1",
            "Error decoding uint64 for 'it': strconv.ParseUint: parsing \"-1\": invalid syntax",
        ),
    ],
)
def test_wrong_values_get_the_texts_of_nats_server(read, text: str, expected: str) -> None:
    with pytest.raises(BadQuery) as caught:
        read({"it": text}, "it")

    assert str(caught.value) == expected


@pytest.mark.parametrize("text", ["9" * 5_000, "1_000", "٣", "1e3", "0x10", "99999999999999999999"])
def test_odd_numbers_are_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        read_int({"limit": text}, "limit")


def test_what_is_shown_of_a_value_is_bounded_and_printable() -> None:
    with pytest.raises(BadQuery) as caught:
        read_bool({"subs": "\r\n" + "y" * 5_000}, "subs")

    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()
