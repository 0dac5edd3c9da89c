"""Blocks of answers beside those of three and five servers of 2.15.2, field by field.

`cluster_of_2.15.2.json` was taken from five of them: each test gives ours what they knew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from framework_jetstream.api.records import plain
from framework_jetstream.api.times import ns_from_text
from framework_jetstream.meta.assignments import Group, ServerRecord, StreamAssignment
from framework_jetstream.meta.reports import GroupStatus, MemberStatus, cluster_info, meta_cluster

REAL = json.loads(Path(__file__).with_name("cluster_of_2.15.2.json").read_bytes())
IDS = {"n1": "fjFyEjc1"} | {it["name"]: it["peer"] for it in REAL["meta_cluster"]["replicas"]}
SERVERS = {peer: ServerRecord(peer=peer, name=name, cluster="C1") for name, peer in IDS.items()}


def members(replicas):
    return {
        it["peer"]: MemberStatus(
            is_current=it["current"], active_ns=it["active"], lag=it.get("lag", 0)
        )
        for it in replicas
    }


def assigned(real):
    """Return the assignment that 2.15.2 had."""
    desired = real.get("desired", {})
    peers = [it["peer"] for it in real.get("replicas", ())]
    if "leader" in real:
        peers = [IDS[real["leader"]], *peers]
    before = desired.get("origin")
    group = Group(
        name=real.get("raft_group", ""),
        peers=tuple(peers),
        cluster=real["name"],
        target=tuple(it["peer"] for it in desired.get("replicas", ())),
        target_created_ns=ns_from_text(desired["created"]) if desired else 0,
        config_before=json.dumps({"num_replicas": before["replicas"]}).encode() if before else b"",
    )
    return StreamAssignment(account="A", name="S", created_ns=1, config=b"{}", group=group)


@pytest.mark.parametrize("case", REAL["cluster"])
def test_who_has_an_asset_is_told_as_2_15_2_does(case):
    real = REAL["cluster"][case]
    since = real.get("leader_since")
    status = GroupStatus(
        leader=IDS.get(real.get("leader", ""), ""),
        leader_since_ns=ns_from_text(since) if since else 0,
        traffic_account="SYS",
        members=members(real.get("replicas", ())),
    )

    ours = plain(cluster_info(assigned(real), SERVERS, status))
    assert ours == real
    assert list(ours) == list(real)


def test_the_meta_group_is_told_as_2_15_2_does():
    real = REAL["meta_cluster"]
    status = GroupStatus(leader=IDS["n1"], members=members(real["replicas"]))

    ours = plain(meta_cluster("C1", SERVERS, list(SERVERS), status))
    assert ours == {name: it for name, it in real.items() if name != "snapshot"}


def test_who_does_not_lead_the_meta_group_shows_nobody():
    ours = plain(meta_cluster("C1", SERVERS, list(SERVERS), GroupStatus(leader=IDS["n2"])))

    assert "replicas" not in ours
    assert (ours["leader"], ours["cluster_size"], ours["quorum_needed"]) == ("n2", 5, 3)


def test_a_server_that_is_gone_is_shown_by_its_id():
    real = REAL["cluster"]["stream of three"]
    status = GroupStatus(leader=IDS[real["leader"]], traffic_account="SYS")
    others = {it: SERVERS[it] for it in SERVERS if it != real["replicas"][0]["peer"]}

    first = plain(cluster_info(assigned(real), others, status))["replicas"][0]
    assert first["name"] == first["peer"]
    assert (first["offline"], first["current"]) == (True, False)
