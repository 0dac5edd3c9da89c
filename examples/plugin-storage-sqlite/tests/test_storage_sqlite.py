"""The kind by the contract of storage kinds, and in a server with a stream of several segments."""

from __future__ import annotations

import base64
import json
import sqlite3

import pytest
from framework_jetstream.storage.contract import StorageContract
from framework_storage_sqlite.plugin import SqliteConfig, SqliteKind

CONFIG = "jetstream {store_dir: '%s', block_cache_size: 4MB}\nstorage_sqlite {}"
LARGE = 1 << 20
COUNT = 80
WANTED = {
    "name": "S",
    "subjects": ["s"],
    "storage": "file",
    "metadata": {"framework.storage": "sqlite"},
}


class TestContract(StorageContract):
    def new_kind(self):
        return SqliteKind(SqliteConfig())


class Asking:
    """A client that asks one thing at a time."""

    def __init__(self, client):
        self._client = client
        client.log_in()
        client.send(b"SUB _INBOX.a 1\r\n")

    def ask(self, subject, payload):
        self._client.send(b"PUB %b _INBOX.a %d\r\n%b\r\n" % (subject, len(payload), payload))
        while (operation := self._client.read()).verb != b"MSG":
            pass
        return json.loads(operation.body)

    def api(self, what, wanted=None):
        payload = json.dumps(wanted).encode() if wanted else b""
        return self.ask(f"$JS.API.{what}".encode(), payload)


def payload_of(seq):
    return (b"message %d " % seq).ljust(LARGE, b".")


def kept_in(folder):
    file = folder / "jetstream" / "log" / "storage" / "sqlite" / "segments.db"
    if not file.exists():
        return 0
    database = sqlite3.connect(file)
    try:
        return database.execute("SELECT count(*) FROM segments").fetchone()[0]
    except sqlite3.OperationalError:  # its table is being made
        return 0
    finally:
        database.close()


@pytest.mark.timeout(120)
def test_a_stream_is_kept_in_the_file_and_comes_back(start_server, tmp_path):
    server = start_server(config=CONFIG % tmp_path)
    with server.client() as client:
        asking = Asking(client)
        made = asking.api("STREAM.CREATE.S", WANTED)
        acks = [asking.ask(b"s", payload_of(seq)) for seq in range(1, COUNT + 1)]
        asking.api("STREAM.CREATE.O", {"name": "O", "subjects": ["o"], "storage": "file"})
        while kept_in(tmp_path) < 2:
            asking.ask(b"o", b"the log gives up segments when it is written")
    server.kill()
    server = start_server(config=CONFIG % tmp_path)
    with server.client() as client:
        asking = Asking(client)
        state = asking.api("STREAM.INFO.S")["state"]
        found = [asking.api("STREAM.MSG.GET.S", {"seq": seq})["message"] for seq in (1, 40, COUNT)]

    assert made["config"]["metadata"]["framework.storage"] == "sqlite"
    assert [it["seq"] for it in acks] == list(range(1, COUNT + 1))
    assert (state["messages"], state["last_seq"]) == (COUNT, COUNT)
    assert [base64.b64decode(it["data"]) for it in found] == [
        payload_of(seq) for seq in (1, 40, COUNT)
    ]
