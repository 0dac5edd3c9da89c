"""Times, durations, numbers and TLS as nats-server's documents show them."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from framework.topology.tls_options import TLS_TIMEOUT_S

if TYPE_CHECKING:
    from framework.spec.tls import TlsFacts

_NS_PER_S: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000
_NS_PER_US: Final = 1_000


_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}
_BYTE_BASE: Final = 0xDC00
"""What Python adds to a byte that is no UTF-8."""
_DELETE: Final = 0x7F
_BASIC_END: Final = 0x10000


def time_text(wall_ns: int) -> str:
    """Return a time as RFC 3339 in UTC; the fraction ends before its last zeros.

    Args:
        wall_ns: Nanoseconds since 1970.
    """
    second, rest_ns = divmod(wall_ns, _NS_PER_S)
    fraction = f".{rest_ns:09d}".rstrip("0").rstrip(".")
    return f"{_second_text(second)}{fraction}Z"


# Most times that are written are of now.
@lru_cache(maxsize=16)
def _second_text(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def duration_text(duration_ns: int) -> str:
    """Return a duration as Go prints one: `0s`, `262us` (with a micro sign), `1.5ms`, `1m2.5s`."""
    if duration_ns < _NS_PER_US:
        return f"{duration_ns}ns" if duration_ns else "0s"
    if duration_ns < _NS_PER_MS:
        return f"{_decimal(duration_ns, _NS_PER_US)}\u00b5s"
    if duration_ns < _NS_PER_S:
        return f"{_decimal(duration_ns, _NS_PER_MS)}ms"
    minutes, rest_ns = divmod(duration_ns, 60 * _NS_PER_S)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest_ns, _NS_PER_S)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def rtt_text(rtt_ns: int) -> str:
    """Return a round trip time; below a millisecond it is cut to microseconds.

    Source: nats-server `monitor.go`, `getRTT`.
    """
    if _NS_PER_US < rtt_ns < _NS_PER_MS:
        rtt_ns -= rtt_ns % _NS_PER_US
    return duration_text(rtt_ns)


def uptime_text(duration_ns: int) -> str:
    """Return how long something lasts: `3s`, `1h0m3s`, `2y5d1h0m3s`.

    Source: nats-server `monitor.go`, `myUptime`.
    """
    minutes, seconds = divmod(max(duration_ns, 0) // _NS_PER_S, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    years, days_left = divmod(days, 365)
    parts = (("y", years), ("d", days_left), ("h", hours), ("m", minutes), ("s", seconds))
    first = next((index for index, (_, value) in enumerate(parts) if value), len(parts) - 1)
    return "".join(f"{value}{unit}" for unit, value in parts[first:])


class Escaped(str):
    """Text without control characters, as long as it is; logs write it as it is."""

    __slots__ = ()


def quoted(data: bytes, *, more: str = "") -> Escaped:
    r"""Return bytes between quotes as Go's `%q` has them: UTF-8 where it is, `\xff` where not.

    Args:
        data: Any bytes.
        more: Stands before the last quote.
    """
    text = data.decode("utf-8", "surrogateescape")
    if not text.isprintable() or '"' in text or "\\" in text:
        text = "".join(map(_quoted_char, text))
    return Escaped(f'"{text}{more}"')


def _quoted_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < ord(" ") or code == _DELETE:
        return f"\\x{code:02x}"
    if _BYTE_BASE <= code < _BYTE_BASE + 256:
        return f"\\x{code - _BYTE_BASE:02x}"
    return f"\\u{code:04x}" if code < _BASIC_END else f"\\U{code:08x}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".")


def short_number(number: float) -> float:
    """Return a whole number as one, so that JSON shows `2` where Go does."""
    return int(number) if number == int(number) else number


def traffic_document(msgs: int, size_bytes: int) -> dict[str, int]:
    """Return a `DataStats` of the system account's documents."""
    return {"msgs": msgs, "bytes": size_bytes}


def tls_flags(tls: TlsFacts | None) -> dict[str, object]:
    """Return `tls_required` and `tls_verify`, as far as they are true."""
    named = {"tls_required": tls.required, "tls_verify": tls.verify} if tls else {}
    return {name: True for name, value in named.items() if value}


def tls_timeout(tls: TlsFacts | None) -> float:
    """Return `tls_timeout`, which is shown of plain connections as well."""
    return short_number(tls.timeout_s if tls else TLS_TIMEOUT_S)


def tls_end(tls: TlsFacts | None) -> dict[str, object]:
    """Return `tls_cert_not_after`, where there is TLS."""
    return {"tls_cert_not_after": time_text(round(tls.not_after_s) * _NS_PER_S)} if tls else {}


def rate_text(per_s: float) -> str:
    """Return a rate with three digits at most: `0`, `950`, `12.3k`, `4.56M`."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if per_s >= limit:
            value = per_s / limit
            digits = 2 if value < 10 else 1 if value < 100 else 0  # noqa: PLR2004 -- digits
            return f"{value:.{digits}f}{unit}"
    return f"{per_s:.0f}"
