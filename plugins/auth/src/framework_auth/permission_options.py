"""Options of permissions: what users may publish and subscribe to.

Source: nats-server `opts.go`, `parseUserPermissions`, `parseAllowResponses`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.spec import Permissions, ResponsePermission, subject_rules
from framework.topology import Kind, Option, Reload, subject_rules_option
from framework_auth.forms import responses_from_bool

if TYPE_CHECKING:
    from collections.abc import Mapping


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
            subject_rules_option(
                "publish", ("pub", "import"),
                "Where users may publish: a subject, several, or `allow` and `deny`"),
            subject_rules_option(
                "subscribe", ("sub", "export"),
                "What users may subscribe to: `subject`, or `subject queue`", queues=True),
            _RESPONSES,
        ),
    )  # fmt: skip


def permissions_from(block: Mapping[str, Any] | None) -> Permissions | None:
    """Make permissions of the value of an option; None when it was not set."""
    if block is None:
        return None
    responses = block["allow_responses"]
    return Permissions(
        publish=subject_rules(block["publish"]),
        subscribe=subject_rules(block["subscribe"]),
        responses=responses
        and ResponsePermission(max_msgs=responses["max"], expires_s=responses["expires"]),
    )
