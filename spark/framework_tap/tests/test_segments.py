"""Parquet segments: whole or not there, and each has its line."""

from __future__ import annotations

import json
import os
import random
import resource

import psutil
import pytest

parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: ./dev test -e spark")


def pub(subject, payload):
    return b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload)


def config(folder, more=""):
    return f"""
    tap {{ rules {{ r {{
      subjects: ["a.*"], sink: parquet, folder: {json.dumps(str(folder))}, segment_age: 1s
      {more}
    }} }} }}
    """


def lines_of(folder):
    file = folder / "manifest.jsonl"
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def test_segments_are_whole_and_in_the_manifest(start_server, talker, tmp_path):
    folder = tmp_path / "rows"
    server = start_server(config=config(folder))
    client = talker(server)
    client.send(pub(b"a.1", b"x" * 100) * 500)
    client.flush()
    while not (lines := lines_of(folder)):
        pass
    client.send(pub(b"a.2", b"last"))
    client.flush()
    server.stop()
    lines = lines_of(folder)
    files = sorted(it.name for it in folder.iterdir())

    assert [*sorted(line["file"] for line in lines), "manifest.jsonl"] == files
    assert 501 == sum(line["rows"] for line in lines)
    rows = parquet.read_table(folder / lines[-1]["file"]).to_pylist()
    assert ("a.2", b"last", "$G") == tuple(rows[-1][it] for it in ("subject", "data", "account"))
    for line in lines:
        assert (folder / line["file"]).stat().st_size == line["bytes"]
        assert 0 < line["begun_ns"] <= line["ended_ns"]


def test_a_segment_ends_when_it_is_long(start_server, talker, tmp_path):
    folder = tmp_path / "rows"
    server = start_server(config=config(folder, "segment_age: 1h, segment_bytes: 1KB"))
    client = talker(server)
    while len(lines_of(folder)) < 2:
        client.send(pub(b"a.1", bytes(range(256)) * 8))
        client.flush()
    server.stop()

    assert all(1024 <= line["bytes"] for line in lines_of(folder)[:-1])


def test_a_folder_that_cannot_be_is_told_and_nothing_else_suffers(start_server, talker, tmp_path):
    folder = tmp_path / "rows"
    folder.write_text("no folder")
    server = start_server("-m", "-1", config=config(folder))
    client = talker(server)
    client.send(b"SUB a.* 1\r\n" + pub(b"a.1", b"x"))
    assert 1 == len(client.messages())
    while not (rule := server.document("/tapz")["rules"][0])["problem"]:
        pass

    assert (0, 1) == (rule["rows"], rule["lost"])
    assert str(folder) in rule["problem"]
    server.wait_log("Tap r does not reach folder")
    folder.unlink()
    client.send(pub(b"a.1", b"y"))
    while not lines_of(folder):
        pass
    [line] = lines_of(folder)

    assert (1, 1) == (line["rows"], line["dropped"])


def test_a_full_disk_is_told_and_its_rows_are_counted(start_server, talker, tmp_path):
    """A limit on the length of files stands for it: what is more can't be written."""
    folder = tmp_path / "rows"
    server = start_server("-m", "-1", config=config(folder))
    process = psutil.Process(server.pid)
    process.rlimit(resource.RLIMIT_FSIZE, (256 * 1024, resource.RLIM_INFINITY))
    client, payload = talker(server), random.Random(1).randbytes(60_000)
    client.send(b"SUB a.* 1\r\n")
    sent = 0
    while not (rule := server.document("/tapz")["rules"][0])["problem"]:
        client.send(pub(b"a.1", payload) * 10)
        assert 10 == len(client.messages())
        sent += 10
    lost = rule["lost"] + rule["dropped"]
    process.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    # What was lost is told by the frames behind it.
    while sent != sum(line["rows"] + line["dropped"] for line in lines_of(folder)):
        segments = len(lines_of(folder))
        client.send(pub(b"a.1", b"x"))
        assert 1 == len(client.messages())
        sent += 1
        while len(lines_of(folder)) == segments:
            pass
    server.stop()
    lines = lines_of(folder)

    assert 0 < lost
    assert {line["file"] for line in lines} == {
        it.name for it in folder.iterdir() if it.suffix == ".parquet"
    }


def test_a_sink_that_hangs_holds_up_nobody(start_server, talker, tmp_path):
    """A pipe that nobody reads stands for a disk that does not answer."""
    folder = tmp_path / "rows"
    folder.mkdir()
    os.mkfifo(folder / "manifest.jsonl")
    server = start_server("-m", "-1", config=config(folder, "segment_bytes: 1KB, buffer: 1MB"))
    client = talker(server)
    client.send(b"SUB a.* 1\r\n")
    while not server.document("/tapz")["rules"][0]["dropped"]:
        client.send(pub(b"a.1", bytes(range(256)) * 200) * 10)
        assert 10 == len(client.messages())
    server.stop()

    assert not server.is_running()
