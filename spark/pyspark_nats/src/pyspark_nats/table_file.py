"""A stream as a file that knows Arrow or Parquet: `framework export STREAM --to FILE`.

No Spark and no Java: what reads the stream is what reads it in a task.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from pyspark_nats.connection import Connection
from pyspark_nats.errors import NatsSourceError, OptionError
from pyspark_nats.jetstream import JetStream
from pyspark_nats.offsets import refuse_unless
from pyspark_nats.options import EARLIEST, LATEST, Bounds, read_options
from pyspark_nats.plan import sequence_at, stream_states, ways_of
from pyspark_nats.pull import COLUMNS, PullReader, Range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark_nats.options import ReadOptions
    from pyspark_nats.rows import Rows

SCHEMA = pa.schema([
    ("sequence", pa.int64()),
    ("timestamp", pa.timestamp("ns", "UTC")),
    ("subject", pa.string()),
    ("headers", pa.binary()),
    ("data", pa.binary()),
    ("size", pa.int32()),
])
"""Of a file; headers are as on the wire, null where a message has none."""
SUFFIXES = (".arrows", ".arrow", ".parquet")
EXIT_REFUSED = 2


def batches(options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield what a stream has, from where the options begin to where they end.

    Raises:
        NatsSourceError: It can't be read.
    """

    def lose(reason: str) -> None:
        refuse_unless(reason, fail=options.fail_on_data_loss)
        sys.stderr.write(f"framework: {reason}\n")

    range_ = _range(options, lose)
    reader = PullReader(options.target, options.domain, range_, lose, columns=COLUMNS)
    for rows in reader.read():
        yield batch_of(rows)


def _range(options: ReadOptions, lose: Any) -> Range:
    starting = options.starting or Bounds(EARLIEST, {}, None)
    ending = options.ending or Bounds(LATEST, {}, None)
    with contextlib.closing(Connection(options.target)) as connection:
        api = JetStream(connection, options.domain)
        [state] = stream_states(api, options.streams).values()
        begin = sequence_at(api, state, starting, "startingOffsets")
        end = sequence_at(api, state, ending, "endingOffsets")
        if begin < state.first_seq and state.is_cut_by_limits:
            lose(f"stream {state.name!r} begins at {state.first_seq}, after {begin}")
        begin = max(begin, state.first_seq)
        ways = ways_of(api, options, state)
        return Range(state.name, state.id, begin, end, options.subjects, *ways)


def batch_of(rows: Rows) -> pa.RecordBatch:
    """Return rows as a batch of a file."""
    count = len(rows.sequence)
    arrays = [
        rows.sequence,
        rows.timestamp_ns.cast(SCHEMA.field("timestamp").type),
        rows.subject.cast(pa.string()),
        pa.nulls(count, pa.binary()) if rows.headers is None else rows.headers,
        rows.data,
        pc.binary_length(rows.data) if rows.size is None else rows.size,
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def write(found: Iterator[pa.RecordBatch], sink: BinaryIO, suffix: str) -> int:
    """Write batches as a file with this suffix; return how many rows there were."""
    rows = 0
    with _writer(sink, suffix) as writer:
        for batch in found:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _writer(sink: BinaryIO, suffix: str) -> Any:
    if suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415 - large, and for who wants it

        return parquet.ParquetWriter(sink, SCHEMA, compression="zstd")
    return (ipc.new_file if suffix == ".arrow" else ipc.new_stream)(sink, SCHEMA)


def main(words: Sequence[str] | None = None) -> int:
    """Write a file as the command line says.

    Args:
        words: Behind the name of the program; None: those of this process.
    """
    arguments = _parser().parse_args(words)
    try:
        options = read_options(_options(arguments))
        rows = _write_whole(options, arguments.to)
    except (NatsSourceError, OSError) as error:
        sys.stderr.write(f"framework: {error}\n")
        return EXIT_REFUSED
    sys.stderr.write(f"framework: {rows} rows of {arguments.stream} in {arguments.to}\n")
    return 0


def _write_whole(options: ReadOptions, to: str) -> int:
    """Write a file that is there when all of it is; `-` is the standard output."""
    if to == "-":
        return write(batches(options), sys.stdout.buffer, SUFFIXES[0])
    file = Path(to)
    if file.suffix not in SUFFIXES:
        raise OptionError("--to", f"{to!r} has none of the suffixes", ", ".join(SUFFIXES))
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as sink:
            rows = write(batches(options), sink, file.suffix)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("framework export", description="write a stream to a file")
    parser.add_argument("stream", metavar="STREAM")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FILE",
        help=f"with a suffix of {', '.join(SUFFIXES)}; `-`: the standard output, as .arrows",
    )
    parser.add_argument("--servers", metavar="URLS", help="in place of NATS_URL")
    parser.add_argument("--subject", metavar="SUBJECTS", help="with commas between (default: all)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of a batch read, such as credentials=FILE or startingTimestamp=MS",
    )
    return parser


def _options(arguments: argparse.Namespace) -> dict[str, str]:
    found = {"stream": arguments.stream}
    for each in arguments.option:
        name, equals, value = each.partition("=")
        if not equals:
            raise OptionError("--option", f"{each!r}", "NAME=VALUE")
        found[name] = value
    for name in ("servers", "subject"):
        if value := getattr(arguments, name):
            found[name] = value
    return found


if __name__ == "__main__":
    sys.exit(main())
