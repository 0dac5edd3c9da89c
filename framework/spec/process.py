"""Processes that run beside the servers of a topology."""

from __future__ import annotations

from msgspec import Struct

from framework.spec._checks import check, check_name


class ProcessSpec(Struct, frozen=True, kw_only=True):
    """A process that `framework run` starts, restarts, shows and stops as it does servers.

    Its last arguments are `--status-fd N`, one end of a channel: a line of JSON a second there
    says how it does, as servers' lines do, `{"ready": true}` at least; what plugins show of it are
    fields of StatusSections. The channel ends when `framework run` is gone. Before them stands
    `--stderr-file PATH` when its log is a file. TERM asks it to stop, USR2 to finish what it has
    begun and then to end, USR1 to open its log anew; HUP is answered by the next `reload` in its
    lines: `{"count": 1}`, counting from 1.
    """

    name: str
    """In the status; none that a server of the topology has."""
    arguments: tuple[str, ...]
    """The program and its arguments."""
    start_deadline_s: float | None = None
    """From launch to ready, then it is killed and started again; None: as long as a server may."""

    def __post_init__(self) -> None:
        check_name("process", self.name)
        what = f"process {self.name}"
        are_words = bool(self.arguments) and not isinstance(self.arguments, str)
        check(what, "arguments", self.arguments, is_good=are_words, expected="a program's words")
