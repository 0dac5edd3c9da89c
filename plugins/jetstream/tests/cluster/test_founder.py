"""Founders save before they say anything, and stores stay with their server."""

from __future__ import annotations

import pytest
from framework_jetstream.cluster.founder import SILENT_NS, Founder
from framework_jetstream.log.folder import StoreError
from framework_jetstream.meta.founding import Founded
from framework_jetstream.meta.memory_file import MemoryFile

PEERS = ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC")


class Servers:
    """Founders that hear each other at once."""

    def __init__(self, folder, sizes=(2, 2, 2)):
        self.begun, self.reports, self.letters = {}, [], []
        self.founders = {}
        for peer, size in zip(PEERS, sizes, strict=True):
            (folder / peer).mkdir(exist_ok=True)
            self.founders[peer] = Founder(
                peer=peer,
                server_count=size,
                file=MemoryFile(folder / peer, peer),
                draw=lambda: "group",
                send=lambda to, letter, peer=peer: self.letters.append((peer, to, letter)),
                begin=lambda value, peer=peer: self.begun.setdefault(peer, value),
                report=self.reports.append,
            )

    def see_all(self, now_ns=0):
        for peer, founder in self.founders.items():
            for other in PEERS:
                if other != peer:
                    founder.see(other, now_ns, has_group=False)

    def deliver(self):
        while self.letters:
            sender, to, letter = self.letters.pop(0)
            self.founders[to].receive(sender, letter)


def test_all_agree_on_one_group_and_remember_it(tmp_path):
    servers = Servers(tmp_path)
    servers.see_all()
    for founder in servers.founders.values():
        founder.tick(1)
    servers.deliver()
    servers.founders[PEERS[0]].tick(2)
    servers.deliver()

    assert len(set(servers.begun.values())) == 1
    again = Servers(tmp_path)
    assert {it.founded for it in again.founders.values()} == set(servers.begun.values())


def test_who_is_alone_founds_nothing(tmp_path):
    servers = Servers(tmp_path)
    servers.see_all()
    founder = servers.founders[PEERS[0]]
    founder.tick(SILENT_NS + 1)

    assert (servers.letters, founder.founded) == ([], None)


def test_what_is_not_saved_is_not_said(tmp_path, monkeypatch):
    servers = Servers(tmp_path)
    servers.see_all()

    def fail(*_):
        raise StoreError("full")

    monkeypatch.setattr(MemoryFile, "write", fail)
    founder = servers.founders[PEERS[1]]
    servers.founders[PEERS[0]].tick(1)
    servers.letters = [it for it in servers.letters if it[1] == PEERS[1]]
    servers.deliver()

    assert servers.reports
    assert founder.founded is None
    assert not [it for it in servers.letters if it[0] == PEERS[1]]


def test_other_sizes_are_told_once(tmp_path):
    servers = Servers(tmp_path, (2, 4, 2))
    servers.see_all()
    for now_ns in (1, 2):
        servers.founders[PEERS[0]].tick(now_ns)
        servers.deliver()

    assert len([it for it in servers.reports if "routes have to be the same" in it]) == 1


def test_a_store_stays_with_its_server(tmp_path):
    servers = Servers(tmp_path)
    servers.see_all()
    servers.founders[PEERS[0]].tick(1)
    servers.deliver()

    with pytest.raises(StoreError, match="a store stays with its name"):
        MemoryFile(tmp_path / PEERS[0], PEERS[1]).read()
    (tmp_path / PEERS[0] / "meta-founding").write_bytes(b"{")
    with pytest.raises(StoreError, match="can't be read"):
        MemoryFile(tmp_path / PEERS[0], PEERS[0]).read()


def test_who_comes_later_hears_of_it(tmp_path):
    servers = Servers(tmp_path)
    servers.see_all()
    servers.founders[PEERS[0]].tick(1)
    servers.deliver()
    servers.founders[PEERS[0]].tick(2)

    assert {type(letter) for _, _, letter in servers.letters} == {Founded}
