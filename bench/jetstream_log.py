"""What the log of JetStream writes, beside what the disk allows: one write and sync at a time.

    python -m bench.jetstream_log [FOLDER]

Each row: bytes of a message, messages that wait at most for their sync, messages and bytes a second
with a sync behind each round; then a bare loop of pwrite and fdatasync of as many bytes as a round
had, into a file that was written before; and what the log reaches of it.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

from framework_jetstream.log import Log, LogThread, _load  # noqa: PLC2701 - it is for this

SECONDS = 1.0
ROUNDS = 3
ROWS = ((16, 500), (128, 500), (1024, 500), (16384, 200), (128, 1), (128, 16))
FILE_BYTES = 1 << 26


def log_rate(folder: str, payload_bytes: int, window: int, count: int) -> tuple[float, float]:
    """Return messages a second, and bytes of a round."""
    wake, other = os.pipe2(os.O_NONBLOCK)
    log = Log(file_bytes=FILE_BYTES, salt=1)
    thread = LogThread(log, folder, wake_fd=other)
    log.committed()
    [group] = log.groups() or [log.new_group()]
    thread.start()
    before = thread.syncs
    began_s = time.perf_counter()
    _load.run(
        thread,
        group=group,
        count=count,
        payload_bytes=payload_bytes,
        window=window,
        batch_max=window,
        wake_fd=wake,
        trims=True,
    )
    took_s = time.perf_counter() - began_s
    syncs = max(thread.syncs - before, 1)
    thread.stop()
    os.close(wake)
    os.close(other)
    return count / took_s, count * payload_bytes / syncs


def disk_rate(folder: str, length: int) -> float:
    """Return bytes a second of a bare loop."""
    name = Path(folder, "bare")
    data = memoryview(bytes(max(length, 512)))
    descriptor = os.open(name, os.O_CREAT | os.O_RDWR)
    for _ in range(FILE_BYTES >> 20):
        os.write(descriptor, bytes(1 << 20))
    os.fsync(descriptor)
    at = done = 0
    until_s = time.perf_counter() + SECONDS
    began_s = time.perf_counter()
    while time.perf_counter() < until_s:
        os.pwrite(descriptor, data, at)
        os.fdatasync(descriptor)
        done += length
        at = at + len(data) if at + 2 * len(data) < FILE_BYTES else 0
    took_s = time.perf_counter() - began_s
    os.close(descriptor)
    pathlib.Path(name).unlink()
    return done / took_s


def main() -> None:
    """Measure all rows, interleaved."""
    base = sys.argv[1] if len(sys.argv) > 1 else None
    for payload_bytes, window in ROWS:
        logs, disks = [], []
        with tempfile.TemporaryDirectory(dir=base, prefix="framework-log-") as folder:
            rate, _ = log_rate(folder, payload_bytes, window, window * 40)  # files are made here
            for _ in range(ROUNDS):
                rate, length = log_rate(folder, payload_bytes, window, int(rate * SECONDS) + 1)
                logs.append(rate)
                disks.append(disk_rate(folder, int(length)) / payload_bytes)
        log, disk = statistics.median(logs), statistics.median(disks)
        print(
            f"{payload_bytes:6} B  window {window:4}  {log:12,.0f} messages/s "
            f"{log * payload_bytes / 1e6:8.1f} MB/s   bare {disk:12,.0f}   {log / disk:5.2f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
