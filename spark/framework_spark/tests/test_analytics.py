"""The example pipeline: what it makes of what was recorded, and all of it by one command."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.frames import pub
from pyspark_nats.jetstream import JetStream

from framework.testing import OURS, Fleet, free_port

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")
EXAMPLE = Path(__file__).parents[3] / "examples" / "analytics"
BEGUN = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECONDS = 6
USUAL = {"orders.shop-0": 10, "orders.shop-1": 4}
"""Orders a second."""
RUSH = 60
"""Of `orders.shop-0`, in the last second."""
ANSWERS = 100


def recorded():
    """Return what a tap has recorded of some seconds: one frame a second, as its stream has it."""
    for second in range(SECONDS):
        at = BEGUN + timedelta(seconds=second)
        rows = []
        for subject, count in USUAL.items():
            is_rush = second == SECONDS - 1 and subject == "orders.shop-0"
            rows += [message(at, subject)] * (RUSH if is_rush else count)
        if second == 1:
            rows += [answered(at, number) for number in range(ANSWERS)]
        yield frame_of(rows)


def message(at, subject):
    return {
        "timestamp": at, "server": "shop-1", "account": "$G", "subject": subject, "data": b"{}",
        "size": 2, "cid": 7, "client": "till", "host": "127.0.0.1",
    }  # fmt: skip


def answered(at, number):
    return {
        "timestamp": at, "server": "shop-2", "account": "$G", "subject": "_INBOX.x", "size": 2,
        "cid": 9, "client": "prices", "request_subject": f"prices.{number % 2}",
        "latency_ns": (number + 1) * 1_000_000,
    }  # fmt: skip


def frame_of(rows):
    whole, text = pa.int64(), pa.string()
    schema = pa.schema([
        ("timestamp", pa.timestamp("ns", "UTC")), ("server", text), ("account", text),
        ("subject", text), ("reply", text), ("headers", pa.binary()), ("data", pa.binary()),
        ("size", pa.int32()), ("cid", whole), ("client", text), ("user", text), ("host", text),
        ("request_subject", text), ("latency_ns", whole), ("dropped", whole),
    ])  # fmt: skip
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema))
    return sink.getvalue().to_pybytes()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A server whose stream has what was recorded; a connection that hears alerts."""
    fleet = Fleet(tmp_path)
    config = f'jetstream {{ store_dir: "{tmp_path}/js" }}'
    server = fleet.start("-plugin", "framework_jetstream.plugin", kind=OURS, config=config)
    monkeypatch.setenv("NATS_URL", server.url)
    target = Target((Address("127.0.0.1", server.port),))
    with contextlib.closing(Connection(target)) as listener:
        api = JetStream(listener)
        api.create_stream({"name": "TAP_shop", "subjects": ["$TAP.shop"], "storage": "memory"})
        api.create_consumer("TAP_shop", {"deliver_policy": "all"}, (), threshold_s=3600)
        for data in recorded():
            listener.send(pub("$TAP.shop", data))
        listener.subscribe("alerts.>")
        listener.flush(10)
        yield listener
    fleet.stop()


@pytest.fixture
def pipeline(session, shop, monkeypatch):
    """The pipeline's module, imported anew: it reads which servers there are."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield importlib.import_module("pipeline")
    for name in ("pipeline", "plots"):
        sys.modules.pop(name, None)


def is_rush_told(shop):
    frame = shop.next_message(20)
    assert frame is not None
    assert b"alerts.orders.shop-0" == frame.subject
    told = json.loads(frame.payload)
    return (RUSH, USUAL["orders.shop-0"]) == (told["now"], told["usual"])


def is_drawn(picture):
    """Whether there is more in a picture than a frame and a title."""
    image = pytest.importorskip("matplotlib.image").imread(picture)
    height, width = image.shape[:2]
    quarters = [
        image[at * height // 2 :, other * width // 2 :][: height // 2, : width // 2, :3]
        for at in (0, 1)
        for other in (0, 1)
    ]
    return all(len({tuple(it) for it in each.reshape(-1, 3)}) > 20 for each in quarters)


def test_tables_plots_and_alerts_of_what_was_recorded(pipeline, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pipeline.py", "--once", "--out", str(tmp_path / "out")])
    pipeline.main()
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    rates = {(it["subject"], it["second"][17:19]): it["messages"] for it in found["rates"]}

    assert (60, 10, 4) == (
        rates["orders.shop-0", "05"], rates["orders.shop-0", "04"], rates["orders.shop-1", "05"]
    )  # fmt: skip
    assert [("till", 5 * 10 + RUSH + 6 * 4)] == [
        (it["client"], it["messages"]) for it in found["talkers"]
    ]
    assert {("prices.0", 50), ("prices.1", 50)} == {
        (it["request_subject"], it["requests"]) for it in found["latency"]
    }
    assert all(49 <= it["p50_ms"] <= 51 and 98 <= it["p99_ms"] <= 100 for it in found["latency"])
    assert [("TAP_shop", SECONDS)] == [(it["stream"], it["lag"]) for it in found["lag"]]
    assert ["orders.shop-0"] == [it["subject"] for it in found["rushes"]]
    assert is_rush_told(shop)
    assert is_drawn(tmp_path / "out" / "shop.png")


def test_the_notebook(pipeline, shop, session, monkeypatch):
    """Its cells, one after the other, with the session of all tests."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    monkeypatch.setattr("pyspark_nats.session.local_session", lambda: session)
    cells = json.loads((EXAMPLE / "shop.ipynb").read_text())["cells"]
    names = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    plt = names["plt"]
    drawn = {
        axes.get_title(): len(axes.patches) + len(axes.lines)
        for number in plt.get_fignums()
        for axes in plt.figure(number).axes
    }
    plt.close("all")

    assert {
        "top talkers, messages": 1, "messages a second": 2, "answers within ms, of 100": 1,
        "lag of consumers, messages": 1,
    } == drawn  # fmt: skip
    assert is_rush_told(shop)


@pytest.fixture
def example(tmp_path):
    """A copy of the example, on free ports."""
    folder = tmp_path / "analytics"
    shutil.copytree(EXAMPLE, folder)
    file = folder / "topology.toml"
    ports = {port: free_port() for port in (4222, 4223, 6222, 6223, 8222, 8223)}
    text = re.sub(r"\b[468]22[23]\b", lambda it: str(ports[int(it[0])]), file.read_text())
    file.write_text(text)
    return file, ports


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_pipeline_of_the_example(example, tmp_path):
    file, ports = example
    command = [sys.executable, "-m", "framework", "run", str(file), "--log-dir", str(tmp_path)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
        try:
            said = lines_until(run.stdout, "analytics ready")
            urls = f"nats://127.0.0.1:{ports[4222]},nats://127.0.0.1:{ports[4223]}"
            load = [sys.executable, str(file.parent / "load.py"), "--seconds", "200"]
            with subprocess.Popen(load, env={**os.environ, "NATS_URL": urls}) as loading:
                try:
                    found = summary_of(tmp_path / "analytics-out" / "summary.json", run)
                finally:
                    loading.kill()
            run.send_signal(signal.SIGINT)
            said += run.stdout.read().splitlines()
            code = run.wait()
        finally:
            run.kill()

    assert 0 == code
    for name in ("shop-1", "shop-2", "analytics"):
        assert any(f" {name} ready" in line for line in said), said
    assert {"till", "browser", "prices"} >= {it["client"].split()[0] for it in found["talkers"]}
    assert {"shop-1", "shop-2"} == {it["server"] for it in found["talkers"]}
    assert any(it["subject"].startswith("orders.shop-") for it in found["rates"])
    assert all(0 < it["p50_ms"] <= it["p99_ms"] for it in found["latency"])


def lines_until(stream, words):
    lines = []
    for line in stream:
        lines.append(line)
        if words in line:
            return lines
    pytest.fail(f"no {words!r} in {lines[-4:]}")


def summary_of(file, run):
    """Return the summary of a batch that has seen answers of both servers."""
    turn = threading.Event()
    while run.poll() is None:
        turn.wait(0.1)
        if file.exists() and (text := file.read_text()):
            found = json.loads(text)
            if found["latency"] and len({it["server"] for it in found["talkers"]}) > 1:
                return found
    pytest.fail("it has ended")
