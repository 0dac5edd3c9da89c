"""Encode an answer as its request asks: `Accept-Encoding`.

Source: nats-server `events.go`, `getAcceptEncoding`, `internalSendLoop`.
"""

from __future__ import annotations

from typing import Final

from framework.server.system.limits import COMPRESSED_BYTES_MIN

_ACCEPT: Final = b"accept-encoding"
_SNAPPY: Final = (b"snappy", b"s2")
_SNAPPY_HEADER: Final = b"NATS/1.0\r\nContent-Encoding: snappy\r\n\r\n"


def encode_answer(header: bytes, payload: bytes) -> tuple[bytes, bytes]:
    """Return header block and payload of an answer.

    Args:
        header: Of the request.
        payload: Of the answer; short ones, and those that do not shrink, stay as they are.
    """
    if len(payload) < COMPRESSED_BYTES_MIN or not _accepts_snappy(header):
        return b"", payload
    import cramjam  # noqa: PLC0415 - 1.6 MB, for a header that few send

    packed = bytes(cramjam.snappy.compress(payload))
    if len(packed) + len(_SNAPPY_HEADER) >= len(payload):
        return b"", payload
    return _SNAPPY_HEADER, packed


def _accepts_snappy(header: bytes) -> bool:
    for line in header.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == _ACCEPT:
            return any(word in value.lower() for word in _SNAPPY)
    return False
