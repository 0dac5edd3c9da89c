"""Operators' own tools: accounts that `nats auth` makes and pushes are used at once, anywhere."""

from __future__ import annotations

import asyncio
import json

import nats
import nats.errors
import pytest

from framework.testing import OURS, NatsCli, await_pools

REAL = "2.15.2"
NOWHERE = "nats://127.0.0.1:1"

pytestmark = [pytest.mark.peer("nats", REAL), pytest.mark.timeout(90)]


class Operator:
    """What an operator has: keys and tokens in a folder, as `nats auth` keeps them."""

    def __init__(self, folder):
        self.folder = folder
        self.cli = NatsCli(folder)
        self.auth("operator", "add", "OP")
        self.auth("account", "add", "ACC", "--defaults")
        self.creds("sys", "SYSTEM")
        self.creds("ann", "ACC")

    def auth(self, *words):
        return self.cli.run(NOWHERE, "auth", *words)

    def creds(self, user, account):
        path = self.folder / f"{user}.creds"
        self.auth("user", "add", user, account, "--defaults", "--credential", str(path))
        return path

    @property
    def stores(self):
        return self.folder / "nats" / "nsc" / "stores" / "OP"

    def token(self, account):
        return (self.stores / "accounts" / account / f"{account}.jwt").read_text()

    def key(self, account):
        """Return an account's public key."""
        printed = self.auth("account", "info", account)
        return printed.partition(f"Account {account} (")[2].partition(")")[0]

    def config(self, store, *, name):
        """Return the configuration of a server that keeps accounts in a folder."""
        return (
            f"server_name: {name}\n"
            f'operator: "{self.stores / "OP.jwt"}"\n'
            f'resolver: {{ type: full, dir: "{store}", interval: "1s", allow_delete: true }}\n'
            f"resolver_preload: {{ {self.key('SYSTEM')}: {self.token('SYSTEM')} }}\n"
        )

    def push(self, server, account="ACC"):
        creds = str(self.folder / "sys.creds")
        return self.cli.run(server.url, "--creds", creds, "auth", "account", "push", account)


@pytest.fixture
def operator(tmp_path):
    return Operator(tmp_path)


def can_talk(server, creds):
    """Log in with nats-py, and return whether a message came through."""

    async def ignore(_error):
        pass

    async def session():
        client = nats.NATS()
        options = {"allow_reconnect": False, "error_cb": ignore, "user_credentials": str(creds)}
        try:
            await client.connect(server.url, **options)
            subscription = await client.subscribe("hello")
            await client.publish("hello", b"there")
            message = await subscription.next_msg(timeout=10)
        except nats.errors.Error:
            return False
        finally:
            await client.close()
        return message.data == b"there"

    return asyncio.run(asyncio.wait_for(session(), 20))


def request(server, creds, subject, payload=b""):
    """Ask with nats-py, and return the answer."""

    async def session():
        client = await nats.connect(server.url, user_credentials=str(creds))
        try:
            answer = await client.request(subject, payload, timeout=5)
        finally:
            await client.close()
        return answer.data

    return asyncio.run(asyncio.wait_for(session(), 20))


@pytest.mark.parametrize("kind", [OURS, REAL])
def test_an_account_that_is_pushed_is_used_at_once(fleet, operator, tmp_path, kind):
    server = fleet.start(kind=kind, config=operator.config(tmp_path / "jwt", name="a"))
    ann, sys = tmp_path / "ann.creds", tmp_path / "sys.creds"
    assert not can_talk(server, ann)
    printed = operator.push(server)

    assert "Update completed on a" in printed
    assert can_talk(server, ann)
    assert (tmp_path / "jwt" / f"{operator.key('ACC')}.jwt").read_text() == operator.token("ACC")
    listed = json.loads(request(server, sys, "$SYS.REQ.CLAIMS.LIST"))
    assert set(listed["data"]) == {operator.key("ACC"), operator.key("SYSTEM")}
    subject = f"$SYS.REQ.ACCOUNT.{operator.key('ACC')}.CLAIMS.LOOKUP"
    assert request(server, sys, subject).decode() == operator.token("ACC")


@pytest.mark.parametrize("kind", [OURS, REAL])
def test_a_limit_that_is_pushed_holds_at_once(fleet, operator, tmp_path, kind):
    server = fleet.start(kind=kind, config=operator.config(tmp_path / "jwt", name="a"))
    operator.push(server)
    assert can_talk(server, tmp_path / "ann.creds")
    operator.auth("account", "edit", "ACC", "--connections", "0")
    operator.push(server)

    assert not can_talk(server, tmp_path / "ann.creds")


def test_a_directory_of_a_real_server_is_taken_over(fleet, operator, tmp_path):
    config = operator.config(tmp_path / "jwt", name="a")
    real = fleet.start(kind=REAL, config=config)
    operator.push(real)
    real.stop()
    fleet.servers.remove(real)
    ours = fleet.start(config=config)

    assert can_talk(ours, tmp_path / "ann.creds")


def start_pair(fleet, operator, tmp_path, kinds, cluster=""):
    """Start two servers of a cluster, each with a directory of its own."""
    servers = []
    for at, kind in enumerate(kinds):
        seeds = ", ".join(f"nats-route://127.0.0.1:{it.cluster_port}" for it in servers)
        config = (
            f"{operator.config(tmp_path / f'jwt{at}', name=f's{at}')}http: 127.0.0.1:-1\n"
            f"cluster {{\n name: c\n listen: 127.0.0.1:-1\n routes: [{seeds}]\n {cluster}\n}}\n"
        )
        servers.append(fleet.start("-D", kind=kind, config=config, clustered=True))
    return servers


both = pytest.mark.parametrize("kinds", [(OURS, REAL), (REAL, OURS), (OURS, OURS)], ids="-".join)


@both
def test_an_account_that_one_server_has_is_known_to_all(fleet, operator, tmp_path, kinds):
    first, second = start_pair(fleet, operator, tmp_path, kinds)
    operator.push(first)

    assert can_talk(second, tmp_path / "ann.creds")
    path = tmp_path / "jwt1" / f"{operator.key('ACC')}.jwt"
    assert path.read_text() == operator.token("ACC")


@both
@pytest.mark.parametrize("used", [[1], [0, 1]], ids=["there", "everywhere"])
def test_a_pinned_account_that_comes_later_has_its_connection_then(
    fleet, operator, tmp_path, kinds, used
):
    """Where nobody uses it, it is fetched because the server that dials wants its connection."""
    key, system = operator.key("ACC"), operator.key("SYSTEM")
    pair = start_pair(fleet, operator, tmp_path, kinds, f"accounts: [{key}]")
    await_pools(*pair, accounts=(system,))
    operator.push(pair[0])
    for at in used:
        assert can_talk(pair[at], tmp_path / "ann.creds")

    await_pools(*pair, accounts=(system, key))


@both
def test_a_pinned_account_that_nobody_uses_is_fetched_for_its_connection(
    fleet, operator, tmp_path, kinds
):
    key, system = operator.key("ACC"), operator.key("SYSTEM")
    for at in range(2):
        (tmp_path / f"jwt{at}").mkdir()
        (tmp_path / f"jwt{at}" / f"{key}.jwt").write_text(operator.token("ACC"))
    pair = start_pair(fleet, operator, tmp_path, kinds, f"accounts: [{key}]")

    await_pools(*pair, accounts=(system, key))
