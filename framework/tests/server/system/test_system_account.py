from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from framework.spec import AccountPlan, AccountSpec, TapSpec
from framework.testing.embedded import client_port, embedded_server

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
from framework.hookspecs import hookimpl
from framework.spec import ServiceSpec

async def answer(request):
    return b"pong:" + request.payload

async def fail(request):
    raise ValueError("no")

@hookimpl
def framework_services(server):
    return [
        ServiceSpec(name="pong", subject="svc.ping.*", answer=answer, account="$G"),
        ServiceSpec(name="fails", subject="svc.fail", answer=fail, account="$G"),
    ]
"""


async def log_in(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b'CONNECT {"verbose":false}\r\nSUB in 1\r\nPING\r\n')
    while await reader.readline() != b"PONG\r\n":
        pass
    return reader, writer


async def ask(port: int, request: bytes) -> bytes:
    """Return the payload of the answer to a request."""
    reader, writer = await log_in(port)
    writer.write(request)
    head = await reader.readline()
    answer = (await reader.readexactly(int(head.split()[-1]) + 2))[:-2]
    writer.close()
    await writer.wait_closed()
    return answer


def test_a_plugin_answers_requests(tmp_path: Path) -> None:
    (tmp_path / "pinger.py").write_text(PLUGIN, "utf-8")

    async def run() -> tuple[bytes, bytes]:
        async with embedded_server(tmp_path, plugins=(str(tmp_path / "pinger.py"),)) as server:
            port = client_port(server)
            answer = await ask(port, b"PUB svc.ping.a in 2\r\nhi\r\n")
            return answer, await ask(port, b"PUB svc.fail in 0\r\n\r\n")

    answer, failure = asyncio.run(run())

    assert answer == b"pong:hi"
    assert json.loads(failure)["error"]["code"] == 500


def test_events_are_made_when_somebody_may_hear_them(tmp_path: Path) -> None:
    heard: list[tuple[bytes, Any]] = []

    async def run() -> None:
        async with embedded_server(tmp_path) as server:
            assembly: Any = server._running()
            system = assembly._system_account
            await assembly._bridge.confirm()

            assert not system._is_heard()

            came = asyncio.Event()

            def receive(batch: Any) -> None:
                for subject, _, _, payload in batch.detach():
                    heard.append((subject, json.loads(payload)))
                came.set()

            spec = TapSpec(
                name="t", account="$SYS", subject="$SYS.ACCOUNT.*.CONNECT", receive=receive
            )
            remove = assembly.context.add_tap(spec)
            await assembly._bridge.confirm()

            assert system._is_heard()

            _, writer = await log_in(client_port(server))
            async with asyncio.timeout(20):
                await came.wait()
            writer.close()
            await writer.wait_closed()
            remove()
            await assembly._bridge.confirm()

            assert not system._is_heard()

    asyncio.run(run())

    assert [subject for subject, _ in heard] == [b"$SYS.ACCOUNT.$G.CONNECT"]
    assert heard[0][1]["client"]["acc"] == "$G"


@pytest.mark.parametrize("plan", ["$SYS", "OPS"])
def test_another_account_becomes_the_system_account(tmp_path: Path, plan: str) -> None:
    async def run() -> set[str]:
        async with embedded_server(tmp_path) as server:
            assembly: Any = server._running()
            accounts = assembly.accounts
            accounts.replace(AccountPlan(accounts=(AccountSpec(name="OPS"),), system_account=plan))
            await assembly._turns_so_far()
            await assembly._bridge.confirm()
            return {tap.spec.account for tap in assembly._bridge._taps.values()}

    assert asyncio.run(run()) == {plan}
