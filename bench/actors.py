"""Measures the actors' room and prints one line a figure with its target.

    python bench/actors.py [--rounds N]

Each figure is the median of the rounds; each round runs in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from framework.actors import Dispatcher

ACTORS = 10_000
TELLS = 400_000
BATCH = 1_000


def rss_kib() -> float:
    """Return the memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1024


def _reset_us(dispatcher: Dispatcher) -> float:
    """Return what it takes to reset a timer."""
    timer = dispatcher.call_later(60, print)
    start = time.perf_counter()
    for _ in range(TELLS):
        timer.reset(60)
    return (time.perf_counter() - start) / TELLS * 1e6


async def measure() -> dict[str, float]:
    """Return every figure of one round."""
    before_s, before_cpu = time.perf_counter(), rss_kib()
    from framework.actors import (  # noqa: PLC0415 -- its import is a figure
        ActorSystem,
        AsyncioDispatcher,
        Component,
    )

    figures = {
        "import_ms": (time.perf_counter() - before_s) * 1e3,
        "import_mib": (rss_kib() - before_cpu) / 1024,
    }

    class Idle(Component):
        pass

    class Counter(Component):
        def __init__(self) -> None:
            self.count = 0

        @override
        def on_receive(self, _message: object) -> object:
            self.count += 1
            return self.count

    class BatchCounter(Counter):
        @override
        def on_batch(self, messages: list[object]) -> None:
            self.count += len(messages)

    dispatcher = AsyncioDispatcher()
    system = ActorSystem(dispatcher)
    before, start = rss_kib(), time.perf_counter()
    refs = [system.spawn(Idle) for _ in range(ACTORS)]
    await refs[-1].ask("started?", block=False)
    figures["create_s"] = time.perf_counter() - start
    figures["actor_kib"] = (rss_kib() - before) / ACTORS
    for name, component in (("tells_per_s", Counter), ("batch_tells_per_s", BatchCounter)):
        ref = system.spawn(component)
        start = time.perf_counter()
        for _ in range(TELLS // BATCH):
            for number in range(BATCH):
                ref.tell(number)
            await asyncio.sleep(0)  # noqa: TID251 -- yields the loop; no time is waited
        await ref.ask("done?", block=False)
        figures[name] = TELLS / (time.perf_counter() - start)
    ref = system.spawn(Counter)
    start = time.perf_counter()
    for _ in range(ACTORS):
        await ref.ask("?", block=False)
    figures["ask_us"] = (time.perf_counter() - start) / ACTORS * 1e6
    figures["timer_reset_us"] = _reset_us(dispatcher)
    start = time.perf_counter()
    left = await system.stop(30)
    figures["stop_us"] = (time.perf_counter() - start) / ACTORS * 1e6
    assert not left
    dispatcher.close()
    return figures


TARGETS = {
    "create_s": f"{ACTORS} actors, < 0.5",
    "actor_kib": "RSS, < 3",
    "tells_per_s": "one by one",
    "batch_tells_per_s": ">= 500,000",
    "ask_us": "awaited one after the other",
}


def main() -> None:
    """Print the medians, or one round's figures as JSON with `--one`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", action="store_true")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(measure())))
        return
    command = [sys.executable, __file__, "--one"]
    rounds = [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(options.rounds)
    ]
    for name in rounds[0]:
        value = statistics.median(figures[name] for figures in rounds)
        print(f"{name:18} {value:12,.2f}  {TARGETS.get(name, '')}")


if __name__ == "__main__":
    main()
