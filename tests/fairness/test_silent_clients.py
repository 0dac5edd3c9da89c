"""Sockets that connect and say nothing, more than may wait for a login."""

from __future__ import annotations

from framework.testing import RawClient

CONFIG = """
max_pending_logins: 50
authorization { user: joe, password: secret }
"""


def test_silent_clients_of_one_host_keep_nobody_out(fleet):
    server = fleet.start(config=CONFIG)
    silent = [RawClient(server.port) for _ in range(200)]
    for client in silent:
        client.expect(b"INFO")
    for _ in range(20):
        with server.client() as client:
            client.log_in(user="joe", **{"pass": "secret"})
        silent.append(RawClient(server.port))
        silent[-1].expect(b"INFO")
    (ended,) = silent[0].read_to_end()

    assert ended.line == b"-ERR 'Authentication Timeout'"
    for client in silent:
        client.close()


def test_who_logs_in_when_all_the_others_are_silent_is_not_the_one_to_go(fleet):
    server = fleet.start(config=CONFIG)
    late = server.client()
    late.expect(b"INFO")
    silent = [RawClient(server.port) for _ in range(49)]
    for client in silent:
        client.expect(b"INFO")
    late.send(b'CONNECT {"user":"joe","pass":"secret"}\r\n')
    late.flush()
    silent += [RawClient(server.port) for _ in range(30)]
    for client in silent[49:]:
        client.expect(b"INFO")

    assert late.flush() == []
    for client in (late, *silent):
        client.close()
