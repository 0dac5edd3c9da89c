"""TLS terms of one kind of connection: its settings, and the contexts made of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from framework.server.tls.contexts import TlsError, make_client_context, make_server_context
from framework.spec import TlsFacts
from framework.wire.certificates import facts_from_pem

if TYPE_CHECKING:
    import ssl

    from framework.spec import TlsSettings

_SECOND_S: Final = 1.0


class Terms(Struct, frozen=True, kw_only=True):
    """Context, timeout and role of a handshake."""

    context: ssl.SSLContext
    timeout_s: float
    pinned: frozenset[str] = frozenset()
    """Hex SHA-256 of public keys that the peer may have; empty: any."""
    server_name: str | None = None
    """Who is dialed; None: the peer has dialed us."""
    is_first: bool = False
    """No INFO went before."""


class KindTerms:
    """Terms of all connections of one kind; immutable but for its counting.

    Args:
        settings: Of that kind.

    Raises:
        TlsError: They can't be followed.
    """

    def __init__(self, settings: TlsSettings) -> None:
        self.settings = settings
        self.server_context = make_server_context(settings)
        self._client_context = make_client_context(settings)
        self._monitor_context = make_server_context(replace(settings, verify=False))
        self.not_after_s = facts_from_pem(
            Path(settings.certificates[0][0]).read_bytes()
        ).not_after_s
        """When the certificate ends, in Unix time."""
        self.blocked = 0
        """Connections turned away by the rate limit since somebody looked."""
        self._second_ends_s = 0.0
        self._begun = 0

    @property
    def monitor_context(self) -> ssl.SSLContext:
        """Return the context for monitoring, which asks nobody for a certificate."""
        return self._monitor_context

    @property
    def listener_mode(self) -> Literal["after_info", "first"]:
        """When the plane hands connections over."""
        return "first" if self.settings.handshake_first else "after_info"

    def for_accepted(self, *, is_first: bool) -> Terms:
        """Return the terms for a peer that has connected."""
        return Terms(
            context=self.server_context,
            timeout_s=self.settings.timeout_s,
            pinned=self.settings.pinned,
            is_first=is_first,
        )

    def for_dialed(self, server_name: str) -> Terms:
        """Return the terms for a server that we have dialed."""
        return Terms(
            context=self._client_context,
            timeout_s=self.settings.timeout_s,
            pinned=self.settings.pinned,
            server_name=server_name,
        )

    def admits(self) -> bool:
        """Count a handshake that is to begin; return False when the second has had its share.

        Source: nats-server `rate_counter.go`.
        """
        limit = self.settings.rate_limit
        if not limit:
            return True
        now_s = time.monotonic()  # noqa: TID251 - sockets have real time
        if now_s > self._second_ends_s:
            self._begun, self._second_ends_s = 0, now_s + _SECOND_S
        self._begun += 1
        if self._begun <= limit:
            return True
        self.blocked += 1
        return False


def dialed_terms(settings: TlsSettings, server_name: str) -> Terms:
    """Return the terms for one server that is dialed with settings of its own.

    Raises:
        OSError: They can't be followed any more.
    """
    try:
        context = make_client_context(settings)
    except TlsError as error:
        raise OSError(str(error)) from error
    return Terms(
        context=context,
        timeout_s=settings.timeout_s,
        pinned=settings.pinned,
        server_name=server_name,
    )


def tls_facts(terms: KindTerms | None) -> TlsFacts | None:
    """Return what monitoring shows of the TLS of one kind of connection."""
    if terms is None:
        return None
    settings = terms.settings
    return TlsFacts(
        required=not settings.is_optional,
        verify=settings.verify,
        timeout_s=settings.timeout_s,
        not_after_s=terms.not_after_s,
    )
