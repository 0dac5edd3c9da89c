"""Contract tests that every plugin passes, to inherit from.

from framework.testing.contract import CodecContract, PluginContract

class TestContract(PluginContract):
    PLUGIN = "audit"
    CONFIG = "audit { subject: 'orders.>' }"

class TestCodec(CodecContract):
    CODEC = Codec("brotli", new_encoder=new_encoder, new_decoder=new_decoder)
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest

from framework.dataplane.sink import PORT_BYTES_MAX
from framework.plugins import PluginRegistry
from framework.spec import Codec
from framework.testing.client import RawClient
from framework.testing.embedded import client_port, embedded_server
from framework.topology import CORE_SECTION, ConfigSection, Option

_DAMAGES = 400
_LOOKS_MAX = 1_000
_LOOK_S = 0.01
_ROUND = 16
"""Requests that are sent before their answers are read."""
_JSON = b'{"orderid":12345,"customer":"c-77","items":[{"sku":"A-1","qty":2,"price":12.5}]}' * 4


class PluginContract:
    """Tests of one plugin; a class that inherits them says which.

    Each test loads the plugin alone: what it cannot do without, it must bring.
    """

    PLUGIN: ClassVar[str]
    """Name of its entry point."""
    CONFIG: ClassVar[str] = ""
    """Configuration that puts it to work, in nats-server's language."""
    LOGIN: ClassVar[Mapping[str, str]] = {}
    """Fields of CONNECT that let a client in when it is at work."""

    def test_it_is_installed_once(self) -> None:
        """One distribution, whatever its name, offers it, from a package of its own."""
        (point,) = importlib.metadata.entry_points(group="framework", name=self.PLUGIN)

        assert point.dist is not None
        assert point.module.partition(".")[0] != "framework", "that package is the server's own"

    def test_it_loads_with_every_other_plugin_absent(self) -> None:
        """It imports no other plugin, and all hooks that it implements exist."""
        (plugin,) = self._load().plugins

        assert plugin.name == self.PLUGIN
        assert plugin.hooks

    def test_it_loads_twice_in_one_process(self) -> None:
        """Two registries have nothing in common."""
        first, second = self._load(), self._load()

        assert first.plugins == second.plugins

    def test_its_sections_are_documented(self) -> None:
        """Each block and each option says what it is for, in one line."""
        for section in self._load().config_sections():
            assert section.help, f"the section {section.name} has no help"
            for path, option in _options(section):
                assert option.help, f"{path} has no help"
                assert "\n" not in option.help, f"the help of {path} is more than a line"

    def test_its_blocks_take_no_name_of_the_core(self) -> None:
        """What the core owns at the top level stays the core's."""
        core = {name for option in CORE_SECTION.options for name in option.names}
        for section in self._load().config_sections():
            assert core.isdisjoint({section.name, *section.aliases})

    def test_a_server_starts_without_being_told_of_it(self, tmp_path: Path) -> None:
        """All its options have defaults, and it keeps out of the way."""
        self._serve(tmp_path, config="", login={})

    def test_a_server_starts_and_stops_with_it_at_work(self, tmp_path: Path) -> None:
        """Clients are served, and nothing stays behind."""
        self._serve(tmp_path, config=self.CONFIG, login=self.LOGIN)

    def test_a_server_starts_again_after_it_stopped(self, tmp_path: Path) -> None:
        """Nothing of the first is in the way of the second."""
        for _ in range(2):
            self._serve(tmp_path, config=self.CONFIG, login=self.LOGIN)

    def test_stopping_twice_is_stopping_once(self, tmp_path: Path) -> None:
        """The second time nothing happens."""

        async def run() -> None:
            async with embedded_server(tmp_path, self.CONFIG, plugins=(self.PLUGIN,)) as server:
                await server.stop()
                await server.stop()

        asyncio.run(run())

    def test_two_servers_in_one_process_do_not_see_each_other(self, tmp_path: Path) -> None:
        """A message to one does not come to a subscriber of the other."""

        async def run() -> None:
            folders = [tmp_path / name for name in ("one", "other")]
            for folder in folders:
                folder.mkdir()
            plugins = (self.PLUGIN,)
            async with (
                embedded_server(folders[0], self.CONFIG, plugins=plugins) as one,
                embedded_server(folders[1], self.CONFIG, plugins=plugins) as other,
            ):
                ports = (client_port(one), client_port(other))
                await asyncio.to_thread(_check_apart, *ports, self.LOGIN)

        asyncio.run(run())

    def _load(self) -> PluginRegistry:
        return PluginRegistry.load([self.PLUGIN], installed=False)

    def _serve(self, folder: Path, config: str, login: Mapping[str, str]) -> None:
        """Start, serve a client, stop, and look for what was left."""

        async def run() -> set[asyncio.Task[object]]:
            before = asyncio.all_tasks()
            async with embedded_server(folder, config, plugins=(self.PLUGIN,)) as server:
                await asyncio.to_thread(_check_service, client_port(server), login)
            await asyncio.get_running_loop().shutdown_default_executor()
            return asyncio.all_tasks() - before

        threads = set(threading.enumerate())

        assert asyncio.run(run()) == set(), "tasks were left"
        left = set(threading.enumerate()) - threads
        for thread in left:  # one that has done its work may not have ended
            thread.join(_LOOKS_MAX * _LOOK_S)
        assert not any(thread.is_alive() for thread in left), "threads were left"


class PortContract(PluginContract):
    """Tests of a plugin with a port that answers requests; a class that inherits them says which.

    What it takes it lets go of, so more than the port may ever hold passes; its threads, those of
    compiled code as well, end with the server, also in the midst of work.
    """

    REQUEST: ClassVar[bytes]
    """A subject on which it answers each request, once, of a client that logs in by `LOGIN`."""
    PAYLOAD_BYTES: ClassVar[int] = 65_536
    """Of the requests; at least 1."""

    def test_it_lets_go_of_what_it_has_taken(self, tmp_path: Path) -> None:
        """More requests are answered than fit into what the port may hold."""
        self._with_server(tmp_path, self._ask_much)

    def test_what_it_has_no_room_for_stops_nobody(self, tmp_path: Path) -> None:
        """A client that sends more than the port may hold, and waits for nothing, is served."""
        self._with_server(tmp_path, self._flood)

    def test_its_threads_end_with_the_server(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Those that Python does not know, too; the server waits for none of them in vain."""
        folder = Path("/proc/self/task")
        if not folder.is_dir():
            pytest.skip("this system does not show its threads")
        # The first server starts what stays, as the pool of the event loop's threads.
        self._with_server(tmp_path, self._flood)
        before = len(list(folder.iterdir()))
        self._with_server(tmp_path, self._flood)

        # The kernel shows a thread for a moment after it was joined.
        looks = 0
        while len(list(folder.iterdir())) > before:
            looks += 1
            assert looks < _LOOKS_MAX, "threads were left"
            time.sleep(_LOOK_S)
        assert "did not stop in time" not in capfd.readouterr().err

    def _with_server(self, folder: Path, use: Callable[[RawClient], None]) -> None:
        """Let a client of a server with the plugin do something, and stop the server."""

        def connect(port: int) -> None:
            with RawClient(port) as client:
                client.log_in(**self.LOGIN, headers=True, no_responders=True)
                use(client)

        async def run() -> None:
            async with embedded_server(folder, self.CONFIG, plugins=(self.PLUGIN,)) as server:
                await asyncio.to_thread(connect, client_port(server))
            await asyncio.get_running_loop().shutdown_default_executor()

        asyncio.run(run())

    def _ask_much(self, client: RawClient) -> None:
        client.send(b"SUB answers 1\r\n")
        for _ in range(2 * PORT_BYTES_MAX // (_ROUND * self.PAYLOAD_BYTES) + 1):
            client.send(self._request(b"answers") * _ROUND)
            answers: list[bytes] = []
            while len(answers) < _ROUND:
                body = client.read().body
                answers += [] if body is None else [body]

            assert not any(it.startswith(b"NATS/1.0 503") for it in answers)

    def _flood(self, client: RawClient) -> None:
        for _ in range(2 * PORT_BYTES_MAX // (_ROUND * self.PAYLOAD_BYTES) + 1):
            client.send(self._request(b"nobody.listens") * _ROUND)
        client.send(b"SUB contract 1\r\nPUB contract 2\r\nok\r\n")

        assert client.read_until(b"MSG")[-1].body == b"ok"

    def _request(self, reply: bytes) -> bytes:
        payload = bytes(self.PAYLOAD_BYTES)
        return b"PUB %b %b %d\r\n%b\r\n" % (self.REQUEST, reply, len(payload), payload)


class CodecContract:
    """Tests of one codec; a class that inherits them says which."""

    CODEC: ClassVar[Codec]

    def test_what_is_encoded_is_decoded(self) -> None:
        """Frame after frame, whatever is in them."""
        random = Random(1)
        encode, decode = self.CODEC.new_encoder(), self.CODEC.new_decoder()
        for length in (1, 5, 1_000, 256 * 1024):
            for plain in (bytes(length), random.randbytes(length), (_JSON * length)[:length]):
                into = memoryview(bytearray(length))

                assert decode(memoryview(encode(memoryview(plain))), into) == length
                assert into == plain

    def test_two_links_know_nothing_of_each_other(self) -> None:
        """What one has encoded, the decoder of the other does not wait for."""
        self.CODEC.new_encoder()(memoryview(_JSON))
        self.test_what_is_encoded_is_decoded()

    def test_it_makes_less_of_what_repeats(self) -> None:
        """A hundred messages that are alike come out shorter than they went in."""
        plain = _JSON * 100

        assert len(memoryview(self.CODEC.new_encoder()(memoryview(plain)))) < len(plain)

    def test_a_bomb_stays_within_its_buffer(self) -> None:
        """No more is decoded than was announced; that it was more is said, or shows."""
        encoded = memoryview(self.CODEC.new_encoder()(memoryview(_JSON * 20)))
        room = bytearray(len(_JSON) + 100)
        with contextlib.suppress(Exception):
            self.CODEC.new_decoder()(encoded, memoryview(room)[: len(_JSON)])

        assert room[len(_JSON) :] == bytes(100)

    def test_garbage_is_refused_or_becomes_something_else(self) -> None:
        """It raises, or says how much it wrote; checksums are the server's business."""
        random = Random(2)
        encoded = bytes(self.CODEC.new_encoder()(memoryview(_JSON)))
        into = memoryview(bytearray(len(_JSON)))
        for _ in range(_DAMAGES):
            bad = bytearray(encoded)
            bad[random.randrange(len(bad))] ^= random.randrange(1, 256)
            part = memoryview(bad)[: random.randrange(1, len(bad) + 1)]
            try:
                written = self.CODEC.new_decoder()(part, into)
            except Exception:  # noqa: BLE001 - a codec raises whatever it likes
                continue

            assert 0 <= written <= len(into)


def _options(section: ConfigSection) -> Iterable[tuple[str, Option]]:
    """Yield each option of a section, and those inside its blocks, with its path."""
    waiting = [(f"{section.name}.{option.name}", option) for option in section.options]
    waiting += [(option.name, option) for option in section.top]
    while waiting:
        path, option = waiting.pop()
        yield path, option
        waiting += [(f"{path}.{inner.name}", inner) for inner in option.options]


def _check_service(port: int, login: Mapping[str, str]) -> None:
    with RawClient(port) as client:
        client.log_in(**login)
        client.send(b"SUB contract 1\r\nPUB contract 2\r\nok\r\n")

        assert [message.body for message in client.messages()] == [b"ok"]


def _check_apart(one: int, other: int, login: Mapping[str, str]) -> None:
    with RawClient(one) as publisher, RawClient(other) as subscriber:
        for client in (publisher, subscriber):
            client.log_in(**login)
        subscriber.send(b"SUB contract 1\r\n")
        subscriber.flush()
        publisher.send(b"PUB contract 2\r\nno\r\n")
        publisher.flush()

        assert subscriber.messages() == []
