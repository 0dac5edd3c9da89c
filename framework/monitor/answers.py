"""Answers of endpoints that are not a JSON document with status 200."""

from __future__ import annotations

from msgspec import Struct


class Answer(Struct, frozen=True):
    """Response: a JSON document with a status."""

    status: int
    document: object
    indent: int | None = 2


class Text(Struct, frozen=True):
    """Response: plain text with a status."""

    text: str
    status: int = 200


class Body(Struct, frozen=True):
    """Response: what an endpoint has made itself, in a format of its own."""

    data: bytes
    content_type: str


class Page(Struct, frozen=True):
    """Response: an HTML page."""

    html: str
