"""Format of one log line: nats-server's text, or JSON."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Final, TypeAlias

from framework.spec.formats import Escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

Level: TypeAlias = int
"""As the standard library counts levels."""

TRACE: Final = 5
DEBUG: Final = 10
INFO: Final = 20
WARNING: Final = 30
ERROR: Final = 40
FATAL: Final = 50

_LABELS: Final = {
    TRACE: "TRC",
    DEBUG: "DBG",
    INFO: "INF",
    WARNING: "WRN",
    ERROR: "ERR",
    FATAL: "FTL",
}
_NAMES: Final = {
    TRACE: "trace",
    DEBUG: "debug",
    INFO: "info",
    WARNING: "warning",
    ERROR: "error",
    FATAL: "fatal",
}
_PLACEHOLDER: Final = r"\{(\w+)\}"
_CONNECTION_IDS: Final = ("cid", "rid", "gid", "lid", "wid")

TEXT_CHARS_MAX: Final = 1_024
"""Of one field: peers choose some of them."""

_NS_PER_S: Final = 1_000_000_000


def escaped(value: object) -> str:
    """Return a field as text without control characters, however a peer has chosen it."""
    if isinstance(value, Escaped):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        text = bytes(value[:TEXT_CHARS_MAX]).decode("utf-8", "backslashreplace")
    else:
        text = str(value)
    text = text[:TEXT_CHARS_MAX]
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode()
        for char in text
    )


class LineFormat:
    """Format an event with its fields as a line.

    Args:
        pid: Process ID, shown in every line.
        with_time: Show the time (nats-server's `logtime`).
        utc: Show it in UTC, not in local time.
        json: Write JSON objects instead of text.
    """

    def __init__(
        self, *, pid: int, with_time: bool = True, utc: bool = False, json: bool = False
    ) -> None:
        self._pid = pid
        self._with_time = with_time
        self._split = time.gmtime if utc else time.localtime
        self._json = json
        self._second = -1
        self._second_text = ""

    def line(self, now_ns: int, level: Level, event: str, fields: Mapping[str, object]) -> str:
        """Return the line, with its end; `now_ns` is wall time."""
        text, rest = _fill(event, fields)
        if self._json:
            return self._json_line(now_ns, level, text, fields)
        left = dict(rest)
        prefix = _connection_prefix(left)
        tail = "".join(f" {name}={escaped(value)}" for name, value in left.items())
        stamp = f"{self._time(now_ns)} " if self._with_time else ""
        return f"[{self._pid}] {stamp}[{_LABELS[level]}] {prefix}{text}{tail}\n"

    def _time(self, now_ns: int) -> str:
        second, rest_ns = divmod(now_ns, _NS_PER_S)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y/%m/%d %H:%M:%S", self._split(second))
        return f"{self._second_text}.{rest_ns // 1000:06d}"

    def _json_line(self, now_ns: int, level: Level, text: str, fields: Mapping[str, object]) -> str:
        document: dict[str, object] = {"pid": self._pid, "level": _NAMES[level], "event": text}
        if self._with_time:
            document = {"time": self._time(now_ns), **document}
        for name, value in fields.items():
            plain = isinstance(value, bool | int | float)
            document.setdefault(name, value if plain else escaped(value))
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _fill(event: str, fields: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Return the text with its placeholders filled, and the fields that were not in it."""
    if "{" not in event:
        return event, fields
    used = set()

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name not in fields:
            return match[0]
        used.add(name)
        return escaped(fields[name])

    text = re.sub(_PLACEHOLDER, value_of, event)
    return text, {name: value for name, value in fields.items() if name not in used}


def _connection_prefix(fields: dict[str, object]) -> str:
    """Take the fields that begin a line out of `fields`: `ip:port - cid:9 - "v1:python" - `."""
    parts = []
    if "remote" in fields:
        parts.append(escaped(fields.pop("remote")))
    parts.extend(f"{name}:{fields.pop(name)}" for name in _CONNECTION_IDS if name in fields)
    for name in ("client", "login"):
        text = fields.pop(name, "")
        if text:
            parts.append(f'"{escaped(text)}"')
    return "".join(f"{part} - " for part in parts)
