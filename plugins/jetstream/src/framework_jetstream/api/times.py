"""Times of the JetStream API: RFC 3339 with nanoseconds, UTC, as Go writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

ZERO: Final = "0001-01-01T00:00:00Z"
"""No time. Source: Go, `time.Time{}`."""

_MILLI_NS: Final = 1_000_000
_SECOND_NS: Final = 1_000_000_000


@lru_cache(maxsize=512)
def _text_from_s(unix_s: int) -> str:
    """Return a second as text: answers say the same ones again and again."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def text_from_ns(unix_ns: int) -> str:
    """Return a Unix time as text; 0: no time."""
    if not unix_ns:
        return ZERO
    seconds, rest = divmod(unix_ns, _SECOND_NS)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{_text_from_s(seconds)}{fraction}Z"


def ns_from_text(text: str) -> int:
    """Return the Unix time of a text with any offset; 0: it says no time.

    Raises:
        ValueError: It is no time.
    """
    whole, dot, rest = text.partition(".")
    digits = ""
    if dot:
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        whole += rest[len(digits) :]
    moment = datetime.fromisoformat(whole)
    if moment.tzinfo is None:
        raise ValueError(f"{text}: a time without an offset")
    if moment.year == 1:
        return 0
    return round(moment.timestamp()) * _SECOND_NS + int(digits.ljust(9, "0")[:9] or 0)


def go_duration(duration_ns: int) -> str:
    """Return a duration as Go writes it, such as `1m30s` or `250ms`."""
    if duration_ns < _SECOND_NS:
        is_short = duration_ns < _MILLI_NS
        return f"{duration_ns / 1000:g}\u00b5s" if is_short else f"{duration_ns / _MILLI_NS:g}ms"
    minutes, rest_ns = divmod(duration_ns, 60 * _SECOND_NS)
    hours, minutes = divmod(minutes, 60)
    begin = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{begin}{rest_ns / _SECOND_NS:g}s"
