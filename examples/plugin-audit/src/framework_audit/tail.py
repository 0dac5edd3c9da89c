"""`framework audit tail`: the end of an audit file, for people."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from framework.spec import CommandGroup


def add_tail(cli: CommandGroup) -> None:
    parser = cli.add_command("tail", tail, help="show the last lines of an audit file")
    parser.add_argument("file", type=Path, nargs="?", default=Path("audit.jsonl"))
    parser.add_argument("-n", "--lines", type=int, default=10, help="how many (default: 10)")


def tail(arguments: argparse.Namespace) -> int:
    with arguments.file.open(encoding="utf-8") as file:
        for line in deque(file, maxlen=arguments.lines):
            entry = json.loads(line)
            print(entry["time"], entry["event"], entry["client"], entry["name"], entry["reason"])
    return 0
