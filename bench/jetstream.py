"""Streams and consumers: ours beside nats-server, the same load, one server of each.

    python -m bench.jetstream [--rounds 5] [--only "publish 1 KiB"] [--list]
    python -m bench.jetstream --only "many subjects" --scale 1
    python -m bench.jetstream --only "pull" --server "ours" --server 'ours sync_interval: "2m"'

Ours syncs before it answers, nats-server every two minutes; rows say where that is changed on
either side. Of a row, the ratio of each figure to ours stands in brackets, then the ratio of ours
to the better of the real ones in the same round (the median of the rounds), and what is asked.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import jetstream_measures as measures
from bench.contest import Contestant, add_contestants, contest
from bench.jetstream_measures import Bench
from bench.loadgen import build_loadgen
from framework.testing import OURS, peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Measure = Callable[[Bench, Contestant], Mapping[str, float]]

DEFAULT = (Contestant(OURS), Contestant("2.15.2"), Contestant("2.9.10"))
ALL_SYNCED = (Contestant(OURS), Contestant("2.15.2", "sync_interval: always"))
"""2.9.10 has no such setting."""
NONE_SYNCED = (Contestant(OURS, 'sync_interval: "2m"'), *DEFAULT[1:])
ALONE = (Contestant(OURS),)
PUBLISHED = ("publish_rate", "server_cpu_s_per_million")
RECEIVED = ("receive_rate", "server_cpu_s_per_million")
TIMED = ("p50_us", "p99_us")
SIZES = {"16 B": 16, "128 B": 128, "1 KiB": 1024, "16 KiB": 16384}


class Row(NamedTuple):
    """One thing to measure, and what is asked."""

    measure: Measure
    figures: tuple[str, ...]
    contestants: Sequence[Contestant] = DEFAULT
    floors: Mapping[str, float] = {}
    """Of a figure, what the ratio of ours to the better of the others must reach at least."""
    ceilings: Mapping[str, float] = {}
    """What it must be at most, where less is better."""
    least: Mapping[str, float] = {}
    """What a figure of ours must reach by itself."""
    most: Mapping[str, float] = {}


def _published(**load: object) -> Measure:
    return partial(measures.publish, **load)  # type: ignore[arg-type]


def publish_rows() -> Iterator[tuple[str, Row]]:
    """Return the rows of publishers that are ahead of their PubAcks."""
    cpu = {"server_cpu_s_per_million": 1 / 3}
    asked = {"16 B": (1.2, 50, 5, 4), "128 B": (1.2, 50, 4, 4), "1 KiB": (1, 50, 3, 3)}
    for name, size in SIZES.items():
        default, synced, unsynced, memory = asked.get(name, (0, 8, 1.3, 2))
        floors = {"publish_rate": default} if default else {}
        ceilings = cpu if default else {}
        once = _published(size=size)
        yield f"publish {name}", Row(once, PUBLISHED, DEFAULT, floors, ceilings)
        yield (
            f"publish {name}, all synced",
            Row(once, PUBLISHED, ALL_SYNCED, {"publish_rate": synced}),
        )
        yield (
            f"publish {name}, none synced",
            Row(once, PUBLISHED, NONE_SYNCED, {"publish_rate": unsynced}, ceilings),
        )
        yield (
            f"publish {name}, in memory",
            Row(
                _published(size=size, storage="memory"),
                PUBLISHED,
                DEFAULT,
                {"publish_rate": memory},
                ceilings,
            ),
        )


def waiting_rows() -> Iterator[tuple[str, Row]]:
    """Return the rows of those who wait for each answer."""
    one = _published(window=1)
    rate = "publish_rate"
    figures = (rate, *TIMED)
    yield "one at a time, all synced", Row(one, figures, ALL_SYNCED, {rate: 0.95})
    yield "one at a time, none synced", Row(one, figures, NONE_SYNCED, {rate: 1.2})
    in_memory = _published(window=1, storage="memory")
    yield "one at a time, in memory", Row(in_memory, figures, DEFAULT, {rate: 1.2})
    to_many = partial(measures.publish_to_many, streams=100)
    yield "100 to 100 streams, one at a time", Row(to_many, figures, ALL_SYNCED, {rate: 10})
    fetch = partial(measures.pull, batch=1, take=measures.FETCHES)
    yield "fetch of one", Row(fetch, TIMED, DEFAULT, {}, {"p50_us": 1})
    yield "KV put, all synced", Row(measures.put, TIMED, ALL_SYNCED, {}, {"p50_us": 1})
    yield "KV put, none synced", Row(measures.put, TIMED, NONE_SYNCED, {}, {"p50_us": 1})
    yield "KV get", Row(measures.get, TIMED, DEFAULT, {}, {"p50_us": 1})


def taking_rows() -> Iterator[tuple[str, Row]]:
    """Return the rows of consumers."""
    rate = "receive_rate"
    unacknowledged = partial(measures.pull, policy="none")
    yield "pull 128 B", Row(measures.pull, RECEIVED, DEFAULT, {rate: 4})
    yield "pull 128 B, not acknowledged", Row(unacknowledged, RECEIVED, DEFAULT, {rate: 4})
    yield "pull 128 B, 4 clients", Row(partial(measures.pull, clients=4), RECEIVED)
    yield "push 128 B", Row(measures.push, RECEIVED, DEFAULT, {rate: 2})
    ordered = partial(measures.push, is_ordered=True)
    yield "ordered 128 B", Row(ordered, RECEIVED, DEFAULT, {rate: 2})
    flow = ("flow_rate", "server_cpu_s_per_million")
    yield "work queue 128 B", Row(measures.queue, flow, DEFAULT, {"flow_rate": 2})
    yield "watchers of a bucket", Row(measures.watch, RECEIVED, DEFAULT, {rate: 2})


def large_rows() -> Iterator[tuple[str, Row]]:
    """Return the rows that are about much, and about what is always there."""
    yield (
        "many subjects",
        Row(
            measures.large,
            ("fill_rate", "kept", "rss_mib", "num_pending_ms", "restart_s"),
            ceilings={"rss_mib": 1.0, "restart_s": 1.2},
            least={"kept": 0.7},
            most={"num_pending_ms": 50},
        ),
    )
    less = {"rss_mib": 1.0, "idle_percent": 1.0, "start_s": 1.0}
    told = ("made_s", "stop_s", "start_cpu_s", "start_rss_mib")
    yield "many streams", Row(measures.many, (*less, *told), ceilings=less)
    alone = partial(measures.many, count=measures.STREAMS_ALONE, consumers=0)
    quick = {"made_s": 1.0, "start_s": 1.0}
    yield (
        "streams alone",
        Row(alone, (*quick, "growth", "made_cpu_s", "rss_mib", *told[1:]), ceilings=quick),
    )
    yield "idle", Row(measures.idle, ("rss_mib", "more_mib"), most={"more_mib": 6})
    core = {"kept": 0.99}
    yield (
        "core beside streams",
        Row(measures.beside_core, ("publish_rate", *core), ALONE, least=core),
    )
    kept = {"publish_kept": 0.9, "pull_kept": 0.9}
    yield (
        "a thread that computes",
        Row(measures.computing, (*kept, "publish_rate", "pull_rate"), ALONE, least=kept),
    )


ROWS: Mapping[str, Row] = dict([*publish_rows(), *waiting_rows(), *taking_rows(), *large_rows()])


def measure(row: Row, bench: Bench, contestant: Contestant) -> Sequence[float]:
    """Measure a row with one contestant."""
    document = row.measure(bench, contestant)
    return [document[figure] for figure in row.figures]


def judged(row: Row, found: Mapping[Contestant, Sequence[Sequence[float]]]) -> Iterator[str]:
    """Yield what of what is asked is reached, a text for each figure."""
    first, *others = found.values()
    for at, figure in enumerate(row.figures):
        ours = [values[at] for values in first]
        value = statistics.median(ours)
        if figure in row.least:
            bound = row.least[figure]
            yield _verdict(figure, value, f">= {bound:g}", reached=value >= bound)
        if figure in row.most:
            bound = row.most[figure]
            yield _verdict(figure, value, f"<= {bound:g}", reached=value <= bound)
        theirs = [[values[at] for values in rounds] for rounds in others]
        if figure in row.floors and theirs:
            ratio, floor = _ratio(ours, theirs, max), row.floors[figure]
            yield _verdict(figure, ratio, f">= {floor:g}x", reached=ratio >= floor)
        if figure in row.ceilings and theirs:
            ratio, ceiling = _ratio(ours, theirs, min), row.ceilings[figure]
            yield _verdict(figure, ratio, f"<= {ceiling:.2g}x", reached=ratio <= ceiling)


def _ratio(
    ours: Sequence[float],
    theirs: Sequence[Sequence[float]],
    better: Callable[[Sequence[float]], float],
) -> float:
    """Return ours to the better of the others of the same round, as median over the rounds."""
    rounds = zip(ours, *theirs, strict=True)
    return statistics.median(
        one / better(others) if better(others) else 1.0 for one, *others in rounds
    )


def _verdict(figure: str, value: float, bound: str, *, reached: bool) -> str:
    return f"    {'reached' if reached else 'MISSED '} {figure} {value:.2f} ({bound})"


def run(
    parser: argparse.ArgumentParser,
    all_rows: Mapping[str, Row],
    bench_of: Callable[[Path, argparse.Namespace], Bench],
) -> None:
    """Read the command line, and measure the rows that it names.

    Args:
        parser: Of what only these rows have.
        all_rows: By name.
        bench_of: Returns what they are measured with, by the load generator and the options.
    """
    add_contestants(parser)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each publisher")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--list", action="store_true", help="say which rows there are")
    options = parser.parse_args()
    rows = {name: row for name, row in all_rows.items() if options.only in name}
    if options.list:
        print(*rows, sep="\n")
        return
    contestants = options.contestants or [it for row in rows.values() for it in row.contestants]
    for kind in {it.kind for it in contestants} - {OURS}:
        if os.sep not in kind:
            peers.bring(kind)
    with tempfile.TemporaryDirectory() as folder:
        bench = bench_of(build_loadgen(Path(folder)), options)
        for name, row in rows.items():
            once = partial(measure, row, bench)
            found = contest(name, options, row.figures, once, row.contestants)
            print(*judged(row, found), sep="\n", flush=True)


def main() -> None:
    """Measure one server of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=0.1, help="of the rows about many")
    run(parser, ROWS, lambda loadgen, given: Bench(loadgen, given.seconds, given.scale))


if __name__ == "__main__":
    main()
