"""Logins of leaf nodes at this server: of `leafnodes.authorization`, or as clients log in.

Source: nats-server `auth.go`, `isLeafNodeAuthorized`, `registerLeafWithAccount`.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, ClassVar

from framework.peering import Login
from framework.redacted import Redacted
from framework.spec import GLOBAL_ACCOUNT, LinkKind, LoginRequest
from framework.wire.info import ClientConnect, SubjectPermission
from framework.wire.nkey import decode_public_key
from framework_leafnode.peer import Rights

if TYPE_CHECKING:
    from framework.spec import Accepted, LinkId, SubjectRules, TlsPeer
    from framework.wire.certificates import CertificateFacts
    from framework_leafnode.info import LeafConnect
    from framework_leafnode.peer import Connection

CONNECTION_TYPE = "LEAFNODE"
WEBSOCKET_TYPE = "LEAFNODE_WS"


class LeafUser(Redacted, frozen=True, kw_only=True):
    """Who may connect, and in which account that is."""

    hidden: ClassVar = frozenset({"password"})

    name: str = ""
    password: str = ""
    """Or its bcrypt hash."""
    nkey: str = ""
    """Public key that must have signed the nonce; then there is no password."""
    account: str = GLOBAL_ACCOUNT

    @property
    def login(self) -> Login:
        """Return name and password as something to hold others' against."""
        return Login(user=self.name, password=self.password)


class LeafLogins(Redacted, frozen=True, kw_only=True):
    """The users of `leafnodes.authorization`; none: leaf nodes log in as clients do."""

    users: tuple[LeafUser, ...] = ()
    timeout_s: float = 2.0
    maps_certificates: bool = False

    def find(self, connect: LeafConnect, certificate: CertificateFacts | None) -> LeafUser | None:
        """Return the user that somebody claims to be, which is yet to be proved."""
        if self.maps_certificates and not any(it.nkey for it in self.users):
            names = {*certificate.alternatives, certificate.subject} if certificate else set()
            return next((it for it in self.users if it.name in names), None)
        for user in self.users:
            if user.nkey and user.nkey == connect.nkey:
                return user
            if user.name and user.name == connect.user:
                return user
        return None


def has_signed(user: LeafUser, connect: LeafConnect, nonce: bytes) -> bool:
    """Tell whether the nonce was signed with the nkey of a user."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415 - few servers need it
    from nacl.signing import VerifyKey  # noqa: PLC0415 - the same

    text = connect.sig.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        signature = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        _, key = decode_public_key(user.nkey)
        VerifyKey(key).verify(nonce, signature)
    except (binascii.Error, CryptoError, ValueError):
        return False
    return bool(nonce)


def login_request(
    link: LinkId,
    connection: Connection,
    connect: LeafConnect,
    nonce: bytes,
    tls: TlsPeer | None,
) -> LoginRequest:
    """Return what authenticators of clients are asked."""
    as_client = ClientConnect(
        user=connect.user,
        password=connect.password,
        auth_token=connect.auth_token,
        jwt=connect.jwt,
        nkey=connect.nkey,
        sig=connect.sig,
        name=connect.name,
        version=connect.version,
    )
    return LoginRequest(
        link=link,
        kind=LinkKind.LEAF,
        cid=connection.cid,
        host=connection.host,
        port=connection.port,
        connect=as_client,
        nonce=nonce,
        tls=tls,
        connection_type=WEBSOCKET_TYPE if connection.is_websocket else CONNECTION_TYPE,
    )


def rights_of(accepted: Accepted, *, is_system: bool) -> Rights:
    """Return the rights of who was let in as a client."""
    permissions = accepted.permissions
    return Rights(
        account=accepted.account,
        is_system=is_system,
        may_publish=_told(permissions.publish) if permissions else None,
        may_subscribe=_told(permissions.subscribe) if permissions else None,
        responses=permissions.responses if permissions else None,
        user=accepted.user,
    )


def _told(rules: SubjectRules) -> SubjectPermission | None:
    """Return rules as INFO has them; None: there are none."""
    if not rules.allow and not rules.deny:
        return None
    return SubjectPermission(allow=rules.allow, deny=rules.deny)
