"""`framework jetstream verify` and `dump`."""

from __future__ import annotations

import argparse
import json
import struct
from typing import TYPE_CHECKING

import pytest
from framework_jetstream.log import Kind, Log, LogThread
from framework_jetstream.plugin import framework_add_commands
from framework_jetstream.store.folder import name_of
from framework_jetstream.stream._streamhandle import StreamMachine

from framework.spec import CommandGroup

if TYPE_CHECKING:
    from pathlib import Path


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    framework_add_commands(CommandGroup(parser))
    arguments = parser.parse_args(words)
    return arguments.run(arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = Log(file_bytes=1 << 20, salt=3)
    thread = LogThread(log, tmp_path)
    thread.start()
    group = log.new_group(b"orders")
    for number in range(3):
        log.append(group, Kind.BATCH, [b"one" * 9, b"number %d" % number])
        thread.stop()
        thread.start()
    thread.stop()
    return tmp_path


def test_a_whole_log_is_called_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {it: it.read_bytes() for it in folder.iterdir()}

    assert run("verify", str(folder)) == 0
    assert capsys.readouterr().out == "whole: 3 entries in 1 groups\n"
    assert before == {it: it.read_bytes() for it in folder.iterdir()}


def test_a_flipped_bit_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "0000000001.log"
    data = bytearray(file.read_bytes())
    at = data.index(b"number 1")
    data[at] ^= 1
    file.write_bytes(data)

    assert run("verify", str(folder)) == 1
    damaged, verdict = capsys.readouterr().out.splitlines()
    assert damaged.startswith("damaged: file 0000000001.log, byte ")
    assert damaged.endswith(": part: group 1, entry 2, message 2 of it")
    assert verdict == "damaged: 2 entries in 1 groups"


def test_entries_are_dumped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dump", str(folder)) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [row["index"] for row in rows] == [1, 2, 3]
    assert [bytes.fromhex(row["parts"][1]) for row in rows] == [
        b"number 0",
        b"number 1",
        b"number 2",
    ]


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("verify", str(tmp_path / "absent")) == 2
    assert "No such file" in capsys.readouterr().err


def name_segment(folder: Path, file: int) -> None:
    """Let the log say that the stream has one segment."""
    head = struct.pack("<HHIIIQ", 1, 0, 1, 0, 0, 3)
    row = struct.pack("<5Q", file, 1, 3, 3, 999)
    thread = LogThread(Log(), folder)
    assert thread.log.snapshot(1, 1, head + row)
    thread.start()
    thread.stop()


def test_segments_beside_a_log_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = StreamMachine(b"S", {})
    for number in range(3):
        machine.publish(b"orders", b"", b"number %d" % number, 7)
    data = bytearray(machine.save(0, 3, 1, 1))
    segments = folder / "segments"
    segments.mkdir()
    name_segment(folder, 1)
    file = segments / name_of(1, 1)
    file.write_bytes(data)

    assert run("verify", str(folder)) == 0
    assert capsys.readouterr().out == "whole: 2 entries in 1 groups, 3 messages in 1 segments\n"
    assert run("dump", str(folder)) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["segment"], last["seq"], last["subject"]) == (file.name, 3, "orders")

    at = data.index(b"number 1")
    data[at] ^= 1
    file.write_bytes(data)
    assert run("verify", str(folder)) == 1
    damaged, verdict = capsys.readouterr().out.splitlines()
    assert damaged == "damaged: file 0000000001-0000000001.seg, byte 40: body: message 2 is lost"
    assert verdict == "damaged: 2 entries in 1 groups, 2 messages in 1 segments"

    file.rename(segments / name_of(1, 2))
    assert run("verify", str(folder)) == 1
    left_over, missing, verdict = capsys.readouterr().out.splitlines()
    assert left_over == "left over: 0000000001-0000000002.seg, which the log does not name"
    assert missing == "damaged: file 0000000001-0000000001.seg is missing, with 3 messages"
    assert verdict == "damaged: 2 entries in 1 groups"
