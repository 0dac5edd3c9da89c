"""Publishers and a consumer beside an export: `python -m bench.exports --rows 10000000`.

One server of ours has a stream of so many rows, in memory. While exports of it follow each other,
and while none does, in turns: how fast somebody publishes into another stream (as fast as the
server takes it, and by acknowledgements, 1,000 on their way), and how late a push consumer of that
gets what is published to it, 1,000 a second. A process of its own reads the exports where nobody
else wants the processor (`SCHED_IDLE`): it stands for one on another machine, which takes no
processor time of this one. With `--beside` it takes as much as those who are measured.

Each turn without is compared with the one beside it; shown are medians of these ratios.

`--cpu` shows in their place what a row costs a server's processor time, all of its threads: by an
export, by a pull consumer of ours, and by one of nats-server, each read by the same client.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.jetstream import JetStream
from pyspark_nats.pull import CONSUMER, EXPORT, PullReader, Range, refuse_loss

from bench.asked import asked
from bench.clusters import cpu_s
from bench.loadgen import build_loadgen, run_loadgen
from framework.testing import OURS, Fleet, peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from framework.testing import ServerProcess

REAL: Final = "2.15.2"
PAYLOAD_BYTES: Final = 128
SUBJECTS: Final = 1000
UNSEEN_BLOCKS: Final = 5
"""Of `SUBJECTS` messages, on their way into the stream."""
WINDOW: Final = 1000
PACE_S: Final = 0.001
LIVE_BYTES: Final = 64 << 20
TELL: Final = """
import time
told_s, count = 0.0, 0
def tell(batches):
    global told_s, count
    for rows in batches:
        count += rows
        if time.perf_counter() > told_s + 0.1:
            print(count, flush=True)
            told_s, count = time.perf_counter(), 0
"""
"""Few lines: each wakes the process that measures, which would be measured with them."""
BY_NATS: Final = """
import sys
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.jetstream import JetStream
from pyspark_nats.pull import PullReader, Range, refuse_loss
target = Target((Address("127.0.0.1", int(sys.argv[1])),))
state = JetStream(Connection(target)).stream("BENCH")
while True:
    range_ = Range("BENCH", state.id, 1, state.end, (), "export", "")
    tell(len(rows.sequence) for rows in PullReader(target, "", range_, refuse_loss).read())
"""
BY_HTTP: Final = """
import sys
import urllib.request
from pyarrow import ipc
while True:
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[2]}/stream/BENCH.arrows") as answer:
        tell(rows.num_rows for rows in ipc.open_stream(answer))
"""
KEPT: Final = 0.9
LATER: Final = 1.1
ROW_US: Final = 0.3
"""What is asked; of a consumer's p99 that it is kept, within what two rounds differ by."""


def main() -> None:
    """Fill a stream, and measure all in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--http", action="store_true", help="exports by HTTP")
    parser.add_argument("--beside", action="store_true", help="the reader takes processor time")
    parser.add_argument("--cpu", action="store_true", help="a server's CPU time a row")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        config = f'http: "127.0.0.1:-1"\njetstream {{ store_dir: "{folder}/js" }}'
        plugin = ("-plugin", "framework_jetstream.plugin")
        server = fleet.start(*plugin, kind=OURS, config=config)
        try:
            fill(server.port, arguments.rows)
            if arguments.cpu:
                peers.bring(REAL)
                real = fleet.start(kind=REAL, config=f'jetstream {{ store_dir: "{folder}/real" }}')
                fill(real.port, arguments.rows)
                measure_cpu(server, real, arguments.rounds)
                return
            script = BY_HTTP if arguments.http else BY_NATS
            idle = () if arguments.beside else ("chrt", "--idle", "0")
            reader = (*idle, sys.executable, "-c", TELL + script)
            loadgen = build_loadgen(Path(folder))
            measure(server, loadgen, reader, arguments.rounds, arguments.seconds)
        finally:
            fleet.stop()


def connection_to(port: int) -> Connection:
    """Return a connection to a server."""
    return Connection(Target((Address("127.0.0.1", port),)))


def fill(port: int, rows: int) -> None:
    """Store the rows, and make the stream that others publish into."""
    with contextlib.closing(connection_to(port)) as connection:
        api = JetStream(connection)
        api.create_stream({"name": "BENCH", "subjects": ["old.*"], "storage": "memory"})
        live = {"name": "LIVE", "subjects": ["bench.*"], "storage": "memory"}
        api.create_stream({**live, "max_bytes": LIVE_BYTES})
        payload = b"x" * PAYLOAD_BYTES
        lines = [
            b"PUB old.%d %d\r\n%b\r\n" % (at, PAYLOAD_BYTES, payload) for at in range(SUBJECTS)
        ]
        block = b"".join(lines)
        for at in range(1, rows // SUBJECTS + 1):
            connection.send(block)
            # nats-server drops what it can't store at once, and says nothing.
            while at % UNSEEN_BLOCKS == 0 and api.stream("BENCH").messages < at * SUBJECTS:
                pass
        while api.stream("BENCH").messages < rows // SUBJECTS * SUBJECTS:
            time.sleep(0.1)


def measure(
    server: ServerProcess, loadgen: Path, reader: Sequence[str], rounds: int, seconds: float
) -> None:
    """Measure in turns, and print what came out."""
    options = ("pubs=1", f"size={PAYLOAD_BYTES}", f"seconds={seconds}", "subjects=shared")

    def streamed() -> float:
        return run_loadgen(loadgen, "core", [server], *options, "subs=0")["publish_rate"]

    contest: dict[str, Callable[[], float]] = {
        "into a stream, messages/s": streamed,
        "acknowledged, messages/s": lambda: acknowledged(server.port, seconds),
        "consumer p99, ms": lambda: lateness_ms(server.port, seconds),
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contest}
    for turn in range(rounds):
        for name, take in contest.items():
            alone = take() if turn % 2 else 0.0
            with exporting(server, reader) as rate:
                beside = take()
            found[name].append((alone or take(), beside, rate()))
    for name, rows in found.items():
        alone, beside, rates = (statistics.median(it) for it in zip(*rows, strict=True))
        ratio = statistics.median(with_ / without for without, with_, _ in rows)
        each = " ".join(f"{with_ / without:.2f}" for without, with_, _ in rows)
        print(
            f"{name:28} {alone:12,.2f} alone {beside:12,.2f} beside  {ratio:.2f}x ({each});"
            f" {rates:,.0f} rows/s exported"
        )
        if name.endswith("messages/s"):
            print(asked(f"{name}, kept beside exports", ratio, KEPT))
        else:
            print(asked(f"{name}, beside exports", ratio, LATER, "x", at_most=True))
    print(f"load {os.getloadavg()[0]:.1f}")


def measure_cpu(ours: ServerProcess, real: ServerProcess, rounds: int) -> None:
    """Print what a row costs each server, in turns."""
    contest = {
        "exported": (ours, EXPORT),
        "delivered by a consumer": (ours, CONSUMER),
        f"delivered by {REAL}": (real, CONSUMER),
    }
    found: dict[str, list[float]] = {name: [] for name in contest}
    for _ in range(rounds):
        for name, (server, way) in contest.items():
            found[name].append(cpu_us(server, way))
    for name, each in found.items():
        rows = " ".join(f"{it:.3f}" for it in each)
        print(f"{name:28} {statistics.median(each):.3f} us of CPU a row ({rows})")
    exported_us = statistics.median(found["exported"])
    print(asked("CPU a row exported", exported_us, ROW_US, " us", at_most=True))
    print(f"load {os.getloadavg()[0]:.1f}")


def cpu_us(server: ServerProcess, way: str) -> float:
    """Read the whole stream; return what a row cost the server."""
    target = Target((Address("127.0.0.1", server.port),))
    with contextlib.closing(Connection(target)) as connection:
        state = JetStream(connection).stream("BENCH")
    before_s = cpu_s([server])
    range_ = Range("BENCH", state.id, 1, state.end, (), way, "")
    rows = sum(len(it.sequence) for it in PullReader(target, "", range_, refuse_loss).read())
    return 1e6 * (cpu_s([server]) - before_s) / rows


@contextlib.contextmanager
def exporting(server: ServerProcess, reader: Sequence[str]) -> Iterator[Callable[[], float]]:
    """Export again and again meanwhile; gives what returns rows a second since then."""
    words = [*reader, str(server.port), str(server.monitor_port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines: list[tuple[float, int]] = []

        def collect() -> None:
            assert process.stdout
            lines.extend((time.perf_counter(), int(line)) for line in process.stdout)

        thread = threading.Thread(target=collect)
        thread.start()
        time.sleep(0.5)  # it imports what it reads with, and reads while nobody else is there
        begun_s = time.perf_counter()

        def rate() -> float:
            count = sum(rows for at_s, rows in lines if at_s > begun_s)
            return count / (time.perf_counter() - begun_s)

        try:
            yield rate
        finally:
            process.kill()
            thread.join()


def acknowledged(port: int, seconds: float) -> float:
    """Return messages a second of somebody who has at most some unacknowledged."""
    with contextlib.closing(connection_to(port)) as connection:
        reply = f"{connection.inbox}.stored"
        connection.subscribe(reply)
        line = f"PUB bench.acks {reply} {PAYLOAD_BYTES}\r\n".encode()
        half = (line + b"x" * PAYLOAD_BYTES + b"\r\n") * (WINDOW // 2)
        sent = taken = 0
        begun_s = time.perf_counter()
        while time.perf_counter() < begun_s + seconds:
            connection.send(half)
            sent += WINDOW // 2
            while sent - taken > WINDOW // 2:
                assert connection.next_message(10) is not None
                taken += 1
        return taken / (time.perf_counter() - begun_s)


def lateness_ms(port: int, seconds: float) -> float:
    """Return how late a push consumer gets 99 of 100 messages, in milliseconds."""
    with (
        contextlib.closing(connection_to(port)) as listening,
        contextlib.closing(connection_to(port)) as publishing,
    ):
        inbox = f"{listening.inbox}.live"
        listening.subscribe(inbox)
        config = {
            "deliver_subject": inbox, "deliver_policy": "new", "ack_policy": "none",
            "filter_subject": "bench.paced", "mem_storage": True,
        }  # fmt: skip
        JetStream(publishing).connection.request(
            "$JS.API.CONSUMER.CREATE.LIVE", {"stream_name": "LIVE", "config": config}
        )
        count = int(seconds / PACE_S)
        took: list[float] = []

        def listen() -> None:
            for _ in range(count):
                message = listening.next_message(20)
                assert message is not None
                took.append(time.perf_counter() - float(message.payload))

        thread = threading.Thread(target=listen)
        thread.start()
        due_s = time.perf_counter()
        for _ in range(count):
            due_s += PACE_S
            time.sleep(max(due_s - time.perf_counter(), 0))
            body = repr(time.perf_counter()).encode()
            publishing.send(b"PUB bench.paced %d\r\n%b\r\n" % (len(body), body))
        thread.join()
        return 1000 * sorted(took)[count * 99 // 100]


if __name__ == "__main__":
    main()
