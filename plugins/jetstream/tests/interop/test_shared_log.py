"""Servers that share streams give up files of the log, and the memory that goes with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shared_clusters import NAMES, connected, start, until

from framework.testing import OURS

PAYLOAD = bytes(1 << 19)
MESSAGES = 900
"""Of seven files of the log, of which four may stay."""
IN_FLIGHT = 16

pytestmark = pytest.mark.interop


@pytest.mark.timeout(120)
def test_a_meta_group_that_rests_keeps_no_files_of_the_log(fleet, tmp_path, log_in):
    """Its few entries are in the first file: what they have led to takes their place."""
    servers = start(fleet, tmp_path)
    config = {"name": "S", "subjects": ["s"], "num_replicas": 3, "max_bytes": 1 << 28}
    raw, api = connected(servers["n1"], log_in)
    with raw:
        assert "config" in api("STREAM.CREATE.S", json.dumps(config).encode())
        until(lambda: "seq" in json.loads(api.requests.ask("s", b"first")[1] or b"{}"))
        raw.send(b"SUB stored 99\r\n")
        for at in range(MESSAGES):
            raw.send(b"PUB s stored %d\r\n%b\r\n" % (len(PAYLOAD), PAYLOAD))
            if at >= IN_FLIGHT:
                assert b"seq" in raw.read_until(b"MSG")[-1].body
        for _ in range(IN_FLIGHT):
            assert b"seq" in raw.read_until(b"MSG")[-1].body
    # A file that is given up gets the name of a later one.
    logs = [tmp_path / f"{OURS}-{name}" / "jetstream" / "log" for name in NAMES]
    until(lambda: not [it for it in logs if (it / "0000000002.log").exists()])

    for server in servers.values():
        server.kill()
    again = [fleet.restart(it) for it in servers.values()]
    raw, api = connected(again[0], log_in)
    with raw:
        until(lambda: api("STREAM.INFO.S").get("state", {}).get("last_seq", 0) > MESSAGES)
        assert api("STREAM.NAMES")["streams"] == ["S"]
