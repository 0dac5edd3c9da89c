"""Settings of operator mode: trusted operators, account resolver.

Source: nats-server `opts.go`, `processConfigFileLine`; `jwt.go`, `validateTrustedOperators`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct, field

from framework.wire.version import NATS_VERSION
from framework_auth.claims import (
    AccountClaims,
    ClaimsError,
    OperatorClaims,
    UserClaims,
    UserRules,
    read_claims_of,
    undecorate,
)
from framework_auth.limits import OPERATOR_FILE_BYTES_MAX
from framework_auth.resolver_options import ResolverKind, ResolverSettings, resolver_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOKEN_PREFIX: Final = "eyJ"  # noqa: S105 - what every JWT begins with


class OperatorSettings(Struct, frozen=True, kw_only=True):
    """Trusted operators and account resolver of a server."""

    operators: tuple[OperatorClaims, ...]
    operator_jwts: tuple[str, ...]
    """What these were read from."""
    trusted_keys: frozenset[str]
    """Public keys that may sign accounts."""
    system_account: str
    """Public key; empty: none was named."""
    resolver: ResolverSettings
    preload: Mapping[str, str] = field(default_factory=dict)
    """Accounts that are known from the start, by public key."""
    pinned_accounts: frozenset[str] = frozenset()
    """Only users of these may log in; empty: of all."""
    default_sentinel: str = ""
    """Bearer token of clients that bring none."""

    @property
    def strict_keys(self) -> frozenset[str]:
        """Keys of operators whose accounts must sign their users by signing keys."""
        return frozenset(key for it in self.operators if it.is_strict for key in it.signing_keys)


def operator_settings(values: Mapping[str, object]) -> OperatorSettings:
    """Return what the top level of a checked configuration comes to, in which operators are named.

    Args:
        values: Of the top level.

    Raises:
        ValueError: The resolver makes no sense.
    """
    value = cast("Mapping[str, Any]", values)
    jwts = tuple(_operator_jwt(it) for it in value["operator"] or ())
    operators = tuple(read_claims_of(OperatorClaims, it) for it in jwts)
    trusted = [key for it in operators for key in it.trusted_keys] + [*value["trusted_keys"]]
    return OperatorSettings(
        operators=operators,
        operator_jwts=jwts,
        trusted_keys=frozenset(trusted),
        system_account=_system_account(value, operators),
        resolver=resolver_settings(value["resolver"]) or _default_resolver(operators),
        preload=value["resolver_preload"] or {},
        pinned_accounts=frozenset(value["resolver_pinned_accounts"]),
        default_sentinel=value["default_sentinel"] or "",
    )


def operator_faults(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (option, problem) for what does not go together where there is an operator.

    Args:
        values: Of the top level; each option alone is right.
    """
    try:
        settings = operator_settings(values)
    except ValueError as error:
        yield "resolver", str(error)
        return
    value = cast("Mapping[str, Any]", values)
    yield from _check_others(value)
    yield from _check_resolver(value, settings)
    yield from _check_system_account(value, settings)


def _check_others(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what cannot stand beside an operator."""
    block = value.get("authorization") or {}
    if block.get("user") or block.get("token"):
        yield "authorization", "operators do not allow users to be configured directly"
    if block.get("auth_callout"):
        yield "authorization", "operators do not allow auth callouts to be configured directly"


def _check_resolver(
    value: Mapping[str, Any], settings: OperatorSettings
) -> Iterator[tuple[str, str]]:
    kind = settings.resolver.kind
    if kind is ResolverKind.NONE:
        yield "operator", "operators require an account resolver; add `resolver: MEMORY`, or other"
    if kind is ResolverKind.URL and settings.preload:
        yield "resolver_preload", "a URL resolver takes no accounts; use MEMORY, full or cache"
    if kind in {ResolverKind.FULL, ResolverKind.CACHE} and not settings.system_account:
        yield "operator", "a resolver of this type needs a system account; add `system_account`"
    if kind in {ResolverKind.FULL, ResolverKind.CACHE} and not settings.operators:
        yield "trusted_keys", "a resolver of this type needs the operator's JWT; add `operator`"
    if value["trusted_keys"] and kind is ResolverKind.NONE:
        yield "trusted_keys", "needs an account resolver; add `resolver`"
    if settings.resolver.folder and (problem := _folder_problem(Path(settings.resolver.folder))):
        yield "resolver.dir", problem


def _folder_problem(folder: Path) -> str | None:
    """Return why accounts can't be kept in a folder, which a start makes if it is not there."""
    nearest = next(it for it in (folder, *folder.absolute().parents) if it.exists())
    if not nearest.is_dir():
        return f"{nearest} is not a folder; name one, or a path where one can be made"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"no file can be made in {nearest}; let the server write there"
    return None


def _check_system_account(
    value: Mapping[str, Any], settings: OperatorSettings
) -> Iterator[tuple[str, str]]:
    named = value.get("system_account")
    theirs = {it.system_account for it in settings.operators if it.system_account}
    if named and theirs and named not in theirs:
        yield "system_account", "differs from that of the operator's JWT; they must be identical"


def operators_fault(texts: object) -> str | None:
    """Say what is wrong with operators: files, or the JWTs themselves."""
    assert isinstance(texts, tuple)
    if not texts:
        return "names no operator; give a file, or its JWT"
    for text in texts:
        try:
            claims = read_claims_of(OperatorClaims, _operator_jwt(text))
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        except (ClaimsError, ValueError) as error:
            return f"error parsing operator JWT: {error}"
        ours = tuple(map(int, NATS_VERSION.split(".")))
        if claims.server_version > ours:
            wanted = ".".join(map(str, claims.server_version))
            return f"the operator expects version {wanted}, and this is {NATS_VERSION}"
    return None


def _operator_jwt(text: str) -> str:
    """Return a JWT that stands in a file, or for itself."""
    if not text.startswith(_TOKEN_PREFIX):
        with Path(text).open("rb") as file:
            text = file.read(OPERATOR_FILE_BYTES_MAX).decode()
    return undecorate(text)


def preload_fault(tokens: object) -> str | None:
    """Say what is wrong with accounts that are known from the start."""
    assert isinstance(tokens, dict)
    for name, token in tokens.items():
        try:
            claims = read_claims_of(AccountClaims, undecorate(token))
        except ClaimsError as error:
            return f"invalid account JWT of {name[:60]}: {error}"
        if claims.name != name:
            return f"the JWT of {name[:60]} is of another account"
    return None


def sentinel_fault(token: object) -> str | None:
    """Say what is wrong with the token of clients that bring none."""
    try:
        claims = read_claims_of(UserClaims, undecorate(str(token)))
    except ClaimsError as error:
        return f"default sentinel JWT not valid: {error}"
    is_scoped = bool(claims.issuer_account) and claims.rules == UserRules()
    # What a scoped one may is not known before its account is.
    if not claims.rules.is_bearer and not is_scoped:
        return "default sentinel must be a bearer token"
    return None


def _system_account(value: Mapping[str, Any], operators: tuple[OperatorClaims, ...]) -> str:
    named: str | None = value.get("system_account")
    return named or (operators[0].system_account if operators else "")


def _default_resolver(operators: tuple[OperatorClaims, ...]) -> ResolverSettings:
    """Return where a single operator says that its accounts are."""
    url = operators[0].account_server_url if len(operators) == 1 else ""
    if url.startswith(("http://", "https://")):
        return ResolverSettings(kind=ResolverKind.URL, url=url.rstrip("/") + "/accounts/")
    return ResolverSettings(kind=ResolverKind.NONE)
