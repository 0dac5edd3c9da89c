"""What is done with one server with JetStream, and what comes of it: figures by name."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.loadgen import run_loadgen
from bench.streams import Api, rss_mib, start_streams, used_cpu_s
from framework.testing import OURS, Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.contest import Contestant
    from framework.testing import ServerProcess

MESSAGES: Final = 500_000
"""That wait for consumers in a stream."""
WATCHERS: Final = 1_000
KEYS: Final = 1_000
PUTS: Final = 2_000
"""That all watchers get."""
FETCHES: Final = 5_000
STREAMS: Final = 1_000
CONSUMERS: Final = 10
"""Of each stream."""
STREAMS_ALONE: Final = 10_000
"""That have no consumers."""
LARGE_MESSAGES: Final = 10_000_000
LARGE_SUBJECTS: Final = 1_000_000
LARGE_S: Final = 120.0
"""A real server may need to count for one consumer, and to read what it has."""
TENTHS: Final = 10
IDLE_S: Final = 5.0
STOP_S: Final = 120.0
"""What a server may take to stop: 2.15.2 takes more than 20 s with many streams."""
PATIENCE_S: Final = 20.0
"""Until a queue is empty, behind the last acknowledgement."""
NEXT: Final = "$JS.API.CONSUMER.MSG.NEXT"
_SPIN: Final = "while True: pass"
SPINNER: Final = """
import threading

from framework import hookimpl


def compute():
    while True:
        pass


@hookimpl
def framework_components(server):
    threading.Thread(target=compute, daemon=True).start()
    return []
"""
"""A plugin with a thread that computes without end."""


@dataclass(slots=True)
class Bench:
    """What all measurements share."""

    loadgen: Path
    seconds: float
    """Of a publisher."""
    scale: float
    """Of what is large: streams, messages and subjects of the rows that are about many."""

    @contextmanager
    def fleet(self) -> Iterator[tuple[Fleet, Path]]:
        """Give a fleet, and a folder for streams, for the time of a measurement."""
        with tempfile.TemporaryDirectory(prefix="framework-bench-") as folder:
            fleet = Fleet(Path(folder))
            try:
                yield fleet, Path(folder, "streams")
            finally:
                fleet.stop(STOP_S)

    @contextmanager
    def server(
        self, contestant: Contestant, *flags: str, more: str = ""
    ) -> Iterator[tuple[ServerProcess, Api]]:
        """Give a server and a client of its API."""
        with self.fleet() as (fleet, folder):
            server = start_streams(fleet, contestant, folder, *flags, more=more)
            with Api(server) as api:
                yield server, api

    def load(self, server: ServerProcess, **options: object) -> Mapping[str, float]:
        """Let the load generator publish to streams, or take from them."""
        words = [f"{name}={value}" for name, value in options.items()]
        return run_loadgen(self.loadgen, "js", [server], f"seconds={self.seconds}", *words)


def checked(api: Api, stream: str, messages: float) -> None:
    """End if a stream does not have what it should."""
    found = api.messages(stream)
    if found != messages:
        raise SystemExit(f"stream {stream} has {found} messages, not {messages:.0f}")


def publish(
    bench: Bench, contestant: Contestant, *, storage: str = "file", **load: object
) -> Mapping[str, float]:
    """Publish to one stream."""
    with bench.server(contestant) as (server, api):
        api.add_stream("S", "bench", storage=storage)
        document = bench.load(server, **load)
        checked(api, "S", document["published"])
    return document


def publish_to_many(bench: Bench, contestant: Contestant, *, streams: int) -> Mapping[str, float]:
    """Let each stream have a publisher that waits for each message."""
    with bench.server(contestant) as (server, api):
        for at in range(streams):
            api.add_stream(f"S{at}", f"bench{at}")
        return bench.load(server, pubs=streams, streams=streams, window=1)


def _filled(bench: Bench, server: ServerProcess, api: Api, **config: object) -> int:
    """Make a stream with messages; return how many."""
    api.add_stream("S", "bench", **config)
    bench.load(server, count=MESSAGES)
    return MESSAGES


def pull(
    bench: Bench,
    contestant: Contestant,
    *,
    policy: str = "explicit",
    batch: int = 500,
    take: int = MESSAGES,
    clients: int = 1,
) -> Mapping[str, float]:
    """Take what is in a stream, by requests; `explicit` messages are acknowledged, one by one."""
    with bench.server(contestant) as (server, api):
        _filled(bench, server, api)
        api.add_consumer("S", "C", ack_policy=policy, max_ack_pending=10 * batch * clients)
        acks = int(policy == "explicit")
        return bench.load(
            server, pubs=0, pulls=clients, next=f"{NEXT}.S.C", batch=batch, acks=acks, take=take
        )


def push(bench: Bench, contestant: Contestant, *, is_ordered: bool = False) -> Mapping[str, float]:
    """Let a consumer push what is in a stream: acknowledged, or as an ordered consumer's."""
    config: dict[str, object] = {"ack_policy": "explicit", "max_ack_pending": 10_000}
    if is_ordered:
        config = {
            "ack_policy": "none",
            "flow_control": True,
            "idle_heartbeat": 5_000_000_000,
            "max_deliver": 1,
            "mem_storage": True,
        }
    with bench.server(contestant) as (server, api):
        take = _filled(bench, server, api)
        api.add_consumer("S", "C", deliver_subject="to.client", **config)
        acks = int(not is_ordered)
        return bench.load(server, pubs=0, pushes=1, deliver="to.client", acks=acks, take=take)


def queue(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Publish to a work queue while a client takes and acknowledges; all of it is gone then."""
    with bench.server(contestant) as (server, api):
        api.add_stream("S", "bench", retention="workqueue")
        api.add_consumer("S", "C", ack_policy="explicit", max_ack_pending=10_000)
        document = bench.load(server, pulls=1, next=f"{NEXT}.S.C", acks=1)
        until_s = time.perf_counter() + PATIENCE_S
        while api.messages("S") and time.perf_counter() < until_s:
            time.sleep(0.05)
        checked(api, "S", 0)
    return document


def _add_bucket(api: Api) -> None:
    api.add_stream(
        "KV_B",
        "$KV.B.>",
        max_msgs_per_subject=1,
        allow_rollup_hdrs=True,
        deny_delete=True,
        allow_direct=True,
        discard="new",
    )


def put(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Put values of keys, one after the other."""
    with bench.server(contestant) as (server, api):
        _add_bucket(api)
        return bench.load(server, window=1, subject="$KV.B", wild=KEYS)


def get(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Get values of keys, one after the other."""
    with bench.server(contestant) as (server, api):
        _add_bucket(api)
        bench.load(server, subject="$KV.B", wild=KEYS, count=KEYS)
        asked = ("subject=$JS.API.DIRECT.GET.KV_B.$KV.B", f"wild={KEYS}", f"count={FETCHES}")
        return run_loadgen(bench.loadgen, "jsreq", [server], *asked)


def watch(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Put values while many clients watch the bucket, each by an ordered consumer."""
    with bench.server(contestant) as (server, api):
        _add_bucket(api)
        bench.load(server, subject="$KV.B", wild=KEYS, count=KEYS)
        watchers = max(round(WATCHERS * bench.scale), 1) if bench.scale < 1 else WATCHERS
        config: dict[str, Any] = {
            "ack_policy": "none",
            "deliver_policy": "last_per_subject",
            "filter_subject": "$KV.B.>",
            "flow_control": True,
            "idle_heartbeat": 5_000_000_000,
            "inactive_threshold": 300_000_000_000,
            "max_deliver": 1,
            "mem_storage": True,
        }
        for at in range(watchers):
            wanted = {**config, "name": f"W{at}", "deliver_subject": f"watch.{at}"}
            document = {"stream_name": "KV_B", "config": wanted}
            api.ask(f"CONSUMER.CREATE.KV_B.W{at}.$KV.B.>", document)
        to_all: dict[str, object] = {"pushes": watchers, "deliver": "watch.%d"}
        bench.load(server, pubs=0, take=KEYS, **to_all)
        return bench.load(server, subject="$KV.B", wild=KEYS, count=PUTS, window=100, **to_all)


def large(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Fill a stream with many subjects; publish more, kill the server, count for a new filter."""
    count, subjects = round(LARGE_MESSAGES * bench.scale), round(LARGE_SUBJECTS * bench.scale)
    with bench.fleet() as (fleet, folder):
        server = start_streams(fleet, contestant, folder)
        with Api(server, timeout_s=LARGE_S) as api:
            api.add_stream("EMPTY", "empty.>")
            empty = bench.load(server, subject="empty", wild=subjects)["publish_rate"]
            api.ask("STREAM.DELETE.EMPTY")
            api.add_stream("S", "bench.>")
            filled = bench.load(server, wild=subjects, count=count)
            more = bench.load(server, wild=subjects)
            stored = count + more["published"]
            checked(api, "S", stored)
            begin_s = time.perf_counter()
            api.add_consumer("S", "C", ack_policy="explicit", filter_subject="bench.*.0001")
            counted_s = time.perf_counter() - begin_s
            used_mib = rss_mib(server)
        server.kill()
        begin_s = time.perf_counter()
        again = fleet.restart(server)
        with Api(again, timeout_s=LARGE_S) as api:
            checked(api, "S", stored)
            restart_s = time.perf_counter() - begin_s
    return {
        "fill_rate": filled["publish_rate"],
        "kept": more["publish_rate"] / empty,
        "rss_mib": used_mib,
        "num_pending_ms": counted_s * 1000,
        "restart_s": restart_s,
    }


def many(
    bench: Bench, contestant: Contestant, *, count: int = STREAMS, consumers: int = CONSUMERS
) -> Mapping[str, float]:
    """Make many streams, each with consumers, let them be, and start again.

    `growth` is what the last tenth of the streams took, of what the first one did.
    """
    streams = max(round(count * bench.scale), TENTHS)
    with bench.fleet() as (fleet, folder):
        server = start_streams(fleet, contestant, folder)
        begin_s = time.perf_counter()
        with Api(server) as api:
            tenths = [_add_streams(api, it) for it in _tenths(streams)]
            config = {"ack_policy": "explicit"}
            for at in range(streams * consumers):
                api.add_consumer(f"S{at // consumers}", f"C{at % consumers}", **config)
        made_s = time.perf_counter() - begin_s
        used_mib, cpu_s = rss_mib(server), used_cpu_s(server)
        time.sleep(IDLE_S)
        idle_percent = 100 * (used_cpu_s(server) - cpu_s) / IDLE_S
        begin_s = time.perf_counter()
        server.stop(STOP_S)
        stop_s = time.perf_counter() - begin_s
        last = f"S{streams - 1}"
        again = _asked_again(
            fleet, server, f"CONSUMER.INFO.{last}.C0" if consumers else f"STREAM.INFO.{last}"
        )
    return {
        "made_s": made_s,
        "made_cpu_s": cpu_s,
        "growth": tenths[-1] / tenths[0],
        "rss_mib": used_mib,
        "idle_percent": idle_percent,
        "stop_s": stop_s,
        **again,
    }


def _tenths(count: int) -> list[range]:
    ends = [count * it // TENTHS for it in range(TENTHS + 1)]
    return [range(begin, end) for begin, end in itertools.pairwise(ends)]


def _add_streams(api: Api, numbers: range) -> float:
    """Make streams one after the other; return the seconds that each took."""
    begin_s = time.perf_counter()
    for at in numbers:
        api.add_stream(f"S{at}", f"bench{at}.>")
    return (time.perf_counter() - begin_s) / len(numbers)


def _asked_again(fleet: Fleet, server: ServerProcess, question: str) -> Mapping[str, float]:
    """Start a server once more; return how long it took to answer, and what it costs then."""
    begin_s = time.perf_counter()
    again = fleet.restart(server)
    with Api(again) as api:
        api.ask(question)
        start_s = time.perf_counter() - begin_s
        cpu_s, used_mib = used_cpu_s(again), rss_mib(again)
    return {"start_s": start_s, "start_cpu_s": cpu_s, "start_rss_mib": used_mib}


def idle(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Take the memory of a server without streams, with JetStream and without."""
    with bench.fleet() as (fleet, folder):
        bare_mib = rss_mib(fleet.start(kind=contestant.kind))
        server = start_streams(fleet, contestant, folder)
        time.sleep(1)
        used_mib = rss_mib(server)
    return {"rss_mib": used_mib, "more_mib": used_mib - bare_mib}


def beside_core(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Send messages that no stream wants through a server with JetStream, and one without."""
    rates = []
    for has_streams in (True, False, True, False):
        with bench.fleet() as (fleet, folder):
            server = (
                start_streams(fleet, contestant, folder)
                if has_streams
                else fleet.start(kind=contestant.kind)
            )
            if has_streams:
                with Api(server) as api:
                    api.add_stream("S", "stored.>")
            options = ("size=128", f"seconds={bench.seconds}")
            rates.append(run_loadgen(bench.loadgen, "core", [server], *options)["publish_rate"])
    kept = (rates[0] + rates[2]) / (rates[1] + rates[3])
    return {"publish_rate": max(rates), "kept": kept}


@contextmanager
def computing_processes(count: int) -> Iterator[None]:
    """Let so many processes compute without end."""
    processes = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def computing(bench: Bench, contestant: Contestant) -> Mapping[str, float]:
    """Publish and pull while a thread of the server's Python computes; else another process does.

    Both take a CPU, so what differs is who has the interpreter.
    """
    assert contestant.kind == OURS
    rates: dict[str, list[Mapping[str, float]]] = {"thread": [], "process": []}
    for who in ("thread", "process"):
        with tempfile.TemporaryDirectory() as folder:
            plugin = Path(folder, "spinner.py")
            plugin.write_text(SPINNER, "utf-8")
            flags = ("-plugin", str(plugin)) if who == "thread" else ()
            with computing_processes(int(not flags)), bench.server(contestant, *flags) as it:
                server, api = it
                api.add_stream("S", "bench")
                rates[who].append(bench.load(server))
                api.add_consumer("S", "C", ack_policy="explicit", max_ack_pending=10_000)
                take = int(rates[who][0]["published"])
                rates[who].append(
                    bench.load(server, pubs=0, pulls=1, next=f"{NEXT}.S.C", acks=1, take=take)
                )
    (published, pulled), (published_beside, pulled_beside) = rates["thread"], rates["process"]
    return {
        "publish_kept": published["publish_rate"] / published_beside["publish_rate"],
        "pull_kept": pulled["receive_rate"] / pulled_beside["receive_rate"],
        "publish_rate": published["publish_rate"],
        "pull_rate": pulled["receive_rate"],
    }
