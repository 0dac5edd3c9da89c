"""Check subjects in claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.wire.subject import is_literal, is_valid_subject
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import shown

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_subject(subject: str, what: str) -> None:
    """Refuse a subject that is not valid in a subscription.

    Raises:
        ClaimsError: The subject is not valid; `what` says whose it is.
    """
    if not is_valid_subject(subject):
        raise ClaimsError(f"{what}: subject {shown(subject)} is not valid")


def check_literal(subject: str, what: str) -> None:
    """Refuse a subject that nobody can publish to; as `check_subject`."""
    if not is_literal(subject):
        raise ClaimsError(f"{what}: nobody can publish to subject {shown(subject)}")


def check_permission(subjects: Iterable[str], *, queues: bool) -> None:
    """Refuse permissions whose subjects are malformed.

    Templates such as `{{name()}}` may stand in them: what they come to is checked later.

    Raises:
        ClaimsError: One of them is empty, or has more than a subject and a queue group.

    Source: jwt `types.go`, `checkPermission`, `Subject.Validate`.
    """
    for permission in subjects:
        words = permission.split(" ")
        if len(words) > (2 if queues else 1) or not all(map(_is_sound, words)):
            raise ClaimsError(f"permission {shown(permission)} is not valid")


def has_wildcards(subject: str) -> bool:
    """Tell whether a valid subject stands for more than one."""
    return not is_literal(subject)


def _is_sound(subject: str) -> bool:
    return bool(subject) and ".." not in subject and subject[0] != "." != subject[-1]
