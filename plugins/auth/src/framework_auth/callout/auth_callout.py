"""The actor that sends authorization requests to the callout service."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.spec import Refused, TapSpec
from framework.wire.nkey import KEY_BYTES, NkeyKind
from framework_auth.callout.requests import build_request, server_members
from framework_auth.callout.responses import Asked, read_answer
from framework_auth.claims import ClaimsError, build_token
from framework_auth.keys import KeyPair
from framework_auth.limits import CALLOUTS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Reply, Timer
    from framework.spec import AccountSpec, Batch, LoginAnswer, LoginRequest, ServerContext
    from framework_auth.callout.judges import Judge
    from framework_auth.claims import UserClaims
    from framework_auth.server_key import ServerKeys

AUTH_CALLOUT: Final = "auth_callout"
"""Name of its ComponentSpec."""

CALLOUT_SUBJECT: Final = b"$SYS.REQ.USER.AUTH"
"""Source: nats-server `auth_callout.go`, `AuthCalloutSubject`."""

_XKEY_HEADER: Final = "NATS/1.0\r\nNats-Server-Xkey: {}\r\n\r\n"


class _Pending(Struct, frozen=True):
    asked: Asked
    reply: Reply[LoginAnswer]
    timer: Timer


class AuthCallout(Component):
    """Send authorization requests, check responses, and answer the login.

    Args:
        server: Publishes in the accounts of services, and hears their answers.
        keys: Sign requests, and encrypt them.
        timeout_s: How long an answer may take.
        resolve: Finds the account that a service lets somebody into.
        wall_s: Tells Unix time.
    """

    class Ask(Struct, frozen=True):
        """Message: let the callout service decide on a login."""

        request: LoginRequest
        judge: Judge
        token: str
        """JWT of the client, or the one that stands for it; empty: there is none."""
        reply: Reply[LoginAnswer]

    class _Answered(Struct, frozen=True):
        pending: _Pending
        payload: bytes

    class _TimedOut(Struct, frozen=True):
        question: str

    class _Resolved(Struct, frozen=True):
        pending: _Pending
        claims: UserClaims
        outcome: object

    def __init__(
        self,
        *,
        server: ServerContext,
        keys: ServerKeys,
        timeout_s: float,
        resolve: Callable[[str], Reply[AccountSpec | None]] | None,
        wall_s: Callable[[], float],
    ) -> None:
        super().__init__()
        self._server = server
        self._keys = keys
        self._timeout_s = timeout_s
        self._resolve = resolve
        self._wall_s = wall_s
        self._inbox = f"$SYS._INBOX.{server.server_id}.callout"
        self._pending: dict[str, _Pending] = {}
        """By the public key that was drawn for each question."""
        self._taps: dict[str, Callable[[], None]] = {}
        """By account of a service."""

    @override
    def on_stop(self) -> None:
        for pending in self._pending.values():
            pending.reply.set(Refused("the server stops"))
        self._pending.clear()
        for take_away in self._taps.values():
            take_away()

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.Ask():
                self._ask(message)
            case self._Answered(pending, payload):
                self._receive_answer(pending, payload)
            case self._TimedOut(question):
                self._receive_timeout(question)
            case self._Resolved(pending, claims, _):
                self._accept(pending, claims)
            case _:
                super().on_receive(message)

    def _ask(self, ask: Ask) -> None:
        if len(self._pending) >= CALLOUTS_MAX:
            ask.reply.set(Refused("too many auth callouts at once"))
            return
        try:
            account = self._listen(ask.judge.account)
        except KeyError:
            ask.reply.set(Refused("unknown account of the auth callout"))
            return
        user = KeyPair(NkeyKind.USER, os.urandom(KEY_BYTES)).public
        timer = self.tell_later(self._timeout_s, self._TimedOut(user))
        self._pending[user] = _Pending(Asked(ask.request, user, ask.judge), ask.reply, timer)
        header, payload = self._question(ask, user)
        reply = f"{self._inbox}.{user}".encode()
        self._server.plane.publish(account, [(CALLOUT_SUBJECT, reply, header, payload)])

    def _question(self, ask: Ask, user: str) -> tuple[bytes, bytes]:
        """Return header block and payload of a request."""
        now_s = self._wall_s()
        xkey = ask.judge.xkey
        request = build_request(
            ask.request,
            subject=ask.judge.issuer,
            user_nkey=user,
            token=ask.token,
            server=server_members(self._server, self._keys.curve.public if xkey else ""),
            expires_s=int(now_s + self._timeout_s) + 1,
        )
        token = build_token(request.members(), self._keys.signing, issued_s=int(now_s)).encode()
        if not xkey:
            return b"", token
        header = _XKEY_HEADER.format(self._keys.curve.public).encode()
        return header, self._keys.curve.seal(token, xkey)

    def _listen(self, name: str) -> int:
        """Hear answers in the account of a service; return its number."""
        account = self._server.accounts.index(name)
        if name not in self._taps:
            spec = TapSpec(
                name=f"auth callout answers {name}",
                subject=f"{self._inbox}.*",
                receive=self._receive_batch,
                account=name,
            )
            self._taps[name] = self._server.add_tap(spec)
        return account

    def _receive_batch(self, batch: Batch) -> None:
        for subject, _, _, payload in batch.detach():
            question = subject.decode("ascii", "replace").rpartition(".")[2]
            pending = self._pending.pop(question, None)
            # Else it is too late, or said twice: whoever is in that account may say it often.
            if pending is not None:
                self.actor_ref.tell(self._Answered(pending, payload))

    def _receive_answer(self, pending: _Pending, payload: bytes) -> None:
        pending.timer.cancel()
        try:
            claims = read_answer(payload, pending.asked, self._keys, self._wall_s())
            account = pending.asked.judge.account_of(claims)
        except ClaimsError as error:
            self._refuse(pending, str(error))
            return
        if self._resolve is None:
            self._accept(pending, claims)
        else:
            resolved = partial(self._Resolved, pending, claims)
            self.await_reply(self._resolve(account), answer=resolved)

    def _accept(self, pending: _Pending, claims: UserClaims) -> None:
        asked = pending.asked
        try:
            accepted = asked.judge.accept(claims, asked.request, self._wall_s())
        except ClaimsError as error:
            self._refuse(pending, str(error))
        else:
            pending.reply.set(accepted)

    def _receive_timeout(self, question: str) -> None:
        pending = self._pending.pop(question, None)
        if pending is not None:
            self._refuse(pending, "authorization callout response not received in time")

    def _refuse(self, pending: _Pending, detail: str) -> None:
        self._server.log.warning(
            "Auth callout: {detail}", account=pending.asked.judge.account, detail=detail
        )
        pending.reply.set(Refused(detail))
