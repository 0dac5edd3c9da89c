"""Prefixes of subjects that servers and plugins keep for themselves, and what follows from each.

The plane asks this table before it matches a subject, never for a prefix by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

PREFIXES_MAX: Final = 16
PREFIX_BYTES_MAX: Final = 30


class ReservedPrefix(Struct, frozen=True, kw_only=True):
    """One prefix; a subject that is longer begins with it."""

    prefix: bytes
    """2 to 30 bytes, with its last dot."""
    no_publish: bool = False
    """Clients may not publish there."""
    no_reply: bool = False
    """Clients may not ask for answers there."""
    shows_subject: bool = False
    """As the reply of a message from another server it may end in `@subject`: users are shown
    that subject, whatever inbox the message reached, and the reply without it."""
    needed_by_servers: bool = False
    """Servers tell each other of interest in it unless their permissions deny it; it need not be
    allowed."""
    keeps_reply: bool = False
    """As a reply it stays as it is where a message passes an import: answers do not come back by
    the import."""
    hidden_tokens: int = 0
    """As the reply of a message from another server, the prefix and so many tokens behind it are an
    address that users are not shown. For 2 s an answer of theirs to the rest goes to the whole."""
    stays_in_account: bool = False
    """Requests there do not go to the system account, whatever is imported from it: who answers
    them is in the account itself."""


RESERVED_PREFIXES: Final[Sequence[ReservedPrefix]] = (
    ReservedPrefix(prefix=b"_GR_.", no_publish=True, no_reply=True),
    ReservedPrefix(prefix=b"$GR.", no_publish=True, no_reply=True),
    ReservedPrefix(prefix=b"_R_.", no_reply=True),
    ReservedPrefix(prefix=b"$JS.ACK.", no_reply=True, shows_subject=True, keeps_reply=True),
    ReservedPrefix(prefix=b"$FJS.", no_publish=True),
    ReservedPrefix(prefix=b"$MQTT.", needed_by_servers=True),
    ReservedPrefix(prefix=b"$JS.API.CONSUMER.MSG.NEXT.", stays_in_account=True),
    ReservedPrefix(prefix=b"$JS.API.DIRECT.GET.", stays_in_account=True),
)
"""Source: nats-server `gateway.go`, `hasGWRoutedReplyPrefix`; `client.go`, `isReservedReply`,
`canSubscribe`, `processMsgResults`, `processServiceImport`. `$FJS.` is ours: there servers that
share streams hear of each other."""
