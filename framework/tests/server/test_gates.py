"""Gates of plugins in whole servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import await_answer

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import ServerProcess, StartServer

PLUGIN = """
import threading

from framework import hookimpl
from framework.spec import PASS, Rewrite, Delay, GateSpec, Refuse

hang = threading.Event()


def decide(batch):
    return [verdict(bytes(batch.payload(at))) for at in range(len(batch))]


def verdict(payload):
    if payload == b"raise":
        raise ZeroDivisionError("no luck")  # HERE
    if payload == b"hang":
        hang.wait()
    return {
        b"no": Refuse(error="not today"),
        b"status": Refuse(status=422, description="Unfit"),
        b"secret": Rewrite(payload=b"******"),
        b"later": Delay(0.05),
        b"other": Rewrite(subject="elsewhere"),
        b"nonsense": 7,
    }.get(payload, PASS)


@hookimpl
def framework_gates(server):
    yield GateSpec(name="closed", subject="a.>", decide=decide, time_limit_s=TIME_LIMIT)
    yield GateSpec(name="open", subject="b.>", decide=decide, is_open=True, time_limit_s=TIME_LIMIT)
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN.replace("TIME_LIMIT", "20.0"))
    return path


def gate(server: ServerProcess, name: str) -> dict[str, Any]:
    plugins = server.document("/pluginz")["plugins"]
    (found,) = [it for plugin in plugins for it in plugin["gates"] if it["name"] == name]
    return found


def heard(server: ServerProcess, *publications: bytes, subject: bytes = b"a.b") -> list[bytes]:
    """Publish, then PING; return what came back until the PONG."""
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB > 1\r\n")
        client.flush()
        for payload in publications:
            client.send(b"PUB %b re %d\r\n%b\r\n" % (subject, len(payload), payload))
        return [it.line + b" " + (it.body or b"") for it in client.flush()]


def test_each_verdict_does_what_it_says(start_server: StartServer, plugin: Path) -> None:
    server = start_server("-m", "-1", "--plugin", str(plugin))
    said = heard(server, b"hi", b"no", b"status", b"later", b"secret", b"other", b"end")

    assert said == [
        b"MSG a.b 1 re 2 hi",
        b"-ERR 'Permissions Violation for Publish to \"a.b\": not today' ",
        b"HMSG re 1 22 22 NATS/1.0 422 Unfit\r\n\r\n",
        b"MSG a.b 1 re 5 later",
        b"MSG a.b 1 re 6 ******",
        b"MSG elsewhere 1 re 5 other",
        b"MSG a.b 1 re 3 end",
    ]
    shown = gate(server, "closed")
    assert (shown["subject"], shown["without_verdict"], shown["time_limit"]) == (
        "a.>",
        "refuse",
        "20s",
    )
    figures = [shown[it] for it in ("messages", "passed", "delayed", "changed", "refused")]
    assert figures == [7, 3, 1, 2, 2]


@pytest.mark.parametrize("payload", [b"raise", b"nonsense"])
def test_a_gate_that_fails_is_named_and_its_policy_holds(
    start_server: StartServer, plugin: Path, payload: bytes
) -> None:
    server = start_server("-m", "-1", "--plugin", str(plugin))

    assert heard(server, payload) == [
        b"-ERR 'Permissions Violation for Publish to \"a.b\": undecided' "
    ]
    assert heard(server, payload, subject=b"b.c") == [
        b"MSG b.c 1 re %d %b" % (len(payload), payload)
    ]
    server.wait_log("Gate closed of plugin mine has failed: what has no verdict is refused")
    server.wait_log("Gate open of plugin mine has failed: what has no verdict passes")
    server.wait_log("mine.py:16" if payload == b"raise" else "a verdict is a Pass")
    assert (gate(server, "closed")["failed"], gate(server, "open")["failed"]) == (1, 1)
    assert heard(server, b"hi") == [b"MSG a.b 1 re 2 hi"]


def test_a_gate_that_hangs_holds_up_nobody_else_and_no_stop(
    start_server: StartServer, plugin: Path
) -> None:
    plugin.write_text(PLUGIN.replace("TIME_LIMIT", "0.2"))
    server = start_server("-m", "-1", "--plugin", str(plugin))
    with server.client() as client:
        client.log_in()
        client.flush()
        client.send(b"PUB a.b 4\r\nhang\r\n")

        assert heard(server, b"hi", subject=b"c") == [b"MSG c 1 re 2 hi"]
        refused = client.flush()
    assert [b"undecided" in it.line for it in refused] == [True]
    server.wait_log("Gate closed of plugin mine has not answered in time")
    state = await_answer(server, lambda: gate(server, "closed"), lambda it: it["expired"] == 1)
    assert state["waiting_bytes"] == 0
    assert heard(server, b"hi")[0].endswith(b"undecided' ")
    server.stop()


def test_what_a_client_says_before_it_leaves_still_comes(
    start_server: StartServer, plugin: Path
) -> None:
    server = start_server("-m", "-1", "--plugin", str(plugin))
    with server.client() as hears:
        hears.log_in()
        hears.send(b"SUB > 1\r\n")
        hears.flush()
        with server.client() as client:
            client.log_in()
            client.send(b"PUB a.b 5\r\nlater\r\n" + b"PUB a.b 2\r\nhi\r\n" * 100)
        lines = [hears.read().body for _ in range(101)]

    assert lines == [b"later"] + [b"hi"] * 100


FAULTS = """
import select
import threading

from framework import hookimpl
from framework.spec import PASS, GateSpec, PortSpec, Refuse, Rewrite

threads = []


def serve(port):
    while not port.has_ended:
        select.select([port], [], [])
        while batch := port.take():
            payload = bytes(batch.payload(0))
            if payload == b"die":
                return
            if payload == b"stop":
                threading.Event().wait()
            if payload != b"let go":
                few = payload == b"few"
                port.decide(batch, bytes(1) if few else [PASS] * len(batch))


def decide(batch):
    payload = bytes(batch.payload(0))
    if payload == b"few":
        return []
    if payload == b"many":
        return [PASS] * (len(batch) + 1)
    if payload == b"elsewhere":
        return [Rewrite(subject="$SYS.REQ.SERVER.PING")] * len(batch)
    return [PASS] * len(batch)


@hookimpl
def framework_ports(server):
    def start(port):
        threads.append(threading.Thread(target=serve, args=(port,), daemon=True))
        threads[0].start()

    yield PortSpec(name="mine", start=start, stop=lambda: None)


@hookimpl
def framework_gates(server):
    yield GateSpec(name="python", subject="python", decide=decide, time_limit_s=0.3)
    yield GateSpec(name="port", subject="port", port="mine", time_limit_s=0.3)
    yield GateSpec(name="other", subject="other", decide=lambda batch: [PASS] * len(batch))
"""


@pytest.mark.parametrize(
    ("name", "payload", "logged"),
    [
        ("python", b"few", "0 verdicts for 1 messages"),
        ("python", b"many", "2 verdicts for 1 messages"),
        ("python", b"elsewhere", "Gate python of plugin faults has changed a subject to one"),
        ("port", b"few", "Gate port of plugin faults has too few verdicts"),
        ("port", b"let go", "Gate port of plugin faults has failed"),
        ("port", b"die", "Gate port of plugin faults has failed"),
        ("port", b"stop", "Gate port of plugin faults has not answered in time"),
    ],
)
def test_what_a_gate_does_wrong_names_its_plugin_and_others_go_on(
    start_server: StartServer, tmp_path: Path, name: str, payload: bytes, logged: str
) -> None:
    plugin = tmp_path / "faults.py"
    plugin.write_text(FAULTS)
    user = "{ user: u, password: x, permissions: { publish: [python, port, other] } }"
    permissions = f"no_auth_user: u\nauthorization {{ users: [ {user} ] }}"
    flags = ("-m", "-1", "--plugin", str(plugin))
    server = start_server(*flags, config=permissions if name == "python" else None)
    (said,) = heard(server, payload, subject=name.encode())

    assert said.startswith(b"-ERR 'Permissions Violation for Publish to")
    server.wait_log(logged)
    assert "plugin faults" in server.log().lower()
    assert [b"MSG other 1 re 2 hi"] == heard(server, b"hi", subject=b"other")
    assert gate(server, name)["refused"] == 1
    server.stop()
    assert "Traceback" not in server.log()
