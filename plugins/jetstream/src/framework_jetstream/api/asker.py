"""Who asks something of the API, as the server says where the request came in.

Source: nats-server `jetstream_api.go`, `getRequestInfo`; `events.go`, `ClientInfo`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

INFO_HEADER: Final = "Nats-Request-Info"
_HIDDEN: Final = frozenset({"jwt", "alts"})
"""What advisories don't repeat of it."""


class Asker(Struct, frozen=True):
    """An account, and its client."""

    account: str
    client: Mapping[str, Any] = {}
    """As advisories show it; empty: a user of the system account asks for itself."""


def asker_of(headers: Mapping[str, tuple[str, ...]], system_account: str) -> Asker | None:
    """Return who asks; None: what stands there is no description of a client.

    Args:
        headers: Of the request.
        system_account: Whose users come without a description.
    """
    infos = headers.get(INFO_HEADER, ())
    if not infos:
        return Asker(system_account)
    try:
        client = json.loads(infos[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(client, dict):
        return None
    account = client.get("svc") or client.get("acc")
    if not isinstance(account, str):
        return None
    return Asker(account, {name: it for name, it in client.items() if name not in _HIDDEN})
