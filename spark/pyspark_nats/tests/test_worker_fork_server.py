"""Daemons of workers that are copies of one process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
client = pytest.importorskip("pyspark_nats.worker_fork_client")

SHOWS = """
import json, os, signal, sys
import numpy.random

def main():
    print(sys.stdin.read(), file=sys.stderr)
    print(json.dumps({
        "cwd": os.getcwd(), "argv": sys.argv[1:], "path": sys.path,
        "given": os.environ.get("GIVEN"), "dropped": os.environ.get("DROPPED"),
        "chance": numpy.random.random(), "signals": [
            str(signal.getsignal(it)) for it in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM)
        ],
    }), flush=True)
    sys.exit(len(sys.argv))

if __name__ == "__main__":
    main()
"""
WAITS = """
import os, signal
print(os.getpid(), flush=True)
signal.pause()
"""
SERVES = """
from pyspark_nats import worker_fork_server
worker_fork_server.MODULES = ("numpy.random", "not.there", "shows")
worker_fork_server.main()
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a module that shows how it was started."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "shows.py").write_text(SHOWS)
    (tmp_path / "serves.py").write_text(SERVES)
    (tmp_path / "else where").mkdir()
    return tmp_path


@pytest.fixture
def path(folder, wait_until):
    """Return the socket of a server whose daemons show how they were started."""
    path = folder / "forks"
    words = [sys.executable, "-m", "serves", str(path)]
    environ = {**os.environ, "PYTHONPATH": f"{folder}/modules", "DROPPED": "1"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=environ, cwd=folder) as server:
        wait_until(path.exists)
        yield path
        server.stdin.close()
    assert server.returncode == 0


def asked(folder, path, *words):
    command = [sys.executable, "-I", "-S", client.__file__, str(path), "shows", *words]
    environ = {**os.environ, "PYTHONPATH": f"/not there:{folder}/modules", "GIVEN": "é"}
    done = subprocess.run(
        command,
        check=False,
        input="in",
        capture_output=True,
        text=True,
        cwd=folder / "else where",
        env=environ,
    )
    return {**json.loads(done.stdout), "stderr": done.stderr, "status": done.returncode}


def test_a_copy_is_as_a_new_python(folder, path):
    copy, new = asked(folder, path, "a b"), asked(folder, folder / "nobody", "a b")

    assert copy.pop("chance") != new.pop("chance")
    assert copy == new
    assert (copy["status"], copy["stderr"]) == (2, "in\n")
    assert copy["given"] == "é"


def test_copies_have_random_numbers_of_their_own(folder, path):
    assert asked(folder, path)["chance"] != asked(folder, path)["chance"]


def test_who_asks_for_nothing_harms_nobody(folder, path):
    with socket.socket(socket.AF_UNIX) as bad:
        bad.connect(str(path))
        bad.sendall(b"\xff\xff\xff\xff not marshalled")

    assert asked(folder, path)["argv"] == []


def test_a_daemon_ends_with_its_input(wait_until):
    with tempfile.TemporaryDirectory() as folder:  # the name of a socket has to be short
        path = Path(folder, "forks")
        words = [sys.executable, "-m", "pyspark_nats.worker_fork_server", str(path)]
        with subprocess.Popen(words, stdin=subprocess.PIPE) as server:
            wait_until(path.exists)
            with asking(path, folder) as asks:
                length = int.from_bytes(asks.stdout.read(4), "big")
                place = Path(asks.stdout.read(length).decode())
                (daemon,) = psutil.Process(server.pid).children()

                assert place.is_socket()
                assert os.getpgid(daemon.pid) == daemon.pid
            daemon.wait(30)
            assert not place.exists()
            server.stdin.close()


def asking(path, folder):
    """Return a process that asks for PySpark's own daemon, with sockets in a folder."""
    words = [sys.executable, "-I", "-S", client.__file__, str(path), "pyspark_nats.worker_daemon"]
    more = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "PYTHON_WORKER_FACTORY_SOCK_DIR": folder}
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **more}
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_copy_ends_with_its_client(folder, path, number):
    with waiting(folder, path) as asks:
        copy = psutil.Process(int(asks.stdout.readline()))
        asks.send_signal(number)
        copy.wait(30)

    assert asked(folder, path)["argv"] == []


def test_how_a_copy_was_ended_is_told(folder, path):
    with waiting(folder, path) as asks:
        os.kill(int(asks.stdout.readline()), signal.SIGKILL)

    assert asks.returncode == 128 + signal.SIGKILL


def waiting(folder, path):
    """Return a client whose copy says which process it is, and waits."""
    (folder / "modules" / "waits.py").write_text(WAITS)
    words = [sys.executable, "-I", "-S", client.__file__, str(path), "waits"]
    environ = {**os.environ, "PYTHONPATH": f"{folder}/modules"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ)


def test_workers_of_a_session_are_copies(session):
    def parents(_):
        yield [" ".join(it.cmdline()) for it in psutil.Process().parents()]

    (found,) = session.sparkContext.parallelize([1], 1).mapPartitions(parents).collect()

    assert any("pyspark_nats.worker_fork_server" in it for it in found)


def test_signals_of_the_terminal_are_not_for_the_server(folder, path):
    (server,) = (it for it in psutil.Process().children() if str(path) in it.cmdline())
    for number in (signal.SIGINT, signal.SIGHUP):
        server.send_signal(number)

    assert asked(folder, path)["argv"] == []
