# ruff: noqa: T201, C901, PLC0415 -- a script of the tests
"""A stand-in for a server process that behaves well or badly, as its first argument says.

Usage: fake_server.py BEHAVIOUR [MARKER] --status-fd N
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path

MESH = {"address": "127.0.0.1:5248", "routes": 0}
REPORT = {"client": "127.0.0.1:5222", "connections": 1, "ready": True, "mesh": MESH}
INTERVAL_S = 0.05


def say(channel: socket.socket, line: bytes) -> None:
    channel.sendall(line + b"\n")


def report(channel: socket.socket, **fields: object) -> None:
    say(channel, json.dumps(REPORT | {"pid": os.getpid()} | fields).encode())


def serve(channel: socket.socket) -> int:
    """Report until SIGTERM comes, and obey the signals that nats-server obeys."""
    print("Server is ready", file=sys.stderr, flush=True)
    numbers = {signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    count = reloads = 0
    fields: dict[str, object] = {}
    while True:
        count += 1
        report(channel, in_msgs=10 * count, out_msgs=20 * count, **fields)
        match signal.sigtimedwait(numbers, INTERVAL_S):
            case None:
                continue
            case found if found.si_signo == signal.SIGHUP:
                reloads += 1
                fields["reload"] = {"count": reloads, "options": ["debug"]}
            case found if found.si_signo == signal.SIGUSR1:
                print("File log re-opened", file=sys.stderr, flush=True)
            case found if found.si_signo == signal.SIGUSR2:
                report(channel, lame_duck=True)
                return 0
            case _:
                return 0


def is_first_run(marker: Path) -> bool:
    if marker.exists():
        return False
    marker.touch()
    return True


def main(behaviour: str, marker: Path, channel: socket.socket) -> int:
    match behaviour:
        case "steady":
            return serve(channel)
        case "crash_once" if is_first_run(marker):
            report(channel)
            print("out of luck", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
        case "crash_once":
            return serve(channel)
        case "crash":
            print("cannot go on\n", file=sys.stderr, flush=True)
            return 3
        case "refuse":
            print("port 5222 is taken by another process", file=sys.stderr, flush=True)
            return 1
        case "hang":
            signal.pause()
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            report(channel)
            signal.pause()
        case "garbage":
            for line in (b"\xff\x00", b"[]", b'{"ready": 1}', b"x" * 100_000, b"{" * 5_000):
                say(channel, line)
            return serve(channel)
        case "orphan":
            from framework.supervise.orphan import stop_with_supervisor

            stop_with_supervisor(channel.fileno())
            report(channel)
            signal.pause()
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    fd = int(arguments[arguments.index("--status-fd") + 1])
    sys.exit(main(arguments[0], Path(arguments[1]), socket.socket(fileno=fd)))
