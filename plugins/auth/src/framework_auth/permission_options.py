"""The options of permissions: what users may publish, and subscribe to.

Source: nats-server `opts.go`, `parseUserPermissions`, `parseAllowResponses`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.spec import Permissions, ResponsePermission, SubjectRules
from framework.topology import Kind, Option, Reload
from framework.wire.subject import is_valid_subject
from framework_auth.forms import responses_from_bool, rules_from_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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


def _rules(
    name: str, aliases: tuple[str, ...], help_: str, check: Callable[[object], str | None]
) -> Option:
    return Option(
        name=name, kind=Kind.BLOCK, aliases=aliases, help=help_,
        normalize=rules_from_subjects, reload=Reload.LIVE,
        options=(
            Option(name="allow", kind=Kind.STRINGS, default=(), check=check, reload=Reload.LIVE,
                   help="Subjects that are allowed; all, when none is named"),
            Option(name="deny", kind=Kind.STRINGS, default=(), check=check, reload=Reload.LIVE,
                   help="Subjects that are not, whatever allows them"),
        ),
    )  # fmt: skip


_RESPONSES = Option(
    name="allow_responses", kind=Kind.BLOCK, aliases=("publish_allow_responses",),
    normalize=responses_from_bool, reload=Reload.LIVE,
    help="Whether replies to requests may be published; `true`, or how many, and for how long",
    options=(
        Option(name="max", kind=Kind.INT, aliases=("max_msgs", "max_messages", "max_responses"),
               default=1, zero_is_default=True, unit="messages", reload=Reload.LIVE,
               help="Replies to one request; negative: any number"),
        Option(name="expires", kind=Kind.DURATION, aliases=("expiration", "ttl"), default=120.0,
               zero_is_default=True, reload=Reload.LIVE,
               help="How long after the request; negative: forever"),
    ),
)  # fmt: skip


def permissions_option(name: str, aliases: tuple[str, ...], help_: str) -> Option:
    """Return an option that holds permissions; `permissions_from` reads its value."""
    return Option(
        name=name, kind=Kind.BLOCK, aliases=aliases, help=help_, reload=Reload.LIVE,
        options=(
            _rules("publish", ("pub", "import"),
                   "Where users may publish: a subject, several, or `allow` and `deny`",
                   _check_subjects),
            _rules("subscribe", ("sub", "export"),
                   "What users may subscribe to: `subject`, or `subject queue`",
                   _check_subscriptions),
            _RESPONSES,
        ),
    )  # fmt: skip


def permissions_from(block: Mapping[str, Any] | None) -> Permissions | None:
    """Make permissions of the value of an option; None when it was not set."""
    if block is None:
        return None
    responses = block["allow_responses"]
    return Permissions(
        publish=_rules_from(block["publish"]),
        subscribe=_rules_from(block["subscribe"]),
        responses=responses
        and ResponsePermission(max_msgs=responses["max"], expires_s=responses["expires"]),
    )


def _rules_from(block: Mapping[str, Any] | None) -> SubjectRules:
    return SubjectRules(allow=block["allow"], deny=block["deny"]) if block else SubjectRules()
