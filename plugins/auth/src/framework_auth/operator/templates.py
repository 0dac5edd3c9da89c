"""Fill in templates such as `{{name()}}` in permissions of scoped users.

Source: nats-server `auth.go`, `processUserPermissionsTemplate`.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from framework.spec import SubjectRules
from framework.wire.subject import is_valid_subject
from framework_auth.claims import ClaimsError
from framework_auth.claims.fields import shown
from framework_auth.limits import TEMPLATE_SUBJECTS_MAX

if TYPE_CHECKING:
    from framework_auth.claims import UserRules

_OPERATION: Final = re.compile(r"\{\{([^}]+)\}\}")
_TAG: Final = re.compile(r"(account-tag|tag)\((.*)\)", re.IGNORECASE)
_EVERYTHING: Final = ">"


class Facts(Struct, frozen=True, kw_only=True):
    """Values for templates."""

    name: str
    subject: str
    tags: tuple[str, ...]
    account_name: str
    account_subject: str
    account_tags: tuple[str, ...]


def fill_rules(rules: UserRules, facts: Facts) -> UserRules:
    """Return the rules of a scope as they are for one user.

    An allowed subject that comes to nothing is left out, and when none is left, nothing is
    allowed; a denied one refuses the user, for else it would allow what it should deny.

    Raises:
        ClaimsError: A template is not known, a denied subject comes to nothing, or there are
            too many subjects.
    """
    return replace(
        rules, publish=_fill(rules.publish, facts), subscribe=_fill(rules.subscribe, facts)
    )


def _fill(rules: SubjectRules, facts: Facts) -> SubjectRules:
    allow = _fill_list(rules.allow, facts, is_deny=False)
    deny = _fill_list(rules.deny, facts, is_deny=True)
    if rules.allow and not allow:
        deny = (*deny, _EVERYTHING)
    return SubjectRules(allow=allow, deny=deny)


def _fill_list(subjects: tuple[str, ...], facts: Facts, *, is_deny: bool) -> tuple[str, ...]:
    filled: list[str] = []
    for subject in subjects:
        if _OPERATION.search(subject):
            filled.extend(_fill_subject(subject, facts, is_deny=is_deny))
        else:
            filled.append(subject)
        if len(filled) > TEMPLATE_SUBJECTS_MAX:
            raise ClaimsError(f"templates come to more than {TEMPLATE_SUBJECTS_MAX} subjects")
    return tuple(filled)


def _fill_subject(subject: str, facts: Facts, *, is_deny: bool) -> list[str]:
    """Return every subject that the tags of a user make of a template."""
    operations = _OPERATION.findall(subject)
    values = [_values_of(operation.strip(), facts) for operation in operations]
    if is_deny and not all(values):
        raise ClaimsError(f"template {shown(subject)} comes to no subject to deny")
    if math.prod(map(len, values)) > TEMPLATE_SUBJECTS_MAX:
        raise ClaimsError(f"templates come to more than {TEMPLATE_SUBJECTS_MAX} subjects")
    filled = []
    for chosen in itertools.product(*values):
        parts = iter(chosen)
        text = _OPERATION.sub(lambda _, parts=parts: next(parts), subject)  # type: ignore[misc]
        # A blank divides a subject from a queue group, in a template and not in what fills it.
        has_blank = any(" " in part for part in chosen)
        if not has_blank and all(map(is_valid_subject, text.split(" ", 1))):
            filled.append(text)
        elif is_deny:
            raise ClaimsError(f"template {shown(subject)} comes to a subject that is not valid")
    return filled


def _values_of(operation: str, facts: Facts) -> tuple[str, ...]:
    plain = {
        "name()": facts.name,
        "subject()": facts.subject,
        "account-name()": facts.account_name,
        "account-subject()": facts.account_subject,
    }.get(operation.lower())
    if plain is not None:
        return (plain,)
    match = _TAG.fullmatch(operation)
    if match is None:
        raise ClaimsError(f"template operation {shown(operation)} is not defined")
    tags = facts.tags if match[1].lower() == "tag" else facts.account_tags
    prefix = f"{match[2].lower()}:"
    return tuple(tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix))
