"""Asking a `framework run` that runs: the other end of its control socket."""

from __future__ import annotations

import socket
from typing import IO, TYPE_CHECKING, Final

from msgspec import MsgspecError
from msgspec.json import Decoder, encode

from framework.errors import FrameworkError
from framework.supervise.control import End, Question, Reply
from framework.supervise.control_path import socket_paths
from framework.supervise.limits import CONTROL_LINE_BYTES_MAX, REQUEST_DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.supervise.request import Answer

_REPLIES: Final = Decoder(Reply)


class AskError(FrameworkError):
    """Nobody can be asked, or nobody answers.

    Args:
        problem: What is wrong, and what to do about it.
    """


def ask_servers(file: str, question: Question) -> Iterator[Answer]:
    """Ask the servers of a topology that `framework run` runs, and yield what each answers.

    Args:
        file: The topology, as it was given to `framework run`.
        question: What to do.

    Raises:
        AskError: Nothing runs it, several do, or it ended before everybody had answered.
    """
    with _connect(file) as channel:
        # The supervisor answers for servers that don't, so this is for a supervisor that hangs.
        channel.settimeout(REQUEST_DEADLINE_S + 5)
        channel.sendall(encode(question) + b"\n")
        with channel.makefile("rb") as lines:
            yield from _answers(lines)


def _answers(lines: IO[bytes]) -> Iterator[Answer]:
    try:
        while line := lines.readline(CONTROL_LINE_BYTES_MAX):
            match _REPLIES.decode(line):
                case End():
                    return
                case answer:
                    yield answer
    except (OSError, MsgspecError) as error:
        raise AskError(f"the supervisor does not answer: {error}") from None
    raise AskError("the supervisor ended before every server had answered")


def _connect(file: str) -> socket.socket:
    found = {}
    for pid, path in socket_paths(file):
        channel = socket.socket(socket.AF_UNIX)
        try:
            channel.connect(str(path))
        except OSError:  # nobody listens any more
            channel.close()
        else:
            found[pid] = channel
    if len(found) == 1:
        return found.popitem()[1]
    for channel in found.values():
        channel.close()
    if not found:
        raise AskError(f"nothing runs {file}; `framework run {file}` does, as the same user")
    listed = ", ".join(map(str, found))
    raise AskError(f"{file} is run {len(found)} times, by the processes {listed}; signal one")
