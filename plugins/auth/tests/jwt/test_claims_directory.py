"""Directories that are kept the same: each takes what is newer, and what counts."""

from __future__ import annotations

import pytest
from framework_auth.operator.claims_directory import ClaimsDirectory
from framework_auth.resolver.directory import AccountDirectory

from framework.actors import ActorSystem, Reply, SimulatedDispatcher
from framework.wire.nkey import NkeyKind


class Log:
    """Keeps what was logged."""

    def __init__(self):
        self.lines = []

    def error(self, event, **fields):
        self.lines.append((event, fields))


class Network:
    """Some servers, each with a directory, in virtual time; messages reach all others."""

    def __init__(self, realm, folder):
        self.dispatcher = SimulatedDispatcher()
        self.system = ActorSystem(self.dispatcher, name="test")
        self.realm = realm
        self.folder = folder
        self.servers = {}
        self.sent = []

    def add(self, name, tokens=()):
        store = AccountDirectory(
            self.folder / name,
            check=lambda token, key: self.realm.trust.check_signed(token, key).claims,
            wall_s=lambda: self.realm.now_s,
        )
        store.open()
        for key, token in tokens:
            store.save(key, token)
        server = Server(self, name, store)
        self.servers[name] = server
        return server

    def publish(self, sender, messages):
        for subject, reply, payload in messages:
            self.sent.append((sender, subject))
            others = [it for it in self.servers.values() if it.name != sender]
            if subject == "$SYS.REQ.CLAIMS.PACK":
                # One of the queue group; here the first.
                for server in others[:1]:
                    server.ref.tell(ClaimsDirectory.Compare(reply, payload))
            elif subject.endswith(".CLAIMS.LOOKUP"):
                for server in others:
                    answer = server.store.load(subject.split(".")[3]) or ""
                    self.publish(server.name, [(reply, "", answer.encode())])
            else:
                self.deliver(subject, payload.decode())

    def deliver(self, subject, payload):
        name, what, *rest = subject.split(".")
        ref = self.servers[name].ref
        if what == "lookup":
            ref.tell(ClaimsDirectory.Found(rest[0], payload))
        elif payload:
            ref.tell(ClaimsDirectory.Merge(payload))


class Server:
    """One of them."""

    def __init__(self, network, name, store):
        self.name = name
        self.store = store
        self.changed = []
        self.log = Log()
        self.ref = network.system.spawn(
            ClaimsDirectory,
            store=store,
            publish=lambda messages: network.publish(name, messages),
            inbox=name,
            interval_s=60.0,
            timeout_s=1.9,
            has_peers=lambda: len(network.servers) > 1,
            changed=lambda key, token: self.changed.append((key, token)),
            log=self.log,
        )


@pytest.fixture
def network(realm, tmp_path):
    return Network(realm, tmp_path)


@pytest.fixture
def accounts(mint):
    keys = [mint.key(NkeyKind.ACCOUNT, f"account {number}") for number in range(3)]
    return [(it.public, mint.account_token(it)) for it in keys]


def test_a_server_that_comes_empty_has_all_after_a_while(network, accounts):
    network.add("a", accounts)
    late = network.add("b")
    network.dispatcher.run_for(61)

    assert set(late.store.names()) == {name for name, _ in accounts}
    assert sorted(late.changed) == sorted(accounts)


def test_another_server_is_compared_with_when_it_comes(network, accounts):
    network.add("a", accounts)
    late = network.add("b")
    late.ref.tell(ClaimsDirectory.PeerCame())
    network.dispatcher.run_for(2)

    assert len(late.store.names()) == 3


def test_servers_that_have_the_same_send_nothing(network, accounts):
    for name in ("a", "b"):
        network.add(name, accounts)
    network.dispatcher.run_for(125)

    assert {subject for _, subject in network.sent} == {"$SYS.REQ.CLAIMS.PACK", "a.pack", "b.pack"}
    assert all(not server.changed for server in network.servers.values())


def test_the_newer_one_of_two_wins_on_both_sides(network, mint):
    name = mint.account.public
    old, new = (mint.account_token(issued_s=mint.now_s + age) for age in (0, 9))
    first, second = network.add("a", [(name, old)]), network.add("b", [(name, new)])
    network.dispatcher.run_for(125)

    assert first.store.load(name) == second.store.load(name) == new


def test_what_another_server_sends_is_checked(network, mint):
    server = network.add("a")
    alien = mint.key(NkeyKind.OPERATOR, "alien")
    forged = mint.account_token(signer=alien)
    for line in (f"{mint.account.public}|{forged}", "junk", "../x|eyJ", "|", "a|b|c", "\n\n"):
        server.ref.tell(ClaimsDirectory.Merge(line))
    network.dispatcher.run_for(1)

    assert server.store.names() == ()
    assert server.changed == []
    assert server.log.lines


def test_an_account_that_is_elsewhere_is_found_and_kept(network, accounts):
    name, token = accounts[0]
    network.add("empty")
    network.add("a", accounts)
    asker = network.add("b")
    reply = Reply()
    asker.ref.tell(ClaimsDirectory.AskOthers(name, reply))
    network.dispatcher.run_for(1)

    assert reply.get(timeout=0) == token
    assert asker.store.load(name) == token


def test_an_account_that_is_nowhere_is_given_up(network, mint):
    for name in ("a", "b"):
        network.add(name)
    reply = Reply()
    network.servers["a"].ref.tell(ClaimsDirectory.AskOthers(mint.other.public, reply))
    network.dispatcher.run_for(1.8)
    assert not reply.is_done
    network.dispatcher.run_for(0.2)

    assert reply.get(timeout=0) is None


def test_alone_nobody_waits(network, mint):
    network.add("a")
    reply = Reply()
    network.servers["a"].ref.tell(ClaimsDirectory.AskOthers(mint.other.public, reply))
    network.dispatcher.run_ready()

    assert reply.get(timeout=0) is None


def test_damaged_files_are_reported_when_it_starts(network, mint, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / f"{mint.account.public}.jwt").write_text("damaged")
    server = network.add("a")
    network.dispatcher.run_for(1)

    assert [fields["path"] for _, fields in server.log.lines] == [
        str(tmp_path / "a" / f"{mint.account.public}.jwt")
    ]


def test_who_waits_when_the_server_stops_is_told(network, mint):
    for name in ("a", "b"):
        network.add(name)
    reply = Reply()
    network.servers["a"].ref.tell(ClaimsDirectory.AskOthers(mint.other.public, reply))
    network.dispatcher.run_ready()
    network.servers["a"].ref.stop(block=False)
    network.dispatcher.run_for(1)

    assert reply.get(timeout=0) is None
