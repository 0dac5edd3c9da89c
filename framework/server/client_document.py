"""What services of other accounts are told of a client that asks.

Source: nats-server `client.go`, `getClientInfo`; `events.go`, `ClientInfo`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.client_row import Client


def client_documents(
    client: Client, *, server: str, cluster: str, started_ns: int
) -> tuple[bytes, bytes]:
    """Return what any service may know of a client, and what those that it lets know more.

    Args:
        client: It has begun.
        server: Name of this one.
        cluster: Its name; empty: there is none.
        started_ns: When the client came, in wall time.
    """
    identity, connect = client.identity, client.connect
    assert identity
    assert connect
    brief = {"acc": identity.account}
    full: Mapping[str, object] = {
        "start": time_text(started_ns),
        "host": client.host,
        "id": client.cid,
        **brief,
        "user": identity.nkey or identity.user,
        "name": connect.name,
        "lang": connect.lang,
        "ver": connect.version,
        "server": server,
        "cluster": cluster,
        "jwt": identity.jwt,
        "issuer_key": identity.issuer_key,
        "name_tag": identity.name_tag,
        "tags": identity.tags,
        "kind": "Client",
        "client_type": "nats",
    }
    return _json(brief), _json({name: value for name, value in full.items() if value})


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
