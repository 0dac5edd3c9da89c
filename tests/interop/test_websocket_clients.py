"""Clients of others by WebSocket, on ours and on the real server: nats-py, nats.js, a browser."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
from pathlib import Path

import nats
import pytest

from framework.testing import peers
from framework.testing.certificates import Authority
from tests.interop.browser import Page
from tests.interop.websockets import open_port

__all__ = ["open_port"]

SCRIPT = Path(__file__).parent / "websocket_client.mjs"
SIZES = [0, 1, 125, 126, 65_535, 65_536, 300_000]


@pytest.fixture(params=["ws", "wss", "compressed"])
def port(request, open_port, tmp_path):
    """A port, plain, with TLS, or with compression."""
    compression = f"compression: {str(request.param == 'compressed').lower()}"
    if request.param != "wss":
        return open_port(compression)
    tls, authority = issue(tmp_path)
    port = open_port(compression, tls=tls, context=authority.client_context(None))
    port.ca_file = authority.ca_file
    return port


def issue(folder):
    """Return a block `tls` with a certificate, and who has issued it."""
    authority = Authority(folder)
    issued = authority.issue("server")
    return f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}" }}', authority


PLATFORMS = {
    "Node": (lambda: [peers.node()], "NODE_EXTRA_CA_CERTS"),
    "Deno": (lambda: [peers.deno(), "run", "--no-lock", "--allow-all"], "DENO_CERT"),
}
"""What runs a script, and where it is told whom to trust."""


@pytest.mark.peer("nats.js", "deno")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_nats_js_does_what_it_does_by_tcp(port, platform):
    program, trusts = PLATFORMS[platform]
    environment = dict(os.environ)
    if hasattr(port, "ca_file"):
        environment[trusts] = str(port.ca_file)
    command = [*program(), SCRIPT, peers.find("nats.js"), port.url]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=40, env=environment
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == talked(port)


@pytest.mark.peer("nats.js", "chromium")
def test_a_page_in_a_browser_does_too(open_port, tmp_path):
    with Page(tmp_path, folder=peers.find("nats.js")) as page:
        allowed = open_port(
            f'compression: true, user_cookie: u, pass_cookie: p, allowed_origins: "{page.origin}"',
            top="authorization { user: ann, password: secret }",
        )
        same = open_port("same_origin: true")
        tls = open_port(tls=issue(tmp_path)[0])
        steps = {
            "allowed": {"cookies": ["u=ann", "p=secret"], "servers": allowed.url},
            "stranger": {"cookies": ["u=ann", "p=wrong"], "servers": allowed.url},
            "tls": {"servers": tls.url.replace("ws:", "wss:")},
            "another origin": {"servers": same.url},
        }
        found = page.run(steps)

    assert (found["allowed"], found["tls"]) == (talked(allowed), talked(tls))
    assert found["stranger"] == {"error": "Authorization Violation"}
    assert "error" in found["another origin"]
    same.server.wait_log("origin not allowed: not same origin")


def talked(port):
    """Return what a client that has done it all says."""
    return {
        "heard": [[f"size.{size}", size, str(size), True] for size in SIZES],
        "answer": "are you there?",
        "refused": "NoResponders",
        "port": port.number,
    }


@pytest.mark.peer("nats.js")
def test_nats_js_logs_in(open_port):
    port = open_port(top="authorization { user: ann, password: secret }")
    said = json.dumps({"user": "ann", "pass": "secret"})
    command = [peers.node(), SCRIPT, peers.find("nats.js"), port.url]

    assert subprocess.run([*command, said], capture_output=True, check=False).returncode == 0
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Authorization Violation" in refused.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_nats_py_does_what_it_does_by_tcp(port):
    async def talk():
        tls = {"tls": port.context} if port.context else {}
        client = await nats.connect(port.url, allow_reconnect=False, **tls)
        subscription = await client.subscribe("size.*")
        for size in SIZES:
            await client.publish(f"size.{size}", b"A" * size, headers={"Size": str(size)})
        found = [await subscription.next_msg(timeout=10) for _ in SIZES]
        await client.close()
        return [(it.subject, len(it.data), it.headers["Size"]) for it in found]

    assert asyncio.run(talk()) == [(f"size.{it}", it, str(it)) for it in SIZES]
    gc.collect()  # what nats.py leaves open would be found in a later test
