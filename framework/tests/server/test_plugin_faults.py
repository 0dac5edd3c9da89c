"""A plugin's fault is the plugin's: the message names the plugin, what failed, and the line."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from framework.cli import main
from framework.errors import PluginError
from framework.testing.embedded import embedded_server

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.pytest_plugin import StartServer

HEAD = """
import asyncio
from framework.actors import Component, Supervision, Reply
from framework.hookspecs import hookimpl
from framework.spec import *

class Actor(Component):
    def __init__(self, *, color=""):
        super().__init__()

    def on_receive(self, message):
        raise ValueError("no luck")

class Unready(Actor):
    def on_start(self):
        raise ValueError("no luck")  # HERE

"""

REFUSED = {
    "a tap without a subject": (
        """
@hookimpl
def framework_taps(server):
    return [TapSpec(name="t", subject="a..b", receive=print)]  # HERE
""",
        "framework_taps failed: ValueError: tap t: subject: expected a subject, found 'a..b'",
    ),
    "refused addresses that are none": (
        """
@hookimpl
def framework_refused_addresses(server):
    return [RefusedAddresses(name="r", ranges=["10.0.0.0/8", "10.0.0.0/33"])]  # HERE
""",
        "ValueError: refused addresses r: ranges: '10.0.0.0/33' does not appear to be",
    ),
    "a tap that is async": (
        """
async def receive(batch): ...

@hookimpl
def framework_taps(server):
    return [TapSpec(name="t", subject="a", receive=receive)]  # HERE
""",
        "framework_taps failed: ValueError: tap t: receive: expected a function, found `async def`",
    ),
    "a tap in no account": (
        """
@hookimpl
def framework_taps(server):  # HERE -1
    return [TapSpec(name="t", subject="a", receive=print, account="NO")]
""",
        "tap t failed: LookupError: unknown account NO",
    ),
    "a port that takes nothing": (
        """
@hookimpl
def framework_ports(server):
    return [PortSpec(name="p", start=print, stop=print, bytes_max=0)]  # HERE
""",
        "framework_ports failed: ValueError: port p: bytes_max: expected above 0, found 0",
    ),
    "a port whose thread can't start": (
        """
def start(port):
    port.subscribe(0, b"a b", tag=1)  # HERE

@hookimpl
def framework_ports(server):
    return [PortSpec(name="p", start=start, stop=print)]
""",
        "port p failed: ValueError: a subject, a reply, a queue group or an inbox that can't stand",
    ),
    "a port that never gets ready": (
        """
async def bring_back():
    return {}["messages"]  # HERE

@hookimpl
def framework_ports(server):
    return [PortSpec(name="p", start=lambda port: bring_back(), stop=lambda: None)]
""",
        "port p failed: KeyError: 'messages'",
    ),
    "a factory that raises": (
        """
def factory(server):
    return {}["color"]  # HERE

@hookimpl
def framework_components(server):
    return [ComponentSpec(name="c", factory=factory)]
""",
        "component c failed: KeyError: 'color'",
    ),
    "a factory that returns something else": (
        """
def factory(server):  # HERE
    return Actor

@hookimpl
def framework_components(server):
    return [ComponentSpec(name="c", factory=factory)]
""",
        "component c: its factory must return (actor class, its arguments), not <class",
    ),
    "a module that is not there": (
        """
@hookimpl
def framework_components(server):
    spec = ComponentSpec(name="c", factory=lambda _: (Actor, {}), imports=("no.such.module",))
    return [spec]
""",
        "component c: no.such.module failed: ModuleNotFoundError: No module named 'no'",
    ),
    "wrong collaborators": (
        """
@hookimpl
def framework_components(server):
    return [ComponentSpec(name="c", factory=lambda _: (Actor, {"colour": "red"}))]
""",
        "component c: Actor failed: TypeError: Actor.__init__() got an unexpected keyword argument",
    ),
    "an actor that fails in on_start": (
        """
@hookimpl
def framework_components(server):
    return [ComponentSpec(name="c", factory=lambda _: (Unready, {}))]
""",
        "component c: on_start failed: ValueError: no luck",
    ),
    "a notice that is async": (
        """
@hookimpl
async def framework_connection_opened(server, connection): ...  # HERE -1
""",
        "framework_connection_opened is `async def`, and hooks are not awaited",
    ),
    "an endpoint without a slash": (
        """
async def answer(query): ...

@hookimpl
def framework_monitor_endpoints(server):
    return [MonitorEndpoint(path="auditz", answer=answer)]  # HERE
""",
        "ValueError: endpoint auditz: path: expected a leading /, found 'auditz'",
    ),
    "an assertion of an option": (
        """
from framework.topology import ConfigSection, Kind, Option

@hookimpl
def framework_config_sections():
    yield ConfigSection(name="x", options=(Option(name="X", kind=Kind.INT, help="y"),))  # HERE
""",
        "framework_config_sections failed: ",
    ),
}


def marked_line(source: str) -> int:
    """Return the number of the line that `# HERE` marks; `# HERE -1` means the one above."""
    for number, line in enumerate(source.splitlines(), 1):
        if found := re.search(r"# HERE ?(-?\d*)$", line):
            return number + int(found[1] or 0)
    return 0


async def start_with(folder: Path, source: str) -> None:
    plugin = folder / "mine.py"
    plugin.write_text(source)
    async with embedded_server(folder, plugins=(str(plugin),)):
        pass


@pytest.mark.parametrize(("body", "text"), REFUSED.values(), ids=REFUSED)
def test_what_refuses_the_start_names_plugin_place_and_problem(
    tmp_path: Path, body: str, text: str
) -> None:
    source = HEAD.replace("# HERE", "# HERE" if "Unready" in body else "") + body
    with pytest.raises(PluginError) as caught:
        asyncio.run(start_with(tmp_path, source))

    line = marked_line(source)
    assert text in str(caught.value)
    assert caught.value.plugin == "mine"
    assert not line or caught.value.origin == f"{tmp_path / 'mine.py'}:{line}"


WHILE_IT_RUNS = {
    "a notice": (
        """
@hookimpl
def framework_connection_opened(server, connection):
    raise ValueError("no luck")  # HERE
""",
        "Plugin mine failed in framework_connection_opened ({place}): ValueError('no luck')",
    ),
    "a tap": (
        """
def receive(batch):
    1 / 0  # HERE

@hookimpl
def framework_taps(server):
    return [TapSpec(name="t", subject="a", receive=receive)]
""",
        "Plugin mine failed in tap t ({place}): ZeroDivisionError('division by zero')",
    ),
    "a tap that was added later": (
        """
def receive(batch):
    1 / 0  # HERE

@hookimpl
def framework_server_started(server):
    server.add_tap(TapSpec(name="t", subject="a", receive=receive))
""",
        "Plugin mine failed in tap t ({place}): ZeroDivisionError('division by zero')",
    ),
    "an authenticator that returns its answer": (
        """
def authenticate(request):  # HERE
    return Accepted(user="joe")

@hookimpl
def framework_authenticators(server):
    return [Authenticator(name="a", authenticate=authenticate)]
""",
        (
            "Plugin mine failed in authenticator a ({place}): authenticator a must return a Reply, "
            "not Accepted"
        ),
    ),
    "an authenticator that answers nonsense": (
        """
def authenticate(request):
    reply = Reply()
    reply.set(True)
    return reply

@hookimpl
def framework_authenticators(server):
    return [Authenticator(name="a", authenticate=authenticate)]
""",
        "Authenticator a of plugin mine failed error=answered with bool",
    ),
    "a task": (
        """
async def work():
    raise ValueError("no luck")  # HERE

@hookimpl
def framework_connection_opened(server, connection):
    asyncio.ensure_future(work())
""",
        "Plugin mine failed in a task ({place}) error=ValueError('no luck')",
    ),
    "an actor, for good": (
        """
@hookimpl
def framework_components(server):
    few = Supervision(restarts_max=0)
    return [ComponentSpec(name="c", factory=lambda _: (Fails, {}), supervision=few)]

class Fails(Actor):
    def on_receive(self, message):
        raise ValueError("no luck")  # HERE

@hookimpl
def framework_connection_opened(server, connection):
    server.component("c").tell("hello")
""",
        "A component failed for good: plugin mine ({place}): component c failed: ValueError",
    ),
}


@pytest.mark.parametrize(("body", "text"), WHILE_IT_RUNS.values(), ids=WHILE_IT_RUNS)
def test_what_fails_while_it_runs_names_plugin_place_and_problem(
    start_server: StartServer, tmp_path: Path, body: str, text: str
) -> None:
    source = HEAD.replace("# HERE", "") + body
    plugin = tmp_path / "mine.py"
    plugin.write_text(source)
    server = start_server("--plugin", str(plugin))
    with server.client() as client:
        client.send(b'CONNECT {"verbose":false}\r\nSUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n')
        place = f"{plugin}:{marked_line(source)}"
        server.wait_log(re.escape(text.format(place=place)))

    assert "please report" not in server.log()
    if "for good" in text:
        assert server.wait() == 1


COMMAND = """
from framework.hookspecs import hookimpl
from framework.topology import ConfigSection, Kind, Option

def check(value):
    return {}["color"]  # HERE

@hookimpl
def framework_config_sections():
    option = Option(name="x", kind=Kind.STRING, help="y", check=check)
    yield ConfigSection(name="block", help="z", options=(option,))

@hookimpl
def framework_add_commands(cli):
    cli.add_command("fail", check, help="fail")
    cli.add_command("say", lambda _: "done", help="say something")
"""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["serve", "-t", "-c", "it.conf"], "({place}): failed: KeyError: 'color'"),
        (["check", "it.conf"], "({place}): failed: KeyError: 'color'"),
        (["run", "it.conf"], "({place}): failed: KeyError: 'color'"),
        (["mine", "fail"], "({place}): failed: KeyError: 'color'"),
        (["mine", "say"], ": a command returned 'done'; return an exit status"),
    ],
    ids=" ".join,
)
def test_a_command_says_whose_fault_it_is_and_ends_with_1(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(COMMAND)
    (tmp_path / "it.conf").write_text("block { x: y }")
    plugin = tmp_path / "mine.py"

    assert main(["--plugin", str(plugin), *words]) == 1
    place = f"{plugin}:{marked_line(COMMAND)}"
    error = capsys.readouterr().err
    assert f"plugin mine{'' if text[0] == ':' else ' '}{text.format(place=place)}" in error
    assert "internal error" not in error


def test_a_start_that_a_plugin_refuses_ends_with_1_in_one_line(tmp_path: Path) -> None:
    body, _ = REFUSED["an actor that fails in on_start"]
    plugin = tmp_path / "mine.py"
    plugin.write_text(HEAD + body)
    command = [sys.executable, "-m", "framework", "serve", "-p", "-1", "--plugin", str(plugin)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    place = f"{plugin}:{marked_line(HEAD)}"
    assert done.returncode == 1
    assert (
        f"plugin mine ({place}): component c: on_start failed: ValueError: no luck" in done.stderr
    )
