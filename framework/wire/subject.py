"""Checks of subjects in the control plane; `framework.sublist` matches messages."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile(r"[\x00 \t\n\f\r]")


def is_valid_subject(subject: str) -> bool:
    """Tell whether one may subscribe to `subject`.

    Tokens between dots are not empty and hold no blank or NUL; `*` alone stands for one token,
    `>` alone and last for one or more. Inside a longer token both are plain characters.

    Source: nats-server `sublist.go`, `IsValidSubject`.
    """
    if _FORBIDDEN.search(subject):
        return False
    tokens = subject.split(".")
    return all(tokens) and ">" not in tokens[:-1]


def is_literal(subject: str) -> bool:
    """Tell whether one may publish to `subject`: it is valid and has no wildcard.

    Source: nats-server `sublist.go`, `IsValidPublishSubject`.
    """
    return is_valid_subject(subject) and {"*", ">"}.isdisjoint(subject.split("."))


def is_subset(subject: str, pattern: str) -> bool:
    """Tell whether `pattern` matches all that `subject` does; both may have wildcards.

    Source: nats-server `sublist.go`, `isSubsetMatch`.
    """
    parts, wanted = subject.split("."), pattern.split(".")
    for part, want in zip(parts, wanted, strict=False):
        if want == ">":
            return True
        if part == ">" or want not in {"*", part}:
            return False
    return len(parts) == len(wanted)
