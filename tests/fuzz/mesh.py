"""Feeds what hostile servers may say, and whatever may happen besides, to the mesh of one server.

The machines of the route plugin are wired as its actors wire them, without any I/O. They must
refuse what is wrong and raise nothing, keep no place for a connection that has ended, lose no
server that is to be dialed, and hold nothing once everybody has gone.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from framework_route import effect as e
from framework_route.limits import HANDSHAKES_MAX, PEER_CONNECTIONS_MAX
from framework_route.machine import ConnectionMachine
from framework_route.mesh import Mesh
from framework_route.modes import MODES
from framework_route.settings import MeshSettings
from framework_route.url import parse_route_url
from msgspec.structs import replace
from typing_extensions import override

from framework import peering as p
from framework.peering import Compression, CompressionTerms, Login
from framework.wire.info import RouteInfo
from tests.fuzz.peer_world import STRANGE, PeerWorld

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from framework.spec import LinkId
    from framework.wire.closed_state import ClosedState

_BY_NAME = {mode.name: mode for mode in MODES}
_OWN_ID = "NA"
_ACCOUNTS = ("$SYS", "A", "B")
_NUMBERS = (-1, 0, 1, 2, 3, 5, 256, 257, 65_536, 10**30)
_URLS = ("10.0.0.2:6222", "10.0.0.3:6222", "host:1")
_VALUES: dict[str, tuple[Any, ...]] = {
    "server_id": (_OWN_ID, "NB", "NC", ""),
    "server_name": ("a", "b", "c", ""),
    "proto": (0, 1, 3),
    "host": ("10.0.0.2", "0.0.0.0", "::1", ""),
    "port": _NUMBERS,
    "headers": (True, False),
    "auth_required": (True, False),
    "ip": ("", "nats-route://10.0.0.2:6222/", "nats://[::1]:7/", "http://x", "nats-route://:x"),
    "cluster": ("c1", "c1", "c2", ""),
    "cluster_dynamic": (True, False),
    "connect_urls": ([], ["10.0.0.2:4222"], [""] * 200),
    "ldm": (True, False),
    "compression": ("", "off", "accept", "s2_fast", "s2_auto", "s3"),
    "codecs": ([], ["zstd"], ["lz4", "?"]),
    "codec": ("", "zstd", "?"),
    "import": ({}, {"allow": ["a"]}, {"deny": ["b.>"]}),
    "export": ({}, {"allow": ["a"]}, {"deny": ["b.>"]}),
    "route_pool_size": _NUMBERS,
    "route_pool_agreed": _NUMBERS,
    "pool_shared": (True, False),
    "route_pool_idx": _NUMBERS,
    "route_account": ("", "A", "B", "$SYS", "unknown"),
    "route_acc_add_reqid": ("", "r"),
    "gossip_mode": _NUMBERS,
    "gateway": ("", "g"),
    "client_id": (0, 0, 1),
}
_GOOD = {
    "server_name": "b",
    "port": 6222,
    "headers": True,
    "cluster": "c1",
    "ip": "nats-route://10.0.0.2:6222/",
}


class World(PeerWorld[Mesh, ConnectionMachine]):
    """One server's mesh, the connections that it has, and what is on its way to it.

    Args:
        rng: Decides what happens.
    """

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._asked: list[str] = []
        self._compression = self._new_compression()
        self._login = Login("route", "s3cret")
        self._settings = self._new_settings()
        local = RouteInfo(server_id=_OWN_ID, server_name="a", cluster="c1", pool_shared=True)
        local = replace(local, cluster_dynamic=rng.random() < 0.3)
        self.steered = self.mesh = Mesh(
            local=local, settings=self._settings, accounts=_ACCOUNTS, tokens=count(1)
        )
        self._do(self.mesh.start(self._pins()))

    # -- what may happen

    def _accept(self) -> None:
        self._do(self.mesh.receive_opened(next(self._links), 0, "10.0.0.9", 40_000))

    def _answer_dial(self) -> None:
        if not self._dials:
            return
        token = self._dials.pop(self._rng.randrange(len(self._dials)))
        if self._rng.random() < 0.3:
            self._do(self.mesh.receive_dial_failed(token, "connection refused"))
        else:
            self._do(self.mesh.receive_opened(next(self._links), token, "10.0.0.2", 6222))

    def _say(self) -> None:
        link = self._any_link()
        if link is None:
            return
        machine = self._machines[link]
        if self._rng.random() < 0.4:
            self._act(link, machine.receive_connect(self._connect()))
        else:
            self._act(link, machine.receive_info(self._info()))

    def _shake_hands(self) -> None:
        """Do all that a good server does, if it is its turn."""
        link = self._any_link()
        if link is None:
            return
        machine = self._machines[link]
        connect = {"name": "NB", "cluster": "c1", "user": "route", "pass": "s3cret"}
        size = max(self._settings.pool_size, 0)
        good = _GOOD | {
            "server_id": self._rng.choice(("NB", "NC")),
            "route_pool_size": size,
            "route_pool_agreed": size,
            "route_pool_idx": self._rng.randrange(max(1, size)),
            "pool_shared": self._rng.random() < 0.5,
        }
        if not self.mesh.find(link).is_dialed:  # type: ignore[union-attr]
            self._act(link, machine.receive_connect(json.dumps(connect).encode()))
            self._flush()
        else:
            good["route_pool_idx"] = 0
        for _ in range(2):
            if link in self._machines:
                self._act(link, machine.receive_info(json.dumps(good).encode()))
                self._flush()
        if link in self._machines and self._rng.random() < 0.8:
            self._act(link, machine.receive_pong(1_000))

    def _ask(self) -> None:
        """Let a route's server ask for the connection of an account, or answer."""
        routes = self.mesh.routes
        if routes:
            route = self._rng.choice(routes)
            request = self._rng.choice([*self._asked[-3:], "r"])
            said = {
                "route_acc_add_reqid": request,
                "route_account": self._rng.choice(("", "A", "B")),
            }
            machine = self._machines[route.link]
            self._act(route.link, machine.receive_info(json.dumps(said).encode()))

    def _happen(self) -> None:
        link = self._any_link()
        if link is None:
            return
        machine = self._machines[link]
        match self._rng.randrange(5):
            case 0:
                self._act(link, machine.receive_pong(self._rng.randrange(10**9)))
            case 1:
                self._act(link, machine.receive_err(self._rng.randbytes(self._rng.randrange(300))))
            case 2:
                self._act(link, machine.receive_timeout())
            case 3:
                self._act(link, machine.receive_reload(self._compression))
            case 4:
                is_right = self._rng.random() < 0.5
                self._act(link, machine.receive_password_checked(is_right=is_right))

    def _reload(self) -> None:
        self._settings, self._compression = self._new_settings(), self._new_compression()
        self._do(self.mesh.receive_reload(self._settings, self.mesh.local, self._pins()))

    def _renew(self) -> None:
        links = [route.link for route in self.mesh.routes]
        self._do(self.mesh.renew(self._rng.sample(links, self._rng.randrange(len(links) + 1))))

    def _begin_lame_duck(self) -> None:
        self._do(self.mesh.begin_lame_duck())

    STEPS_OF: ClassVar = {
        "_deliver": 30,
        "_accept": 10,
        "_answer_dial": 10,
        "_ring": 10,
        "_say": 20,
        "_shake_hands": 20,
        "_happen": 8,
        "_hang_up": 4,
        "_ask": 8,
        "_reload": 2,
        "_renew": 1,
        "_begin_lame_duck": 0.2,
    }

    # -- what peers say

    def _info(self) -> bytes:
        said: dict[str, Any] = _GOOD | {"server_id": self._rng.choice(("NB", "NC"))}
        for name in self._rng.sample(sorted(_VALUES), self._rng.randrange(6)):
            said[name] = self._rng.choice(_VALUES[name])
        if self._asked and self._rng.random() < 0.1:
            said["route_acc_add_reqid"] = self._rng.choice(self._asked)
        if self._rng.random() < 0.1:
            said[self._rng.choice(sorted(_VALUES))] = self._rng.choice(STRANGE)
        return self._mangled(said)

    def _connect(self) -> bytes:
        said: dict[str, Any] = {"name": "NB", "user": "route", "pass": "s3cret", "cluster": "c1"}
        for name in ("name", "user", "pass", "cluster", "lang", "gateway", "headers"):
            if self._rng.random() < 0.1:
                said[name] = self._rng.choice(STRANGE)
        return self._mangled(said)

    def _new_settings(self) -> MeshSettings:
        urls = self._rng.sample(_URLS, self._rng.randrange(len(_URLS) + 1))
        return MeshSettings(
            routes=tuple(parse_route_url(url) for url in urls),
            connect_retries=self._rng.choice((0, 3)),
            has_connect_backoff=self._rng.random() < 0.5,
            pool_size=self._rng.choice((3, 3, 1, -1, 5)),
            is_pool_strict=self._rng.random() < 0.1,
        )

    def _new_compression(self) -> Compression:
        return Compression(CompressionTerms(self._rng.choice(sorted(_BY_NAME))), _BY_NAME)

    def _pins(self) -> tuple[str, ...]:
        return tuple(self._rng.sample((*_ACCOUNTS, "later"), self._rng.randrange(4)))

    # -- what comes of it, as the actors do it

    @override
    def _do(self, effects: Iterable[e.MeshEffect]) -> None:
        for effect in effects:
            match effect:
                case e.Dial(token):
                    self._dials.append(token)
                case p.Wait(token):
                    self._waits.append(token)
                case e.Greet(link, local, url, account):
                    self._greet(link, local, url, account)
                case p.AcceptClaim(link):
                    self._tell(link, lambda it: it.receive_claim_accepted())
                case e.Admit(link, pool_slot, local):
                    self._tell(link, lambda it, s=pool_slot, own=local: it.receive_admitted(s, own))
                case p.Dismiss():
                    self._dismiss(effect)
                case p.Tell(data=data):
                    told = json.loads(data.removeprefix(b"INFO "))
                    self._asked.append(told.get("route_acc_add_reqid", "r"))
                case _:
                    assert effect is not None

    def _greet(self, link: LinkId, local: RouteInfo, url: Any, account: str) -> None:
        machine = self._machines[link] = ConnectionMachine(
            local=local,
            login=self._login,
            compression=self._compression,
            url=url,
            account=account,
        )
        self._act(link, machine.receive_opened())

    @override
    def _act(self, link: LinkId, effects: Sequence[e.ConnectionEffect]) -> None:
        for effect in effects:
            match effect:
                case p.Close(reason):
                    self._post(lambda r=reason: self._close(link, r))
                case (
                    e.Claim() | p.Introduce() | p.Update() | e.Answered() | e.Outdated()
                ) as report:
                    self._post(lambda it=report: self._do(self._decide(link, it)))
                case _:
                    assert effect is not None

    def _decide(self, link: LinkId, report: e.ConnectionEffect) -> Sequence[e.MeshEffect]:
        match report:
            case e.Claim(remote_id, cluster, is_dynamic):
                return self.mesh.receive_claim(link, remote_id, cluster, is_dynamic=is_dynamic)
            case p.Introduce(info):
                return self.mesh.receive_introduction(link, info)
            case p.Update(info):
                return self.mesh.receive_update(link, info)
            case e.Answered():
                return self.mesh.receive_answer(link)
            case _:
                return self.mesh.renew([link])

    @override
    def _close(self, link: LinkId, reason: ClosedState) -> None:
        if self._machines.pop(link, None) is not None:
            self._do(self.mesh.receive_closed(link, reason))

    # -- what must hold

    @override
    def _check(self) -> None:
        mesh, registry, dialer = self.mesh, self.mesh._registry, self.mesh._dialer
        connections = registry.connections
        assert {it.link for it in connections} <= set(self._machines)
        for route in mesh.routes:
            assert route.link in self._machines, "a place is held by who has gone"
            assert registry.holder(route.slot) is route
        assert mesh._counted == sum(it.is_counted for it in connections) <= HANDSHAKES_MAX
        due = {*self._dials, *self._waits}
        assert {target.token for target in dialer.targets} <= due, "a target waits for nothing"
        assert {*mesh._settling, *mesh._pins._announced} <= due
        assert all(len(peer.connections) <= PEER_CONNECTIONS_MAX for peer in registry.peers)
        for connection in connections:
            explicit = [target.url for target in connection.targets if target.is_explicit]
            assert len(set(explicit)) == len(explicit), "one URL is dialed twice"

    @override
    def _dismiss_all(self) -> None:
        self._settings = replace(self._settings, routes=())
        self._do(self.mesh.receive_reload(self._settings, self.mesh.local, ()))

    @override
    def _check_empty(self) -> None:
        super()._check_empty()
        mesh = self.mesh
        assert not (mesh.routes)
        assert not (mesh._registry.connections)
        assert not (mesh._dialer.targets)
        assert not (mesh._settling)
        assert not (mesh._pins._owed)
        assert not (mesh._pins._announced)
        assert not mesh._dialer.places_count
        assert mesh._counted == 0
