"""The actor behind the plugin: it alone knows the counts and the file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from framework.actors import Component

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from framework.spec import ConnectionInfo


class Audit(Component):
    """Write one line of JSON for each client that comes or goes, and count messages."""

    @dataclass(frozen=True, slots=True)
    class Noticed:
        event: str
        client: ConnectionInfo
        reason: str = ""

    @dataclass(frozen=True, slots=True)
    class Counted:
        messages: int

    @dataclass(frozen=True, slots=True)
    class Summarize:
        """Asked, not told: the answer is a dict."""

    @dataclass(frozen=True, slots=True)
    class _Written:
        error: BaseException | None

    def __init__(
        self, *, path: Path, now: Callable[[], datetime], complain: Callable[[str], object]
    ) -> None:
        self._path = path
        self._now = now
        self._complain = complain
        self._totals = {"opened": 0, "closed": 0, "messages": 0}
        self._lines: list[str] = []
        self._is_writing = False

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case Audit.Noticed():
                self._note(message)
            case Audit.Counted(messages):
                self._totals["messages"] += messages
            case Audit.Summarize():
                return {"file": str(self._path), **self._totals}
            case Audit._Written(error):
                self._written(error)
        return None

    @override
    def on_stop(self) -> None:
        append(self._path, self._lines)

    def _note(self, notice: Noticed) -> None:
        self._totals[notice.event] += 1
        line = {
            "time": self._now().isoformat(timespec="milliseconds"),
            "event": notice.event,
            "cid": notice.client.cid,
            "client": f"{notice.client.host}:{notice.client.port}",
            "name": notice.client.name,
            "reason": notice.reason,
        }
        self._lines.append(json.dumps(line) + "\n")
        self._write()

    def _write(self) -> None:
        # A disk may block, and an actor must not: a worker writes what waits, one batch at a time.
        if self._lines and not self._is_writing:
            lines, self._lines = self._lines, []
            self._is_writing = True
            self.run_blocking(append, self._path, lines, answer=Audit._Written)

    def _written(self, error: BaseException | None) -> None:
        self._is_writing = False
        if error is not None:
            self._complain(f"audit not written: {error}")
        self._write()


def append(path: Path, lines: list[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(lines)
