"""Clients of others by WebSocket, on ours and on the real server: nats-py and nats.js."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import nats
import pytest

from framework.testing import peers
from framework.testing.certificates import Authority
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
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    tls = f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}" }}'
    port = open_port(compression, tls=tls, context=authority.client_context(None))
    port.ca_file = authority.ca_file
    return port


@pytest.mark.peer("nats.js")
def test_nats_js_does_what_it_does_by_tcp(port):
    environment = dict(os.environ)
    if hasattr(port, "ca_file"):
        environment["NODE_EXTRA_CA_CERTS"] = str(port.ca_file)
    command = [peers.node(), SCRIPT, peers.find("nats.js"), port.url]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=40, env=environment
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
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
