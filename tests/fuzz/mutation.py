"""Where the fuzzer begins, and how it goes on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.dataplane import LinkKind

if TYPE_CHECKING:
    import random

CONNECT = b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n'

SEEDS = {
    LinkKind.CLIENT: [
        CONNECT + b"SUB foo 1\r\nPUB foo 5\r\nhello\r\nUNSUB 1 2\r\nPUB foo reply 0\r\n\r\nPING\r\n",
        CONNECT + b"SUB here q 9\r\nHPUB here r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nUNSUB 9\r\n",
        CONNECT + b"SUB x.> 1\r\nSUB *.y 2\r\nPUB x.y 3\r\nabc\r\nPUB gone _I.1 1\r\n.\r\n+OK\r\n",
        b'CONNECT {"pedantic":true}\r\npub a..b 1\r\nx\r\nsub a.*.> z\r\npong\r\n',
        CONNECT + b"PUB here 4097\r\n",
        CONNECT + b"SUB " + b"a." * 60 + b"z 1\r\nPUB " + b"a." * 60 + b"z 1\r\nx\r\n",
    ],
    LinkKind.ROUTE: [
        b"RS+ $G foo\r\nRS+ $G here q 3\r\nRS- $G foo\r\nRS+ $G x.> q2 1\r\nPING\r\n",
        b"RMSG $G here 2\r\nhi\r\nRMSG $G here r 2\r\nhi\r\nRMSG $G here | q 2\r\nhi\r\n",
        b"RMSG $G here + r q q2 2\r\nhi\r\nHMSG $G here + r q 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
        b'INFO {"server_id":"X"} \r\nPONG\r\n-ERR \'no\'\r\nA+ acc\r\nA- acc\r\nRS- $G here q\r\n',
        b"HMSG $G here 12 12\r\nNATS/1.0\r\n\r\n\r\nRS+ other foo\r\nRMSG other foo 1\r\nx\r\n",
    ],
}

WORDS = [
    *(b"PUB ", b"HPUB ", b"SUB ", b"UNSUB ", b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b"-ERR 'x'\r\n"),
    *(b"RS+ $G ", b"RS- $G ", b"RMSG $G ", b"HMSG $G ", b"INFO {}\r\n", b"CONNECT {}\r\n"),
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b"\0", b".", b"*", b">", b"|", b"+", b"{", b"}", b"$G"),
    *(b"0", b"1", b"-1", b"12", b"4096", b"4097", b"2147483648", b"18446744073709551616", b"007"),
    *(b"here", b"here q", b"x.y", b"x..y", b"NATS/1.0\r\n\r\n", b"NATS/1.0 503\r\n\r\n"),
]

BYTES_MAX = 2_000
"""An input stays short enough to be fed byte by byte in a few milliseconds."""


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Return `data` with one to four changes; `others` lend their lines."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randint(0, len(data))
        end = min(len(data), at + rng.choice((1, 1, 2, 8, 64)))
        match rng.randrange(6):
            case 0:
                data = data[:at] + rng.choice(WORDS) + data[at:]
            case 1:
                data = data[:at] + rng.choice(WORDS) + data[end:]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:at] + rng.randbytes(end - at) + data[end:]
            case 4:
                data = data[:end] + data[at:]
            case _:
                lines = rng.choice(others).splitlines(keepends=True)
                data = data[:at] + rng.choice(lines or [b""]) + data[at:]
    return data[:BYTES_MAX]


def some_cuts(data: bytes, rng: random.Random) -> list[int]:
    """Return up to five places to cut `data`."""
    return sorted({rng.randrange(1, len(data)) for _ in range(5)}) if len(data) > 1 else []
