"""Authenticator of `authorization` and `accounts`: password, token, nkey, certificate.

Source: nats-server `auth.go`, `processClientOrLeafAuthentication`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from framework.actors import Reply
from framework.spec import Refused
from framework_auth.directory import Proof, Way
from framework_auth.keys import decode_signature, is_signed
from framework_auth.users import TOKEN_USER

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import Accepted, LoginAnswer, LoginRequest
    from framework_auth.directory import Directory

    CheckSecret: TypeAlias = Callable[[str, bytes, str, Reply[LoginAnswer]], None]


class Login:
    """Authenticate clients by the users of the configuration.

    Args:
        directory: The users in force.
        check_secret: Finds out whether a user has a secret, and sets the reply: None when there is
            no such user. It need not be known here how long that takes.
    """

    def __init__(
        self,
        directory: Directory,
        *,
        check_secret: CheckSecret,
    ) -> None:
        self._directory = directory
        self._check_secret = check_secret

    def authenticate(self, request: LoginRequest) -> Reply[LoginAnswer]:
        """Decide at once, or when the secret has been checked."""
        reply: Reply[LoginAnswer] = Reply()
        connect, users = request.connect, self._directory.users
        says_nothing = not (connect.user or connect.password or connect.auth_token)
        if connect.nkey and users.by_nkey:
            reply.set(self._answer_nkey(request))
        elif users.maps_certificates and users.by_name and not users.is_token:
            reply.set(self._answer_certificate(request))
        elif says_nothing and request.no_auth_user and not connect.nkey:
            proof = Proof(Way.PORT, request.no_auth_user)
            reply.set(self._directory.accept(proof, request.connection_type))
        elif says_nothing and users.nobody and not connect.nkey:
            proof = Proof(Way.NOTHING, users.nobody.name)
            reply.set(self._directory.accept(proof, request.connection_type))
        elif users.is_token:
            secret = connect.auth_token.encode()
            self._check_secret(TOKEN_USER, secret, request.connection_type, reply)
        else:
            secret = connect.password.encode()
            self._check_secret(connect.user, secret, request.connection_type, reply)
        return reply

    def recheck(self, request: LoginRequest, accepted: Accepted) -> Accepted | Refused:
        """Say whether who was accepted earlier may stay."""
        proof, nobody = accepted.proof, self._directory.users.nobody
        if proof is None and nobody and not (request.connect.user or request.connect.nkey):
            proof = Proof(Way.NOTHING, nobody.name)
        if not isinstance(proof, Proof):
            return Refused("its user is gone")
        return self._directory.accept_again(proof, request.connection_type)

    def _answer_nkey(self, request: LoginRequest) -> LoginAnswer:
        """Answer who signed the nonce: the work is the same when the key is of nobody here."""
        connect = request.connect
        signature = decode_signature(connect.sig) if request.nonce else None
        has_signed = signature is not None and is_signed(request.nonce, signature, connect.nkey)
        if self._directory.find(Way.NKEY, connect.nkey) is None:
            return None
        if not has_signed:
            return Refused("signature missing" if not connect.sig else "signature not verified")
        return self._directory.accept(Proof(Way.NKEY, connect.nkey), request.connection_type)

    def _answer_certificate(self, request: LoginRequest) -> LoginAnswer:
        shown = request.tls.certificates if request.tls else ()
        if not shown:
            return Refused("user required in cert, no peer certificates found")
        name = self._directory.find_by_certificate(shown[0], request.connection_type)
        if name is None:
            return Refused("user in cert not found")
        return self._directory.accept(Proof(Way.CERTIFICATE, name), request.connection_type)
