"""WebSocket as a client speaks it, byte by byte: slow, and easy to check."""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Self

from msgspec import Struct

from framework.testing.client import READ_TIMEOUT_S

MASK = b"\x1f\x2e\x3d\x4c"
_IN_TWO_BYTES = 126
_IN_EIGHT_BYTES = 127
_SHORTEST_BYTES = 2


class Opcode(IntEnum):
    """What a frame is. Source: RFC 6455 11.8."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class Frame(Struct, frozen=True):
    """One frame, unmasked."""

    opcode: int
    payload: bytes
    is_final: bool = True
    is_compressed: bool = False

    @property
    def close_status(self) -> int:
        """Return the status of a close frame; 1005: it has none."""
        return int.from_bytes(self.payload[:2], "big") if self.payload else 1005


def frame_bytes(
    payload: bytes = b"",
    opcode: int = Opcode.BINARY,
    *,
    final: bool = True,
    reserved: int = 0,
    mask: bytes = MASK,
    length: int | None = None,
) -> bytes:
    """Return the bytes of a frame.

    Args:
        payload: Plain.
        opcode: An `Opcode`, or another number.
        final: It is the last of its message.
        reserved: The three bits behind the first, as a number.
        mask: Four bytes; empty: it is not masked.
        length: What the head says; None: the truth.
    """
    count = len(payload) if length is None else length
    head = bytes([final << 7 | reserved << 4 | opcode])
    masked = 0x80 if mask else 0
    if count < _IN_TWO_BYTES:
        head += bytes([masked | count])
    elif count < 1 << 16:
        head += bytes([masked | _IN_TWO_BYTES]) + count.to_bytes(2, "big")
    else:
        head += bytes([masked | _IN_EIGHT_BYTES]) + count.to_bytes(8, "big")
    return head + mask + (masked_bytes(payload, mask) if mask else payload)


def masked_bytes(payload: bytes, mask: bytes) -> bytes:
    """Return bytes with a mask put on, or taken off."""
    return bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


def deflated(plain: bytes) -> bytes:
    """Return the payload of a compressed message, which a frame with `reserved=4` has."""
    stream = zlib.compressobj(wbits=-15)
    return (stream.compress(plain) + stream.flush(zlib.Z_SYNC_FLUSH)).removesuffix(
        b"\x00\x00\xff\xff"
    )


class FrameReader:
    """Take frames out of bytes as they come."""

    def __init__(self) -> None:
        self._bytes = b""
        self.frames: list[Frame] = []
        """Not taken yet."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take what has come; return the frames that are whole now."""
        self._bytes += data
        found = list(self._whole())
        self.frames += found
        return found

    def _whole(self) -> Iterator[Frame]:
        while len(self._bytes) >= _SHORTEST_BYTES:
            first, second = self._bytes[:2]
            count, at = second & 127, 2
            if count >= _IN_TWO_BYTES:
                size = 2 if count == _IN_TWO_BYTES else 8
                count, at = int.from_bytes(self._bytes[2 : 2 + size], "big"), 2 + size
            mask = self._bytes[at : at + 4] if second & 128 else b""
            at += len(mask)
            if len(self._bytes) < at + count:
                return
            payload = self._bytes[at : at + count]
            self._bytes = self._bytes[at + count :]
            plain = masked_bytes(payload, mask) if mask else payload
            yield Frame(first & 15, plain, bool(first & 128), bool(first & 64))

    def plain(self) -> bytes:
        """Return and forget what messages have brought; control frames stay."""
        kept, said = [], b""
        for frame in self.frames:
            if frame.opcode >= Opcode.CLOSE:
                kept.append(frame)
            elif frame.is_compressed:
                said += zlib.decompressobj(wbits=-15).decompress(frame.payload + b"\0\0\xff\xff")
            else:
                said += frame.payload
        self.frames = kept
        return said


KEY = "dGhlIHNhbXBsZSBub25jZQ=="
"""Of the example in RFC 6455 1.3."""


def upgrade_bytes(path: str = "/", **headers: str | None) -> bytes:
    """Return a request for an upgrade.

    Args:
        path: Of the request.
        headers: In place of those that it must have, or beside them, with `_` for `-`; None leaves
            one out.
    """
    lines = {
        "Host": "here",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
    }
    by_name: dict[str, str | None] = {name.lower(): value for name, value in lines.items()}
    by_name |= {name.lower().replace("_", "-"): value for name, value in headers.items()}
    said = [f"{name}: {value}" for name, value in by_name.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *said, "", ""]).encode()


class WebSocketClient:
    """One connection to a WebSocket port, blocking.

    Args:
        port: On this machine.
        context: Of TLS; None: it is plain.
    """

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), READ_TIMEOUT_S)
        if context:
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        self._reader = FrameReader()
        self._plain = b""

    def request(self, data: bytes) -> tuple[int, dict[str, str]]:
        """Send a request; return status and headers of the answer, names in lower case."""
        self.sock.sendall(data)
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = self.sock.recv(1)  # what follows is frames already
            if not more:
                return 0, {}
            answer += more
        first, *lines = answer.decode("latin-1").split("\r\n")[:-2]
        pairs = (line.partition(":") for line in lines)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    def begin(self, path: str = "/", *, connect: bytes = b"", **headers: str | None) -> bytes:
        """Do the upgrade, and read INFO; log in, unless there is nothing to say for it."""
        status, _ = self.request(upgrade_bytes(path, **headers))
        assert status == 101  # noqa: PLR2004 - Switching Protocols
        info = self.expect(b"INFO ")
        if connect:
            self.say(connect)
        return info

    def say(self, plain: bytes) -> None:
        """Send a message in one frame."""
        self.sock.sendall(frame_bytes(plain))

    def expect(self, begins: bytes) -> bytes:
        """Return the next line of the protocol, which begins so."""
        while b"\r\n" not in self._plain:
            if not self._receive():
                raise ConnectionError(f"it ended before {begins!r}: {self._reader.frames}")
        line, _, self._plain = self._plain.partition(b"\r\n")
        assert line.startswith(begins), line
        return line

    def rest(self) -> tuple[bytes, list[Frame]]:
        """Return what comes until the end: text, and control frames."""
        while self._receive():
            pass
        return self._plain, self._reader.frames

    def _receive(self) -> bool:
        try:
            data = self.sock.recv(65_536)
        except ConnectionError:
            return False
        self._reader.feed(data)
        self._plain += self._reader.plain()
        return bool(data)

    def close(self) -> None:
        """Hang up."""
        self.sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
