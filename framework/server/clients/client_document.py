"""The JSON document of a client in events and service requests.

It is written piece by piece: clients come and go by the ten thousand a second, and a document
that is built and then encoded costs three times as much.
Source: nats-server `events.go`, `ClientInfo`; `client.go`, `getClientInfo`, `getRawAuthUser`.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

from framework.spec import LinkKind
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from framework.server.clients.client_notices import ClientSeen
    from framework.server.clients.client_row import Client

_quoted: Final = encode_basestring
"""Makes a JSON string of a text."""
_KINDS: Final = {
    LinkKind.CLIENT: '"kind":"Client","client_type":"nats"',
    LinkKind.LEAF: '"kind":"Leafnode"',
}
"""Of whom events tell, and what they call them."""


def client_documents(
    client: Client, *, server: str, cluster: str, started_ns: int
) -> tuple[bytes, bytes]:
    """Return the short and the full `Nats-Request-Info` of a client.

    Args:
        client: It has begun.
        server: Name of this one.
        cluster: Its name; empty: there is none.
        started_ns: When the client came, in wall time.
    """
    seen = client.seen()
    account, name_tag = seen.identity.account, seen.identity.name_tag
    place = _member("server", server) + _member("cluster", cluster)
    full = client_text(seen, account, name_tag, start=time_text(started_ns), more=place)
    return f'{{"acc":{_quoted(account)}}}'.encode(), full.encode()


def client_text(client: ClientSeen, account: str, name_tag: str, *, start: str, more: str) -> str:
    """Return a client as JSON; what is empty is left out.

    Args:
        client: Who it is.
        account: In which it counts.
        name_tag: What people call the user, or the account.
        start: When it came.
        more: Members that not every client has, with a comma behind them.
    """
    identity, connection = client.identity, client.connection
    tags = f'"tags":[{",".join(map(_quoted, identity.tags))}],' if identity.tags else ""
    return (
        f'{{"start":"{start}",{_member("host", connection.host)}"id":{connection.cid},'
        f'"acc":{_quoted(account)},{_member("user", identity.nkey or identity.user)}'
        f"{_member('name', connection.name)}{_member('lang', connection.lang)}"
        f"{_member('ver', connection.version)}{more}{_member('jwt', identity.jwt)}"
        f"{_member('issuer_key', identity.issuer_key)}{_member('name_tag', name_tag)}"
        f"{tags}{_KINDS[connection.kind]}}}"
    )


def _member(name: str, value: str) -> str:
    """Return a member of an object with a comma behind it; nothing for an empty value."""
    return f'"{name}":{_quoted(value)},' if value else ""
