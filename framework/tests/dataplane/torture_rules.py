"""Rules that clients are under at random, and a naive reading of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.dataplane.permissions import Permissions, ResponsePermission, SubjectRules

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

UNLIMITED = 1 << 40
RULES = (
    Permissions(),
    Permissions(publish=SubjectRules(allow=("a.>", "b"))),
    Permissions(publish=SubjectRules(deny=("a.b", "c.*", "a.a.a"))),
    Permissions(publish=SubjectRules(allow=(">",), deny=("b.>", "a"))),
    Permissions(subscribe=SubjectRules(allow=("a.>", "*", "r.>"))),
    Permissions(subscribe=SubjectRules(deny=("a.b", "c.>"))),
    Permissions(subscribe=SubjectRules(deny=("a.* q", "b", "*.c work"))),
    Permissions(subscribe=SubjectRules(allow=("> q", "a", "r.>"), deny=("b.* q",))),
    Permissions(
        publish=SubjectRules(allow=("a.*", "c")),
        subscribe=SubjectRules(allow=("*.*",), deny=("b.c",)),
    ),
    Permissions(publish=SubjectRules(allow=("a",)), responses=ResponsePermission()),
    Permissions(responses=ResponsePermission(max_msgs=2)),
    Permissions(
        publish=SubjectRules(deny=("a",)),
        subscribe=SubjectRules(deny=("a.a",)),
        responses=ResponsePermission(max_msgs=-1),
    ),
)


def matches(pattern: bytes, subject: bytes) -> bool:
    """Whether interest in `pattern` reaches a message to `subject`."""
    tokens = subject.split(b".")
    if b"" in tokens:
        return False
    wanted = pattern.split(b".")
    for at, token in enumerate(wanted):
        if token == b">" and at == len(wanted) - 1:
            return len(tokens) > at
        if at >= len(tokens) or token not in (b"*", tokens[at]):
            return False
    return len(tokens) == len(wanted)


def _parted(rules: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """Return (subject, queue group or nothing) of each rule."""
    return [tuple((*rule.encode().split(), b"")[:2]) for rule in rules]


def may_publish(rules: Permissions, owed: Counter[bytes], subject: bytes) -> bool:
    """Whether a message may be published; an answer that is owed is counted."""
    if is_allowed_to_publish(rules, subject):
        return True
    if rules.responses is None or owed[subject] <= 0:
        return False
    owed[subject] -= 1
    return True


def is_allowed_to_publish(rules: Permissions, subject: bytes) -> bool:
    """Whether the rules alone allow it."""
    allow = _parted(rules.publish.allow)
    limited = allow or rules.responses is not None
    denied = any(matches(rule, subject) for rule, _ in _parted(rules.publish.deny))
    return not denied and (not limited or any(matches(rule, subject) for rule, _ in allow))


def owe(rules: Permissions, owed: Counter[bytes], reply: bytes) -> None:
    """Let who was sent a request answer."""
    if reply and rules.responses and not is_allowed_to_publish(rules, reply):
        most = rules.responses.max_msgs
        owed[reply] += most if most > 0 else UNLIMITED


def may_subscribe(rules: Permissions, subject: bytes, queue: bytes) -> bool:
    """Whether a client may subscribe so."""
    everything = subject.split(b".")[-1] == b">"
    reached = [
        (rule, group)
        for rule, group in _parted(rules.subscribe.allow)
        if matches(rule, subject) and (not everything or rule.split(b".")[-1] == b">")
    ]
    groups = {group for _, group in reached if group}
    if rules.subscribe.allow:
        plain = any(not group for _, group in reached)
        if not (queue in groups if queue and groups else plain):
            return False
    return may_hear(rules, subject, queue)


def may_hear(rules: Permissions, subject: bytes, queue: bytes) -> bool:
    """Whether a message, or what stands for many, is not denied."""
    return not any(
        matches(rule, subject) and group in {b"", queue}
        for rule, group in _parted(rules.subscribe.deny)
    )
