"""Clusters that form, grow, lose a server and heal."""

from __future__ import annotations

from framework.testing import await_mesh, check_exchange, free_port


def test_each_client_learns_of_all_servers(fleet, kind):
    servers = fleet.start_cluster(kind, kind, kind)
    ports = {server.port for server in servers}
    for server in servers:
        with server.client() as client:
            info = client.log_in()

        assert {f"127.0.0.1:{port}" for port in ports} == set(info["connect_urls"])
        assert info["cluster"] == "test"


def test_a_fourth_server_joins_by_the_seed_and_the_mesh_completes(fleet, kind):
    servers = fleet.start_cluster(kind, kind, kind)
    with servers[1].client() as watcher:
        watcher.log_in()
        fourth = fleet.join(servers[0], kind=kind)
        watcher.await_ports(*[server.port for server in (*servers, fourth)])
    await_mesh(*servers, fourth)

    check_exchange([*servers, fourth])


def test_a_killed_server_is_forgotten_and_comes_back(fleet, kind):
    a, b, c = fleet.start_cluster(kind, kind, kind)
    b.kill()
    await_mesh(a, c)
    check_exchange([a, c])
    again = fleet.restart(b)
    await_mesh(a, again, c)

    check_exchange([a, again, c])


def test_the_seed_may_die_too(fleet, kind):
    a, b, c = fleet.start_cluster(kind, kind, kind)
    a.kill()
    await_mesh(b, c)
    check_exchange([b, c])
    again = fleet.restart(a)
    await_mesh(again, b, c)

    check_exchange([again, b, c])


def test_a_stopped_server_tells_its_clients_nothing_and_closes(fleet, kind):
    a, b = fleet.start_cluster(kind, kind)
    with b.client() as client:
        client.log_in()
        b.stop()
        client.read_to_end()
    await_mesh(a)


def test_a_change_between_info_and_connect_is_told_too(fleet, kind):
    a = fleet.join(kind=kind)
    with a.client() as early, a.client() as watcher:
        early.expect(b"INFO")
        watcher.log_in()
        b = fleet.join(a, kind=kind)
        watcher.await_ports(a.port, b.port)
        early.send(b'CONNECT {"protocol":1,"verbose":false}\r\nPING\r\n')

        early.await_ports(a.port, b.port)


def test_a_client_of_the_first_protocol_is_told_nothing(fleet, kind):
    a = fleet.join(kind=kind)
    with a.client() as old, a.client() as watcher:
        old.log_in(protocol=0)
        watcher.log_in()
        b = fleet.join(a, kind=kind)
        watcher.await_ports(a.port, b.port)

        assert old.flush() == []


def test_interest_goes_when_its_client_goes(fleet, kind):
    a, b = fleet.start_cluster(kind, kind)
    with a.client() as requester:
        requester.log_in()
        requester.send(b"SUB _INBOX.x 1\r\n")
        with b.client() as service:
            service.log_in()
            service.send(b"SUB svc 1\r\n")
            service.flush()
            requester.await_interest(b"svc")
        refused = []
        while not refused:
            requester.send(b"PUB svc _INBOX.x 0\r\n\r\n")
            refused = requester.messages()

        assert refused[0].body == b"NATS/1.0 503\r\nNats-Subject: svc\r\n\r\n"


def test_a_request_is_answered_by_another_server(fleet, kind):
    a, b = fleet.start_cluster(kind, kind)
    with a.client() as requester, b.client() as service:
        service.log_in()
        service.send(b"SUB svc 1\r\n")
        service.flush()
        requester.log_in()
        requester.await_interest(b"svc")
        service.read_until(b"MSG svc")
        for number in range(200):
            inbox = b"_INBOX.%d" % number
            requester.send(b"SUB %b 9\r\nPUB svc %b 1\r\n?\r\n" % (inbox, inbox))
            request = service.expect(b"MSG svc")
            service.send(b"PUB %b 1\r\n!\r\n" % request.line.split()[3])

            assert requester.expect(b"MSG").line == b"MSG %b 9 1" % inbox
            requester.send(b"UNSUB 9\r\n")


def test_messages_make_one_hop_only(fleet, kind):
    """A and C cannot reach each other, so B knows both; it must not pass on between them."""
    nowhere = ("-cluster_advertise", "127.0.0.1:1")
    b = fleet.join(kind=kind)
    a = fleet.join(b, kind=kind, flags=nowhere)
    c = fleet.join(b, kind=kind, flags=nowhere)
    with a.client() as at_a, b.client() as at_b, c.client() as at_c:
        for client in (at_a, at_b, at_c):
            client.log_in()
        at_b.await_ports(a.port, b.port, c.port)
        for client in (at_b, at_c):
            client.send(b"SUB hop 1\r\nSUB mark 2\r\n")
            client.flush()
        at_c.send(b"SUB ready 3\r\n")
        at_c.flush()
        at_a.await_interest(b"mark")
        at_b.await_interest(b"ready")
        at_a.send(b"PUB hop 1\r\nx\r\n")
        at_b.read_until(b"MSG hop")
        at_b.send(b"PUB mark 3\r\nend\r\n")
        subjects = {operation.subject for operation in at_c.read_until(b"MSG mark 2 3")}

        assert b"hop" not in subjects


def test_a_route_to_itself_is_ignored(fleet, kind):
    config = """
      cluster { name: test, listen: "127.0.0.1:%d", routes: ["nats://127.0.0.1:%d"] }
    """
    port = free_port()
    server = fleet.start("-D", kind=kind, config=config % (port, port), clustered=True)
    server.wait_log("Detected route to self")
    other = fleet.join(server, kind=kind)
    await_mesh(server, other)

    check_exchange([server, other])
