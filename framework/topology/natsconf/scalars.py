"""Scalars: numbers, sizes, dates, bare words, quoted strings, block strings.

    integer  = ["-"] digits [suffix]        suffix: k kb ki kib, and so for m g t p e
    float    = ["-"] digits "." digits
    date     = dddd-dd-ddTdd:dd:ddZ
    address  = ["-"] digits "." digits "." { digit | "." | ":" | "-" }
    quoted   = '"' ... '"' with escapes, or "'" ... "'" without
    block    = "(" ... newline ")" newline
    word     = anything else, up to a blank, newline, ";" "," "]" "}" or "'"; with escapes

A word that begins with digits swallows the first character that cannot belong to a number,
even `]`: so `[1, 2]` is no list in this language and `[1, 2 ]` is. That is nats-server's.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from framework.topology.natsconf.source import Source
    from framework.topology.node import Scalar

__all__ = ["Variable", "scan_scalar", "word_value"]

_WORD = re.compile(r"[^\n\r;,\]}\t '\\]*")
_DOUBLE_QUOTED = re.compile(r'[^"\\]*')
_DIGITS = re.compile(r"\d*")
_SIZE_LETTERS = re.compile("[bBiI]*")
_ADDRESS = re.compile(r"[\d.:-]*")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_BLOCK_END = re.compile(r"\n\)(?=\n|\Z)")
_HEX_PAIR = re.compile("[0-9a-fA-F]{2}")

_NUMBER_ENDS = frozenset("\n\r};,\t ") | {""}
_MAGNITUDES = "kKmMgGtTpPeE"
_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
_INT64_MAX = 2**63 - 1
_DIGITS_MAX = 1_000


class Variable(NamedTuple):
    """`$NAME`: a variable of the file or of the environment."""

    name: str


def scan_scalar(source: Source, start: int) -> tuple[Scalar | Variable, int]:
    """Read the value that begins at an offset.

    Returns:
        The value and the offset behind it.

    Raises:
        TopologyErrors: There is no value, or it is malformed.
    """
    first = source.text[start : start + 1]
    match first:
        case '"':
            return _scan_escaped(source, start + 1, start + 1, _DOUBLE_QUOTED)
        case "'":
            end = source.text.find("'", start + 1)
            if end < 0:
                raise source.parse_error(start, "a text in single quotes has no end")
            return source.text[start + 1 : end], end + 1
        case "(":
            return _scan_block(source, start)
        case "\n" | "\r":
            raise source.parse_error(start, "expected a value, found the end of the line")
        case ".":
            raise source.parse_error(start, "a number cannot begin with a point", "write 0.5")
    if first == "-" or first.isdecimal():
        return _scan_number(source, start)
    return _scan_word(source, start, start)


def _scan_word(source: Source, start: int, pos: int) -> tuple[Scalar | Variable, int]:
    """Read a bare word of which the characters before `pos` are known to belong to it."""
    text = source.text
    matched = _WORD.match(text, pos)
    assert matched
    end = matched.end()
    stop = text[end : end + 1]
    if stop == "\\":
        return _scan_escaped(source, start, pos, _WORD)
    word = text[start:end]
    if stop == "'":
        return word, end + 1
    if word[:1] == "$":
        return Variable(word[1:]), end
    return word_value(word), end


def word_value(word: str) -> str | bool:
    """Return what a bare word without escapes stands for."""
    return _BOOLS.get(word.lower(), word)


def _scan_escaped(source: Source, start: int, pos: int, plain: re.Pattern[str]) -> tuple[str, int]:
    """Read a text with escapes; `plain` matches what needs no look."""
    text = source.text
    parts: list[str] = []
    while True:
        matched = plain.match(text, pos)
        assert matched
        end = matched.end()
        parts.append(text[start:end])
        match text[end : end + 1]:
            case "\\":
                escape, pos = _scan_escape(source, end)
                parts.append(escape)
                start = pos
            case "" if plain is _DOUBLE_QUOTED:
                raise source.parse_error(start - 1, "a text in double quotes has no end")
            case '"' | "'":
                return _join(parts), end + 1
            case _:
                return _join(parts), end


def _join(parts: list[str]) -> str:
    """Join the parts of a text; bytes that were escaped one by one may form a character."""
    if len(parts) == 1:
        return parts[0]
    return "".join(parts).encode(errors="surrogateescape").decode(errors="surrogateescape")


def _scan_escape(source: Source, start: int) -> tuple[str, int]:
    letter = source.text[start + 1 : start + 2]
    if letter in _ESCAPES:
        return _ESCAPES[letter], start + 2
    pair = _HEX_PAIR.match(source.text, start + 2)
    if letter == "x" and pair:
        return bytes.fromhex(pair[0]).decode(errors="surrogateescape"), pair.end()
    raise source.parse_error(
        start,
        f"unknown escape `\\{letter}`",
        r"allowed are \xXX \t \n \r \" and \\; single quotes take everything as it is",
    )


def _scan_block(source: Source, start: int) -> tuple[str, int]:
    matched = _BLOCK_END.search(source.text, start + 1)
    if not matched:
        raise source.parse_error(start, "a block text has no end", "put `)` alone on the last line")
    # At the very end of a file nats-server keeps the parenthesis in the text, and so do we.
    end = matched.end()
    return source.text[start + 1 : end if end == len(source.text) else end - 1], end


def _scan_number(source: Source, start: int) -> tuple[Scalar | Variable, int]:
    text = source.text
    negative = text[start] == "-"
    end = _end_of(_DIGITS, text, start + negative)
    if negative and end == start + 1:
        raise source.parse_error(start, "expected a digit after `-`", "quote a text that begins so")
    stop = text[end : end + 1]
    if stop == ".":
        return _scan_fraction(source, start, end + 1)
    if stop and stop in _MAGNITUDES:
        after = _end_of(_SIZE_LETTERS, text, end + 1)
        if text[after : after + 1] not in _NUMBER_ENDS:
            return _scan_word(source, start, after)
        number = _int_from(source, start, end) * _factor_from(source, end, after)
        return _in_range(source, start, number), after
    if negative or stop in _NUMBER_ENDS:
        return _int_from(source, start, end), end
    if stop == "-":
        return _scan_date(source, start)
    return _scan_word(source, start, end + 1)


def _end_of(pattern: re.Pattern[str], text: str, pos: int) -> int:
    matched = pattern.match(text, pos)
    assert matched
    return matched.end()


def _scan_fraction(source: Source, start: int, pos: int) -> tuple[Scalar, int]:
    text = source.text
    end = _end_of(_DIGITS, text, pos)
    if end == pos:
        raise source.parse_error(pos, "expected a digit after the point")
    if text[end : end + 1] == ".":
        end = _end_of(_ADDRESS, text, end)
        return text[start:end], end
    number = float(text[start:end]) if text[start:end].isascii() else float("inf")
    if number in {float("inf"), float("-inf")}:
        raise source.value_error(start, f"the number {text[start:end][:40]} is out of range")
    return number, end


def _scan_date(source: Source, start: int) -> tuple[datetime, int]:
    fix = "quote it, or write a date as 2026-11-21T10:00:00Z"
    matched = _DATE.match(source.text, start)
    if not matched:
        raise source.parse_error(start, "a value that begins with digits and `-` is no date", fix)
    try:
        return datetime.strptime(f"{matched[0][:-1]}+0000", "%Y-%m-%dT%H:%M:%S%z"), matched.end()
    except ValueError:
        raise source.value_error(start, f"there is no date {matched[0]}", fix) from None


def _int_from(source: Source, start: int, end: int) -> int:
    digits = source.text[start:end]
    if not digits.isascii():
        raise source.value_error(start, f"expected a number, found {digits[:40]}")
    # Python itself refuses to convert thousands of digits.
    return _in_range(source, start, int(digits) if len(digits) <= _DIGITS_MAX else _INT64_MAX + 1)


def _in_range(source: Source, start: int, number: int) -> int:
    if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
        raise source.value_error(start, "the number is out of range", "at most 2^63-1")
    return number


def _factor_from(source: Source, start: int, end: int) -> int:
    """Return what a suffix stands for: `k` 1,000; `kb`, `ki` and `kib` 1,024; and so on."""
    suffix = source.text[start:end].lower()
    power = "kmgtpe".index(suffix[0]) + 1
    if suffix[1:] in {"", "b", "i", "ib"}:
        factor: int = (1_024 if suffix[1:] else 1_000) ** power
        return factor
    raise source.parse_error(
        start, f"unknown unit `{suffix}`", "k, kb, ki, kib; so for m, g, t, p, e"
    )
