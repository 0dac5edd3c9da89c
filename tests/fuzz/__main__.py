"""Fuzzes the compiled code with bytes of links of all dialects and S2 streams, by its coverage.

And machines of the route and leaf node plugins, with whatever servers may say and do.

    python -m tests.fuzz             half a minute, as CI does
    python -m tests.fuzz 60          sixty times as long
    python -m tests.fuzz 60 --keep   and what reaches something new goes into the corpus
    python -m tests.fuzz --replay fuzz-failure.route
    python -m tests.fuzz --world mesh 4711

Properties: no crash, no bad memory access, no undefined behaviour, no hang; and the same outputs
and events whether the bytes come whole or in pieces. What fails runs once more with its seed;
what passes then is listed as flaky, unless memory was misused.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.building import prepare
from tests.fuzz.judging import passes
from tests.fuzz.targets import CompiledTarget, WorldTarget, replay
from tests.fuzz.worlds import WORLDS, fuzz

if TYPE_CHECKING:
    from tests.fuzz.judging import Target

KINDS = ("client", "route", "gateway", "leaf", "s2", "websocket")
SECONDS = 12.0
"""Of each kind, with a factor of 1."""


def main() -> int:
    """Build, fuzz all kinds, and tell by the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("factor", type=float, nargs="?", default=1.0, help="times half a minute")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--keep", action="store_true", help="add to the corpus")
    parser.add_argument("--replay", type=Path, help="play one input that failed")
    parser.add_argument("--world", nargs=2, help="play the world of a name and a seed that failed")
    options = parser.parse_args()
    if options.world:
        name, seed = options.world
        return fuzz(name, 0.0, int(seed)) is not None
    environment = prepare()
    if options.replay:
        return replay(options.replay, environment) is not None
    seconds = SECONDS * options.factor
    targets: list[Target] = [WorldTarget(name, seconds, options.seed) for name in WORLDS]
    targets += (
        CompiledTarget(kind, seconds, options.seed, environment, options.keep) for kind in KINDS
    )
    return not passes(targets, os.cpu_count() or 1)


if __name__ == "__main__":
    sys.exit(main())
