"""Questions to the monitoring port that ours once answered otherwise than the real server."""

from __future__ import annotations

import pytest

MONITORED = 'http: "127.0.0.1:-1"\n'


def test_the_address_that_clients_are_told_is_shown(fleet, kind):
    server = fleet.start(kind=kind, config=MONITORED + 'client_advertise: "example.net:4999"\n')
    document = server.document("/varz")

    assert (document["host"], document["port"]) == ("example.net", 4999)


def test_subscriptions_of_other_servers_are_not_listed(fleet, kind):
    here, there = fleet.start_cluster(kind, kind, flags=("-m", "-1"))
    with here.client() as near, there.client() as far:
        near.log_in()
        far.log_in()
        near.send(b"SUB near 1\r\nSUB nearer 2\r\n")
        far.send(b"SUB far 1\r\n")
        near.await_interest(b"far")
        far.await_interest(b"nearer")
        document = here.document("/subsz?subs=1&acc=$G")

    listed = {it["subject"] for it in document["subscriptions_list"]}
    # The real server lists its own imports as well.
    assert {"near", "nearer"} <= listed
    assert "far" not in listed


def test_a_subject_alone_does_not_choose_connections(fleet, kind):
    server = fleet.start(kind=kind, config=MONITORED)
    with server.client() as client:
        client.log_in()

        assert server.document("/connz?filter_subject=nobody")["num_connections"] == 1


@pytest.mark.parametrize("token_bytes", [66_000, 120_000])
def test_a_long_connect_is_taken_where_max_control_line_admits_it(fleet, kind, token_bytes):
    server = fleet.start(kind=kind, config="max_control_line: 1MB\n")
    with server.client() as client:
        client.log_in(jwt="x" * token_bytes)

        assert client.messages() == []
