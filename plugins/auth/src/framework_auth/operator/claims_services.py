"""`$SYS` requests about account JWTs: update, lookup, list, delete.

Source: nats-server `accounts.go`, `DirAccResolver.Start`, `CacheDirAccResolver.Start`;
`events.go`, `accountClaimUpdate`.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from framework.spec import ServiceSpec
from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.claims import (
    AccountClaims,
    ClaimsError,
    GenericClaims,
    read_claims_of,
)
from framework_auth.resolver.directory import DirectoryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from framework.spec import ServiceAnswer, ServiceRequest
    from framework_auth.operator.trust import Trust
    from framework_auth.operator_settings import OperatorSettings
    from framework_auth.resolver.directory import AccountDirectory

UPDATE_SUBJECTS: Final = (
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE",
    "$SYS.ACCOUNT.*.CLAIMS.UPDATE",
)
_KEY_TOKENS: Final = {6: 3, 5: 2}
"""Number of tokens of a subject to the index of the one that is a public key."""

_OK: Final = 200
_FAILED: Final = 500
_REFUSALS: Final = (ClaimsError, DirectoryError, OSError)


class ClaimsServices:
    """Answer the `$SYS` requests about account JWTs.

    Args:
        settings: Of operator mode.
        trust: Whom to trust.
        store: The directory; None: accounts are kept elsewhere, and only those that are known
            are updated.
        is_cache: The directory has accounts that somebody used; others are not taken.
        is_known: Tells whether somebody uses an account.
        update: Puts another JWT of an account in force that is known.
        remove: Ends an account.
        server: Returns who this server is, for answers.
    """

    def __init__(
        self,
        settings: OperatorSettings,
        trust: Trust,
        *,
        store: AccountDirectory | None,
        is_cache: bool,
        is_known: Callable[[str], bool],
        update: Callable[[str, str], Awaitable[None]],
        remove: Callable[[str], Awaitable[None]],
        server: Callable[[], Mapping[str, object]],
    ) -> None:
        self._settings = settings
        self._trust = trust
        self._store = store
        self._is_cache = is_cache
        self._is_known = is_known
        self._update = update
        self._remove = remove
        self._server = server
        self._word = "jwt update cache" if is_cache else "jwt update"

    def specs(self) -> Sequence[ServiceSpec]:
        """Return the services."""
        updates = UPDATE_SUBJECTS if self._store else UPDATE_SUBJECTS[1:]
        specs = [
            ServiceSpec(name=f"claims update {index}", subject=subject, answer=self.update)
            for index, subject in enumerate(updates)
        ]
        if self._store is not None:
            more = {"$SYS.REQ.CLAIMS.LIST": self.list, "$SYS.REQ.CLAIMS.DELETE": self.delete}
            if not self._is_cache:
                more["$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"] = self.look_up
            specs += [
                ServiceSpec(name=f"claims {subject.rpartition('.')[2].lower()}",
                            subject=subject, answer=answer)
                for subject, answer in more.items()
            ]  # fmt: skip
        return specs

    async def update(self, request: ServiceRequest) -> ServiceAnswer:
        """Answer CLAIMS.UPDATE: take the JWT of an account, if it is trusted."""
        token = request.payload.decode("ascii", "replace").strip()
        named = _named_account(request.subject)
        try:
            claims = read_claims_of(AccountClaims, token)
            name = claims.name
            if named not in {"", name}:
                raise ClaimsError("subject does not match jwt content")
            self._trust.check_signed(token, name)
            return self._done(name, await self._keep(name, token))
        except _REFUSALS as error:
            return self._failed(named or "n/a", f"{self._word} resulted in error", error)

    async def look_up(self, request: ServiceRequest) -> ServiceAnswer:
        """Answer CLAIMS.LOOKUP with the JWT of an account.

        It says nothing when the JWT is not here: another server may have it.
        """
        assert self._store is not None
        token = await asyncio.to_thread(self._store.load, _named_account(request.subject))
        return (token or "").encode()

    async def list(self, _request: ServiceRequest) -> ServiceAnswer:
        """Answer CLAIMS.LIST with the public keys of all accounts that are kept."""
        assert self._store is not None
        names = await asyncio.to_thread(self._store.names)
        return _json({"server": self._server(), "data": sorted(names)})

    async def delete(self, request: ServiceRequest) -> ServiceAnswer:
        """Answer CLAIMS.DELETE: delete accounts that an operator names."""
        assert self._store is not None
        who = ""
        try:
            token = request.payload.decode("ascii", "replace").strip()
            claims = read_claims_of(GenericClaims, token)
            who = claims.standard.subject
            names = self._deletable(claims)
            for name in names:
                await asyncio.to_thread(self._store.delete, name)
                await self._remove(name)
        except _REFUSALS as error:
            return self._failed("", f"delete accounts request by {who} failed", error)
        return self._done("", f"deleted {len(names)} accounts")

    async def _keep(self, name: str, token: str) -> str:
        """Keep a JWT that counts; return what was done."""
        if (self._is_cache or self._store is None) and not self._is_known(name):
            return f"{self._word} skipped"
        if self._store is not None:
            await asyncio.to_thread(self._store.save, name, token)
        await self._update(name, token)
        return "jwt updated cache" if self._is_cache else "jwt updated"

    def _deletable(self, claims: GenericClaims) -> Sequence[str]:
        """Return the accounts that a request names.

        Raises:
            ClaimsError: It is not an operator's, or names what cannot be deleted.

        Source: nats-server `accounts.go`, `handleDeleteRequest`.
        """
        issuer = claims.standard.issuer
        if not self._settings.resolver.allow_delete:
            raise ClaimsError("delete must be enabled in server config")
        if claims.standard.subject != issuer:
            raise ClaimsError("not self signed")
        if issuer not in self._settings.operators[0].trusted_keys:
            raise ClaimsError("not trusted")
        names = claims.nats.texts("accounts")
        if not names or not all(is_public_key(it, NkeyKind.ACCOUNT) for it in names):
            raise ClaimsError("malformed request")
        if self._settings.system_account in names:
            raise ClaimsError("not allowed to delete system account")
        return names

    def _done(self, name: str, message: str) -> bytes:
        account = {"account": name} if name else {}
        data = {**account, "code": _OK, "message": message}
        return _json({"server": self._server(), "data": data})

    def _failed(self, name: str, message: str, error: Exception) -> bytes:
        account = {"account": name} if name else {}
        problem = {**account, "code": _FAILED, "description": f"{message} - {error}"}
        return _json({"server": self._server(), "error": problem})


def _named_account(subject: str) -> str:
    """Return the public key that a subject names; empty: it names none."""
    tokens = subject.split(".")
    at = _KEY_TOKENS.get(len(tokens))
    return tokens[at] if at else ""


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
