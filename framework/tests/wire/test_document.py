from __future__ import annotations

import json
from typing import Annotated

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from framework.errors import ProtocolError
from framework.wire.closed_state import ClosedState
from framework.wire.document import Always, Document, Named, Secret, build_document, parse_document
from framework.wire.info import RouteInfo
from framework.wire.limits import DOCUMENT_BYTES_MAX, INT64_MAX, INT64_MIN


class Inner(Document, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()


class Outer(Document, frozen=True, kw_only=True):
    flag: bool = False
    count: Always[int] = 0
    text: Annotated[str, Named("class")] = ""
    inner: Inner | None = None


def test_fields_are_read_by_their_json_names():
    data = b'{"flag":true,"count":-3,"class":"\xc3\xa4","inner":{"names":["a","b"]},"other":[1]}'

    assert parse_document(Outer, data) == Outer(
        flag=True, count=-3, text="ä", inner=Inner(names=("a", "b"))
    )


@pytest.mark.parametrize("data", [b"{}", b" {} \t\n", b'{"flag":null,"inner":null}'])
def test_absent_and_null_leave_the_default(data):
    assert parse_document(Outer, data) == Outer()


def test_the_last_of_two_members_wins():
    assert parse_document(Outer, b'{"count":1,"count":2}') == Outer(count=2)


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"", "no JSON: Expecting value at character 0"),
        (b"{", "no JSON: Expecting property name enclosed in double quotes at character 1"),
        (b"{} {}", "no JSON: Extra data at character 3"),
        (b'{"class":"\n"}', "no JSON: Invalid control character at at character 10"),
        (b"[]", "document is a list and not an object"),
        (b"null", "document is null and not an object"),
        (b"7", "document is a number and not an object"),
        (b'{"flag":1}', "flag is a number and not a boolean"),
        (b'{"count":"1"}', "count is a string and not an integer"),
        (b'{"count":true}', "count is a boolean and not an integer"),
        (b'{"count":1.0}', "count is a number and not an integer"),
        (b'{"count":1e999}', "count is a number and not an integer"),
        (b'{"count":9223372036854775808}', "count does not fit into 64 bits"),
        (b'{"class":{}}', "class is an object and not a string"),
        (b'{"inner":[]}', "inner is a list and not an object"),
        (b'{"inner":{"names":"a"}}', "names is a string and not a list"),
        (b'{"inner":{"names":["a",null]}}', "an item of names is null and not a string"),
        (b'{"count":NaN}', "no JSON: NaN"),
        (b'{"other":-Infinity}', "no JSON: -Infinity"),
        (b'{"other":' + b"9" * 5_000 + b"}", "a number of 5000 characters"),
        (b'{"other":' + b"[" * 60_000, "JSON is nested too deeply"),
        (b"[" * 1_100_000, "1100000 bytes of JSON are more than 1048576"),
        ("{}".encode("utf-16"), "no JSON: Expecting value at character 0"),
    ],
)
def test_what_breaks_a_rule_or_a_bound_is_a_protocol_error(data, detail):
    with pytest.raises(ProtocolError) as caught:
        parse_document(Outer, data)

    assert str(caught.value) == detail
    assert caught.value.text == "Parser Error"
    assert caught.value.reason is ClosedState.PROTOCOL_VIOLATION


def test_objects_as_deep_as_they_fit_are_refused():
    # How deep that is, before it runs out, is the interpreter's affair.
    with pytest.raises(ProtocolError, match=r"nested too deeply|Expecting value"):
        parse_document(Outer, b'{"other":' * 7_000)


@pytest.mark.parametrize("count", [INT64_MIN, INT64_MAX])
def test_all_of_64_bits_can_be_read(count):
    assert parse_document(Outer, b'{"count":%d}' % count) == Outer(count=count)


def test_a_document_may_have_the_greatest_length():
    padding = b" " * (DOCUMENT_BYTES_MAX - 2)

    assert parse_document(Outer, b"{" + padding + b"}") == Outer()


@pytest.mark.parametrize("text", [b"\xff", b"\\ud800", b"\\udfff"])
def test_what_is_no_unicode_is_replaced(text):
    assert parse_document(Outer, b'{"class":"%s"}' % text) == Outer(text="\ufffd")


@given(st.binary())
@example(b'{"class":"\\ud83d\\ude00"}')
def test_nothing_but_a_protocol_error_comes_out(data):
    try:
        parsed = parse_document(Outer, data)
    except ProtocolError:
        return

    parsed.text.encode()


def test_what_is_empty_is_left_out_unless_marked():
    assert build_document(Outer()) == b'{"count":0}'
    assert build_document(Outer(flag=True, text="ä", inner=Inner())) == (
        '{"flag":true,"count":0,"class":"ä","inner":{}}'.encode()
    )


def test_further_members_come_last_and_win():
    assert build_document(Outer(flag=True), {"flag": 1, "more": [2]}) == (
        b'{"flag":1,"count":0,"more":[2]}'
    )


@given(
    st.builds(
        Outer,
        flag=st.booleans(),
        count=st.integers(INT64_MIN, INT64_MAX),
        text=st.text(st.characters(exclude_categories=["Cs"])),
        inner=st.none() | st.builds(Inner, names=st.lists(st.just("a"), min_size=1).map(tuple)),
    )
)
def test_what_is_built_is_read_again(document):
    data = build_document(document)

    assert parse_document(Outer, data) == document
    assert json.loads(data)


def test_no_secret_is_shown():
    class Login(Document, frozen=True, kw_only=True):
        user: str = ""
        password: Annotated[Secret[str], Named("pass")] = ""

    assert repr(Login(user="u", password="p")) == "Login(user='u')"


def test_members_that_a_class_has_not_are_kept_where_it_wants_them():
    info = parse_document(RouteInfo, b'{"server_id":"N","shelf":{"a":[1]},"others":2,"ldm":null}')

    assert info.others == {"shelf": {"a": [1]}, "others": 2}
    document = json.loads(build_document(replace(info, others={"shelf": 1, "server_id": "X"})))
    assert (document["shelf"], document["server_id"]) == (1, "N")
