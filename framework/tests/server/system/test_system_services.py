from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from framework.actors import ActorSystem, AsyncioDispatcher
from framework.monitor import Turns
from framework.server.system import system_services
from framework.server.system.limits import ANSWERS_AT_ONCE_EACH
from framework.server.system.outbox import Outbox
from framework.server.system.system_services import SystemServices
from framework.spec import ServiceSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from framework.server.system.server_stamp import ServerStamp

REQUEST = (b"svc", b"inbox", b"", b"")


async def turns(count: int = 20) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(count):
        over = loop.create_future()
        loop.call_soon(over.set_result, None)
        await over


@contextlib.asynccontextmanager
async def serving(server: Any, stamp: ServerStamp, *services: ServiceSpec) -> AsyncIterator[Any]:
    dispatcher = AsyncioDispatcher()
    system = ActorSystem(dispatcher, name="test")
    outbox = Outbox(server, server.accounts)
    actor = system.spawn(
        SystemServices,
        name="s",
        outbox=outbox,
        stamp=stamp,
        turns=Turns(),
        asker_of=lambda link: link,
        log=server.log,
    )
    actor.tell(SystemServices.Serve(services))
    await turns()
    try:
        yield actor
    finally:
        await system.stop(5.0)
        dispatcher.close()


def service(answer: Any, **changes: Any) -> ServiceSpec:
    return ServiceSpec(**{"name": "svc", "subject": "svc", "answer": answer, **changes})


def test_a_request_says_when_it_came(server: Any, stamp: ServerStamp) -> None:
    came_ns = []

    async def answer(request: Any) -> None:
        came_ns.append(request.came_ns)

    async def run() -> None:
        async with serving(server, stamp, service(answer)):
            server.deliver("svc", REQUEST, REQUEST)
            await turns()

    asyncio.run(run())

    assert came_ns == [1_000, 1_001]


def test_a_request_is_answered_in_the_account_of_the_service(
    server: Any, stamp: ServerStamp
) -> None:
    async def answer(request: Any) -> bytes:
        return request.subject.encode() + b":" + request.payload

    async def run() -> None:
        async with serving(server, stamp, service(answer, account="A")):
            assert server.taps["svc"].account == "A"

            server.deliver("svc", (b"svc", b"inbox", b"", b"x"), (b"svc", b"", b"", b"y"))
            await turns()

    asyncio.run(run())

    assert server.published == [(1, (b"inbox", b"", b"", b"svc:x"))]
    assert server.taps == {}


def test_silence_is_no_answer(server: Any, stamp: ServerStamp) -> None:
    async def keep_silent(_request: Any) -> None:
        return None

    async def run() -> None:
        async with serving(server, stamp, service(keep_silent)):
            server.deliver("svc", REQUEST)
            await turns()

    asyncio.run(run())

    assert server.published == []


def test_who_fails_is_answered_for_and_logged(server: Any, stamp: ServerStamp) -> None:
    async def fail(_request: Any) -> bytes:
        raise ValueError("secret detail")

    async def run() -> tuple[int, int, int]:
        async with serving(server, stamp, service(fail)) as actor:
            server.deliver("svc", REQUEST)
            await turns()
            counts: tuple[int, int, int] = await actor.ask(SystemServices.Describe(), block=False)
            return counts

    assert asyncio.run(run()) == (1, 0, 1)
    answer = json.loads(server.published[0][1][3])
    assert answer["error"]["code"] == 500
    assert "secret" not in answer["error"]["description"]
    assert server.log.calls[0].args == ("Service {component} failed",)


def test_who_never_answers_is_answered_for(
    server: Any, stamp: ServerStamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_services, "ANSWER_TIMEOUT_S", 0)

    async def wait(_request: Any) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""

    async def run() -> None:
        async with serving(server, stamp, service(wait)):
            server.deliver("svc", REQUEST)
            await turns()

    asyncio.run(run())

    assert json.loads(server.published[0][1][3])["error"]["code"] == 503


def test_requests_wait_for_their_turn_and_all_are_answered(server: Any, stamp: ServerStamp) -> None:
    at_once = most = 0
    gate = asyncio.Event()

    async def answer(_request: Any) -> bytes:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await gate.wait()
        at_once -= 1
        return b"ok"

    async def run() -> tuple[int, int, int]:
        async with serving(server, stamp, service(answer)) as actor:
            server.deliver("svc", *[REQUEST] * 5_000)
            await turns()
            gate.set()
            while len(server.published) < 5_000:
                await turns()
            counts: tuple[int, int, int] = await actor.ask(SystemServices.Describe(), block=False)
            return counts

    assert asyncio.run(run()) == (5_000, 0, 0)
    assert most == ANSWERS_AT_ONCE_EACH


def test_a_flood_is_bounded_dropped_and_counted(
    server: Any, stamp: ServerStamp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_services, "REQUESTS_WAITING_MAX", 100)

    async def answer(_request: Any) -> bytes:
        return b"ok"

    async def run() -> tuple[int, int, int]:
        async with serving(server, stamp, service(answer)) as actor:
            server.deliver("svc", *[REQUEST] * 500)
            while len(server.published) < 100:
                await turns()
            counts: tuple[int, int, int] = await actor.ask(SystemServices.Describe(), block=False)
            return counts

    assert asyncio.run(run()) == (100, 400, 0)
    assert server.log.calls[0].args == ("Requests dropped: too many wait for {component}",)


def test_other_services_take_the_place_of_those_before(server: Any, stamp: ServerStamp) -> None:
    async def answer(_request: Any) -> bytes:
        return b"ok"

    async def run() -> None:
        async with serving(server, stamp, service(answer)) as actor:
            other = service(answer, subject="other")
            actor.tell(SystemServices.Serve([other, service(answer, account="nobody")]))
            await turns()

            assert list(server.taps) == ["other"]

    asyncio.run(run())

    assert server.log.calls[0].kwargs["account"] == "nobody"


def test_without_a_system_account_there_are_no_system_services(
    make_server: Any, stamp: ServerStamp
) -> None:
    server = make_server(system_account="")
    alone = type(stamp)(server, traits=lambda: stamp.traits, wall_ns=stamp.wall_ns)

    async def answer(_request: Any) -> bytes:
        return b"ok"

    async def run() -> None:
        async with serving(server, alone, service(answer)):
            assert server.taps == {}

    asyncio.run(run())
