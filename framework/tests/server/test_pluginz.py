"""`/pluginz`: what plugins are called for, how long that takes, what fails and what is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.testing import await_answer

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

PLUGIN = """
from framework.actors import Component
from framework.hookspecs import hookimpl
from framework.spec import ComponentSpec, MonitorEndpoint, TapKind, TapSpec

__version__ = "3.1"
held = []

class Clumsy(Component):
    def on_receive(self, message):
        raise ValueError("no luck")

@hookimpl
def framework_components(server):
    yield ComponentSpec(name="clumsy", factory=lambda _: (Clumsy, {}))

@hookimpl
def framework_taps(server):
    receive = held.append
    yield TapSpec(name="hoard", subject="a", receive=receive, bytes_max=1, kind=TapKind.INGRESS)
    yield TapSpec(name="all", subject=">", receive=len)

@hookimpl
def framework_connection_opened(server, connection):
    server.component("clumsy").tell(connection)
    raise ValueError("no luck")

@hookimpl
def framework_monitor_endpoints(server):
    async def answer(query):
        return {}

    yield MonitorEndpoint(path="/minez", answer=answer)
"""


def mine(server: ServerProcess) -> dict[str, Any]:
    (found,) = [it for it in server.document("/pluginz")["plugins"] if it["name"] == "mine"]
    return found


def test_every_plugin_shows_what_it_was_called_for(
    start_server: StartServer, tmp_path: Path
) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    server = start_server("-m", "-1", "--plugin", str(plugin))
    server.document("/minez")
    with server.client() as client:
        client.log_in()
        for _ in range(3):
            client.send(b"PUB a 2\r\nhi\r\n")
            client.flush()
        # One batch is held, so the tap has no room for the second message, and says so at once.
        server.wait_log("Tap hoard drops messages: 1 bytes wait for it already")
        state = await_answer(
            server, lambda: mine(server), lambda it: it["components"][0]["failures"] == 1
        )

    called = {it["name"]: it for it in state["called"]}
    taps = {it["name"]: it for it in state["taps"]}
    assert (state["version"], state["origin"]) == ("3.1", str(plugin))
    assert "framework_taps" in state["hooks"]
    assert called["framework_connection_opened"]["failures"] == 1
    assert called["endpoint /minez"]["calls"] == 1
    assert called["tap all"]["calls"] == taps["all"]["batches"]
    assert (taps["all"]["messages"], taps["all"]["dropped"]) == (3, 0)
    assert (taps["all"]["kind"], taps["hoard"]["kind"]) == ("subscriber", "ingress")
    assert (taps["hoard"]["messages"], taps["hoard"]["dropped"]) == (1, 2)
    assert state["calls"] == sum(it["calls"] for it in state["called"])
    assert state["failures"] == 1
    assert state["components"] == [{"name": "clumsy", "waiting": 0, "failures": 1}]
    assert {"name", "calls", "failures", "time", "longest"} == set(called["tap all"])


def test_a_server_without_plugins_has_none(start_server: StartServer) -> None:
    server = start_server("-m", "-1", "--no-plugin", "auth", "--no-plugin", "route")

    names = {it["name"] for it in server.document("/pluginz")["plugins"]}
    assert names.isdisjoint({"auth", "route"})
