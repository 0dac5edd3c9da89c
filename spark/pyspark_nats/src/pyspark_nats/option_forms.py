"""How the text of an option becomes a value; each error names the option and what is valid."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pyspark_nats.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MILLISECONDS_END = 10**14
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def boolean(option: str, text: str) -> bool:
    """Return whether it is `true`."""
    return one_of(option, text.lower(), ("true", "false")) == "true"


def one_of(option: str, text: str, valid: Sequence[str]) -> str:
    """Return the one of `valid` that it is, whatever its case."""
    if text.lower() not in valid:
        raise OptionError(option, f"{text!r}", ", ".join(valid))
    return text.lower()


def whole(option: str, text: str) -> int:
    """Return a whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
        raise OptionError(option, f"{text!r}", "a whole number from 1 on")
    return int(text)


def milliseconds(option: str, text: str) -> int:
    """Return milliseconds since 1970 UTC."""
    if not re.fullmatch(r"[0-9]{1,14}", text):
        raise OptionError(option, f"{text!r}", "milliseconds since 1970 UTC, a whole number")
    return int(text)


def duration_s(option: str, text: str) -> float:
    """Return the seconds of a duration; a bare number is of seconds."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|h)?", text)
    if found is None or not float(found[1]):
        raise OptionError(option, f"{text!r}", "a duration above 0: 500ms, 10s, 15m, 1h")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def names(option: str, text: str, valid: Sequence[str]) -> tuple[str, ...]:
    """Return names with commas between, each once."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    for name in found:
        if name not in valid or found.count(name) > 1:
            raise OptionError(option, f"{name!r}", f"each once: {', '.join(valid)}")
    return tuple(found)


def sequences(option: str, text: str) -> dict[str, int | str]:
    """Return stream to sequence, `earliest` or `latest`."""
    valid = 'earliest, latest, or {"STREAM": sequence or "earliest" or "latest", ...}'
    found = _by_stream(option, text, valid)
    for name, value in found.items():
        is_seq = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not is_seq and value not in ("earliest", "latest"):
            raise OptionError(option, f"{value!r} of stream {name!r}", valid)
    return found


def timestamps(option: str, text: str) -> dict[str, int]:
    """Return stream to milliseconds since 1970 UTC."""
    valid = '{"STREAM": milliseconds since 1970 UTC, ...}'
    found = _by_stream(option, text, valid)
    for name, value in found.items():
        is_time = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not is_time or value >= _MILLISECONDS_END:
            raise OptionError(option, f"{value!r} of stream {name!r}", valid)
    return found


def _by_stream(option: str, text: str, valid: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        raise OptionError(option, f"{text!r} is no JSON", valid) from None
    if not isinstance(found, dict) or not found:
        raise OptionError(option, f"{text!r} is no object of JSON", valid)
    return found
