"""The columns that the messages of batches become."""

from __future__ import annotations

from typing import NamedTuple


class TextColumn(NamedTuple):
    """Texts behind each other."""

    offsets: bytes
    """Where each begins and, last, where they end: little-endian 32-bit numbers."""
    chars: bytearray
    """What is in them; may be changed in place, as where some of it is nobody's business."""


class BatchColumns(NamedTuple):
    """Messages of taps that watch; numbers are little-endian."""

    rows: int
    subject: TextColumn
    reply: TextColumn
    """Empty where there is none, as are header blocks."""
    header: TextColumn
    payload: TextColumn
    arrived_ns: bytes
    """Of each, 64 bits: when it came, as `columns_of` was told to count."""
    sizes: bytes
    """Of each, 32 bits: bytes of its payload, before it was cut."""
    links: tuple[int, ...]
    """The links that they came by, each once."""
    link_index: bytes
    """Of each, 32 bits: the place of its link in `links`."""
