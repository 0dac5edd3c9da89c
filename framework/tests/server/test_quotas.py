"""Quotas of plugins, of authenticators and in `/quotaz`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.spec import Quota

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.client import RawClient
    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

CONFIG = "http: '127.0.0.1:-1'"
PLUGIN = """
from pathlib import Path

from framework.actors import Reply
from framework.hookspecs import hookimpl
from framework.spec import Accepted, Authenticator, Quota

HERE = Path(__file__).parent

def flood(most):
    return Quota(name="flood", messages=0.001, burst_messages=most, over="refuse")

def authenticate(request):
    reply = Reply()
    user = request.connect.user
    quotas = (flood(2),) if user == "slow" else ()
    reply.set(Accepted(user or "nobody", quotas=quotas))
    return reply

def recheck(request, accepted):
    quotas = (flood(9),) if accepted.user == "slow" else ()
    return Accepted(accepted.user, quotas=quotas)

@hookimpl
def framework_authenticators(server):
    yield Authenticator(name="all", authenticate=authenticate, recheck=recheck)

@hookimpl
def framework_quotas(server, client):
    if client.name == "broken":
        raise RuntimeError("no")
    if client.name == "measured" and not (HERE / "off").exists():
        yield Quota(name="host", bytes=1_000_000, burst_bytes=100, per="address", subject="big.>")
"""


@pytest.fixture
def server(start_server: StartServer, tmp_path: Path) -> ServerProcess:
    plugin = tmp_path / "measuring.py"
    plugin.write_text(PLUGIN)
    return start_server("--plugin", str(plugin), "--no-plugin", "auth", config=CONFIG)


def refused(client: RawClient, count: int) -> int:
    """Publish so often, and return how many did not come back."""
    client.send(b"SUB a 1\r\n" + b"PUB a 0\r\n\r\n" * count)
    got = [it for it in client.flush() if it.verb == b"MSG"]
    client.send(b"UNSUB 1\r\n")
    return count - len(got)


def quotas(server: ServerProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.document("/quotaz")["quotas"]
    return found


def test_connections_of_a_user_share_the_quota_that_its_authenticator_returned(
    server: ServerProcess,
) -> None:
    with server.client() as one, server.client() as two, server.client() as other:
        one.log_in(user="slow")
        two.log_in(user="slow")
        other.log_in(user="fast")

        assert refused(other, 50) == 0
        assert refused(one, 1) == 0
        assert refused(two, 3) == 2
        (row,) = quotas(server)
        assert (row["name"], row["who"], row["connections"]) == ("flood", "$G/slow", 2)
        assert (row["passed"], row["refused"], row["over"]) == (2, 2, "refuse")

        server.reload(CONFIG)
        assert quotas(server)[0]["burst_messages"] == 9
    assert_none_left(server)


def test_a_plugin_measures_clients_and_a_reload_asks_it_again(
    server: ServerProcess, tmp_path: Path
) -> None:
    with server.client() as client:
        client.log_in(name="measured")
        client.send(b"PUB big.a 300\r\n" + b"x" * 300 + b"\r\n")
        client.flush()
        (row,) = quotas(server)
        assert (row["per"], row["who"], row["subject"]) == ("address", "127.0.0.1", "big.>")
        (tmp_path / "off").touch()
        server.reload(CONFIG)

        assert_none_left(server)


def test_who_cannot_be_measured_is_told_in_the_log(server: ServerProcess) -> None:
    with server.client() as client:
        client.log_in(name="broken")
        assert refused(client, 5) == 0

    server.wait_log("Plugin measuring failed in framework_quotas")


def assert_none_left(server: ServerProcess) -> None:
    while quotas(server):
        with server.client() as client:  # a round trip
            client.log_in()
            client.flush()


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"name": ""}, "expected a name"),
        ({"name": "a", "messages": -1}, "messages: expected 0 or more"),
        ({"name": "a", "bytes": float("nan")}, "bytes: expected 0 or more"),
        ({"name": "a", "per": "planet"}, "per: expected account or address"),
        ({"name": "a", "over": "cry"}, "over: expected wait or refuse"),
        ({"name": "a", "subject": "a..b"}, "subject: expected a subject"),
    ],
)
def test_what_makes_no_quota_is_refused(terms: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Quota(**terms)
