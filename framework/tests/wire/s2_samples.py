"""Plain bytes for tests of S2, the same on every machine."""

from __future__ import annotations

import hashlib

MIB = 1 << 20


def noise(length: int, name: str = "") -> bytes:
    """Return bytes that can't be compressed."""
    parts = (hashlib.sha256(f"{name}{at}".encode()).digest() for at in range(0, length, 32))
    return b"".join(parts)[:length]


def traffic(length: int) -> bytes:
    """Return `length` bytes of messages as a route carries them."""
    text, lines = noise(length // 2 + 256).hex(), []
    for at in range(0, len(text) - 63, 64):
        part = text[at : at + 64]
        payload = (
            f'{{"id":"{part[:12]}","device":"dev-{part[12]}","value":{int(part[13:15], 16)}.5}}'
        )
        lines.append(f"RMSG $G sensors.{part[15]}.temperature {len(payload)}\r\n{payload}\r\n")
    return "".join(lines).encode()[:length]


def periods(length: int) -> bytes:
    """Return short runs that repeat, each a while."""
    source = noise(length // 50 + 100)
    parts = [source[at : at + at % 37 + 1] * (at % 91 + 1) for at in range(0, len(source), 3)]
    return b"".join(parts)[:length]


def distant() -> bytes:
    """Return the same few hundred bytes, with ever more zeros between them; 1.2 MB."""
    return b"".join(noise(300, "distant") + bytes(at * 4001) for at in range(25))


SAMPLES = {
    "nothing": b"",
    "a byte": b"a",
    "100 bytes": traffic(100),
    "10 KiB": traffic(10_240),
    "64 KiB of zeros": bytes(65_536),
    "a block of zeros and a byte": bytes(MIB + 1),
    "3 MiB of zeros": bytes(3 * MIB),
    "noise": noise(900),
    "noise again and again": noise(700) * 1500,
    "periods": periods(30_000),
    "far away": distant(),
}
