"""Documents as JSON, piece by piece where they have `Rows`.

The form is nats-server's: two blanks a level for people, none between servers.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import msgspec
from typing_extensions import override

from framework.spec.rows import Rows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from framework.monitor.turns import Turns

_INDENT: Final = 2


class Batches(Rows):
    """Documents that are made some at a time, a turn each.

    Args:
        batches: Yields them; each batch is less than a millisecond's work.
        turns: Taken before each batch.
    """

    def __init__(
        self, batches: AsyncGenerator[Sequence[dict[str, object]], None], turns: Turns
    ) -> None:
        self._batches = batches
        self._turns = turns

    @override
    async def items(self, newline: bytes) -> AsyncGenerator[bytes, None]:
        comma = b""
        async with aclosing(self._batches) as batches:
            await self._turns.take()
            async for batch in batches:
                for document in batch:
                    yield comma + newline
                    comma = b","
                    async with aclosing(_value(document, newline)) as pieces:
                        async for piece in pieces:
                            yield piece
                await self._turns.take()


def json_body(document: object, *, indented: bool) -> bytes | AsyncGenerator[bytes, None]:
    """Return the JSON of a document: as a whole, or piece by piece where it has `Rows`."""
    newline = b"\n" if indented else b""
    if _has_rows(document):
        return _value(document, newline)
    return _encode(document, newline)


async def json_whole(document: object) -> bytes:
    """Return the JSON of a document without blanks."""
    body = json_body(document, indented=False)
    return body if isinstance(body, bytes) else b"".join([piece async for piece in body])


async def _value(value: object, newline: bytes) -> AsyncGenerator[bytes, None]:
    """Yield a value whose closing brace stands behind `newline`."""
    if isinstance(value, Rows):
        inner = newline + b" " * _INDENT if newline else b""
        opening = b"["
        async with aclosing(value.items(inner)) as items:
            async for piece in items:
                yield opening + piece
                opening = b""
        yield b"[]" if opening else newline + b"]"
    elif _has_rows(value):
        assert isinstance(value, dict | list)
        parts = _object(value, newline) if isinstance(value, dict) else _array(value, newline)
        async with aclosing(parts) as pieces:
            async for piece in pieces:
                yield piece
    else:
        yield _encode(value, newline)


async def _object(document: dict[str, object], newline: bytes) -> AsyncGenerator[bytes, None]:
    inner = newline + b" " * _INDENT if newline else b""
    colon = b": " if newline else b":"
    opening = b"{"
    for name, value in document.items():
        yield opening + inner + _encode(name, b"") + colon
        opening = b","
        async with aclosing(_value(value, inner)) as pieces:
            async for piece in pieces:
                yield piece
    yield newline + b"}"


async def _array(documents: list[object], newline: bytes) -> AsyncGenerator[bytes, None]:
    inner = newline + b" " * _INDENT if newline else b""
    opening = b"["
    for document in documents:
        yield opening + inner
        opening = b","
        async with aclosing(_value(document, inner)) as pieces:
            async for piece in pieces:
                yield piece
    yield newline + b"]"


def _has_rows(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_rows, value.values()))
    if isinstance(value, list):
        # Documents of a list are alike, so that numbers and names are not looked at one by one.
        return bool(value) and isinstance(value[0], dict) and any(map(_has_rows, value))
    return isinstance(value, Rows)


def _encode(value: object, newline: bytes) -> bytes:
    try:
        text = msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        # What a peer has sent that is no UTF-8 becomes `?`.
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    if not newline:
        return text
    return msgspec.json.format(text, indent=_INDENT).replace(b"\n", newline)
