"""WebSocket in the monitoring documents and the ports file, beside the real server."""

from __future__ import annotations

import contextlib
import json
from fnmatch import fnmatchcase

import pytest

from framework.testing import OURS, Fleet
from framework.testing.certificates import Authority
from tests.conformance.test_documents import (
    ALLOWED,
    CURRENT,
    differences,
    fetch,
    fields_of,
    is_allowed,
)
from tests.interop.websockets import Port

CONFIG = """
server_name: one
listen: "127.0.0.1:-1"
http: "127.0.0.1:-1"
websocket {{ listen: "127.0.0.1:-1", {inside} }}
{top}
"""
USERS = """authorization { users: [
    {user: ann, password: secret, allowed_connection_types: [WEBSOCKET]}, {user: me, password: x}
] }"""
CONNECT = {"verbose": False, "headers": True, "name": "page", "lang": "x", "version": "1"}
SAID = b"CONNECT %b\r\nSUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n" % json.dumps(CONNECT).encode()


def tls_of(folder, more):
    """Return a block `tls`, and what a client shows that knows it."""
    authority = Authority(folder)
    issued, shown = authority.issue("server"), authority.issue("client")
    files = f'cert_file: "{issued.cert_file}", key_file: "{issued.key_file}"'
    block = f'tls {{ {files}, ca_file: "{authority.ca_file}" {more} }}'
    return block, authority.client_context(shown)


ALL = """
no_tls: true, compression: true, same_origin: true, handshake_timeout: 3s, advertise: "c.com:443"
allowed_origins: ["http://a.com", "https://b.com:8443"], headers { X-A: "b" }
user_cookie: u, pass_cookie: p, token_cookie: t, no_auth_user: me, ping_interval: 20s
"""
BLOCKS = {
    "least": ("no_tls: true", ""),
    "all": (ALL, USERS),
    "a login": ("no_tls: true, authorization { user: ann, password: secret, timeout: 4.5 }", ""),
    "tls": ("", USERS),
    "tls, verified": (", verify: true", ""),
}
LOGGED_IN = SAID.replace(b"{", b'{"user": "ann", "pass": "secret", ', 1)


BY_TLS = "connections.[[]page].tls_*"
"""Ours chooses other ciphers, and knows but the first certificate; other tests compare that."""
BY_CHANCE = ("/connz?state=closed&auth=1", "connections.[page].pending_bytes")
"""Whether the real server has sent its close frame when the connection ends."""


@contextlib.contextmanager
def both(folder, block):
    """Start both servers with a block; each with a client that is there, and one that has gone."""
    inside, top = BLOCKS[block]
    headers = {"cookie": "u=ann; p=secret"} if block == "all" else {}
    said = LOGGED_IN if block in {"a login", "tls"} else SAID
    context = None
    if block.startswith("tls"):
        inside, context = tls_of(folder, inside)
    with contextlib.ExitStack() as ends:
        fleet = Fleet(folder)
        ends.callback(fleet.stop)
        servers = {}
        for kind in (OURS, CURRENT):
            (own := folder / kind).mkdir()
            config = CONFIG.format(inside=inside, top=top)
            flags = ("--ports_file_dir", str(own))
            servers[kind] = server = fleet.start(*flags, kind=kind, config=config, port=None)
            _play(Port(server, context), said, headers, ends)
        yield servers


def _play(port, said, headers, ends):
    """Let two clients come, and one of them go."""
    for _ in range(2):
        client = ends.enter_context(port.client())
        client.begin(connect=said, user_agent="Mozilla/5.0", **headers)
        while client.expect(b"") != b"PONG":
            pass
    client.close()
    while fetch(port.server, "/connz?state=closed")["total"] < 1:
        pass


def may_differ(path, how, field):
    """Tell whether a field need not be alike; all of the block but the port has to be."""
    if field.startswith("websocket."):
        return field == "websocket.port"
    if (path, field) == BY_CHANCE or fnmatchcase(field, BY_TLS):
        return True
    return any(is_allowed(entry, path, how, field) for entry in ALLOWED)


def ports_of(folder):
    """Return what the ports file says; the real server writes it when it is ready already."""
    while True:
        with contextlib.suppress(StopIteration, json.JSONDecodeError):
            return json.loads(next(folder.glob("*.ports")).read_text())


@pytest.mark.peer(CURRENT)
@pytest.mark.parametrize("block", BLOCKS)
def test_documents_are_alike(tmp_path, block):
    found = []
    with both(tmp_path, block) as servers:
        for path in ("/varz", "/connz?auth=1&subs=detail", "/connz?state=closed&auth=1"):
            ours, theirs = (fields_of(fetch(servers[it], path)) for it in (OURS, CURRENT))
            found += [
                (*each, ours.get(each[2]), theirs.get(each[2]))
                for each in differences(path, ours, theirs)
                if not may_differ(*each)
            ]
        ports = [ports_of(tmp_path / it) for it in servers]

    assert not found, "\n".join(map(str, found))
    ours, theirs = ports
    assert ours.keys() == theirs.keys()
    schemes = [[url.partition(":")[0] for url in it["websocket"]] for it in ports]
    assert schemes[0] == schemes[1] == ["wss" if block.startswith("tls") else "ws"]
