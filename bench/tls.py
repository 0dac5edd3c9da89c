"""TLS from one publisher to one subscriber: our server beside nats-server, driven by the nats CLI.

    python -m bench.tls [--rounds 5] [--servers ours,2.15.2,2.9.10]

Of each run it prints messages a second as the subscriber counts them, and CPU seconds of the
server for a million messages, which depend less on what else the machine does. The ratio is the
median of the rounds, in each of which all servers take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from framework.testing import OURS, Fleet, free_port, peers
from framework.testing.certificates import Authority

if TYPE_CHECKING:
    from framework.testing import ServerProcess

SIZES = {"128": 600_000, "16KB": 40_000}
"""Payload to messages of one run."""

_RATE = re.compile(r"([\d,]+) msgs/sec")
_TIMEOUT_S = 120.0


def run_once(server: ServerProcess, authority: Authority, size: str) -> tuple[float, float]:
    """Return messages a second, and CPU seconds of the server for a million of them."""
    count = SIZES[size]
    options = ["--size", size, "--msgs", str(count), "--no-progress"]
    command: list[str | Path] = [
        *(peers.find("nats"), "--server", f"tls://localhost:{server.port}"),
        *("--tlsca", authority.ca_file, "bench"),
    ]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(authority.ca_file.parent)}
    before = sum(psutil.Process(server.pid).cpu_times()[:2])
    subscriber = subprocess.Popen(
        [*command, "sub", "t", *options], stdout=subprocess.PIPE, text=True, env=environment
    )
    await_interest(server)
    subprocess.run(
        [*command, "pub", "t", *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=_TIMEOUT_S,
    )
    printed, _ = subscriber.communicate(timeout=_TIMEOUT_S)
    used_s = sum(psutil.Process(server.pid).cpu_times()[:2]) - before
    found = _RATE.search(printed)
    if found is None:
        raise SystemExit(f"nats bench printed no rate: {printed}")
    return float(found[1].replace(",", "")), used_s / count * 1e6


def await_interest(server: ServerProcess) -> None:
    """Wait until the subscriber is there, without sending it anything."""
    url = f"http://127.0.0.1:{server.monitor_port}/connz?subs=1"
    began_s = time.perf_counter()
    while True:
        with urllib.request.urlopen(url) as answer:
            connections = json.load(answer)["connections"]
        if any("t" in it.get("subscriptions_list", ()) for it in connections):
            return
        if time.perf_counter() - began_s > _TIMEOUT_S:
            raise SystemExit("the subscriber did not come")
        time.sleep(0.02)


def start(fleet: Fleet, authority: Authority, kind: str) -> ServerProcess:
    """Start a server with TLS."""
    issued = authority.issue(f"server-{len(fleet.servers)}")
    config = f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}" }}'
    return fleet.start("-m", str(free_port()), kind=kind, config=config)


def main() -> None:
    """Run all rounds and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers", default=f"{OURS},2.15.2")
    options = parser.parse_args()
    kinds = options.servers.split(",")
    figures: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        fleet = Fleet(Path(folder))
        try:
            servers = {kind: start(fleet, authority, kind) for kind in kinds}
            for index in range(options.rounds):
                for size in SIZES:
                    for kind in kinds[index % len(kinds) :] + kinds[: index % len(kinds)]:
                        figure = run_once(servers[kind], authority, size)
                        figures.setdefault((size, kind), []).append(figure)
                        print(size, kind, *(f"{it:,.2f}" for it in figure), file=sys.stderr)
        finally:
            fleet.stop()
    for size in SIZES:
        for kind in kinds:
            rates, used = zip(*figures[size, kind], strict=True)
            ours = [rate for rate, _ in figures[size, kinds[0]]]
            ratio = statistics.median(a / b for a, b in zip(ours, rates, strict=True))
            print(
                f"{size:>6} {kind:8} {statistics.median(rates):>12,.0f} msgs/s"
                f" {statistics.median(used):>8.2f} CPU s/M  {kinds[0]} / {kind}: {ratio:.2f}"
            )


if __name__ == "__main__":
    main()
