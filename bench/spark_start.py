"""How soon `framework spark FILE` has its first row: `python -m bench.spark_start --rounds 5`.

From the start of the command, by the clock and in processor time of all that it has started up to
then; the file reads one row of a stream. A line a round, then medians; the first round, which may
find nothing in the page cache, is not counted. `framework spark prepare` was run before, or is run
now.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil
from pyspark_nats.class_archive import archive_of, prepare
from pyspark_nats.java import find_java

from bench.asked import asked
from bench.spark import fill
from framework.testing import OURS, Fleet

NAMES: Final = ("first row", "to its end", "CPU to first row")
SCRIPT: Final = """
row = spark.read.format("nats").options(stream="BENCH").load().first()
print(row.subject, flush=True)
"""


def main() -> None:
    """Start it some times, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    if not archive_of(find_java()).exists():
        prepare()
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        config = f'jetstream {{ store_dir: "{folder}/js" }}'
        server = fleet.start("-plugin", "framework_jetstream.plugin", kind=OURS, config=config)
        try:
            fill(server.port, 1000)
            script = Path(folder, "first.py")
            script.write_text(SCRIPT)
            found = [started(server.url, script) for _ in range(rounds + 1)][1:]
        finally:
            fleet.stop()
    for name, values in zip(NAMES, zip(*found, strict=True), strict=True):
        each = " ".join(f"{it:.1f}" for it in values)
        print(f"{name:16} {statistics.median(values):.2f} s ({each})")
    first_s = statistics.median(it[0] for it in found)
    print(asked("framework spark to its first row", first_s, 5.0, " s", at_most=True))
    print(f"load {os.getloadavg()[0]:.1f}")


def started(url: str, script: Path) -> tuple[float, float, float]:
    """Print and return seconds to the first row and to the end, and processor time."""
    begun_s = time.perf_counter()
    words = [sys.executable, "-m", "framework", "spark", "--servers", url, str(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        first_s = time.perf_counter() - begun_s
        cpu_s = _cpu_s(process.pid)
        assert line.startswith("bench."), line
    ended_s = time.perf_counter() - begun_s
    took = (first_s, ended_s, cpu_s)
    print(", ".join(f"{name} {it:.1f} s" for name, it in zip(NAMES, took, strict=True)), flush=True)
    return took


def _cpu_s(pid: int) -> float:
    """Return the processor time of a process, and of all that it has started, so far."""
    top = psutil.Process(pid)
    times = (it.cpu_times() for it in (top, *top.children(recursive=True)))
    return sum(it.user + it.system + it.children_user + it.children_system for it in times)


if __name__ == "__main__":
    main()
