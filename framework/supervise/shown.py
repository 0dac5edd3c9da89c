"""Text that a server process wrote, fit to be shown in a terminal."""

from __future__ import annotations

from framework.supervise.limits import PROBLEM_CHARACTERS_MAX


def last_line(data: bytes) -> str:
    """Return the last line of `data` that says something, fit to be shown."""
    lines = data.decode(errors="backslashreplace").splitlines()
    return next((shown(line) for line in reversed(lines) if line.strip()), "")


def shown(text: str) -> str:
    """Return `text` without what would upset a terminal, cut to a reasonable length."""
    clean = printable(text).strip()
    if len(clean) <= PROBLEM_CHARACTERS_MAX:
        return clean
    return clean[: PROBLEM_CHARACTERS_MAX - 1] + "…"


def printable(text: str) -> str:
    """Return `text` without what would upset a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
