"""How long a full mesh of servers takes from the start of their processes, and after a restart.

    python -m bench.mesh [--servers 9] [--rounds 5]

All are started at once and know the first one only. Complete is when /routez of each names every
other one of those that run now. Then the first, one in between and the last are stopped and
started again, one after the other; timed is from the start until all are complete again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.clusters import compile_all, config, cpu_s
from bench.contest import add_contestants, contest
from framework.testing import Fleet, free_port
from framework.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.contest import Contestant

LOOK_EVERY_S = 0.02
TIMEOUT_S = 60.0


class Member:
    """One server of a mesh, which can be started again with its ports."""

    def __init__(self, contestant: Contestant, folder: Path, index: int, seed: int) -> None:
        http_port = free_port()
        self._url = f"http://127.0.0.1:{http_port}/routez"
        cluster_port = free_port() if index else seed
        path = folder / f"{index}.conf"
        seeds = [seed] if index else []
        path.write_text(config(contestant, cluster_port, http_port, seeds), "utf-8")
        self._command = [
            *Fleet.program(contestant.kind),
            *("-a", "127.0.0.1", "-p", str(free_port()), "-n", f"n{index}", "-c", path),
        ]
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start the process, and wait for nothing."""
        self.process = ServerProcess("member", self._command, self._folder)
        self.process.run()

    def routes(self) -> dict[str, Any]:
        """Return its /routez, as soon as it answers."""
        while True:
            try:
                with urllib.request.urlopen(self._url) as answer:
                    document: dict[str, Any] = json.load(answer)
            except urllib.error.URLError:
                if not self.process.is_running():
                    raise SystemExit(self.process.log()) from None
                time.sleep(LOOK_EVERY_S)
            else:
                return document


def await_mesh(members: Sequence[Member], begin_s: float) -> float:
    """Return how many seconds after `begin_s` each had routes to all others that run.

    They are asked one after the other, since each answer takes time of those that still work.
    """
    ids = {member: member.routes()["server_id"] for member in members}
    for member in members:
        others = set(ids.values()) - {ids[member]}
        while {route["remote_id"] for route in member.routes()["routes"]} != others:
            if time.perf_counter() - begin_s > TIMEOUT_S:
                raise SystemExit(f"no full mesh after {TIMEOUT_S:g} s")
            time.sleep(LOOK_EVERY_S)
    return time.perf_counter() - begin_s


def measure(count: int, restarts: Sequence[int], contestant: Contestant) -> list[float]:
    """Start a mesh, restart some of its members, and return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        seed = free_port()
        members: list[Member] = []
        try:
            begin_s = time.perf_counter()
            members += (Member(contestant, Path(folder), at, seed) for at in range(count))
            figures = [await_mesh(members, begin_s)]
            figures.append(cpu_s([member.process for member in members]))
            for at in restarts:
                members[at].process.stop()
                begin_s = time.perf_counter()
                members[at].start()
                figures.append(await_mesh(members, begin_s))
        finally:
            for member in members:
                member.process.kill()
    return figures


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--servers", type=int, default=9)
    options = parser.parse_args()
    restarts = (0, options.servers // 2, options.servers - 1)
    names = ("complete_s", "cpu_s", *(f"again_{at}_s" for at in restarts))
    compile_all()
    title = f"mesh of {options.servers}"
    contest(title, options, names, partial(measure, options.servers, restarts))


if __name__ == "__main__":
    main()
