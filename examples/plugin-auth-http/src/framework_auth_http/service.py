"""Questions to the service: at most some at once, each within its time, none while it is down."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING

import h11

from framework_auth_http.errors import ServiceError

if TYPE_CHECKING:
    from framework_auth_http.circuit import Circuit
    from framework_auth_http.connection import Connection, Dialer

WAITING_MAX = 10_000
"""Logins that may wait for their turn; each is a client that holds its connection open."""


class Service:
    def __init__(
        self, dialer: Dialer, circuit: Circuit, *, timeout_s: float, concurrency: int
    ) -> None:
        self._dialer = dialer
        self._circuit = circuit
        self._timeout_s = timeout_s
        self._turns = asyncio.Semaphore(concurrency)
        self._waiting_count = 0
        self._idle: list[Connection] = []

    async def ask(self, question: bytes) -> tuple[int, bytes]:
        """Return status and body.

        Raises ServiceError: it is down, too slow, or too much is asked of it.
        """
        await self._wait_for_turn()
        try:
            self._circuit.begin()
            return await self._ask_now(question)
        finally:
            self._turns.release()

    async def _wait_for_turn(self) -> None:
        if self._waiting_count >= WAITING_MAX:
            raise ServiceError("too many logins wait for it")
        self._waiting_count += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._turns.acquire()
        except TimeoutError:
            raise ServiceError("no turn was free in time") from None
        finally:
            self._waiting_count -= 1

    async def _ask_now(self, question: bytes) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(self._timeout_s):
                status, body = await self._exchange(question)
        except TimeoutError:
            problem = f"no answer within {self._timeout_s:g} s"
        except (OSError, h11.ProtocolError) as error:
            problem = str(error) or type(error).__name__
        else:
            if status < HTTPStatus.INTERNAL_SERVER_ERROR:
                self._circuit.succeeded()
                return status, body
            problem = f"it answered with status {status}"
        self._circuit.failed(problem)
        raise ServiceError(problem)

    async def _exchange(self, question: bytes) -> tuple[int, bytes]:
        while self._idle:
            with contextlib.suppress(OSError, h11.ProtocolError):
                return await self._post(self._idle.pop(), question)
            # The service has closed it meanwhile, as it may.
        return await self._post(await self._dialer.dial(), question)

    async def _post(self, connection: Connection, question: bytes) -> tuple[int, bytes]:
        try:
            status, body = await connection.post(question)
        except BaseException:
            connection.close()
            raise
        if connection.is_reusable():
            self._idle.append(connection)
        else:
            connection.close()
        return status, body

    def stop(self) -> None:
        while self._idle:
            self._idle.pop().close()
