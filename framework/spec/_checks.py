"""What a spec may hold, checked as it is made: so the error arises in its author's own line."""

from __future__ import annotations

from inspect import iscoroutinefunction

from framework.wire.subject import is_valid_subject


def check(spec: str, field: str, value: object, *, is_good: bool, expected: str) -> None:
    """Refuse a field that does not hold what it should.

    Raises:
        ValueError: It names spec, field, and what was found.
    """
    if not is_good:
        raise ValueError(f"{spec}: {field}: expected {expected}, found {value!r:.80}")


def check_name(kind: str, name: object) -> None:
    """Refuse a spec without a name."""
    is_name = isinstance(name, str) and name != ""
    check(kind, "name", name, is_good=is_name, expected="a name")


def check_subject(spec: str, subject: object) -> None:
    """Refuse what is no subject; wildcards are allowed."""
    is_subject = isinstance(subject, str) and is_valid_subject(subject)
    check(spec, "subject", subject, is_good=is_subject, expected="a subject")


def check_queue(spec: str, queue: object) -> None:
    """Refuse what is no queue group; None: there is none."""
    is_queue = queue is None or (isinstance(queue, str) and is_valid_subject(queue))
    check(spec, "queue", queue, is_good=is_queue, expected="the name of a queue group")


def check_function(spec: str, field: str, value: object, *, is_async: bool = False) -> None:
    """Refuse what can't be called, or would have to be awaited and is not."""
    expected = "an `async def`" if is_async else "a function"
    check(spec, field, value, is_good=callable(value), expected=expected)
    if not is_async and iscoroutinefunction(value):
        raise ValueError(f"{spec}: {field}: expected a function, found `async def`")
