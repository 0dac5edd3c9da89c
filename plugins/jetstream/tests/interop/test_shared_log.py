"""Servers that share streams give up files of the log, and the memory that goes with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shared_clusters import NAMES, connected, meta, start, until

from framework.testing import OURS, RawClient

PAYLOAD = bytes(1 << 19)
MESSAGES = 1500
"""Of twelve files of the log."""
FILES_MAX = 8
"""As many as the stream has bytes may stay for servers that are behind."""
IN_FLIGHT = 16

pytestmark = pytest.mark.interop


def change_meta_leader(servers):
    """Let another server lead the meta group."""
    with RawClient(servers["n1"].port) as raw:
        raw.log_in(user="sys", **{"pass": "x"})
        raw.send(b"SUB answer 1\r\n")
        before = meta(servers["n1"])["leader"]
        raw.send(b"PUB $JS.API.META.LEADER.STEPDOWN answer 0\r\n\r\n")
        assert json.loads(raw.read_until(b"MSG")[-1].body)["success"]
    until(lambda: len({meta(it).get("leader") for it in servers.values()} - {before, None}) == 1)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("changes", [False, True])
def test_a_meta_group_that_rests_keeps_no_files_of_the_log(changes, fleet, tmp_path, log_in):
    """Its few entries are in the first file: what they have led to takes their place.

    The last one may be of an election, which leads to nothing.
    """
    servers = start(fleet, tmp_path, jetstream=", log_size: 192MB")
    config = {"name": "S", "subjects": ["s"], "num_replicas": 3, "max_bytes": 1 << 28}
    raw, api = connected(servers["n1"], log_in)
    with raw:
        assert "config" in api("STREAM.CREATE.S", json.dumps(config).encode())
        until(lambda: "seq" in json.loads(api.requests.ask("s", b"first")[1] or b"{}"))
        if changes:
            change_meta_leader(servers)
        raw.send(b"SUB stored 99\r\n")
        for at in range(MESSAGES):
            raw.send(b"PUB s stored %d\r\n%b\r\n" % (len(PAYLOAD), PAYLOAD))
            if at >= IN_FLIGHT:
                assert b"seq" in raw.read_until(b"MSG")[-1].body
        for _ in range(IN_FLIGHT):
            assert b"seq" in raw.read_until(b"MSG")[-1].body
    # A file that is given up stays, until it gets the name of a later one.
    logs = [tmp_path / f"{OURS}-{name}" / "jetstream" / "log" for name in NAMES]
    until(lambda: max(len(list(it.glob("*.log"))) for it in logs) <= FILES_MAX)

    for server in servers.values():
        server.kill()
    again = [fleet.restart(it) for it in servers.values()]
    raw, api = connected(again[0], log_in)
    with raw:
        until(lambda: api("STREAM.INFO.S").get("state", {}).get("last_seq", 0) > MESSAGES)
        assert api("STREAM.NAMES")["streams"] == ["S"]
