"""Authorization requests of auth callout.

Source: nats-server `auth_callout.go`, `processClientOrLeafCallout`, `fillClientInfo`,
`fillConnectOpts`.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from framework.spec import LinkKind
from framework.wire.version import NATS_VERSION
from framework_auth.claims import AuthorizationRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LoginRequest, ServerContext, TlsPeer

_PEM_LINE_CHARS: Final = 64


def server_members(server: ServerContext, xkey: str) -> Mapping[str, object]:
    """Return who asks; `xkey` is what answers may be encrypted for, if any."""
    host, _ = server.listening_address(LinkKind.CLIENT) or ("", 0)
    tags = server.config.values.get("server_tags") or ()
    assert isinstance(tags, tuple)
    members: dict[str, object] = {
        "name": server.name,
        "host": host,
        "id": server.server_id,
        "version": NATS_VERSION,
        "cluster": server.cluster_name,
        "tags": list(tags),
        "xkey": xkey,
    }
    always = {"name", "host", "id"}
    return {name: value for name, value in members.items() if value or name in always}


def build_request(
    request: LoginRequest,
    *,
    subject: str,
    user_nkey: str,
    token: str,
    server: Mapping[str, object],
    expires_s: int,
) -> AuthorizationRequest:
    """Return the claims of the authorization request for a login.

    Args:
        request: Of the client.
        subject: Public key of the issuer that is asked.
        user_nkey: Public key drawn for this request.
        token: The client's JWT, or the one that stands for it.
        server: Who asks.
        expires_s: Unix time after which nobody waits for an answer.
    """
    connect = request.connect
    return AuthorizationRequest(
        subject=subject,
        user_nkey=user_nkey,
        expires_s=expires_s,
        server=server,
        client=_set({
            "host": request.host,
            "id": request.cid,
            "user": connect.nkey or connect.user or connect.auth_token,
            "name": connect.name,
            "kind": "Client",
            "type": "nats",
            "nonce": request.nonce.decode("ascii", "replace") if connect.sig else "",
        }),
        connect={
            **_set({
                "jwt": token or connect.jwt,
                "nkey": connect.nkey,
                "sig": connect.sig,
                "auth_token": connect.auth_token,
                "user": connect.user,
                "pass": connect.password,
                "name": connect.name,
                "lang": connect.lang,
                "version": connect.version,
            }),
            "protocol": connect.protocol,
        },
        tls=_tls_members(request.tls) if request.tls else None,
    )


def _tls_members(peer: TlsPeer) -> Mapping[str, object]:
    chain = [_pem(it) for it in peer.certificates]
    members: dict[str, object] = {"version": peer.version, "cipher": peer.cipher}
    if chain:
        members["verified_chains"] = [chain]
    return members


def _pem(certificate: bytes) -> str:
    text = base64.b64encode(certificate).decode()
    lines = [text[at : at + _PEM_LINE_CHARS] for at in range(0, len(text), _PEM_LINE_CHARS)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


def _set(members: dict[str, object]) -> dict[str, object]:
    """Return what is not empty."""
    return {name: value for name, value in members.items() if value}
