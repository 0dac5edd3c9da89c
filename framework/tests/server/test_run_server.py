"""Servers in processes of their own: start, files, signals, exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess


def get(server: ServerProcess, path: str) -> Any:
    url = f"http://127.0.0.1:{server.monitor_port}{path}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def connect(server: ServerProcess) -> tuple[socket.socket, dict[str, Any]]:
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    return sock, read_info(sock)


def read_info(sock: socket.socket) -> dict[str, Any]:
    line = b""
    while not line.endswith(b"\r\n"):
        line += sock.recv(1)
    assert line.startswith(b"INFO ")
    document: dict[str, Any] = json.loads(line[5:])
    return document


def read_all(sock: socket.socket) -> bytes:
    data = b""
    while piece := sock.recv(4_096):
        data += piece
    return data


def login(sock: socket.socket) -> None:
    sock.sendall(b'CONNECT {"verbose":false,"protocol":1,"name":"me"}\r\nPING\r\n')
    assert sock.recv(6) == b"PONG\r\n"
    assert read_info(sock)["connect_info"] is True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_signals_that_stop(start_server: StartServer, number: signal.Signals) -> None:
    server = start_server("-D")
    sock, _ = connect(server)
    with sock:
        login(sock)
        server.signal(number)

        assert server.wait() == 0
        assert read_all(sock) in {b"", b"-ERR 'Server Shutdown'\r\n"}
    log = server.log()
    assert "Initiating Shutdown..." in log
    assert "Client connection closed: Server Shutdown" in log
    assert log.endswith("Server Exiting..")


STOPPED_WITH_ALL = """
port: -1
http: "127.0.0.1:-1"
cluster { name: c, listen: "127.0.0.1:-1" }
accounts { $SYS { users: [{user: sys, password: s}] } }
"""


def test_clients_are_closed_when_all_else_is_told_and_closed(start_server: StartServer) -> None:
    server = start_server(config=STOPPED_WITH_ALL)
    with server.client() as client:
        client.log_in(user="sys", **{"pass": "s"})
        client.send(b"SUB $SYS.SERVER.*.SHUTDOWN 1\r\n")
        client.flush()
        server.signal(signal.SIGTERM)

        *_, last = client.read_to_end()
        assert last.subject.endswith(b".SHUTDOWN")
        for port in (server.port, server.cluster_port, server.monitor_port):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
    assert server.wait() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_who_hears_the_end_finds_the_process_gone(start_server: StartServer) -> None:
    server = start_server("-D")
    memory = Path(f"/proc/{server.pid}/statm")
    sock, _ = connect(server)
    with sock:
        login(sock)
        server.signal(signal.SIGTERM)
        read_all(sock)

        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            assert memory.read_text().split()[:2] == ["0", "0"]  # freed, which takes the longest
    assert server.wait() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_there_is_room_for_descriptors_from_the_start(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEWORK_COLD_STARTS", "1")  # the limit is that of who starts it
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1_024, soft), hard))
    try:
        server = start_server()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    status = Path(f"/proc/{server.pid}/status").read_text()
    assert int(status.split("FDSize:")[1].split()[0]) >= min(hard, 65_536)


SIGNALLING = """
import os, signal, threading
from framework.hookspecs import hookimpl

def send_without_end():
    while True:
        os.kill(os.getpid(), signal.SIGTERM)

@hookimpl
def framework_server_started(server):
    threading.Thread(target=send_without_end, daemon=True).start()
"""


def test_signals_change_no_exit_code_whichever_thread_they_reach(
    start_server: StartServer, tmp_path: Path
) -> None:
    plugin = tmp_path / "signalling.py"
    plugin.write_text(SIGNALLING)
    server = start_server("-plugin", str(plugin))

    assert server.wait() == 0
    assert server.log().endswith("Server Exiting..")


LINGERING = """
import threading
from framework.hookspecs import hookimpl

@hookimpl
def framework_server_started(server):
    threading.Thread(target=lambda: open(PIPE).read(), daemon=False).start()
"""


def test_clients_hear_the_end_of_a_process_that_a_thread_keeps(
    start_server: StartServer, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    plugins = tmp_path / "plugins"
    plugins.mkdir(mode=0o700)
    (plugins / "lingering.py").write_text(LINGERING.replace("PIPE", repr(str(pipe))))
    server = start_server("--plugins-dir", str(plugins))
    sock, _ = connect(server)
    with sock:
        login(sock)
        server.signal(signal.SIGTERM)

        read_all(sock)
        assert server.is_running()
    pipe.write_text("")
    assert server.wait() == 0


def test_lines_of_a_start(start_server: StartServer) -> None:
    log = start_server("-n", "s1", "-m", "-1", "-D").log().splitlines()
    texts = [line.split("] ", 2)[2] for line in log if "[INF]" in line]

    assert texts[0] == "Starting nats-server"
    assert texts[1].startswith("  Version:  2.")
    assert "  Name:     s1" in texts
    assert [text.rsplit(":", 1)[0] for text in texts[-3:]] == [
        "Starting http monitor on 127.0.0.1",
        "Listening for client connections on 127.0.0.1",
        "Server is ready",
    ]


def test_options_without_effect_are_named(start_server: StartServer) -> None:
    log = start_server(config="port: -1\nwrite_timeout: default\nno_sublist_cache: true\n").log()
    warned = [line.split("[WRN] ")[1] for line in log.splitlines() if "[WRN]" in line]

    assert [text.split(" has no effect in this version: ")[0] for text in warned] == [
        "disable_sublist_cache",
    ]


def test_files(start_server: StartServer, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    server = start_server("-P", str(pid_file), "--ports_file_dir", str(tmp_path), "-m", "-1")
    ports_file = tmp_path / f"nats-server_{server.pid}.ports"

    assert pid_file.read_text() == str(server.pid)
    assert json.loads(ports_file.read_text()) == {
        "nats": [f"nats://127.0.0.1:{server.port}"],
        "monitoring": [f"http://127.0.0.1:{server.monitor_port}"],
    }
    server.stop()
    assert not pid_file.exists()
    assert not ports_file.exists()


def start_in_vain(*flags: str) -> str:
    """Start a server that can't run, and return what it said."""
    command = [sys.executable, "-m", "framework", "serve", "-a", "127.0.0.1", "-p", "-1", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "Server is ready" not in ended.stderr
    assert "Listening for" not in ended.stderr
    return ended.stderr


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = start_in_vain("-m", str(taken.getsockname()[1]))

    assert "address already in use; stop who uses it, or choose another port" in said
    assert said.count("\n") == 1


def test_an_address_that_is_none() -> None:
    assert "no such host; write an address of this machine" in start_in_vain("-a", "999.9.9.9")


@pytest.mark.parametrize("flag", ["-P", "-l"])
def test_a_file_that_cannot_be_written(tmp_path: Path, flag: str) -> None:
    path = tmp_path / "absent" / "file"

    assert f"No such file or directory: '{path}'" in start_in_vain(flag, str(path))


def test_a_failed_start_is_in_the_log_file(tmp_path: Path) -> None:
    log = tmp_path / "log"

    assert start_in_vain("-l", str(log), "-a", "999.9.9.9") == ""
    assert "[FTL] can't listen for client connections on 999.9.9.9:0" in log.read_text()


def test_reload(start_server: StartServer, tmp_path: Path) -> None:
    config = tmp_path / "it.conf"
    text = 'port: -1\nhttp: "127.0.0.1:-1"\nserver_name: s1\n'
    config.write_text(text)
    server = start_server("-c", str(config), port=None)
    sock, info = connect(server)
    with sock:
        login(sock)
        config.write_text(
            text + "debug: on\nmax_payload: 2048\nserver_tags: [a]\nwrite_timeout: retry\n"
        )
        server.signal(signal.SIGHUP)
        server.wait_log(r"Reloaded server configuration")

        assert info["max_payload"] == 1_048_576
        assert read_info(sock)["max_payload"] == 2_048
    server.wait_log("Client connection closed")
    assert get(server, "/varz")["tags"] == ["a"]
    log = server.log()
    assert "[INF] Reloaded: debug = true" in log
    assert "[WRN] write_timeout has no effect in this version: it is always closed" in log
    assert "Reloaded: write_timeout" not in log
    assert "[INF] Reloaded: max_payload = 2048" in log


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("server_name: s2\ndebug: true\n", "config reload not supported for server_name"),
        ("max_payload: x\ndebug: true\n", "it.conf:2"),
    ],
)
def test_reload_refused(
    start_server: StartServer, tmp_path: Path, change: str, problem: str
) -> None:
    config = tmp_path / "it.conf"
    config.write_text("port: -1\nserver_name: s1\n")
    server = start_server("-c", str(config), port=None)
    config.write_text("port: -1\n" + change)
    server.signal(signal.SIGHUP)
    server.wait_log("Failed to reload server configuration: .*")
    connect(server)[0].close()

    assert problem in server.log()
    assert "[DBG]" not in server.log()


def test_without_a_file_there_is_nothing_to_reload(start_server: StartServer) -> None:
    server = start_server()
    server.signal(signal.SIGHUP)

    server.wait_log("can only reload config when a file is provided using -c or --config")


def test_trace(start_server: StartServer, tmp_path: Path) -> None:
    config = tmp_path / "it.conf"
    config.write_text("port: -1\n")
    server = start_server("-c", str(config), port=None)
    sock, _ = connect(server)
    with sock:
        login(sock)
        config.write_text("port: -1\ntrace: true\nmax_traced_msg_len: 5\n")
        server.signal(signal.SIGHUP)
        server.wait_log(r"Reloaded server configuration")
        sock.sendall(b'SUB foo 1\r\nPUB foo 11\r\nhi\n"\xff there\r\nUNSUB 1\r\n')
        server.wait_log("DELSUB")
    config.write_text("port: -1\n")
    server.signal(signal.SIGHUP)
    server.wait_log(r"Reloaded: trace = false")
    log = server.log()

    traced = [line.split(" - ", 2)[2] for line in log.splitlines() if "[TRC]" in line]
    assert traced == [
        '"me" - <<- [SUB foo 1]',
        '"me" - <<- [PUB foo 11]',
        r'"me" - <<- MSG_PAYLOAD: ["hi\n\"\xff..."]',
        '"me" - ->> [MSG foo 1 11]',
        r'"me" - ->> MSG_PAYLOAD: ["hi\n\"\xff..."]',
        '"me" - <<- [UNSUB 1]',
        '"me" - <-> [DELSUB 1]',
    ]
    assert "[DBG]" not in log


def test_lame_duck(start_server: StartServer) -> None:
    server = start_server(
        config='port: -1\nhttp: "127.0.0.1:-1"\nlame_duck_duration: 30s\n'
        "lame_duck_grace_period: 100ms\n"
    )
    sock, _ = connect(server)
    with sock:
        login(sock)
        server.signal(signal.SIGUSR2)

        assert read_info(sock)["ldm"] is True
        assert get(server, "/healthz")[0] == 503
        with pytest.raises(ConnectionError):
            connect(server)
        assert server.wait() == 0
    log = server.log()
    assert "Entering lame duck mode, stop accepting new clients" in log
    assert "Closing existing clients" in log


def test_lame_duck_without_clients_stops_at_once(start_server: StartServer) -> None:
    server = start_server()
    server.signal(signal.SIGUSR2)

    assert server.wait() == 0


def test_interrupt_ends_a_lame_duck_and_term_does_not(start_server: StartServer) -> None:
    server = start_server()
    sock, _ = connect(server)
    with sock:
        login(sock)
        server.signal(signal.SIGUSR2)
        read_info(sock)
        server.signal(signal.SIGTERM)
        server.wait_log('Trapped "terminated" signal')

        assert server.is_running()
        server.signal(signal.SIGINT)
        assert server.wait() == 0


def test_term_of_a_supervisor_ends_a_lame_duck(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text('server_name: a\nlisten: "127.0.0.1:-1"\n')
    ours, theirs = socket.socketpair()
    words = ["run", str(file), "--server", "a", "--status-fd", str(theirs.fileno())]
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "framework", *words],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.DEVNULL,
        )
    with server, ours, ours.makefile() as lines:
        port = int(json.loads(lines.readline())["client"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            read_info(sock)
            login(sock)
            server.send_signal(signal.SIGUSR2)
            assert read_info(sock)["ldm"] is True
            server.send_signal(signal.SIGTERM)

            assert server.wait(20) == 0


def test_monitoring(start_server: StartServer) -> None:
    server = start_server("-m", "-1", "-n", "s1")
    sock, info = connect(server)
    with sock:
        login(sock)
        sock.sendall(b"SUB a.* q 5\r\nPUB a.b 2\r\nhi\r\nPING\r\n")
        while b"PONG" not in sock.recv(4_096):
            pass
        varz = get(server, "/varz")
        connz = get(server, "/connz?subs=detail")
        subsz = get(server, "/subsz?subs=1&test=a.x")

    assert varz["server_id"] == info["server_id"]
    assert (varz["connections"], varz["in_msgs"], varz["out_msgs"]) == (1, 1, 1)
    assert connz["connections"][0]["name"] == "me"
    assert connz["connections"][0]["subscriptions_list_detail"] == [
        {"subject": "a.*", "qgroup": "q", "sid": "5", "msgs": 1, "cid": 1}
    ]
    assert subsz["total"] == 1
    assert get(server, "/healthz") == {"status": "ok"}
    assert get(server, "/connz?sort=foo") == (400, b"invalid sorting option: foo")


def test_base_path(start_server: StartServer) -> None:
    server = start_server(config='port: -1\nhttp: "127.0.0.1:-1"\nhttp_base_path: "/nats/"\n')

    assert get(server, "/nats/healthz") == {"status": "ok"}
    assert get(server, "/healthz")[0] == 404
    assert get(server, "/nats/varz")["http_base_path"] == "/nats"


SIGNALLED_AT_THE_END = """
import atexit, os, signal

from framework.hookspecs import hookimpl

@hookimpl
def framework_components(server):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        atexit.register(os.kill, os.getpid(), number)
    return []
"""


def test_a_signal_at_the_end_does_not_change_the_exit_code(
    start_server: StartServer, tmp_path: Path
) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(SIGNALLED_AT_THE_END, "utf-8")
    server = start_server("--plugin", str(plugin))

    server.signal(signal.SIGTERM)

    assert server.wait() == 0
