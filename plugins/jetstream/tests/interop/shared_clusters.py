"""Three servers that share streams, of ours or real ones: what several test modules stand on."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import pytest

from framework.testing import OURS, RawClient, free_port

REAL = "2.15.2"
KINDS = (OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL)))
PAUSE_S = 0.02
_PAUSE = threading.Event()
NAMES = ("n1", "n2", "n3")
PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = """jetstream {{ store_dir: "{}"{} }}
http: "127.0.0.1:-1"
accounts {{
  $SYS {{ users: [ {{ user: sys, password: x }} ] }}
  APP {{ jetstream: enabled, users: [ {{ user: app, password: x }} ] }}
}}
no_auth_user: app
"""


def until(is_so):
    """Ask again until it is so; the test's own time ends it."""
    while not (found := is_so()):
        _PAUSE.wait(PAUSE_S)  # servers have this processor too
    return found


def start(fleet, folder, kind=OURS, names=NAMES, config="", **more):
    """Start servers that share streams; return them by name, when all belong to the meta group.

    More is as of `begin`.
    """
    servers = begin(fleet, folder, kind, names, config, **more)
    until(lambda: all(meta(it).get("cluster_size") == len(names) for it in servers.values()))
    until(lambda: len({meta(it).get("leader", "") for it in servers.values()}) == 1)
    until(lambda: meta(servers[names[0]]).get("leader"))
    return servers


def begin(
    fleet, folder, kind=OURS, names=NAMES, config="", *, cluster="test", flags=(), jetstream=""
):
    """Start servers that are to share streams; return them by name.

    `config` is more of it, or a function that returns it by the name of a server; `jetstream` is
    more of the block, behind a comma.
    """
    more = config if callable(config) else lambda _: config
    servers = {}
    shares = (", replication: true" if kind == OURS else "") + jetstream
    ports = [free_port() for _ in names]
    routes = ",".join(f"nats://127.0.0.1:{it}" for it in ports)
    for name, port in zip(names, ports, strict=True):
        servers[name] = fleet.start(
            *("-cluster", f"nats://127.0.0.1:{port}", "-cluster_name", cluster, "-n", name),
            *("-routes", routes),
            *(PLUGIN if kind == OURS else ()),
            *flags,
            kind=kind,
            config=CONFIG.format(folder / f"{kind}-{name}", shares) + more(name),
            clustered=True,
        )
    return servers


def meta(server):
    """Return what a server says of the meta group."""
    with suppress(OSError, ValueError):
        return server.document("/jsz").get("meta_cluster") or {}
    return {}


class Api:
    """A client of the API that asks again where nobody could answer."""

    def __init__(self, requests):
        self.requests = requests

    def __call__(self, what, payload=b""):
        """Return an answer other than that there is nobody."""
        while True:
            try:
                said = json.loads(self.requests.ask(f"$JS.API.{what}", payload)[1])
            except TimeoutError:
                continue
            if said.get("error", {}).get("err_code") != 10008:
                return said

    def once(self, what, payload=b""):
        """Return the first answer, whatever it is."""
        return json.loads(self.requests.ask(f"$JS.API.{what}", payload)[1])


def connected(server, log_in, timeout_s=3.0):
    """Return a raw client of a server, and its API."""
    raw = RawClient(server.port, timeout_s=timeout_s)
    try:
        return raw, Api(log_in(raw))
    except BaseException:
        raw.close()
        raise
