"""Who reads a stream of one replica is told when the server is gone that has it."""

from __future__ import annotations

import json

import pytest

from framework.testing import OURS
from plugins.jetstream.tests.interop.shared_clusters import (
    KINDS,
    NAMES,
    connected,
    meta,
    start,
    until,
)
from plugins.jetstream.tests.interop.shared_streams import made

STREAM_OFFLINE, CONSUMER_OFFLINE = 10118, 10119
ANSWERED_S = 30.0
"""It ends a test of a server that leaves requests unanswered."""
CONSUMER = {"durable_name": "C", "ack_policy": "explicit"}

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


def tagged(name):
    """Return configuration by which a stream can ask for a server."""
    return f"server_tags: [{name}]\n"


def place(api, host):
    """Make a stream of one replica at a server, with a consumer."""
    config = {"name": "S", "subjects": ["s.>"], "allow_direct": True, "placement": {"tags": [host]}}
    assert made(api, "STREAM.CREATE.S", config)["cluster"]["leader"] == host
    made(api, "CONSUMER.CREATE.S.C", {"stream_name": "S", "config": CONSUMER})


def error(api, what, payload=b""):
    """Return the code of the first answer."""
    return api.once(what, payload).get("error", {}).get("err_code")


def see_that_nobody_is_there(api):
    """See that who has interest itself in what it is asked has none any more."""
    for what in ("CONSUMER.MSG.NEXT.S.C", "DIRECT.GET.S"):
        until(lambda what=what: b"503" in api.requests.ask(f"$JS.API.{what}", b'{"seq": 1}')[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_stops_says_so(fleet, tmp_path, log_in, kind):
    servers = start(fleet, tmp_path, kind, config=tagged)
    leader = meta(servers["n1"])["leader"]
    raw, api = connected(servers[leader], log_in, timeout_s=ANSWERED_S)
    with raw:
        host = next(it for it in NAMES if it != leader)
        place(api, host)
        servers[host].stop()

        assert error(api, "STREAM.INFO.S") == STREAM_OFFLINE
        assert error(api, "CONSUMER.INFO.S.C") == CONSUMER_OFFLINE
        see_that_nobody_is_there(api)


@pytest.mark.parametrize("leads", [False, True], ids=["other", "meta leader"])
def test_what_a_server_that_dies_was_asked_is_answered_by_who_leads(fleet, tmp_path, log_in, leads):
    """2.15.2 leaves it without an answer, now and for more than half a minute."""
    servers = start(fleet, tmp_path, OURS, config=tagged)
    leader = meta(servers["n1"])["leader"]
    other = next(it for it in NAMES if it != leader)
    near, host = (other, leader) if leads else (leader, other)
    raw, api = connected(servers[near], log_in, timeout_s=ANSWERED_S)
    with raw:
        place(api, host)
        servers[host].kill()

        assert error(api, "STREAM.INFO.S") == STREAM_OFFLINE
        assert error(api, "CONSUMER.INFO.S.C") == CONSUMER_OFFLINE
        assert error(api, "STREAM.MSG.GET.S", json.dumps({"seq": 1}).encode()) == (STREAM_OFFLINE)
        see_that_nobody_is_there(api)
