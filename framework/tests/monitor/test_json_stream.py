from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from framework.monitor import Turns
from framework.monitor.json_stream import Batches, json_body, json_whole
from framework.spec import Rows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence


class Texts(Rows):
    """Strings, one in each piece."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)

    @override
    async def items(self, newline: bytes) -> AsyncGenerator[bytes, None]:
        for at, text in enumerate(self.texts):
            yield (b"," if at else b"") + newline + json.dumps(text, ensure_ascii=False).encode()


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(st.text(), max_size=4).map(Texts)
DOCUMENTS = st.recursive(
    PLAIN,
    lambda inner: (
        st.dictionaries(st.text(), inner | ROWS, max_size=3)
        | st.lists(st.dictionaries(st.text(), inner | ROWS, max_size=2), max_size=3)
    ),
    max_leaves=8,
)


def plain(document: Any) -> Any:
    """Return a document with lists for its rows."""
    match document:
        case Texts():
            return document.texts
        case dict():
            return {name: plain(value) for name, value in document.items()}
        case list():
            return [plain(value) for value in document]
        case _:
            return document


async def joined(document: object) -> bytes:
    body = json_body(document, indented=True)
    return body if isinstance(body, bytes) else b"".join([piece async for piece in body])


@given(DOCUMENTS)
def test_rows_look_as_lists_do(document: Any) -> None:
    assert json.loads(asyncio.run(json_whole(document))) == plain(document)
    assert json.loads(asyncio.run(joined(document))) == plain(document)


def test_the_layout_is_that_of_nats_server() -> None:
    document = {"a": 1, "rows": Texts(["x", "y"]), "none": Texts([]), "list": [{"b": Texts(["z"])}]}
    expected = json.dumps(plain(document), indent=2)

    assert asyncio.run(joined(document)).decode() == expected
    assert asyncio.run(json_whole(document)) == (
        b'{"a":1,"rows":["x","y"],"none":[],"list":[{"b":["z"]}]}'
    )


@pytest.mark.parametrize("value", ["\udcff", {"\udcff": 1}])
def test_what_is_no_text_becomes_a_question_mark(value: object) -> None:
    assert b"?" in asyncio.run(json_whole({"value": value}))


def test_a_batch_is_made_in_each_turn() -> None:
    async def batches() -> AsyncGenerator[Sequence[dict[str, object]], None]:
        for number in range(3):
            yield [{"number": number}, {"rows": Texts(["x"])}]

    async def go() -> tuple[bytes, int]:
        turns = Turns()
        return await json_whole({"all": Batches(batches(), turns)}), turns.count

    text, turns = asyncio.run(go())

    assert len(json.loads(text)["all"]) == 6
    assert turns == 4
