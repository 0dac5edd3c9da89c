"""What the meta leader decides, and what it refuses, in nats-server's words."""

from __future__ import annotations

import pytest
from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.meta.assignments import (
    Asset,
    ConsumerAssignment,
    Group,
    ServerRecord,
    StreamAssignment,
)
from framework_jetstream.meta.choices import Rules
from framework_jetstream.meta.fleet import OFFLINE_AFTER_NS, Fleet, Sighting
from framework_jetstream.meta.leader import Existing, MetaLeader
from framework_jetstream.meta.machine import MetaMachine
from framework_jetstream.placement.records import PlacementRequest
from msgspec.structs import replace

S = Asset("A", "S")


class Office:
    """A leader whose proposals are committed when `commit` is called."""

    def __init__(self, peers=4, **rules):
        self.machine = MetaMachine("p1", 1)
        self.fleet = Fleet()
        self.names = iter(range(1000))
        self.leader = MetaLeader(
            self.machine,
            start=1,
            fleet=self.fleet,
            rules=Rules(**rules),
            draw=lambda: f"{next(self.names):08}",
            request_of=lambda it: PlacementRequest(
                account=it.account,
                stream=it.name,
                cluster="",
                replicas=int(it.config),
                max_bytes=it.reserved_bytes or -1,
            ),
        )
        self.log = []
        self.leader.take_office()
        for n in range(1, peers + 1):
            peer = f"p{n}"
            self.fleet.hear(peer, Sighting(heard_ns=0))
            record = ServerRecord(peer=peer, name=f"n{n}", cluster="c", storage_bytes=100)
            self.propose(self.leader.put_server(record))

    def propose(self, proposal):
        self.log.append(proposal.data)
        self.leader.proposed(proposal, len(self.log))
        return proposal

    def commit(self):
        for index, data in enumerate(self.log, 1):
            self.machine.apply(index, data)

    def create(self, replicas=3, name="S", **more):
        return self.leader.create_stream(wanted(replicas, name, **more), ["c"])

    def found(self, asset=S):
        return self.leader.state.find(asset)


def wanted(replicas=3, name="S", **more):
    config = str(replicas).encode()
    empty = Group(name="", peers=())
    return StreamAssignment(
        account="A", name=name, created_ns=1, config=config, group=empty, **more
    )


def test_a_consumer_follows_the_number_of_replicas_that_it_may_have():
    office = Office()
    asset = S._replace(consumer="c")
    office.propose(office.create(3))
    office.propose(office.leader.create_consumer(asset, consumer(3)))
    assert list(office.leader.duties()) == []
    office.leader._follow = lambda _, it: replace(it, replicas=1, config=b"one")
    (proposal,) = office.leader.duties()
    office.propose(proposal)

    found = office.found(asset)
    assert (found.replicas, found.config, len(found.group.target)) == (1, b"one", 1)
    assert list(office.leader.duties()) == []
    office.propose(office.leader.finish_move(asset, 2, found.group.target))
    assert list(office.leader.duties()) == []
    office.leader._follow = lambda _, it: replace(it, replicas=2, config=b"two")
    (proposal,) = office.leader.duties()
    assert office.propose(proposal).operation.target[:1] == found.group.target


def consumer(replicas=0):
    empty = Group(name="", peers=())
    return ConsumerAssignment(name="c", created_ns=2, config=b"{}", group=empty, replicas=replicas)


def refusal(ask, *args):
    with pytest.raises(ApiFailure) as refused:
        ask(*args)
    error = refused.value.error
    return error.err_code, error.description


def test_a_stream_gets_a_group_and_the_leader_knows_of_it_before_it_is_committed():
    office = Office()
    proposal = office.create()
    office.propose(proposal)

    assert proposal.operation.stream.group.name == "S-R3F-00000000"
    assert office.create() == Existing(S)
    assert refusal(office.create, 1) == (
        10058,
        "stream name already in use with a different configuration",
    )
    assert office.machine.state.find(S) is None
    office.commit()
    assert office.machine.snapshot() == office.leader._forecast.snapshot()


def test_streams_that_were_proposed_count_when_the_next_is_placed():
    office = Office()
    office.propose(office.create(3, "S", reserved_bytes=60))
    (placed,) = office.create(1, "T", reserved_bytes=60).operation.stream.group.peers

    assert placed not in office.found().group.peers
    with pytest.raises(ApiFailure, match="no suitable peers for placement, insufficient storage"):
        office.create(3, "T", reserved_bytes=60)


def test_a_consumer_has_servers_of_its_stream():
    office = Office()
    office.propose(office.create())
    asset = S._replace(consumer="c")
    one = office.leader.create_consumer(asset, consumer(1)).operation.consumer.group
    all_ = office.propose(office.leader.create_consumer(asset, consumer())).operation

    assert len(one.peers) == 1
    assert set(one.peers) <= set(office.found().group.peers)
    assert all_.consumer.group.peers == office.found().group.peers
    assert office.leader.create_consumer(asset, consumer()) == Existing(asset)
    assert refusal(office.leader.create_consumer, Asset("A", "T", "c"), consumer()) == (
        10059,
        "stream not found",
    )


def test_scaling_keeps_who_leads_and_consumers_follow():
    office = Office()
    office.propose(office.create(1))
    office.propose(office.leader.create_consumer(S._replace(consumer="c"), consumer()))
    first = office.found().group.peers
    office.propose(office.leader.scale(wanted(3), first))
    target = office.found().group.target

    assert target[:1] == first
    assert office.found().group.preferred == first[0]
    (duty,) = [office.propose(it) for it in office.leader.duties()]
    assert set(duty.operation.target) == set(target)
    assert list(office.leader.duties()) == []
    assert office.leader.finish_move(S, 1, target) is None  # its consumer is not there yet
    office.propose(office.leader.finish_move(S._replace(consumer="c"), 2, duty.operation.target))
    office.propose(office.leader.finish_move(S, 1, target))
    leader = target[2]
    order = (leader, *(it for it in target if it != leader))
    office.propose(office.leader.scale(wanted(1), order))
    assert office.found().group.target == (leader,)


def test_who_scales_may_think_better_of_it():
    office = Office()
    office.propose(office.create(1))
    asset = S._replace(consumer="c")
    office.propose(office.leader.create_consumer(asset, consumer()))
    first = office.found().group.peers
    office.propose(office.leader.scale(wanted(3), first))
    [office.propose(it) for it in office.leader.duties()]
    hosts = set(office.found().group.target)
    office.propose(office.leader.scale(wanted(1), [*hosts - set(first), *first]))
    [office.propose(it) for it in office.leader.duties()]
    group, of_consumer = office.found().group, office.found(asset).group

    # One that may have been elected meanwhile keeps it, and the others until it is alone.
    assert group.target[0] in hosts - set(first)
    assert set(group.hosts) == hosts
    assert group.preferred == first[0]
    assert (of_consumer.target, set(of_consumer.hosts)) == (group.target, hosts)


def test_more_replicas_that_are_fewer_again_leave_nobody_without_a_majority():
    office = Office()
    office.propose(office.create(1))
    first = office.found().group.peers
    office.propose(office.leader.scale(wanted(3), first))
    hosts = set(office.found().group.target)
    office.propose(office.leader.scale(wanted(1), first))
    assert (office.found().group.target, set(office.found().group.hosts)) == (first, hosts)
    office.propose(office.leader.scale(wanted(3), first))
    assert (set(office.found().group.target), office.found().group.leaving) == (hosts, ())


def test_fewer_replicas_that_are_more_again_are_where_they_were():
    office = Office()
    office.propose(office.create())
    peers = office.found().group.peers
    office.propose(office.leader.scale(wanted(1), peers[1:]))
    assert office.found().group.target == (peers[1],)
    office.propose(office.leader.scale(wanted(3), peers[1:]))

    assert set(office.found().group.hosts) == set(peers)


def test_what_moves_is_not_scaled():
    office = Office()
    office.propose(office.create())
    office.propose(office.leader.replace_peer(S, office.found().group.peers[1]))

    assert refusal(office.leader.scale, wanted(1), office.found().group.peers) == (
        10124,
        "stream move already in progress",
    )


def test_a_move_that_nobody_began_is_not_cancelled():
    office = Office()
    office.propose(office.create())

    assert refusal(office.leader.cancel_move, S) == (
        10129,
        "stream reconfiguration not in progress",
    )


def test_another_server_takes_the_place_of_one_that_is_removed_from_a_stream():
    office = Office()
    office.propose(office.create())
    hosts = office.found().group.peers
    spare = next(it for it in ("p1", "p2", "p3", "p4") if it not in hosts)
    assert refusal(office.leader.replace_peer, S, spare) == (10040, "peer not a member")
    office.propose(office.leader.replace_peer(S, hosts[1]))

    assert office.found().group.target == (hosts[0], hosts[2], spare)


def test_without_a_spare_server_there_is_no_other_place():
    office = Office(peers=3)
    office.propose(office.create())

    assert refusal(office.leader.replace_peer, S, "p2") == (10075, "peer remap failed")


def test_a_server_is_removed_and_its_replicas_go_to_others():
    office = Office()
    office.propose(office.create())
    gone = office.found().group.peers[0]
    assert refusal(office.leader.remove_server, "p9") == (
        10044,
        "server is not a member of the cluster",
    )
    office.propose(office.leader.remove_server("", f"n{gone[1:]}"))
    (duty,) = [office.propose(it) for it in office.leader.duties()]

    assert gone not in duty.operation.target
    assert len(duty.operation.target) == 3


def test_duties_are_looked_for_when_something_has_changed(monkeypatch):
    office = Office()
    office.propose(office.create())
    looks = []
    duties = office.leader.duties
    monkeypatch.setattr(office.leader, "duties", lambda: looks.append(1) or duties())
    assert [office.leader.duty() for _ in range(3)] == [None] * 3
    assert len(looks) == 1

    gone = office.found().group.peers[0]
    office.propose(office.leader.remove_server(gone))
    assert gone not in office.propose(office.leader.duty()).operation.target
    assert office.leader.duty() is None
    office.leader.tell_time(OFFLINE_AFTER_NS)
    looks.clear()
    assert [office.leader.duty() for _ in range(3)] == [None] * 3
    assert len(looks) == 1


def test_a_running_server_with_the_last_replica_is_not_removed():
    office = Office()
    office.propose(office.create(1))
    (only,) = office.found().group.peers

    code, text = refusal(office.leader.remove_server, only)
    assert code == 10005
    assert text == (
        "streams would have no majority of their replicas left: A > S; scale or move them first"
    )
    office.leader.tell_time(OFFLINE_AFTER_NS)
    office.propose(office.leader.remove_server(only))
    assert list(office.leader.duties()) == []
    assert office.found().group.peers == (only,)


def test_who_is_not_in_office_decides_nothing():
    office = Office()
    office.leader.leave_office()

    assert refusal(office.create) == (10008, "JetStream system temporarily unavailable")


def test_who_does_not_know_all_entries_does_not_take_office():
    office = Office()
    office.machine.apply(100, b"\xc1")

    assert not office.leader.take_office()


def test_what_one_server_has_taken_of_an_archive_is_brought_to_the_others():
    office = Office()
    planned = office.leader.plan(wanted(3), ["c"])
    before = replace(planned.group, config_before=b"1")
    by = planned.group.peers[1]
    proposal = office.leader.adopt(replace(planned, group=before), by, [consumer(), alone()])
    office.propose(proposal)
    group, shared = office.found().group, office.found(S._replace(consumer="c")).group

    assert group.name == planned.group.name == "S-R3F-00000000"
    assert (group.peers, group.target[0]) == ((by,), by)
    assert set(group.target) == set(planned.group.peers)
    assert (shared.peers, set(shared.target)) == ((by,), set(planned.group.peers))
    assert (office.found(S._replace(consumer="one")).group.target) == ()
    assert office.leader.adopt(planned, by, []) == Existing(S)
    office.propose(office.leader.cancel_move(S))
    assert (office.found().config, office.found().group.peers) == (b"1", (by,))


def alone():
    return replace(consumer(1), name="one")


def test_an_archive_is_not_taken_for_a_name_that_there_is():
    office = Office()
    planned = office.leader.plan(wanted(1), ["c"])
    office.propose(office.create(1))
    taken = (10130, "stream name already in use, cannot restore")

    assert refusal(office.leader.plan, wanted(1), ["c"]) == taken
    assert refusal(office.leader.adopt, planned, "p1", []) == taken


def test_a_stream_is_moved_away_from_a_server():
    office = Office(peers=4)
    office.propose(office.create(3))
    first, *rest = office.found().group.peers
    office.propose(office.leader.evacuate(S, reply="_INBOX.1"))
    group = office.found().group

    assert (group.target[:2], len(group.target)) == (tuple(rest), 3)
    assert first not in group.target
    assert refusal(office.leader.evacuate, S)[0] == 10124
    assert refusal(office.leader.evacuate, S, "nobody") == (10040, "peer not a member")
    assert refusal(office.leader.evacuate, Asset("A", "T")) == (10059, "stream not found")


def test_a_stream_that_all_servers_have_is_not_moved():
    office = Office(peers=3)
    office.propose(office.create(3))

    assert refusal(office.leader.evacuate, S)[0] == 10005


def test_a_stream_that_one_server_has_is_moved_and_only_once():
    office = Office(peers=3)
    office.propose(office.create(1))
    (only,) = office.found().group.peers
    office.propose(office.leader.evacuate(S, only))

    assert len(office.found().group.target) == 1
    assert only not in office.found().group.target
    assert refusal(office.leader.evacuate, S) == (10124, "stream move already in progress")


def test_tags_of_a_move_are_asked_for_once():
    office = Office(peers=4)
    office.propose(office.create(1))
    error = refusal(office.leader.evacuate, S, "", ["ssd"])

    assert error[0] == 10005
    assert "tags not matched ['ssd']" in error[1]


def test_a_whole_replica_is_not_given_up_while_one_that_stays_is_not_whole():
    office = Office(peers=4)
    office.propose(office.create())
    group = office.found().group
    faulty, whole, other = group.peers
    lost = {group.name: ((3, 5), (9, 9), (12, 0))}
    office.fleet.hear(faulty, Sighting(heard_ns=0, faulty=frozenset({group.name}), lost=lost))

    for asked in (
        lambda: office.leader.replace_peer(S, whole),
        lambda: office.leader.scale(wanted(2), (faulty, whole, other)),
        lambda: office.leader.evacuate(S, whole),
        lambda: office.leader.remove_server(whole),
    ):
        code, text = refusal(asked)
        assert code == 10005
        which = "(sequences 3 to 5, 9, from 12 on)"
        assert f"A > S is lost at n{faulty[1:]} {which}, and" in text
        assert f"n{other[1:]}" in text or f"n{whole[1:]}" in text
    office.leader.scale(wanted(2), (whole, other, faulty))
    office.leader.remove_server(faulty)
    office.propose(office.leader.replace_peer(S, faulty))


def test_it_is_given_up_when_the_other_one_has_all_again():
    office = Office(peers=4)
    office.propose(office.create())
    group = office.found().group
    office.fleet.hear(group.peers[0], Sighting(heard_ns=0, faulty=frozenset({group.name})))
    office.fleet.hear(group.peers[0], Sighting(heard_ns=1))

    office.propose(office.leader.replace_peer(S, group.peers[1]))
