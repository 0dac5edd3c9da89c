"""What is damaged in files is named by stream and sequence; what is not comes back as it was."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from urllib.error import HTTPError

import pytest

from framework.wire._crc32c import checksum

PLUGIN = ("-plugin", "framework_jetstream.plugin")
MESSAGES = 9

pytestmark = pytest.mark.interop


@pytest.fixture
def start(fleet, tmp_path):
    """Return a function that starts a server in the same folder, once more each time."""

    def started(*flags):
        return fleet.start("-js", "-sd", str(tmp_path), "-m", "-1", *flags, *PLUGIN)

    return started


@pytest.fixture
def filled(start, log_in, tmp_path):
    """Return a folder that a server has stored nine messages in, one an entry, and was killed."""
    server = start()
    with server.client() as client:
        ask = log_in(client)
        ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "file"})
        for number in range(MESSAGES):
            ask.ask("s", b"message %d" % number)
    server.kill()
    return tmp_path / "jetstream" / "log"


def files_of(folder):
    return {it: it.read_bytes() for it in sorted(folder.glob("*.log"))}


def place_of(folder, text):
    """Return the file and the offset where a text stands."""
    [found] = [(file, data.index(text)) for file, data in files_of(folder).items() if text in data]
    return found


def flip(file, offset):
    data = bytearray(file.read_bytes())
    data[offset] ^= 1
    file.write_bytes(data)


def contents(ask):
    """Return the payload of each sequence; None: there is none."""
    answers = [ask.api("STREAM.MSG.GET.S", {"seq": seq + 1}) for seq in range(MESSAGES)]
    return [it.get("message", {}).get("data") for it in answers]


def test_a_flipped_bit_in_a_message_is_named_by_its_sequence(filled, start, log_in):
    file, offset = place_of(filled, b"message 4")
    flip(file, offset)

    server = start()
    with pytest.raises(HTTPError) as health:
        server.document("/healthz")
    problem = health.value.read().decode()
    with server.client() as client:
        ask = log_in(client)
        held = contents(ask)
        following = json.loads(ask.ask("s", b"more")[1])["seq"]

    assert [seq for seq, data in enumerate(held, 1) if data is None] == [5]
    assert following == MESSAGES + 1
    assert "the message with sequence 5 is lost" in server.log()
    assert "sequence 5 is lost" in problem


def test_a_lost_entry_leaves_the_sequences_behind_it(filled, start, log_in):
    file, offset = place_of(filled, b"message 4")
    flip(file, offset - 60)  # the head of the record

    server = start()
    with server.client() as client:
        held = contents(log_in(client))

    assert [seq for seq, data in enumerate(held, 1) if data is None] == [5]
    assert "sequence 5 is lost" in server.log()


def test_a_torn_end_is_no_damage(filled, start, log_in):
    file, offset = place_of(filled, b"message 8")
    data = bytearray(file.read_bytes())
    sector = offset // 512 * 512
    data[sector:] = bytes(len(data) - sector)  # with the mark that says that it was synced
    file.write_bytes(data)

    server = start()
    with server.client() as client:
        held = contents(log_in(client))

    assert [seq for seq, data in enumerate(held, 1) if data is None] == [MESSAGES]
    assert "lost" not in server.log()
    assert server.document("/healthz") == {"status": "ok"}


def test_a_folder_that_is_in_use_and_one_of_a_newer_version_stop_the_start(
    filled, fleet, tmp_path, start
):
    command = [*fleet.program("ours"), "-p", "-1", "-js", "-sd", str(tmp_path), *PLUGIN]
    server = start()
    locked = subprocess.run(command, check=False, capture_output=True, text=True).stderr
    server.kill()
    for file, data in files_of(filled).items():
        changed = bytearray(data)
        for at in (0, 4096):
            struct.pack_into("<I", changed, at + 12, 99)
            struct.pack_into("<I", changed, at + 8, checksum(changed[at + 12 : at + 56]))
        file.write_bytes(changed)
    before = files_of(filled)
    newer = subprocess.run(command, check=False, capture_output=True, text=True).stderr

    assert "is used by another server" in locked
    assert "newer version" in newer
    assert files_of(filled) == before


@pytest.mark.parametrize("kind", ["ours", "2.15.2"])
def test_a_file_in_the_place_of_the_folder_stops_the_start(kind, fleet, tmp_path):
    place = tmp_path / "store"
    place.write_text("not a folder")
    command = [*fleet.program(kind), "-p", "-1", "-js", "-sd", str(place)]

    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert re.search("storage directory .*not a directory", done.stderr, re.IGNORECASE)
    assert place.read_text() == "not a folder"
