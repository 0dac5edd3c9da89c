"""Makes new inputs of old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

LENGTH_MAX = 1_500
CLIENT_WORDS = (
    b"CONNECT {}",
    b'CONNECT {"verbose":true,"pedantic":true}',
    b'CONNECT {"headers":true,"no_responders":true}',
    b'CONNECT {"echo":true}',
    *(b"PUB a.b 3", b"PUB a.b c.d 3", b"PUB foo 0", b"HPUB a.b 12 15", b"HPUB a.b c.d 12 12"),
    *(b"SUB a.b 1", b"SUB a.* q 2", b"SUB > 3", b"UNSUB 1", b"UNSUB 1 2"),
)
ROUTE_WORDS = (
    *(b"RS+ $G a.b", b"RS+ $G a.b q 2", b"RS- $G a.b", b"RS- $G a.b q", b"A+ $G", b"A- $G"),
    *(b"RMSG $G a.b 3", b"RMSG $G a.b c.d 3", b"RMSG $G a.b + c.d q 3", b"RMSG $G a.b | q 3"),
    *(b"HMSG $G a.b 12 15", b"HMSG $G a.b c.d 12 12"),
)
OTHER_WORDS = (
    *(b"INFO {}", b"PING", b"PONG", b"+OK", b"-ERR 'x'", b"NATS/1.0", b"s.x", b"_INBOX.a"),
)
WORDS = (*CLIENT_WORDS, *ROUTE_WORDS, *OTHER_WORDS)
HEADERS = b"NATS/1.0\r\n\r\n"
GLUE = (
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b"abc\r\n", b"\0", b"{"),
    *(HEADERS, HEADERS + b"abc\r\n"),
)
NUMBERS = (
    *(b"0", b"1", b"3", b"12", b"299", b"300", b"301", b"-1", b"65536", b"2147483648"),
    b"99999999999999999999",
)


def mutate(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a new input that has something of `data`, and perhaps of another."""
    for _ in range(1 << rng.randrange(5)):
        data = rng.choice(_CHANGES)(data, corpus, rng)
    return data[:LENGTH_MAX]


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _flip(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    at = _place(data, rng)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    begin, end = sorted((_place(data, rng), _place(data, rng)))
    return data[:begin] + data[end:]


def _repeat(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    begin, end = sorted((_place(data, rng), _place(data, rng)))
    return data[:end] + data[begin:end] * rng.randrange(1, 4) + data[end:]


def _insert(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    at = _place(data, rng)
    return data[:at] + rng.choice(WORDS) + rng.choice(GLUE) + data[at:]


def _append_line(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    line = rng.choice(WORDS) + b"\r\n"
    if line.startswith((b"PUB", b"RMSG")):
        return data + line + b"abc\r\n"
    if line.startswith((b"HPUB", b"HMSG")):
        return data + line + HEADERS + b"abc\r\n"
    return data + line


def _number(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    places = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    if not places:
        return data
    at = rng.choice(places)
    return data[:at] + rng.choice(NUMBERS) + data[at + 1 :]


def _stretch(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    del corpus
    at = _place(data, rng)
    return data[:at] + data[at : at + 1] * rng.randrange(200) + data[at:]


def _splice(data: bytes, corpus: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(corpus)
    return data[: _place(data, rng)] + other[_place(other, rng) :]


_CHANGES = (
    _flip,
    _flip,
    _cut,
    _repeat,
    _insert,
    _append_line,
    _append_line,
    _number,
    _stretch,
    _splice,
)
