"""Who has taken an archive dies between its assignment and the stream: nothing half is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from framework.wire.s2 import encode
from plugins.jetstream.tests.interop import shared_clusters as shared
from plugins.jetstream.tests.interop.shared_streams import is_whole, stored

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshots"))

from test_restore import STATE, TWO, archive, document  # isort: skip

pytestmark = [pytest.mark.interop, pytest.mark.timeout(90)]

DYING = """
import os
import signal
from pathlib import Path

from {module} import {owner}

_was, _marker = {owner}.{method}, Path({marker!r})


def die(*args, **more):
    if {when} and not _marker.exists():
        _marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _was(*args, **more)


{owner}.{method} = die
"""
"""A plugin that kills its server once, just before it does something."""
STREAM = ("framework_jetstream.stream.stream", "Stream")
POINTS = {
    "its assignment is applied": (
        *("framework_jetstream.stream.archives", "Archives", "adopt"),
        "args[1].group.name in args[0]._offered",
    ),
    "a consumer is made": ("framework_jetstream.stream.adopting", "Adopting", "take", "True"),
    "the log calls it finished": (*STREAM, "_adopt_assigned", "True"),
    "it goes on": (
        *("framework_jetstream.stream.shared_stream", "SharedStream", "go_on"),
        "True",
    ),
}
"""Before which the server dies; what the log calls finished is a stream."""
CONSUMER = {
    "config": {"name": "C", "durable_name": "C", "ack_policy": "explicit"},
    "state": {
        "delivered": {"consumer_seq": 1, "stream_seq": 1},
        "ack_floor": {"consumer_seq": 1, "stream_seq": 1},
    },
}
CONTENT = archive(document(b"consumers/C", CONSUMER), *TWO, consumer_count=1)


def started(fleet, folder, point):
    """Start servers of which one dies before a point; return them, and what tells that it has."""
    module, owner, method, when = POINTS[point]
    plugin, marker = folder / "dying.py", folder / "dead"
    text = DYING.format(module=module, owner=owner, method=method, when=when, marker=str(marker))
    plugin.write_text(text)
    servers = shared.start(
        fleet,
        folder,
        config=lambda it: f"server_tags: [{it}]\n",
        flags=("-plugin", str(plugin)),
    )
    return servers, marker


def restore(api, config):
    """Begin to restore, and send all but the end; return where that goes."""
    begun = api(f"STREAM.RESTORE.{config['name']}", {"config": config, "state": STATE})
    assert "error" not in begun, begun
    assert api.requests.ask(begun["deliver_subject"], encode(CONTENT))[1] == b""
    return begun["deliver_subject"]


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_a_taker_that_dies_leaves_a_whole_stream_or_none(fleet, tmp_path, log_in, point, replicas):
    servers, marker = started(fleet, tmp_path, point)
    leader = shared.until(lambda: shared.meta(servers["n1"]).get("leader"))
    other, third = (it for it in servers if it != leader)
    taker = leader if replicas == 3 else other
    more = {} if replicas == 3 else {"placement": {"tags": [taker]}}
    config = {"name": "S", "subjects": ["s.>"], "num_replicas": replicas, **more}
    raw, api = shared.connected(servers[third], log_in)
    api.requests.publish(restore(api, config), api.requests.listen(), b"", ())
    shared.until(marker.exists)
    servers[taker].kill()
    servers[taker] = fleet.restart(servers[taker])

    if point == "it goes on":
        shared.until(lambda: api("STREAM.INFO.S").get("state", {}).get("messages") == 2)
    else:
        shared.until(lambda: api("STREAM.NAMES")["streams"] is None)
        again = shared.until(lambda: json.loads(_ended(api, config) or b"{}"))
        assert again.get("state", {}).get("messages") == 2, again
    shared.until(lambda: is_whole(api, "S", replicas))
    assert api("CONSUMER.INFO.S.C")["ack_floor"]["stream_seq"] == 1
    assert api("CONSUMER.INFO.S.C")["num_pending"] == 1
    assert stored(api, "s.x", b"new", 1) == 3
    raw.close()


def _ended(api, config):
    try:
        return api.requests.ask(restore(api, config), b"")[1]
    except TimeoutError:
        return b""
