"""Make the account resolver of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from framework_auth.resolver.directory import AccountDirectory
from framework_auth.resolver.sources import MemorySource, UrlSource
from framework_auth.resolver_options import ResolverKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_auth.claims import AccountClaims
    from framework_auth.operator.trust import Trust
    from framework_auth.operator_settings import OperatorSettings
    from framework_auth.resolver.sources import AccountSource


class Sources(Struct, frozen=True):
    """The account resolver of a server."""

    source: AccountSource
    directory: AccountDirectory | None
    """The source, if it is one that this server keeps."""


def make_sources(settings: OperatorSettings, trust: Trust, wall_s: Callable[[], float]) -> Sources:
    """Return what keeps accounts; nothing is read or asked yet."""
    resolver = settings.resolver
    if resolver.kind is ResolverKind.URL:
        return Sources(UrlSource(resolver.url, timeout_s=resolver.timeout_s), None)
    if resolver.kind is ResolverKind.MEMORY:
        return Sources(MemorySource(settings.preload), None)

    def check(token: str, name: str) -> AccountClaims:
        return trust.check_signed(token, name).claims

    directory = AccountDirectory(
        Path(resolver.folder),
        check=check,
        wall_s=wall_s,
        limit=resolver.limit,
        evicts=resolver.kind is ResolverKind.CACHE,
        ttl_s=resolver.ttl_s,
        renames_deleted=not resolver.hard_delete,
    )
    return Sources(directory, directory)
