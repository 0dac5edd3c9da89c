"""Streams of three replicas: ours beside nats-server, the same load, three servers of each.

    python -m bench.jetstream_cluster [--rounds 5] [--only "publish 1 KiB"] [--list] [--used]

Ours syncs on a majority before it answers, nats-server every two minutes; rows say where that is
changed. Clients are connected to who leads the stream; CPU is that of all servers. With `--used`
they have stored and deleted 2.3 GiB before: their files are not new ones. What faults do is
measured by `tests.torture`.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from bench import jetstream_measures as measures
from bench.clusters import config, cpu_s, rss_bytes
from bench.contest import Contestant
from bench.documents import orders
from bench.jetstream import (
    ALL_SYNCED,
    ALONE,
    PUBLISHED,
    RECEIVED,
    SIZES,
    TIMED,
    Row,
    run,
)
from bench.jetstream_measures import CONSUMERS, IDLE_S, SPINNER, Bench, computing_processes
from bench.loadgen import run_loadgen
from bench.streams import Api, plugin_flags
from framework.testing import OURS, Fleet, free_port
from framework.testing.fleet import await_mesh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.testing import ServerProcess

SERVERS: Final = 3
STREAMS: Final = 100
LOOK_EVERY_S: Final = 0.05
USED_MESSAGES: Final = 150_000
USED_BYTES: Final = 16384
"""Of a message."""
CORPUS_BYTES: Final = 24 * 2**20
REST_S: Final = 8.0
"""Until the disk has what was written, or it is deleted."""
READY_S: Final = 30.0
"""Until three servers make a stream."""
DEFAULT: Final = (Contestant(OURS), Contestant("2.15.2"))


class SharedApi(Api):
    """Asks one server of a cluster, whose streams and consumers have three replicas."""

    @override
    def add_stream(self, name: str, subject: str, **config: object) -> None:
        super().add_stream(name, subject, num_replicas=SERVERS, **config)

    def leader(self, stream: str) -> str:
        """Return the name of who leads a stream."""
        end_s = time.perf_counter() + READY_S
        while not (leader := self.ask(f"STREAM.INFO.{stream}")["cluster"].get("leader")):
            if time.perf_counter() > end_s:
                raise SystemExit(f"nobody leads {stream}")
        return str(leader)


def await_meta_leader(server: ServerProcess) -> None:
    """Wait until a stream of three replicas can be made; real servers leave some unanswered."""
    end_s = time.perf_counter() + READY_S
    while True:
        with SharedApi(server, timeout_s=1.0) as api:
            try:
                api.add_stream("READY", "ready")
                api.ask("STREAM.DELETE.READY")
            except (SystemExit, TimeoutError):
                if time.perf_counter() > end_s:
                    raise
            else:
                return


def start_shared(
    fleet: Fleet, contestant: Contestant, folder: Path, flags: Sequence[str] = ()
) -> dict[str, ServerProcess]:
    """Start three servers that share streams, by name."""
    servers: dict[str, ServerProcess] = {}
    ports = {f"n{at}": free_port() for at in range(SERVERS)}
    for name, port in ports.items():
        block = f'jetstream {{ store_dir: "{folder / name}"\n{contestant.settings} }}\n'
        others = [it for it in ports.values() if it != port]
        more = f"server_name: {name}\n{block}"
        servers[name] = fleet.start(
            *plugin_flags(contestant.kind),
            *flags,
            kind=contestant.kind,
            config=config(Contestant(contestant.kind), port, free_port(), others, more),
            clustered=True,
        )
    await_mesh(*servers.values())
    for server in servers.values():
        while not server.document("/jsz").get("meta_cluster", {}).get("leader"):
            time.sleep(LOOK_EVERY_S)
    return servers


@dataclass(slots=True)
class ClusterBench(Bench):
    """Measures what clients of who leads the stream `S` get."""

    servers: dict[str, ServerProcess] = field(default_factory=dict)
    """By name, for the time of a measurement."""
    api: SharedApi | None = None
    is_used: bool = False
    """Whether servers have stored something before."""

    @override
    @contextmanager
    def server(
        self, contestant: Contestant, *flags: str, more: str = ""
    ) -> Iterator[tuple[ServerProcess, Api]]:
        with self.fleet() as (fleet, folder):
            servers = start_shared(fleet, contestant, folder, flags)
            first = servers["n0"]
            await_meta_leader(first)
            with SharedApi(first) as api:
                self.servers, self.api = servers, api
                if self.is_used:
                    self.use(first)
                yield first, api

    def use(self, server: ServerProcess) -> None:
        """Store and delete something."""
        assert self.api is not None
        self.api.add_stream("S", "bench")
        self.load(server, size=USED_BYTES, count=USED_MESSAGES)
        self.api.ask("STREAM.DELETE.S")
        time.sleep(REST_S)

    @override
    def load(self, server: ServerProcess, **options: object) -> Mapping[str, float]:
        words = [f"{name}={value}" for name, value in options.items()]
        leader = self.servers[self.leader()]
        others = [it for it in self.servers.values() if it is not leader]
        asked = (f"subport={leader.port}", f"seconds={self.seconds}", *words)
        return run_loadgen(self.loadgen, "js", [leader, *others], *asked)

    def leader(self) -> str:
        """Return the name of who leads the stream."""
        assert self.api is not None
        return self.api.leader("S")


def many(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Make streams with consumers, one after the other, and let them be."""
    assert isinstance(bench, ClusterBench)
    with bench.server(contestant) as (_, api):
        begin_s = time.perf_counter()
        for at in range(STREAMS):
            api.add_stream(f"S{at}", f"bench{at}.>")
        made = STREAMS / (time.perf_counter() - begin_s)
        for at in range(STREAMS * CONSUMERS):
            api.add_consumer(f"S{at // CONSUMERS}", f"C{at % CONSUMERS}", ack_policy="explicit")
        time.sleep(IDLE_S)  # elections are over
        servers = list(bench.servers.values())
        used_s = cpu_s(servers)
        time.sleep(IDLE_S)
        idle = 100 * (cpu_s(servers) - used_s) / IDLE_S
        return {"made_rate": made, "rss_mib": rss_bytes(servers) / 2**20, "idle_percent": idle}


def _noise(count: int, size_bytes: int) -> Iterator[bytes]:
    """Yield bytes in which nothing comes again."""
    chance = random.Random(1)
    for _ in range(count):
        yield chance.randbytes(size_bytes)


TEXTS: Final = {"JSON": orders, "noise": _noise}


def publish_text(
    bench: Bench, contestant: Contestant, *, size_bytes: int, text: str
) -> Mapping[str, float]:
    """Publish what is not the same again and again."""
    with tempfile.NamedTemporaryFile() as file:
        file.writelines(TEXTS[text](CORPUS_BYTES // size_bytes, size_bytes))
        file.flush()
        return measures.publish(bench, contestant, size=size_bytes, payloads=file.name)


def computing(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Publish and pull while a Python thread of each server computes, to when other processes do.

    Either way three threads compute, so what differs is who has the interpreter.
    """
    assert isinstance(bench, ClusterBench)
    rates: dict[str, list[float]] = {}
    for who in ("thread", "process"):
        with tempfile.TemporaryDirectory() as folder:
            plugin = Path(folder, "spinner.py")
            plugin.write_text(SPINNER, "utf-8")
            flags = ("-plugin", str(plugin)) if who == "thread" else ()
            beside = computing_processes(0 if flags else SERVERS)
            with beside, bench.server(contestant, *flags) as (server, api):
                api.add_stream("S", "bench")
                led_by = bench.leader()
                published = bench.load(server)
                api.add_consumer("S", "C", ack_policy="explicit", max_ack_pending=10_000)
                pulls: dict[str, Any] = {"next": f"{measures.NEXT}.S.C", "acks": 1, "pulls": 1}
                pulled = bench.load(server, pubs=0, take=int(published["published"]), **pulls)
                if bench.leader() != led_by:
                    raise SystemExit("an election followed")
                rates[who] = [published["publish_rate"], pulled["receive_rate"]]
    publish_kept, pull_kept = (
        one / other for one, other in zip(rates["thread"], rates["process"], strict=True)
    )
    return {"publish_kept": publish_kept, "pull_kept": pull_kept}


def rows() -> Iterator[tuple[str, Row]]:
    """Return what is measured."""
    rate, floors = "publish_rate", {"16 B": 2.0, "128 B": 2.0, "1 KiB": 2.0, "16 KiB": 1.0}
    for name, size in SIZES.items():
        once = partial(measures.publish, size=size)
        yield f"publish {name}", Row(once, PUBLISHED, DEFAULT, {rate: floors[name]})
        yield f"publish {name}, all synced", Row(once, PUBLISHED, ALL_SYNCED, {rate: 4.0})
    for name, text in itertools.product(("1 KiB", "16 KiB"), TEXTS):
        once = partial(publish_text, size_bytes=SIZES[name], text=text)
        yield f"publish {name} of {text}", Row(once, PUBLISHED, DEFAULT)
    eight = partial(measures.publish, size=128, pubs=8, window=32)
    yield "8 publishers, 32 in flight", Row(eight, PUBLISHED, DEFAULT, {rate: 2.0})
    one = partial(measures.publish, window=1)
    yield "one at a time", Row(one, TIMED, DEFAULT, {}, {"p50_us": 1.5})
    yield "one at a time, all synced", Row(one, TIMED, ALL_SYNCED, {}, {"p50_us": 1.0})
    yield "pull 128 B", Row(measures.pull, RECEIVED, DEFAULT, {"receive_rate": 3.0})
    less = {"rss_mib": 1.0, "idle_percent": 1.0}
    figures = ("made_rate", "rss_mib", "idle_percent")
    yield "100 streams, 1,000 consumers", Row(many, figures, DEFAULT, {"made_rate": 1.5}, less)
    kept = {"publish_kept": 0.8, "pull_kept": 0.8}
    yield "a thread that computes", Row(computing, tuple(kept), ALONE, least=kept)


def main() -> None:
    """Measure three servers of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--used", action="store_true", help="servers have stored much before")

    def bench_of(loadgen: Path, given: argparse.Namespace) -> ClusterBench:
        return ClusterBench(loadgen, given.seconds, 1.0, is_used=given.used)

    run(parser, dict(rows()), bench_of)


if __name__ == "__main__":
    main()
