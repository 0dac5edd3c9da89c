"""Groups that begin: the first of their members leads them at once."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "raft"))

from framework_jetstream.raft.records import Role, Settings
from replica_server import GROUPS, Judge, ReplicaServer

VOTES = dict.fromkeys((2, 1, 3), True)
FIRST = 2


def servers_of():
    settings = Settings(election_ticks=20, heartbeat_ticks=3, lease_ticks=15)
    return {it: ReplicaServer(it, Judge(), settings, VOTES, (1, "")) for it in VOTES}


def settle(servers):
    """Let servers say, write and hear all that there is, while no time passes."""
    is_busy = True
    while is_busy:
        is_busy = False
        for server in servers:
            for to, frame in server.turn():
                is_busy = True
                for other in servers:
                    if other.id == to:
                        other.step(server.id, frame)
            if server.begin_round():
                server.end_round()
                is_busy = True


def roles(server):
    return {server.replicas.role(number) for number in server.numbers.values()}


def test_the_first_member_leads_before_any_time_has_passed() -> None:
    servers = servers_of()
    for server_id in (1, 3, FIRST):
        servers[server_id].start()
    settle(list(servers.values()))

    assert roles(servers[FIRST]) == {Role.LEADER}
    assert servers[FIRST].propose(GROUPS[0], [b"first"])
    settle(list(servers.values()))
    assert servers[1].stored[GROUPS[0]].index == servers[FIRST].stored[GROUPS[0]].index > 0


def test_it_asks_again_until_others_are_there() -> None:
    servers = servers_of()
    servers[FIRST].start()
    for _ in range(3):
        servers[FIRST].tick()
        settle([servers[FIRST]])
    assert roles(servers[FIRST]) == {Role.PRE_CANDIDATE}
    servers[3].start()
    servers[FIRST].tick()
    settle([servers[FIRST], servers[3]])

    assert roles(servers[FIRST]) == {Role.LEADER}


def test_others_wait_for_it_as_for_any_leader() -> None:
    servers = servers_of()
    servers[1].start()
    servers[3].start()
    settle([servers[1], servers[3]])
    for server_id in (1, 3):
        servers[server_id].tick(19)
    settle([servers[1], servers[3]])
    assert {servers[1].role, servers[3].role} == {Role.FOLLOWER}
    servers[1].tick(41)
    settle([servers[1], servers[3]])

    assert servers[1].role is Role.LEADER
    # Who is the first, and late, takes nothing away.
    servers[FIRST].start()
    settle(list(servers.values()))
    assert servers[1].role is Role.LEADER


def test_who_is_started_again_asks_nobody_before_its_time() -> None:
    servers = servers_of()
    for server in servers.values():
        server.start()
    settle(list(servers.values()))
    term = servers[FIRST].term
    servers[FIRST].stop()
    servers[FIRST].start()
    settle(list(servers.values()))

    assert (servers[FIRST].role, servers[FIRST].term) == (Role.FOLLOWER, term)
