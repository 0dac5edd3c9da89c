from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from framework.topology.errors import TopologyErrors
from framework.topology.limits import INCLUDE_DEPTH_MAX, NESTING_MAX
from framework.topology.natsconf import load_conf, parse_conf, parser

if TYPE_CHECKING:
    from framework.topology.node import Node

CORPUS = Path(__file__).parent / "corpus"
ENVIRON = {
    "FRAMEWORK_PORT": "4222",
    "FRAMEWORK_LIST": "[a, b]",
    "FRAMEWORK_TEXT": "some",
    "FRAMEWORK_SIZE": "8MB",
    "FRAMEWORK_CHAIN": "$FRAMEWORK_PORT",
    "FRAMEWORK_CIRCLE": "$FRAMEWORK_CIRCLE",
}
SUPERCLUSTER = json.loads((CORPUS / "supercluster.json").read_text())


def read_cases():
    text = (CORPUS / "natsconf.txt").read_text()
    for case in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        name, rest = case.split("\n", 1)
        conf, what, expected = re.split(r"^--- (.*)\n", rest, maxsplit=1, flags=re.MULTILINE)
        if name.endswith("(no newline at the end)"):
            conf = conf.removesuffix("\n")
        yield pytest.param(conf, what, expected.strip(), id=name)


def comparable(value):
    """Write dates as nats-server does."""
    match value:
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case dict():
            return {key: comparable(item) for key, item in value.items()}
        case list():
            return [comparable(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize(("conf", "what", "expected"), list(read_cases()))
def test_parses_what_nats_server_parses(monkeypatch, conf, what, expected):
    monkeypatch.chdir(CORPUS)

    if what == "value":
        assert comparable(parse_conf(conf, environ=ENVIRON).plain()) == json.loads(expected)
    else:
        with pytest.raises(TopologyErrors) as caught:
            parse_conf(conf, "case.conf", ENVIRON)

        assert str(caught.value) == expected


@pytest.mark.parametrize("name", SUPERCLUSTER)
def test_parses_the_documented_supercluster(name):
    root = load_conf(CORPUS / "supercluster" / name)

    assert root.plain() == SUPERCLUSTER[name]


def test_carriage_returns_end_lines():
    root = parse_conf("a = 1\r\nb {\r\n c: x\r\n}\r\nd = [\r\n e\r\n f\r\n]\r\n")

    assert root.plain() == {"a": 1, "b": {"c": "x"}, "d": ["e", "f"]}


def test_a_nul_byte_is_an_error():
    with pytest.raises(TopologyErrors, match=r"^text:2:3: Parse error on line 2: a NUL byte"):
        parse_conf("a: 1\nb:\0")


def test_bytes_that_are_not_utf8_are_kept(tmp_path):
    path = tmp_path / "latin.conf"
    path.write_bytes(b"a: Z\xfcrich\n")

    assert load_conf(path).plain() == {"a": b"Z\xfcrich".decode(errors="surrogateescape")}


def test_a_date_is_in_utc():
    assert parse_conf("a = 2016-05-04T18:53:41Z").plain() == {
        "a": datetime(2016, 5, 4, 18, 53, 41, tzinfo=UTC)
    }


def test_every_value_has_its_place():
    text = "a = 1\nb {\n  'c' : [ x\n    two ] }\n"

    places = {node.plain(): node for node in walk(parse_conf(text, "f")) if is_scalar(node)}

    assert [str(places[value].place) for value in (1, "x", "two")] == ["f:1:5", "f:3:11", "f:4:5"]
    assert str(places[1].key_place) == "f:1:1"


def test_a_value_of_an_include_has_its_place_in_that_file():
    root = load_conf(CORPUS / "supercluster" / "east.conf")

    assert isinstance(root.value, dict)
    assert str(root.value["accounts"].key_place) == f"{CORPUS / 'supercluster' / 'sys.conf'}:1:1"


def test_a_key_that_a_variable_refers_to_is_marked():
    root = parse_conf("token = x\nother = y\na { b: $token }")

    assert isinstance(root.value, dict)
    assert {key: node.used_as_variable for key, node in root.value.items()} == {
        "token": True,
        "other": False,
        "a": False,
    }


@pytest.mark.parametrize("text", ["a [" + "[" * NESTING_MAX, "a {" * (NESTING_MAX + 1)])
def test_nesting_is_limited(text):
    with pytest.raises(TopologyErrors, match="within each other"):
        parse_conf(text)


def test_a_chain_of_includes_is_limited(write):
    for depth in range(INCLUDE_DEPTH_MAX + 1):
        write(f"{depth}.conf", f'include "{depth + 1}.conf"')

    with pytest.raises(TopologyErrors, match=r"^15\.conf:1:1: more than 16 files within"):
        load_conf("0.conf")


def test_doubling_includes_are_limited(write):
    for depth in range(12):
        write(f"{depth}.conf", f'include "{depth + 1}.conf"\n' * 2)
    write("12.conf", "")

    with pytest.raises(TopologyErrors, match="more than 1000 files are included"):
        load_conf("0.conf")


def test_an_absolute_include_is_relative_to_the_including_file(tmp_path):
    (tmp_path / "inner.conf").write_text("a: 1")
    (tmp_path / "outer.conf").write_text('include "/inner.conf"')

    assert load_conf(tmp_path / "outer.conf").plain() == {"a": 1}


def test_a_file_that_is_not_there(write):
    write("there.conf", "")

    with pytest.raises(TopologyErrors, match=r"^absent\.conf: cannot read it: No such"):
        load_conf("absent.conf")


def test_a_file_that_is_too_large(write, monkeypatch):
    monkeypatch.setattr("framework.topology.natsconf.loading.FILE_BYTES_MAX", 3)

    with pytest.raises(TopologyErrors, match="larger than 3 bytes"):
        load_conf(write("large.conf", "a: 1"))


# -- properties

WORDS = st.text("abz09_./*>-", max_size=6).map("w{}".format)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | WORDS | TEXTS
TREES = st.dictionaries(
    WORDS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
RANDOMS = st.integers(0, 2**32).map(Random)


def write_conf(rng, value):
    """Write a value in one of the many ways that mean it."""
    pick = rng.randrange(3)
    match value:
        case bool():
            return ["true", "yes", "on"][pick] if value else ["false", "no", "OFF"][pick]
        case dict():
            separator = [", ", "\n", "; "][pick]
            return "{ " + write_entries(rng, value, separator) + " }"
        case list():
            separator = [", ", "\n", " ,\n # comment\n"][pick]
            return "[ " + separator.join(write_conf(rng, item) for item in value) + " ]"
        case int():
            return str(value)
    if re.fullmatch("w[abz09_./*>-]*", value):
        return [value, f"'{value}'", f'"{value}"'][pick]
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_entries(rng, table, separator):
    signs = [" ", "=", ": ", " = "]
    return separator.join(
        f"{key}{rng.choice(signs)}{write_conf(rng, value)}" for key, value in table.items()
    )


@given(TREES, RANDOMS)
def test_what_was_written_is_read(tree, rng):
    text = write_entries(rng, tree, "\n")

    assert parse_conf(text).plain() == tree


@given(st.text(st.sampled_from("ab1 .:-=,;{}[]()\"'#/\\$\n\tk"), max_size=40))
def test_any_text_is_parsed_or_refused_with_a_place(text):
    try:
        root = parse_conf(text, environ={})
    except TopologyErrors as refused:
        place = refused.errors[0].place
    else:
        place = root.place

    assert place.line is not None
    assert place.column is not None
    assert 1 <= place.line <= text.count("\n") + 1


@given(TREES, RANDOMS)
def test_a_place_is_where_the_value_stands(tree, rng):
    text = write_entries(rng, tree, "\n")
    lines = text.split("\n")

    for node in walk(parse_conf(text)):
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            assert node.place.line is not None
            assert node.place.column is not None
            rest = lines[node.place.line - 1][node.place.column - 1 :]
            assert rest.startswith(str(node.value))


@given(TREES, RANDOMS)
def test_a_file_that_is_cut_off_is_refused_or_says_less(tree, rng):
    text = write_entries(rng, tree, "\n")
    assume(text)
    cut = rng.randrange(len(text))

    try:
        root = parse_conf(text[:cut], environ={})
    except TopologyErrors:
        return
    assert isinstance(root.value, dict)
    assert len(root.value) <= len(tree)


def walk(node):
    yield node
    match node.value:
        case dict() as table:
            inner = table.values()
        case list() as items:
            inner = items
        case _:
            inner = ()
    for item in inner:
        yield from walk(item)


def is_scalar(node: Node):
    return not isinstance(node.value, dict | list)


NEVER = re.compile(r"(?!)")


@given(
    st.lists(
        st.sampled_from([
            *"abz_09 \t\n\r,;:={}[]'\"\\/#$.-",
            "include ",
            "true",
            "// x",
            'k: "v"',
            "k = v\n",
            "a: b, ",
            "é",
            "{ k: v }",
        ]),
        max_size=12,
    ).map("".join)
)
@example("include: x")
@example("INCLUDE = x")
@example("a: b\n\n c: d")
def test_plain_entries_are_read_in_one_step_as_otherwise(text):
    text = f"b {{ {text}\n}}"
    outcomes = []
    for pattern in (parser._PLAIN_ENTRY, NEVER):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parser, "_PLAIN_ENTRY", pattern)
            try:
                root = parse_conf(text, environ={})
                outcomes.append([_with_places(root)])
            except TopologyErrors as error:
                outcomes.append(str(error))

    assert outcomes[0] == outcomes[1]


def _with_places(node):
    value = node.value
    if isinstance(value, dict):
        value = [(key, _with_places(item)) for key, item in value.items()]
    elif isinstance(value, list):
        value = [_with_places(item) for item in value]
    return value, node.place, node.key_place, node.used_as_variable
