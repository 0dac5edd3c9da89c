"""Runs the attacks: `python -m bench.fairness --help`."""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.fairness import attacks_monitor, attacks_plane
from bench.fairness.attack import Target
from bench.fairness.others import Others
from framework.testing import OURS, Fleet

if TYPE_CHECKING:
    from bench.fairness.attack import Attack

_ATTACKS: Final = (*attacks_monitor.ATTACKS, *attacks_plane.ATTACKS)
_END_S: Final = 10.0
"""For the process of an attack, once it is told to end."""
_MONITORED: Final = 'http: "127.0.0.1:-1"\n'


def main() -> None:
    """Play attacks, and print what others felt of each, with and without it."""
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=main.__doc__)
    parser.add_argument("--only", default="", help="attacks with this word in their names")
    parser.add_argument("--server", action="append", help=f"{OURS} or a version; default: both")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="with the attack; as long without"
    )
    options = parser.parse_args()
    for attack in _ATTACKS:
        if options.only not in attack.name:
            continue
        print(attack.name, flush=True)
        for kind in options.server or (OURS, "2.15.2"):
            _play(attack, kind, options.seconds)


def _play(attack: Attack, kind: str, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        try:
            server = fleet.start(kind=kind, config=_MONITORED + attack.config)
            target = Target(server.port, server.monitor_port)
            with attack.prepare(target):
                calm = Others(target, server.pid, attack.login).measure(seconds)
                attacked = _attacked(attack, target, server.pid, seconds)
        finally:
            for server in fleet.servers:
                server.kill()
    _print(f"  {kind}, calm", calm)
    _print(f"  {kind}, attacked", attacked)


def _attacked(attack: Attack, target: Target, pid: int, seconds: float) -> Others:
    """Return what others felt while the attack went on, from its first moment on."""
    context = multiprocessing.get_context("fork")
    over = context.Event()
    attacker = context.Process(target=attack.run, args=(target, over), daemon=True)
    attacker.start()
    try:
        return Others(target, pid, attack.login).measure(seconds)
    finally:
        over.set()
        attacker.join(_END_S)
        attacker.kill()


def _print(who: str, others: Others) -> None:
    words = [f"{who:24} RSS {others.rss_mib:6,.0f} MiB"]
    for name in ("messages", "logins", "health"):
        timed = getattr(others, name)
        words.append(
            f"{name} p50 {timed.median_ms:7.2f} worst {timed.worst_ms:8.2f} ms"
            f" lost {timed.lost}/{timed.lost + len(timed.times_ms)}"
        )
    print("  ".join(words), flush=True)


if __name__ == "__main__":
    main()
