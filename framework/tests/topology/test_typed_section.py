"""Blocks of the configuration as Structs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Struct

from framework.topology import Kind, Schema, Setting, TopologyErrors, read_server_conf, section_of


class Peer(Struct, frozen=True):
    host: Annotated[str, Setting(help="Where it is")]
    weight: Annotated[int, Setting(help="How much it takes", minimum=1)] = 1


def is_short(name: str) -> bool:
    return len(name) < 9


class Limiter(Struct, frozen=True):
    rate: Annotated[int, Setting(help="How many", unit="messages", flags=("rate",), minimum=1)]
    name: Annotated[
        str,
        Setting(help="What it is called", check=lambda it: None if is_short(it) else "is too long"),
    ] = "all"
    mode: Annotated[Literal["drop", "wait"], Setting(help="What follows")] = "drop"
    window: Annotated[float, Setting(help="Of time")] = 1.0
    room: Annotated[int, Setting(help="For what waits", kind=Kind.SIZE)] = 1024
    port: Annotated[int | None, Setting(help="Where", kind=Kind.PORT)] = None
    is_on: Annotated[bool, Setting(help="Whether it works")] = True
    subjects: Annotated[tuple[str, ...], Setting(help="Which")] = ()
    labels: Annotated[dict[str, str], Setting(help="For people")] = {}
    first: Annotated[Peer | None, Setting(help="The first")] = None
    peers: Annotated[tuple[Peer, ...], Setting(help="The others")] = ()
    named: Annotated[dict[str, Peer], Setting(help="By name")] = {}

    def __post_init__(self) -> None:
        if self.name == "nobody":
            raise ValueError("nobody is no name")


SECTION = section_of(Limiter, name="limiter", help="How much may come")


def read(tmp_path: Any, text: str) -> Any:
    path = tmp_path / "it.conf"
    path.write_text(text)
    return read_server_conf(path, Schema([SECTION]))


def test_a_block_becomes_the_struct(tmp_path: Any) -> None:
    text = """limiter {
        rate: 5, name: some, mode: wait, window: 2m, room: 8KB, port: -1, is_on: off
        subjects: [a, b], labels: { team: "x" }
        first: { host: one }
        peers: [ { host: two, weight: 3 }, { host: three } ]
        named: { far: { host: four } }
    }"""

    assert read(tmp_path, text.replace("2m", '"2m"')).section_as(Limiter) == Limiter(
        rate=5,
        name="some",
        mode="wait",
        window=120.0,
        room=8192,
        port=0,
        is_on=False,
        subjects=("a", "b"),
        labels={"team": "x"},
        first=Peer("one"),
        peers=(Peer("two", 3), Peer("three")),
        named={"far": Peer("four")},
    )


def test_what_is_not_set_has_the_default_of_the_field(tmp_path: Any) -> None:
    assert read(tmp_path, "limiter { rate: 1 }").section_as(Limiter) == Limiter(rate=1)
    assert read(tmp_path, "").section_as(Limiter) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("limiter {\n name: x\n}", ":1:1: `limiter.rate`: expected a value, as it has no default"),
        ("limiter {\n rate: 0\n}", ":2:8: `limiter.rate`: expected at least 1 messages, found 0"),
        ("limiter { rate: 1\n mode: go }", "`limiter.mode`: expected drop or wait, found "),
        ("limiter { rate: 1\n first { weight: 2 } }", "`limiter.first.host`: expected a value"),
        ("limiter { rate: 1\n peers: [{ weight: 2 }] }", "expected a value, as it has no default"),
        ("limiter { rate: 1\n name: much-too-long }", "is too long"),
        ("limiter { rate: 1\n name: nobody }", "nobody is no name"),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Any, text: str, problem: str) -> None:
    with pytest.raises(TopologyErrors) as caught:
        read(tmp_path, text)

    assert problem in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_section_is_made_once(tmp_path: Any) -> None:
    config = read(tmp_path, "limiter { rate: 1 }")

    assert config.section_as(Limiter) is config.section_as(Limiter)
    assert "Limiter" not in repr(config)


def test_another_struct_was_made_into_no_section(tmp_path: Any) -> None:
    with pytest.raises(KeyError, match="Peer"):
        read(tmp_path, "").section_as(Peer)


class Bare(Struct):
    rate: int = 1


class Odd(Struct):
    rate: Annotated[complex, Setting(help="How many")] = 1j


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (Bare, r"Bare.rate: expected Annotated\[..., Setting\(help=...\)\]"),
        (Odd, "Odd.rate: no option holds <class 'complex'>; say which by Setting"),
    ],
)
def test_a_struct_that_makes_no_section_is_named(record: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        section_of(record, name="x", help="Nothing")
