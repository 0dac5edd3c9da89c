"""User claims: permissions, limits, source networks, times, connection types.

Source: jwt `user_claims.go`, `types.go`.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import time
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from msgspec import Struct, field

from framework.spec import Permissions, ResponsePermission, SubjectRules
from framework.wire.nkey import NkeyKind
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import shown
from framework_auth.claims.standard import Standard, check_key, read_standard
from framework_auth.claims.subjects import check_permission

if TYPE_CHECKING:
    from framework_auth.claims.fields import Fields
    from framework_auth.claims.token import Token

_NS_PER_S: Final = 1_000_000_000
_CLOCK: Final = re.compile(r"(\d\d?):(\d\d):(\d\d)", re.ASCII)


class TimeRange(Struct, frozen=True):
    """Hours of the day; an end before the start is on the next day."""

    start: time
    end: time


class UserRules(Struct, frozen=True, kw_only=True):
    """Permissions and limits of a user, from its claims or the template of its signing key.

    Equal to `UserRules()` when a claim says nothing at all, as a scoped one must.
    Source: jwt `user_claims.go`, `UserPermissionLimits`.
    """

    publish: SubjectRules = field(default_factory=SubjectRules)
    subscribe: SubjectRules = field(default_factory=SubjectRules)
    responses: ResponsePermission | None = None
    sources: tuple[str, ...] = ()
    """Networks to connect from, in CIDR notation; empty: all."""
    times: tuple[TimeRange, ...] = ()
    """When it may be connected; empty: always."""
    locale: str = ""
    """Time zone of `times`; empty: the server's."""
    max_subscriptions: int = 0
    """-1: as many as the account; 0: none, which is also what a claim says that is silent."""
    max_data: int = 0
    max_payload: int = 0
    is_bearer: bool = False
    """Need not sign the nonce."""
    is_proxy_required: bool = False
    connection_types: tuple[str, ...] = ()
    """Empty: all."""

    @property
    def permissions(self) -> Permissions | None:
        """Permissions; None: the user has none of its own, so those of the account count."""
        nothing = SubjectRules()
        if self.publish == nothing == self.subscribe and self.responses is None:
            return None
        return Permissions(publish=self.publish, subscribe=self.subscribe, responses=self.responses)


class UserClaims(Struct, frozen=True, kw_only=True):
    """The claims of a user."""

    standard: Standard
    rules: UserRules
    issuer_account: str = ""
    """Account that the signing key belongs to; empty: the issuer is the account itself."""

    @property
    def account(self) -> str:
        """Public key of the account of the user, as its claims say."""
        return self.issuer_account or self.standard.issuer


def read_user(token: Token) -> UserClaims:
    """Read the claims of a user.

    Raises:
        ClaimsError: They say what no user may be told.
    """
    nats = token.fields.nested("nats")
    outer = token.fields if token.version == 1 else nats
    unlimited = -1 if token.version == 1 else 0
    claims = UserClaims(
        standard=read_standard(token),
        rules=read_rules(nats, unlimited=unlimited),
        issuer_account=outer.text("issuer_account"),
    )
    check_key(claims.standard.issuer, "issuer", NkeyKind.ACCOUNT)
    check_key(claims.standard.subject, "subject", NkeyKind.USER)
    if claims.issuer_account:
        check_key(claims.issuer_account, "issuer_account", NkeyKind.ACCOUNT)
    return claims


def read_rules(fields: Fields, *, unlimited: int) -> UserRules:
    """Read permissions and limits of a user, or of a template.

    Args:
        fields: Of a user, or of the template of a scope.
        unlimited: What a limit is that is absent.

    Raises:
        ClaimsError: A subject, network, time or zone is malformed.
    """
    return UserRules(
        publish=read_subject_rules(fields.nested("pub"), queues=False),
        subscribe=read_subject_rules(fields.nested("sub"), queues=True),
        responses=read_responses(fields),
        sources=_sources(fields),
        times=tuple(_time_range(it) for it in fields.objects("times")),
        locale=_locale(fields.text("times_location")),
        max_subscriptions=fields.number("subs", unlimited),
        max_data=fields.number("data", unlimited),
        max_payload=fields.number("payload", unlimited),
        is_bearer=fields.flag("bearer_token"),
        is_proxy_required=fields.flag("proxy_required"),
        connection_types=fields.texts("allowed_connection_types"),
    )


def read_subject_rules(fields: Fields, *, queues: bool) -> SubjectRules:
    """Read the lists `allow` and `deny`; `queues`: rules may name a queue group."""
    rules = SubjectRules(allow=fields.texts("allow"), deny=fields.texts("deny"))
    check_permission(rules.allow + rules.deny, queues=queues)
    return rules


def read_responses(fields: Fields) -> ResponsePermission | None:
    """Read the permission to respond; 0 stands for the default, as in nats-server."""
    if not fields.has("resp"):
        return None
    inner = fields.nested("resp")
    default = ResponsePermission()
    return ResponsePermission(
        max_msgs=inner.number("max") or default.max_msgs,
        expires_s=inner.number("ttl") / _NS_PER_S or default.expires_s,
    )


def _sources(fields: Fields) -> tuple[str, ...]:
    """Return networks, from a list or from a text with commas."""
    if isinstance(fields.raw("src"), str):
        listed = (it.strip() for it in fields.text("src").lower().split(","))
        texts = tuple(it for it in listed if it)
    else:
        texts = fields.texts("src")
    for text in texts:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise ClaimsError(f"source {shown(text)} is no network") from None
        if "/" not in text:
            raise ClaimsError(f"source {shown(text)} is no network")
    return texts


def _time_range(fields: Fields) -> TimeRange:
    return TimeRange(_clock(fields.text("start")), _clock(fields.text("end")))


def _clock(text: str) -> time:
    match = _CLOCK.fullmatch(text)
    hours, minutes, seconds = map(int, match.groups()) if match else (24, 0, 0)
    try:
        return time(hours, minutes, seconds)
    except ValueError:
        raise ClaimsError(f"time {shown(text)} is not hh:mm:ss") from None


def _locale(name: str) -> str:
    if name:
        try:
            ZoneInfo(name)
        except Exception:  # noqa: BLE001 - ZoneInfo raises half a dozen kinds, by the file it meets
            raise ClaimsError(f"time zone {shown(name)} is not known") from None
    return name
