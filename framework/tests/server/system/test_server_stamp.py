from __future__ import annotations

import json
from typing import Any

from framework.server.system.server_stamp import ServerStamp, ServerTraits, node_of


def test_all_that_a_server_says_of_itself(stamp: ServerStamp) -> None:
    first, second = stamp.make(), stamp.make()

    assert list(first.items()) == [
        ("name", "n1"),
        ("host", "10.0.0.1"),
        ("id", "NONE"),
        ("cluster", "c1"),
        ("ver", "2.15.2"),
        ("tags", ["blue", "ssd"]),
        ("metadata", {"rack": "7"}),
        ("jetstream", False),
        ("flags", 0),
        ("seq", 1),
        ("time", "2023-11-14T22:13:20Z"),
    ]
    assert second["seq"] == 2


def test_what_is_empty_is_left_out(server: Any) -> None:
    server.cluster_name = ""
    stamp = ServerStamp(server, traits=lambda: ServerTraits(host="h"), wall_ns=lambda: 0)

    assert {"cluster", "tags", "metadata"}.isdisjoint(stamp.make())
    assert stamp.make_identity() == {"name": "n1", "host": "h", "id": "NONE"}


def test_streams_and_their_domain_are_told(server: Any, stamp: ServerStamp) -> None:
    server.accounts.jetstream_domain = ""
    plain = stamp.make()
    server.accounts.jetstream_domain = "hub"
    text = json.loads(stamp.write())

    assert (plain["jetstream"], plain["flags"], "domain" in plain) == (True, 1, False)
    assert (text["jetstream"], text["domain"]) == (True, "hub")


def test_others_address_a_server_by_a_hash_of_its_name() -> None:
    # As nats-server 2.15.2 subscribes for a server called r1.
    assert node_of("r1") == "6vlCPYjH"
