"""nats-server's rules of placement, one after the other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from framework_jetstream.placement.records import NoPlacement, PlacementRequest, PlacementServer
from framework_jetstream.placement.rules import place
from msgspec.structs import replace

NONE = "no suitable peers for placement"


def server(name, **more):
    return PlacementServer(peer=name, name=name, cluster="c", storage_bytes=100, **more)


FIVE = [server(name) for name in ("n1", "n2", "n3", "n4", "n5")]


def placed(servers=FIVE, policy=None, **wanted):
    wanted = {"account": "A", "stream": "S", "cluster": "c", **wanted}
    return place(PlacementRequest(**wanted), servers, policy)


def refusal(*args, **wanted):
    with pytest.raises(NoPlacement) as refused:
        placed(*args, **wanted)
    return str(refused.value)


def changed(name, **change):
    return [replace(it, **change) if it.name == name else it for it in FIVE]


def test_who_has_most_room_is_first():
    assert placed(changed("n3", storage_bytes=200)) == ("n3",)


def test_replicated_streams_go_where_the_fewest_replicated_assets_are():
    servers = changed("n1", ha_assets=3, storage_bytes=500)

    assert placed(servers, replicas=3) == ("n2", "n3", "n4")
    assert placed(servers) == ("n1",)


def test_of_servers_with_the_same_room_those_with_fewest_streams_are_first():
    assert placed(changed("n1", streams=1)) == ("n2",)


def test_servers_that_lag_or_are_off_come_last():
    servers = changed("n1", is_caught_up=False)
    servers[1] = replace(servers[1], is_online=False)

    assert placed(servers, replicas=5) == ("n3", "n4", "n5", "n1", "n2")


def test_only_servers_of_the_cluster_are_taken():
    assert placed(changed("n1", cluster="d")) == ("n2",)
    assert refusal(cluster="d") == NONE
    assert refusal(cluster="") == f"{NONE}, miscellaneous issue"
    assert refusal([]) == f"{NONE}, jetstream not enabled in cluster"


def test_tags_must_be_there_or_must_not_be():
    servers = changed("n2", tags=("ssd", "az:a"))

    assert placed(servers, tags=("SSD",)) == ("n2",)
    assert placed(servers, tags=("!ssd",), replicas=3) == ("n1", "n3", "n4")
    assert refusal(servers, tags=("az:b",)) == f"{NONE}, tags not matched ['az:b']"
    assert refusal(servers, tags=("!ssd",), replicas=5) == f"{NONE}, tags excluded ['ssd']"


def test_a_server_may_want_no_streams():
    servers = [replace(it, tags=("!jetstream",)) for it in FIVE]

    assert refusal(servers) == f"{NONE}, exclude tag set"


def test_what_a_stream_reserves_must_be_free():
    assert placed(changed("n4", storage_bytes=200), max_bytes=150) == ("n4",)
    assert refusal(max_bytes=150) == f"{NONE}, insufficient storage"
    assert refusal(max_bytes=10, storage="memory") == f"{NONE}, insufficient storage"


def test_a_server_has_at_most_so_many_replicated_assets():
    servers = changed("n1", ha_assets=4, storage_bytes=500)

    assert "n1" not in placed(servers, replicas=3, ha_assets_max=4)
    assert placed(servers, ha_cost=0, ha_assets_max=4) == ("n1",)
    assert refusal(servers, replicas=5, ha_assets_max=4) == f"{NONE}, miscellaneous issue"


def test_no_two_replicas_share_a_unique_tag():
    zones = dict(zip(("n1", "n2", "n3", "n4"), "aabc", strict=True))
    servers = [
        replace(it, tags=(f"az:{zones[it.name]}",)) if it.name in zones else it for it in FIVE
    ]

    assert placed(servers, replicas=3, unique_tag="az:") == ("n1", "n3", "n4")
    assert placed(servers, replicas=3, unique_tag="az:", existing=("n2",)) == ("n2", "n3", "n4")
    assert refusal(servers, replicas=4, unique_tag="az:") == f"{NONE}, server tag not unique"
    assert placed(servers, replicas=2, unique_tag="az:", tags=("az:a",)) == ("n1", "n2")


def test_peers_that_stay_are_first_and_those_that_are_ignored_are_not_taken():
    assert placed(replicas=3, existing=("n4",), ignored=("n1",)) == ("n4", "n2", "n3")
    assert placed(replicas=1, existing=("n4", "n2")) == ("n4",)


def test_a_majority_must_be_online():
    servers = [replace(it, is_online=it.name == "n1") for it in FIVE]

    assert refusal(servers, replicas=3) == f"{NONE}, peer offline"
    assert placed(servers, replicas=3, existing=("n2",)) == ("n2", "n1", "n3")


def test_a_server_that_was_never_heard_is_not_taken():
    servers = [replace(it, is_known=False) for it in FIVE]

    assert refusal(servers) == f"{NONE}, peer offline"


def test_a_policy_orders_what_the_rules_permit_and_may_leave_some_out():
    class Backwards:
        def order(self, request, candidates, existing):
            return [it for it in reversed([*candidates, server("n9")]) if it.name != "n5"]

    assert placed(changed("n4", cluster="d"), Backwards(), replicas=2) == ("n3", "n2")
    assert refusal(FIVE, Backwards(), replicas=5) == f"{NONE}, miscellaneous issue"


# -- beside the real server ------------------------------------------------------------------------

ZONES = "aabbc"
REAL = [
    PlacementServer(
        peer=f"n{n}",
        name=f"n{n}",
        cluster="C1",
        tags=(f"az:{ZONES[n - 1]}", f"n:{n}", *(["ssd"] if n % 2 == 0 else [])),
        storage_bytes=256_000_000 * n,
        ha_assets=2 if n in {2, 4, 5} else 0,
    )
    for n in range(1, 6)
]
"""Five servers of 2.15.2, on three of which there was a stream with a consumer.

Rows in which they still counted bytes of streams just deleted are left out.
"""
ROWS = json.loads(Path(__file__).with_name("placed_by_2.15.2.json").read_bytes())


def without_order(text):
    """Return a refusal with its tags in order: the real server names them in any."""
    return re.sub(r"\[(.*)\]", lambda it: str(sorted(it[1].split(", "))), text)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_streams_are_placed_and_refused_as_by_five_real_servers(row):
    wanted = {**row, "tags": tuple(row["tags"])}
    real = wanted.pop("got")
    if isinstance(real, str):
        assert without_order(refusal(REAL, **wanted)) == without_order(real)
    else:
        assert sorted(placed(REAL, **wanted)) == real
