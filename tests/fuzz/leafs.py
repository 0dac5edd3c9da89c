"""The machines of the leaf node plugin: hubs and leaf nodes that say and do whatever there is."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from framework_leafnode import effect as e
from framework_leafnode.info import LeafInfo
from framework_leafnode.leafs import Leafs
from framework_leafnode.limits import HANDSHAKES_MAX, URLS_MAX
from framework_leafnode.machine import LeafHandshake
from framework_leafnode.peer import Connection, Rights, Urls
from framework_leafnode.settings import LeafSettings, RemoteSettings
from framework_leafnode.url import parse_hub_url
from framework_route.modes import MODES
from msgspec.structs import replace
from typing_extensions import override

from framework import peering as p
from framework.peering import Compression, CompressionTerms
from framework.wire.info import SubjectPermission
from tests.fuzz.peer_world import STRANGE, PeerWorld

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from framework.spec import LinkId
    from framework.wire.closed_state import ClosedState

ROOM = 5
"""Leaf nodes that an account may have."""
_BY_NAME = {mode.name: mode for mode in MODES}
_URLS = ("nats-leaf://10.0.0.2:7422", "tls://10.0.0.3:7422", "host", "u:p@host:1")
_VALUES: dict[str, tuple[Any, ...]] = {
    "server_id": ("NA", "NB", ""),
    "server_name": ("a", "b", ""),
    "version": ("2.15.2", "2.9.10", "", "x"),
    "client_id": (0, 7),
    "cluster": ("", "here", "there", "_", "a b"),
    "compression": ("", "off", "accept", "s2_fast", "s2_auto", "s3"),
    "codecs": ([], ["zstd"], ["?"] * 50),
    "codec": ("", "zstd", "?"),
    "info_on_connect": (True, False),
    "connect_info": (True, False),
    "tls_required": (True, False),
    "remote_account": ("", "R"),
    "leafnode_urls": ([], ["10.0.0.9:7422"], ["a b", ""], [f"h:{it}" for it in range(1, 400)]),
    "import": ({}, {"allow": ["a"]}, {"deny": ["b.>"]}),
    "export": ({}, {"allow": ["a"]}, {"deny": ["b.>"]}),
    "acc_is_sys": (True, False),
}
_SAID: dict[str, tuple[Any, ...]] = {
    "name": ("b", "c", ""),
    "version": ("2.15.2", "2.9.10", "", "x"),
    "cluster": ("", "here", "there", "_", "a b"),
    "lang": ("", "go"),
    "gateway": ("", "west"),
    "is_hub": (True, False),
    "isolate": (True, False),
    "deny_pub": ([], ["a"], ["a"] * 2_000),
    "compress_mode": ("", "off", "s2_fast"),
    "remote_account": ("", "R"),
}
_ERRORS = (b"Loop detected", b"remote leafnode has same cluster name", b"x" * 2_000, b"")


class World(PeerWorld[Leafs, LeafHandshake]):
    """The hubs and leaf nodes of one server, and what is on its way to it.

    Args:
        rng: Decides what happens.
    """

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._asked: dict[LinkId, type] = {}
        """What machines have asked for, and get once: to be encrypted, or a login checked."""
        self._settings = self._new_settings()
        local = LeafInfo(server_id="NA", server_name="a", cluster="here", ip="a:7422")
        self.steered = self.leafs = Leafs(
            local=local, settings=self._settings, tokens=count(1), room=lambda _: ROOM
        )
        self._do(self.leafs.start())

    # -- what may happen

    def _accept(self) -> None:
        link = next(self._links)
        self._do(self.leafs.receive_opened(Connection(link, link, "10.0.0.9", 40_000), 0))

    def _answer_dial(self) -> None:
        if not self._dials:
            return
        token = self._dials.pop(self._rng.randrange(len(self._dials)))
        if self._rng.random() < 0.3:
            self._do(self.leafs.receive_dial_failed(token, "connection refused"))
        else:
            link = next(self._links)
            url = parse_hub_url("10.0.0.2:7422")
            made = Connection(link, link, "10.0.0.2", 7422, url=url)
            self._do(self.leafs.receive_opened(made, token))

    def _say(self) -> None:
        link = self._any_link()
        if link is None:
            return
        machine = self._machines[link]
        if self._rng.random() < 0.5:
            self._act(link, machine.receive_connect(self._document(_SAID)))
        else:
            self._act(link, machine.receive_info(self._document(_VALUES)))

    def _shake_hands(self) -> None:
        """Do all that a good peer does."""
        link = self._any_link()
        if link is None:
            return
        machine = self._machines[link]
        connection = self.leafs.connections.get(link)
        if connection is None:
            return
        if connection.remote is None:
            name, cluster = self._rng.choice("bcd"), self._rng.choice(("", "there"))
            said = {"name": name, "cluster": cluster, "remote_account": "R", "version": "2.15.2"}
            self._act(link, machine.receive_connect(json.dumps(said).encode()))
            if link in self._machines and self._takes_up(link, e.Authenticate):
                self._act(link, machine.receive_authenticated(Rights(account="A")))
        else:
            info = {"server_id": "NB", "client_id": 7, "info_on_connect": True}
            answer = {**info, "connect_info": True, "remote_account": "R"}
            for document in (info, answer):
                if link in self._machines:
                    self._act(link, machine.receive_info(json.dumps(document).encode()))
        self._flush()

    def _happen(self) -> None:
        link = self._any_link()
        if link is None:
            return
        machine = self._machines[link]
        match self._rng.randrange(5):
            case 0:
                self._act(link, machine.receive_pong(self._rng.randrange(10**9)))
            case 1:
                self._act(link, machine.receive_err(self._rng.choice(_ERRORS)))
            case 2:
                if self._takes_up(link, e.Secure):
                    self._act(link, machine.receive_secured())
            case 3 if self._takes_up(link, e.Authenticate):
                rules = SubjectPermission(allow=("a",))
                rights = Rights(account="A", may_publish=rules)
                self._act(link, machine.receive_authenticated(self._rng.choice((None, rights))))
            case 4:
                self._act(link, machine.receive_admitted(is_isolated=True, loop_subject="$LDS.x"))

    def _takes_up(self, link: LinkId, kind: type) -> bool:
        """Whether a machine has asked for this; then it is answered now."""
        is_asked = self._asked.get(link) is kind
        if is_asked:
            del self._asked[link]
        return is_asked

    def _reload(self) -> None:
        self._settings = self._new_settings()
        self._do(self.leafs.receive_reload(self._settings, self.leafs.local))

    def _change_neighbours(self) -> None:
        plain, websocket = (
            tuple(f"n{it}:{port}" for it in range(self._rng.choice((0, 1, 3, 400))))
            for port in (7422, 8080)
        )
        self._do(self.leafs.receive_neighbours(Urls(plain, websocket)))

    STEPS_OF: ClassVar = {
        "_deliver": 30,
        "_accept": 10,
        "_answer_dial": 10,
        "_ring": 10,
        "_say": 20,
        "_shake_hands": 25,
        "_happen": 8,
        "_hang_up": 4,
        "_reload": 1,
        "_change_neighbours": 1,
    }

    # -- what peers say

    def _document(self, values: dict[str, tuple[Any, ...]]) -> bytes:
        said: dict[str, Any] = {"server_id": "NB", "name": "b", "client_id": 7}
        for name in self._rng.sample(sorted(values), self._rng.randrange(6)):
            said[name] = self._rng.choice(values[name])
        if self._rng.random() < 0.1:
            said[self._rng.choice(sorted(values))] = self._rng.choice(STRANGE)
        return self._mangled(said)

    def _new_settings(self) -> LeafSettings:
        accounts = self._rng.sample("ABC", self._rng.randrange(4))
        remotes = tuple(
            RemoteSettings(
                urls=(parse_hub_url(self._rng.choice(_URLS)),),
                account=account,
                is_disabled=self._rng.random() < 0.1,
                is_hub=self._rng.random() < 0.1,
                ignores_discovered=self._rng.random() < 0.3,
                compression=self._terms(),
            )
            for account in accounts
        )
        return LeafSettings(remotes=remotes, compression=self._terms())

    def _terms(self) -> CompressionTerms:
        return CompressionTerms(self._rng.choice(sorted(_BY_NAME)))

    # -- what comes of it, as the actors do it

    @override
    def _do(self, effects: Iterable[e.LeafsEffect]) -> None:
        for effect in effects:
            match effect:
                case e.Dial(token):
                    self._dials.append(token)
                case p.Wait(token):
                    self._waits.append(token)
                case e.Lead(link):
                    self._lead(link)
                case e.Admit(link):
                    self._tell(link, lambda it: it.receive_admitted(**_ADMITTED))
                case p.Dismiss():
                    self._dismiss(effect)
                case p.Tell(link):
                    assert link in self.leafs.connections
                case _:
                    assert effect is not None

    def _lead(self, link: LinkId) -> None:
        remote = self.leafs.connections[link].remote
        wanted = remote.settings.compression if remote else self._settings.compression
        machine = self._machines[link] = LeafHandshake(
            local=self.leafs.local,
            settings=self._settings,
            remote=remote.settings if remote else None,
            compression=Compression(wanted, _BY_NAME),
            cid=link,
            timeout_s=2.0,
        )
        self._act(link, machine.receive_opened())

    @override
    def _act(self, link: LinkId, effects: Sequence[e.LeafEffect]) -> None:
        for effect in effects:
            match effect:
                case p.Close(reason):
                    self._post(lambda r=reason: self._close(link, r))
                case p.Introduce(peer):
                    self._post(lambda it=peer: self._do(self.leafs.receive_introduction(link, it)))
                case p.Update(info):
                    self._post(lambda it=info: self._do(self.leafs.receive_update(link, it)))
                case e.Secure() | e.Authenticate():
                    self._asked[link] = type(effect)
                case e.Delay(delay_s):
                    self._do(self.leafs.receive_delay(link, delay_s))
                case p.Compressed(shown):
                    self._do(self.leafs.receive_compressed(link, shown))
                case _:
                    assert effect is not None

    @override
    def _close(self, link: LinkId, reason: ClosedState) -> None:
        self._asked.pop(link, None)
        if self._machines.pop(link, None) is not None:
            self._do(self.leafs.receive_closed(link, reason))

    # -- what must hold

    @override
    def _check(self) -> None:
        leafs = self.leafs
        assert set(leafs.connections) == set(self._machines)
        due = {*self._dials, *self._waits}
        for remote in leafs.remotes:
            assert remote.token == 0 or remote.token in due, "a hub waits for nothing"
            assert remote.link is None or remote.link in leafs.connections
            assert len(remote.urls) <= URLS_MAX + 1
            if not (remote.settings.is_disabled or remote.token):
                assert remote.link is not None, "a hub is forgotten"
        pending = [it for it in leafs.connections.values() if it.remote is None and not it.peer]
        assert len(pending) <= HANDSHAKES_MAX
        assert len(leafs.local.leafnode_urls) <= URLS_MAX

    @override
    def _dismiss_all(self) -> None:
        self._settings = replace(self._settings, remotes=())
        self._do(self.leafs.receive_reload(self._settings, self.leafs.local))

    @override
    def _check_empty(self) -> None:
        super()._check_empty()
        assert not self.leafs.connections


_ADMITTED: dict[str, Any] = {"is_isolated": False, "loop_subject": "$LDS.x"}
