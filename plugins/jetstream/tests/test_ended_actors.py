"""What streams and consumers leave behind when they are deleted."""

from __future__ import annotations

import asyncio
import gc
import json

from framework_jetstream.consumer.consumer import Consumer
from framework_jetstream.stream.stream import Stream

from framework.actors import Cell
from framework.testing.embedded import client_port, embedded_server


class Asker:
    """Asks the API in the loop of the server itself."""

    def __init__(self, port):
        self._port = port

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(b'CONNECT {"verbose":false}\r\nSUB answers 1\r\n')
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, subject, **document):
        payload = json.dumps(document).encode() if document else b""
        self._writer.write(f"PUB $JS.API.{subject} answers {len(payload)}\r\n".encode())
        self._writer.write(payload + b"\r\n")
        line = b""
        while not line.startswith(b"MSG"):
            line = await self._reader.readline()
        answer = await self._reader.readexactly(int(line.split()[-1]) + 2)
        assert "error" not in json.loads(answer)


def living():
    """Count actors that nobody has collected."""
    return sum(isinstance(thing, Stream | Consumer | Cell) for thing in gc.get_objects())


def test_deleted_streams_and_consumers_leave_nothing_to_the_collector(tmp_path):
    async def come_and_go(asker, name):
        await asker.ask(f"STREAM.CREATE.{name}", name=name, subjects=[f"{name}.>"])
        terms = {"name": "C", "durable_name": "C", "ack_policy": "explicit"}
        await asker.ask(f"CONSUMER.CREATE.{name}.C", stream_name=name, config=terms)
        await asker.ask(f"CONSUMER.DELETE.{name}.C")
        await asker.ask(f"STREAM.DELETE.{name}")

    async def run():
        config = f'jetstream {{ store_dir: "{tmp_path}/store" }}'
        async with (
            embedded_server(tmp_path, config, plugins=("jetstream",)) as server,
            Asker(client_port(server)) as asker,
        ):
            await come_and_go(asker, "first")
            gc.collect()
            before = living()
            gc.disable()
            try:
                for at in range(5):
                    await come_and_go(asker, f"S{at}")
                await asker.ask("INFO")
                return living() - before
            finally:
                gc.enable()

    assert asyncio.run(run()) == 0
