"""What gates do, as client libraries and the nats CLI see it: errors of a message alone."""

from __future__ import annotations

import asyncio

import nats
import pytest

PLUGIN = """
from framework import hookimpl
from framework.spec import PASS, GateSpec, Refuse, Rewrite

VERDICTS = {
    b"no": Refuse(error="not today"),
    b"unfit": Refuse(status=422, description="Unfit"),
    b"secret": Rewrite(header=b"NATS/1.0\\r\\nseen: yes\\r\\n\\r\\n", payload=b"***"),
}


@hookimpl
def framework_gates(server):
    def decide(batch):
        return [VERDICTS.get(bytes(batch.payload(at)), PASS) for at in range(len(batch))]

    yield GateSpec(name="mine", subject="a.>", decide=decide)
"""


@pytest.fixture
def server(start_server, tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    return start_server("--plugin", str(plugin))


def test_nats_py_goes_on_after_a_refusal(server):
    errors = []

    async def note(error):
        errors.append(str(error))

    async def session():
        client = await nats.connect(server.url, error_cb=note, allow_reconnect=False)
        heard = await client.subscribe("a.*")
        for payload in (b"no", b"secret", b"hi"):
            await client.publish("a.b", payload)
        first, second = [await heard.next_msg(timeout=10) for _ in range(2)]
        answer = await client.request("a.c", b"unfit", timeout=10)
        await client.close()
        return (first.data, first.headers, second.data, answer.headers["Status"])

    assert asyncio.run(session()) == (b"***", {"seen": "yes"}, b"hi", "422")
    assert errors == ['nats: permissions violation for publish to "a.b": not today']


def test_the_cli_says_why(server, nats_cli):
    with pytest.raises(AssertionError, match="not today"):
        nats_cli.run(server.url, "pub", "a.b", "no")
    assert "422" in nats_cli.run(server.url, "req", "a.b", "unfit")
