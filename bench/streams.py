"""Servers with JetStream to measure, and a client of their API."""

from __future__ import annotations

import json
import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Self

import psutil

from bench.clusters import cpu_s
from framework.testing import OURS, RawClient

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.contest import Contestant
    from framework.testing import Fleet, ServerProcess

PLUGIN: Final = "framework_jetstream.plugin"
_ASKED_AT_ONCE: Final = 100
ANSWER_S: Final = 20.0
"""How long the API may take for an answer."""


def plugin_flags(kind: str) -> tuple[str, ...]:
    """Return what loads JetStream: nothing where it is loaded by itself.

    Args:
        kind: As of `Fleet.start`; a path is taken for another checkout of ours.
    """
    is_ours = kind == OURS or os.sep in kind
    if not is_ours or any(it.value == PLUGIN for it in entry_points(group="framework")):
        return ()
    return ("-plugin", PLUGIN)


def start_streams(
    fleet: Fleet, contestant: Contestant, folder: Path, *flags: str, more: str = ""
) -> ServerProcess:
    """Start a server with JetStream.

    Args:
        fleet: Will stop it.
        contestant: What it is; its settings stand in the block `jetstream`.
        folder: Where streams in files are.
        flags: For the server.
        more: In its configuration.
    """
    config = f"""
        {more}
        jetstream {{
            store_dir: "{folder}"
            {contestant.settings}
        }}
    """
    flags = (*plugin_flags(contestant.kind), *flags)
    return fleet.start(*flags, kind=contestant.kind, config=config)


class Api:
    """A client of the API of one server; asks one thing at a time, or many at once.

    Args:
        server: With JetStream.
        timeout_s: How long it may take for an answer.
    """

    def __init__(self, server: ServerProcess, timeout_s: float = ANSWER_S) -> None:
        self._client = RawClient(server.port, timeout_s=timeout_s)
        self._client.log_in()
        self._client.send(b"SUB _INBOX.api.* 1\r\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask_all(self, asked: Iterable[tuple[str, object]]) -> list[dict[str, Any]]:
        """Ask what follows `$JS.API.`, with documents; return the answers.

        Raises:
            SystemExit: One of them is an error.
        """
        waiting, answers = list(asked), list[dict[str, Any]]()
        while len(answers) < len(waiting):
            some = waiting[len(answers) : len(answers) + _ASKED_AT_ONCE]
            self._client.send(b"".join(_request(*it) for it in some))
            answers += [self._answer() for _ in some]
        return answers

    def ask(self, what: str, document: object = None) -> dict[str, Any]:
        """Ask one thing."""
        return self.ask_all([(what, document)])[0]

    def _answer(self) -> dict[str, Any]:
        operation = self._client.read_until(b"MSG ")[-1]
        answer: dict[str, Any] = json.loads(operation.body or b"{}")
        if "error" in answer:
            raise SystemExit(f"the API answers with {answer['error']}")
        return answer

    def add_stream(self, name: str, subject: str, **config: object) -> None:
        """Make a stream; in a file unless `config` says otherwise."""
        document = {"name": name, "subjects": [subject], "storage": "file", **config}
        self.ask(f"STREAM.CREATE.{name}", document)

    def add_consumer(self, stream: str, name: str, **config: object) -> dict[str, Any]:
        """Make a durable consumer; return its info."""
        document = {"stream_name": stream, "config": {"durable_name": name, **config}}
        return self.ask(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", document)

    def messages(self, stream: str) -> int:
        """Return how many messages a stream has."""
        state = self.ask(f"STREAM.INFO.{stream}")["state"]
        return int(state["messages"])


def _request(what: str, document: object) -> bytes:
    body = b"" if document is None else json.dumps(document).encode()
    return b"PUB $JS.API.%b _INBOX.api.1 %d\r\n%b\r\n" % (what.encode(), len(body), body)


def rss_mib(server: ServerProcess) -> float:
    """Return the memory of a server."""
    return float(psutil.Process(server.pid).memory_info().rss) / 2**20


def used_cpu_s(server: ServerProcess) -> float:
    """Return the CPU time that a server has used so far."""
    return cpu_s([server])
