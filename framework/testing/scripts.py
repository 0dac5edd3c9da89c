r"""Scripts of raw client operations and what the real server answered, for replay against any.

A script is a text of steps. A step is a command, the lines to send, `----` and the answers up to an
empty line. Commands, where NAME is any name of a connection:

    server               the lines are the configuration of the server; first step, no answers
    dial NAME            connect and read INFO
    route NAME           the same to the port for routes
    connect NAME {...}   the same, then CONNECT with these fields over the defaults
    NAME                 send the lines, then PING; answers end with the PONG to it
    NAME sorted          the same, the answers in alphabetical order of their first lines
    NAME partial         send the lines and read nothing
    NAME end             send the lines and read until the server closes the connection

Each line is sent with CRLF, or as it is when it ends in a backslash. `\t`, `\n`, `\r` and `\xNN`
are what they are in Python; `<x*500>` stands for 500 times x, in what is sent and in the answers.
The PONG to the step's own PING is left out, and so are INFO and the PINGs of the server.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.testing.client import RawClient
from framework.testing.errors import ConnectionEndedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from framework.testing.client import Operation

CLOSED = "(closed)"
"""The answer that stands for the end of the connection."""
EMPTY = "(empty)"
"""Stands for an empty line in answers."""
_PIECES_MAX = 20_000
"""Pieces that a long text is sent in at most when it goes out byte by byte."""
_RUN_MIN = 64
"""Shorter runs of one character are written out in answers."""


class Step(Struct, frozen=True):
    """One command of a script and what the real server answered."""

    command: str
    sends: tuple[str, ...]
    answers: tuple[str, ...]
    comment: tuple[str, ...]
    """Lines above the command, as they stand."""


def read_script(path: Path) -> list[Step]:
    """Parse a script file."""
    steps = []
    for block in re.split(r"\n{2,}", path.read_text("utf-8").strip()):
        lines = block.split("\n")
        comment = [line for line in lines if line.startswith("#")]
        rest = lines[len(comment) :]
        if not rest:
            steps.append(Step("", (), (), tuple(comment)))
            continue
        cut = rest.index("----") if "----" in rest else len(rest)
        steps.append(Step(rest[0], tuple(rest[1:cut]), tuple(rest[cut + 1 :]), tuple(comment)))
    return steps


def write_script(path: Path, steps: Sequence[Step], answers: Sequence[Sequence[str]]) -> None:
    """Write a script with new answers."""
    blocks = []
    for step, new in zip(steps, answers, strict=True):
        separator = ["----"] if step.command and not step.command.startswith("server") else []
        head = [step.command] if step.command else []
        blocks.append("\n".join([*step.comment, *head, *step.sends, *separator, *new]))
    path.write_text("\n\n".join(blocks) + "\n", "utf-8")


def server_config(steps: Sequence[Step]) -> str | None:
    """Return the configuration that a script wants, if any."""
    return next(("\n".join(step.sends) for step in steps if step.command == "server"), None)


class Replay:
    """Plays the steps of one script against one server.

    Args:
        port: Of the server, for clients.
        cluster_port: Of the server, for routes; 0 when it has none.
        slowly: Send byte by byte in place of each step in one piece.
    """

    def __init__(self, port: int, cluster_port: int, *, slowly: bool) -> None:
        self._port = port
        self._cluster_port = cluster_port
        self._slowly = slowly
        self._clients: dict[str, RawClient] = {}

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    def play(self, step: Step) -> list[str]:
        """Do one step and return its answers, one line each."""
        command, _, argument = step.command.partition(" ")
        if command in {"", "server"}:
            return []
        if command in {"dial", "route", "connect"}:
            self._open(command, *argument.partition(" ")[::2])
            return []
        data = b"".join(map(_bytes_from_line, step.sends))
        if argument == "partial":
            self._send(command, data)
            return []
        answers = self._answers(command, data, sync=argument != "end")
        if argument == "sorted":
            answers.sort()
        return [line for operation in answers for line in operation]

    def _open(self, command: str, name: str, options: str) -> None:
        port = self._cluster_port if command == "route" else self._port
        client = self._clients[name] = RawClient(port)
        if command == "connect":
            client.log_in(**json.loads(options or "{}"))
        else:
            client.expect(b"INFO")

    def _send(self, name: str, data: bytes) -> None:
        if self._slowly:
            self._clients[name].send_slowly(data, 1 + len(data) // _PIECES_MAX)
        else:
            self._clients[name].send(data)

    def _answers(self, name: str, data: bytes, *, sync: bool) -> list[list[str]]:
        pongs = len(re.findall(rb"(?im)^\s*ping\s*$", data))
        self._send(name, data + (b"PING\r\n" if sync else b""))
        answers: list[list[str]] = []
        try:
            while True:
                operation = self._clients[name].read()
                if operation.verb == b"PONG" and sync:
                    if pongs == 0:
                        return answers
                    pongs -= 1
                if operation.verb != b"INFO":
                    answers.append(_lines_from_operation(operation))
        except ConnectionEndedError:
            return [*answers, [CLOSED]]


def _bytes_from_line(line: str) -> bytes:
    whole = not line.endswith("\\")
    text = re.sub(r"<(.)\*(\d+)>", lambda run: run[1] * int(run[2]), line.removesuffix("\\"))
    data = text.encode("utf-8").decode("unicode_escape").encode("latin-1")
    return data + b"\r\n" if whole else data


def _lines_from_operation(operation: Operation) -> list[str]:
    texts = [operation.line] if operation.body is None else [operation.line, operation.body]
    return [_printable(line) or EMPTY for text in texts for line in text.split(b"\r\n")]


def _printable(line: bytes) -> str:
    text = "".join(
        chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"  # noqa: PLR2004 - printable ASCII
        for byte in line
    )
    return re.sub(rf"(.)\1{{{_RUN_MIN - 1},}}", lambda run: f"<{run[1]}*{len(run[0])}>", text)
