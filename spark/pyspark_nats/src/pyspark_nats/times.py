"""Times as the JetStream API writes them: RFC 3339, in UTC, to a nanosecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_NS = 1_000_000_000
_TO_SECONDS = len("2026-01-01T00:00:00")


def text_of(unix_ns: int) -> str:
    """Return nanoseconds since 1970 as text."""
    seconds, rest_ns = divmod(unix_ns, _SECOND_NS)
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.") + f"{rest_ns:09}Z"


def unix_ns_of(text: str) -> int:
    """Return the nanoseconds since 1970 of a text in UTC; a fraction has up to nine digits."""
    moment = datetime.fromisoformat(text[:_TO_SECONDS]).replace(tzinfo=UTC)
    fraction = text[_TO_SECONDS:].strip(".Z").ljust(9, "0")
    return (moment - _EPOCH) // timedelta(seconds=1) * _SECOND_NS + int(fraction)
