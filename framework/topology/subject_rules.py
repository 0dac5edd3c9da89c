"""Options of subject permissions.

Source: nats-server `opts.go`, `parseUserPermissions`, `parseSubjectPermission`.
"""

from __future__ import annotations

from framework.topology.node import Node
from framework.topology.option import Kind, Option, Reload
from framework.wire.subject import is_valid_subject


def subject_rules_option(
    name: str, aliases: tuple[str, ...], help_: str, *, queues: bool = False
) -> Option:
    """Return an option that takes a subject, a list of them, or a block with `allow` and `deny`.

    Args:
        name: Of the option.
        aliases: Its other spellings.
        help_: What the rules are about.
        queues: A subject may be followed by a queue group.
    """
    check = _check_subscriptions if queues else _check_subjects
    return Option(
        name=name, kind=Kind.BLOCK, aliases=aliases, help=help_,
        normalize=_rules_from_subjects, reload=Reload.LIVE,
        options=(
            Option(name="allow", kind=Kind.STRINGS, default=(), check=check, reload=Reload.LIVE,
                   help="Subjects that are allowed; all, when none is named"),
            Option(name="deny", kind=Kind.STRINGS, default=(), check=check, reload=Reload.LIVE,
                   help="Subjects that are not, whatever allows them"),
        ),
    )  # fmt: skip


def _rules_from_subjects(node: Node) -> Node:
    """Turn a subject, or a list of them, into a block that allows them."""
    return node.with_value({"allow": node}) if isinstance(node.value, str | list) else node


def _check_subjects(subjects: object) -> str | None:
    assert isinstance(subjects, tuple)
    for subject in subjects:
        if not is_valid_subject(subject):
            return f'subject "{subject}" is not a valid subject'
    return None


def _check_subscriptions(subjects: object) -> str | None:
    assert isinstance(subjects, tuple)
    for text in subjects:
        words = (text,) if is_valid_subject(text) else text.split()
        if len(words) not in {1, 2} or not is_valid_subject(words[0]):
            return f'subject "{text}" is not a valid subject'
        if not is_valid_subject(words[-1]):
            return f'queue "{words[-1]}" is not a valid queue'
    return None
