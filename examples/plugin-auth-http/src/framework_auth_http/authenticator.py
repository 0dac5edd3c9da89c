"""The authenticator itself: all that the server sees of this package."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from framework.actors import Reply
from framework.spec import Accepted, Refused
from framework_auth_http.answer import answer_from_response, question_from_request
from framework_auth_http.errors import ServiceError

if TYPE_CHECKING:
    from framework.spec import LoginAnswer, LoginRequest
    from framework_auth_http.cache import Cache
    from framework_auth_http.service import Service


class HttpAuthenticator:
    """Let the service decide, and remember whom it let in."""

    def __init__(self, service: Service, cache: Cache, *, passes_when_down: bool) -> None:
        self._service = service
        self._cache = cache
        self._when_down = None if passes_when_down else Refused("the login service is down")
        self._asking: dict[bytes, asyncio.Task[LoginAnswer]] = {}

    def authenticate(self, request: LoginRequest) -> Reply[LoginAnswer]:
        reply: Reply[LoginAnswer] = Reply()
        key = self._cache.key_of(request)
        if not (request.connect.user or request.connect.auth_token):
            reply.set(None)  # it brings nothing that the service could look at
        elif known := self._cache.get(key):
            reply.set(known)
        else:
            # Clients of one user that come all at once are one question.
            task = self._asking.get(key) or asyncio.ensure_future(self._ask(request, key))
            self._asking[key] = task
            task.add_done_callback(lambda done: _settle(reply, done))
        return reply

    async def _ask(self, request: LoginRequest, key: bytes) -> LoginAnswer:
        try:
            status, body = await self._service.ask(question_from_request(request))
            answer = answer_from_response(request, status, body)
        except ServiceError:
            return self._when_down
        finally:
            del self._asking[key]
        if isinstance(answer, Accepted) and not answer.expires_s:
            self._cache.put(key, answer)
        return answer

    def stop(self) -> None:
        for task in self._asking.values():
            task.cancel()


def _settle(reply: Reply[LoginAnswer], task: asyncio.Task[LoginAnswer]) -> None:
    if task.cancelled():
        reply.set(Refused("the server stops"))
    elif error := task.exception():
        reply.set_exception((type(error), error, error.__traceback__))
    else:
        reply.set(task.result())
