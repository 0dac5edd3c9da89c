"""The actor that answers `$SYS` requests: those of the core, and those of plugins."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.errors import PluginError
from framework.server.system.encoding import encode_answer
from framework.server.system.limits import (
    ANSWER_TIMEOUT_S,
    ANSWERS_AT_ONCE,
    ANSWERS_AT_ONCE_EACH,
    REQUESTS_BYTES_MAX,
    REQUESTS_WAITING_MAX,
)
from framework.server.system.listening import Listening
from framework.server.system.outbox import json_bytes
from framework.server.system.request_queue import RequestQueue
from framework.spec import ServiceReply, ServiceRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.monitor import Turns
    from framework.server.system.listening import Arrival
    from framework.server.system.outbox import Outbox
    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import LinkId, ServiceSpec

SYSTEM_SERVICES: Final = "system_services"
"""Name of its ComponentSpec."""

_UNAVAILABLE: Final = 503
_INTERNAL: Final = 500


class _Waiting(Struct, frozen=True):
    service: ServiceSpec
    account: int
    arrival: Arrival


class SystemServices(Component):
    """Take requests in batches, answer a bounded number at once, publish answers in batches.

    Args:
        outbox: Publishes.
        stamp: Names this server in errors.
        turns: Taken before each answer.
        asker_of: Returns whose share of the answering a request takes, by the link it came by.
        log: The server's logger.
    """

    class Serve(Struct, frozen=True):
        """Serve these services, and no others."""

        services: Sequence[ServiceSpec]

    class Describe(Struct, frozen=True):
        """Ask for (answered, dropped, failed)."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        stamp: ServerStamp,
        turns: Turns,
        asker_of: Callable[[LinkId], Hashable],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._listening = Listening(stamp.server)
        self._accounts = stamp.server.accounts
        self._outbox = outbox
        self._stamp = stamp
        self._log = log
        self._turns = turns
        self._asker_of = asker_of
        self._queue: RequestQueue[_Waiting] = RequestQueue(
            waiting_max=REQUESTS_WAITING_MAX,
            at_once=ANSWERS_AT_ONCE,
            at_once_each=ANSWERS_AT_ONCE_EACH,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[int, list[tuple[bytes, bytes, bytes, bytes]]] = {}
        self._answered = self._dropped = self._failed = 0

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case self.Serve(services):
                self._serve(services)
            case self.Describe():
                return self._answered, self._dropped, self._failed
            case _:
                super().on_receive(message)
        return None

    @override
    def on_stop(self) -> None:
        self._listening.close()
        self._queue.clear()
        for task in self._tasks:
            task.cancel()

    def _serve(self, services: Sequence[ServiceSpec]) -> None:
        self._listening.close()
        for service in services:
            name = service.account or self._accounts.system_account
            if not name:
                continue
            try:
                account = self._accounts.index(name)
            except KeyError:
                self._log.error(
                    "Service {component} names an unknown account",
                    component=service.name,
                    account=name,
                )
                continue
            take = partial(self._take, service, account)
            self._listening.open(
                name,
                service.subject,
                take,
                bytes_max=REQUESTS_BYTES_MAX,
                queue=service.queue,
            )

    def _take(self, service: ServiceSpec, account: int, arrivals: list[Arrival]) -> None:
        """Begin requests, or let them wait; called by whoever hands on batches."""
        dropped = 0
        for asker, own in groupby(arrivals, lambda it: self._asker_of(it.link)):
            dropped += self._queue.put(asker, [_Waiting(service, account, it) for it in own])
        if dropped:
            self._dropped += dropped
            self._log.warning(
                "Requests dropped: too many wait for {component}", component=service.name
            )
        self._begin()

    def _begin(self) -> None:
        while (following := self._queue.take()) is not None:
            asker, waiting = following
            task = asyncio.get_running_loop().create_task(self._answer(waiting))
            self._tasks.add(task)
            task.add_done_callback(partial(self._finish, asker))

    def _finish(self, asker: Hashable, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._queue.finish(asker)
        self._begin()

    async def _answer(self, waiting: _Waiting) -> None:
        await self._turns.take()
        arrival = waiting.arrival
        request = ServiceRequest(
            subject=arrival.subject,
            reply=arrival.reply,
            header=arrival.header,
            payload=arrival.payload,
            link=arrival.link,
            came_ns=arrival.came_ns,
        )
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                answer = await waiting.service.answer(request)
        except TimeoutError:
            self._note_failure(waiting.service, "it took too long")
            answer = self._error(_UNAVAILABLE, "the answer took too long; ask again later")
        except PluginError:  # logged already
            self._failed += 1
            answer = self._error(_INTERNAL, "the server could not answer; its log says why")
        except Exception as error:  # noqa: BLE001 - one request must not end the service
            self._note_failure(waiting.service, repr(error))
            answer = self._error(_INTERNAL, "the server could not answer; its log says why")
        self._answered += 1
        if answer is not None and arrival.reply:
            if isinstance(answer, ServiceReply):
                header, payload = answer.header_block(), answer.payload
            else:
                header, payload = encode_answer(arrival.header, answer)
            subject = arrival.reply.encode("utf-8", "surrogateescape")
            self._publish(waiting.account, (subject, b"", header, payload))

    def _publish(self, account: int, message: tuple[bytes, bytes, bytes, bytes]) -> None:
        """Publish with all that is answered in this turn."""
        if not self._answers:
            asyncio.get_running_loop().call_soon(self._flush)
        self._answers.setdefault(account, []).append(message)

    def _flush(self) -> None:
        answers, self._answers = self._answers, {}
        for account, messages in answers.items():
            self._outbox.send(messages, account)

    def _note_failure(self, service: ServiceSpec, why: str) -> None:
        self._failed += 1
        self._log.error("Service {component} failed", component=service.name, error=why)

    def _error(self, code: int, description: str) -> bytes:
        return json_bytes({
            "server": self._stamp.make(),
            "error": {"code": code, "description": description},
        })
