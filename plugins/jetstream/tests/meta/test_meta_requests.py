"""Requests of operators, refused as by 2.15.2; and which server of a cluster answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from framework_jetstream.api.answers import refused
from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.api.subjects import subject_of
from framework_jetstream.meta.answering import MINE, SILENT, View, verdict
from framework_jetstream.meta.assignments import Asset, ServerRecord
from framework_jetstream.meta.requests import next_leader, remove_peer, remove_server
from test_meta_leader import Office, consumer
from test_meta_machine import of_newer

REAL = json.loads(Path(__file__).with_name("cluster_of_2.15.2.json").read_bytes())
PREFIX = "$JS.API."


@pytest.fixture
def office():
    """A meta leader, n1, with `S3` on three of five servers, `S1` on one, and a consumer `c`."""
    office = Office(peers=5)
    office.propose(office.create(3, "S3"))
    office.propose(office.create(1, "S1"))
    office.propose(office.leader.create_consumer(Asset("A", "S3", "c"), consumer()))
    office.commit()
    return office


def ours(office, kind, asset, payload):
    """Return the refusal of a request, as the server that answers it gives it."""
    leads = office.found(asset).group.peers[0] if office.found(asset) else ""
    for peer in [leads, "p1"] if leads else ["p1"]:
        office.machine.peer = peer
        view = View(meta_leader="p1", leader=leads)
        said = verdict(office.machine, kind, asset, view)
        if said.refusal is not None:
            return said.refusal
        if said.is_mine:
            return carried_out(office, kind, asset, payload)
    return None


def carried_out(office, kind, asset, payload):
    try:
        if kind == "stream_remove_peer":
            remove_peer(office.leader, asset, payload)
        elif kind == "stream_cancel_move":
            office.leader.cancel_move(asset)
        elif kind == "stream_delete":
            office.leader.remove(asset)
        elif kind == "meta_server_remove":
            remove_server(office.leader, payload)
        elif kind.endswith("_leader_stepdown"):
            servers = office.machine.state.servers
            group = servers
            if asset.stream:
                hosts = office.found(asset).group.hosts
                group = {it: servers[it] for it in hosts}
            next_leader(payload, office.machine.peer, group, lambda _: True)
    except ApiFailure as refusal:
        return refusal.error
    return None


ROWS = [
    row
    for row in REAL["answers"]
    if any(
        it in row["subject"]
        for it in (
            "STEPDOWN",
            "PEER.REMOVE",
            "SERVER.REMOVE",
            "CANCEL_MOVE.N",
            "INFO.",
            "DELETE.NO",
        )
    )
    and "CANCEL_MOVE.A" not in row["subject"]
    and "already leader" not in json.dumps(row)
    and row["answer"].get("error", {}).get("code") != 503
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['subject']} {row['request']}")
def test_requests_are_refused_as_by_2_15_2(office, row):
    found = subject_of(tuple(row["subject"].removeprefix(PREFIX).split(".")))
    name = found.rest[0] if found.rest else ""
    asset = Asset("A", found.stream, name)
    if name == "r1":
        asset = asset._replace(consumer="c")
    payload = b"" if row["request"] is None else json.dumps(row["request"]).encode()
    if row["request"] == {"peer": "n3"}:
        office.machine.state.find(asset)
        payload = json.dumps({"peer": office.found(asset).group.peers[1].replace("p", "n")})
        payload = payload.encode()
    error = ours(office, found.kind, asset, payload)

    real = row["answer"]
    if "success" in real:
        assert error is None
    else:
        assert json.loads(refused(found.kind, error)) == real


def test_a_server_is_preferred_by_name_and_others_by_tags_and_cluster():
    members = {
        f"p{n}": ServerRecord(peer=f"p{n}", name=f"n{n}", cluster="C1", tags=tags)
        for n, tags in enumerate([("ssd",), ("ssd",), ()], 1)
    }

    def preferred(placement, online=("p1", "p2", "p3")):
        payload = json.dumps({"placement": placement}).encode()
        return next_leader(payload, "p1", members, lambda it: it in online)

    assert preferred({"preferred": "n3"}) == "p3"
    assert preferred({"tags": ["SSD"]}) == "p2"
    assert preferred({"cluster": "C1"}, ("p3",)) == "p3"
    assert next_leader(b"", "p1", members, lambda _: True) == ""
    assert next_leader(b"{}", "p1", members, lambda _: True) == ""
    for placement, problem in [
        ({"preferred": "n1"}, 'preferred server "n1" is already leader'),
        ({"preferred": "n9"}, 'preferred server "n9" not known'),
        ({"cluster": "C2"}, "no replacement peer connected"),
    ]:
        with pytest.raises(ApiFailure, match=problem):
            preferred(placement)


S3 = Asset("A", "S3")


def code_of(said):
    return said.refusal.err_code if said.refusal else None


def test_one_server_answers_and_the_others_are_silent(office):
    machine = office.machine
    leads = office.found(S3).group.peers[0]
    for kind, answering in [("stream_create", "p1"), ("stream_info", leads)]:
        for peer in office.machine.state.servers:
            machine.peer = peer
            said = verdict(machine, kind, S3, View(meta_leader="p1", leader=leads))
            assert said == (MINE if peer == answering else SILENT)


def test_what_is_not_assigned_is_the_meta_leaders_to_say(office):
    nothing = Asset("A", "none")

    assert code_of(verdict(office.machine, "stream_info", nothing, View(meta_leader="p1"))) == 10059
    assert verdict(office.machine, "stream_info", nothing, View(meta_leader="p2")) == SILENT
    assert code_of(verdict(office.machine, "stream_info", nothing, View())) == 10008
    gone = S3._replace(consumer="gone")
    assert code_of(verdict(office.machine, "consumer_info", gone, View(meta_leader="p1"))) == 10014


def test_without_a_leader_who_knows_says_so_late(office):
    machine = office.machine
    machine.peer = office.found(S3).group.peers[0]
    leaderless = verdict(machine, "stream_info", S3, View(meta_leader="p9"))
    assert (code_of(leaderless), leaderless.is_late) == (10008, True)
    headless = verdict(machine, "stream_names", S3, View())
    assert (code_of(headless), headless.is_late) == (10008, True)


def test_what_nobody_runs_is_offline(office):
    view = View(meta_leader="p1", is_offline=True)
    assert code_of(verdict(office.machine, "stream_info", S3, view)) == 10118
    office.machine.apply(99, of_newer(("stream", "A", "S3")))
    office.machine.peer = office.found(S3).group.peers[0]
    said = verdict(office.machine, "stream_info", S3, View(meta_leader="p9"))
    assert said.refusal.description == (
        "stream is offline: a newer version of the server has changed it"
    )
