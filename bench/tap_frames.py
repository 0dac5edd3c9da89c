"""What a tap's frames cost beside the plane: columns, Arrow, redaction, latencies, Parquet.

    ./dev python tools/workspace.py spark
    ./dev python -m bench.tap_frames

Processor time a message, the best of some rounds; messages of 128 B on 100 subjects, in frames of
about 256 KiB. No server runs: batches come from a core that is fed with bytes.
"""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from framework_tap.clients import Clients
from framework_tap.frames import FrameMaker
from framework_tap.latencies import Latencies
from framework_tap.redaction import Redaction
from pyarrow import ipc, parquet

from framework.dataplane import Batch, Core, Delivered, LinkKind, PlaneLimits, TapKind
from framework.dataplane.batch import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = 40_000
TURN_MESSAGES = 400
FRAME_BATCHES = 4
ROUNDS = 7
CURRENT = {"verbose": False, "pedantic": False, "echo": True, "headers": True}


def main() -> None:
    """Print what each step costs."""
    batches = tapped()
    groups = [batches[at : at + FRAME_BATCHES] for at in range(0, len(batches), FRAME_BATCHES)]
    show("columns", lambda: [columns_of(group) for group in groups])
    frames = show("frames", lambda: made(groups, Redaction((), ("Authorization",))))
    show("frames, a pattern redacted", lambda: made(groups, Redaction(("[0-9]{4}-[0-9]{4}",), ())))
    show("frames, with latencies", lambda: made(groups, Redaction((), ()), Latencies()))
    show("Parquet of frames", lambda: written(frames))
    size = sum(map(len, frames)) / MESSAGES
    print(f"a frame has {size:.0f} B a message")


def tapped() -> list[Batch]:
    """Return the batches of a tap that has watched one client."""
    core = Core(PlaneLimits(), seed=1)
    core.subscribe_sink(0, b">", kind=TapKind.INGRESS, bytes_max=1 << 30)
    link = core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
    core.turn(1)
    core.feed(link, b'CONNECT {"verbose":false}\r\n', 2)
    core.turn(2)
    core.take_events()
    core.resume_client(link, no_responders=True, protocol=1, **CURRENT)
    lines = [b"PUB a.%d 128\r\n%b\r\n" % (at % 100, b"x" * 128) for at in range(TURN_MESSAGES)]
    batches: list[Batch] = []
    now_ns = 2
    while sum(map(len, batches)) < MESSAGES:
        now_ns += 1
        core.feed(link, b"".join(lines), now_ns)
        core.turn(now_ns)
        batches += [event.batch for event in core.take_events() if isinstance(event, Delivered)]
    return batches


def made(
    groups: list[list[Batch]], redaction: Redaction, latencies: Latencies | None = None
) -> list[bytes]:
    """Return a frame of each group."""
    maker = FrameMaker(
        server="s", account="$G", clients=Clients(), redaction=redaction, latencies=latencies
    )
    return [maker.make(group, [], 0, 0, 0).data for group in groups]


def written(frames: list[bytes]) -> None:
    """Write frames as one Parquet file, in memory."""
    tables = [ipc.open_stream(pa.py_buffer(frame)).read_all() for frame in frames]
    with parquet.ParquetWriter(io.BytesIO(), tables[0].schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def show(label: str, work: Callable[[], Any]) -> Any:
    """Print what `work` costs a message, and return what it returned."""
    best_s = float("inf")
    found = None
    for _ in range(ROUNDS):
        before_s = time.process_time()
        found = work()
        best_s = min(best_s, time.process_time() - before_s)
    print(f"{label}: {best_s / MESSAGES * 1e9:.0f} ns a message")
    return found


if __name__ == "__main__":
    main()
