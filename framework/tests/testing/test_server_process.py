from __future__ import annotations

import re
import signal

import pytest

from framework.testing import ConnectionEndedError, ServerFailedError


def test_a_server_that_does_not_start_shows_its_log(start_server):
    with pytest.raises(ServerFailedError, match="Server is ready"):
        start_server("--no_such_flag")


def test_a_server_restarts_on_its_ports(fleet):
    server = fleet.join()
    server.stop()
    again = fleet.restart(server)

    assert (again.port, again.cluster_port) == (server.port, server.cluster_port)


def test_a_killed_server_is_no_failure(fleet):
    server = fleet.start()
    server.kill()
    server.kill()

    assert not server.is_running()


def test_a_server_that_ended_badly_is_told(fleet):
    server = fleet.start()
    server.signal(signal.SIGABRT)
    code = server.wait()

    assert code == -signal.SIGABRT


def test_what_is_not_logged_is_an_error(server):
    with pytest.raises(ServerFailedError, match=re.escape("(0 of 1)")):
        server.wait_log("never said", timeout_s=0.01)


def test_a_closed_connection_says_what_was_awaited(server):
    with server.client() as client:
        client.log_in()
        client.flush()  # behind the PONG it was told its account
        client.send(b"nonsense\r\n")
        client.expect(b"-ERR")
        with pytest.raises(ConnectionEndedError, match="a line"):
            client.read()
