"""docs/OPERATING.md, command by command, with the real `nats`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from framework.testing import peers
from framework.testing.certificates import Authority

PAGE = (Path(__file__).parents[2] / "docs" / "OPERATING.md").read_text("utf-8")
CONFIG, TLS_CONFIG = re.findall(r"\n\n```\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).splitlines()
TLS_COMMANDS = [line for line in COMMANDS if "--tlsca" in line]
PASSWORDS = dict(re.findall(r"(\w+_PASSWORD)=(\w+)", PAGE))
NOT_RUN = re.compile("export |.* &$|.* --tlsca")
"""What the fixtures do, and what has a test of its own."""


def id_of(server):
    with server.client() as client:
        return client.expect(b"INFO").document["server_id"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a line of the page, with the ports and the process that a server has."""
    for name, value in PASSWORDS.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "shop.conf").write_text(CONFIG)
    programs = {
        "nats": [peers.find("nats")],
        "nats-server": [sys.executable, "-m", "framework", "serve"],
    }

    def run_(server, line):
        line = line.replace(":4222", f":{server.port}").replace(":8222", f":{server.monitor_port}")
        line = line.replace("SERVER_ID", id_of(server))
        line = re.sub(r"--signal (\w+)", rf"--signal=\1={server.pid}", line)
        program, *words = shlex.split(line)
        done = subprocess.run(
            [*programs.get(program, [program]), *words],
            cwd=tmp_path,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=25,
        )

        assert done.returncode == 0, (line, done.stdout, done.stderr)

    return run_


@pytest.mark.peer("nats")
def test_every_command_of_the_page_works(fleet, run):
    config = CONFIG.replace(":4222", ":-1").replace(":8222", ":-1")
    server = fleet.start(config=config, port=None)
    for line in COMMANDS:
        if not NOT_RUN.match(line):
            run(server, line)

    assert server.wait() == 0  # the last command has ended it


@pytest.mark.peer("nats")
def test_every_command_of_the_page_about_tls_works(fleet, run, tmp_path):
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    config = TLS_CONFIG.replace(":4222", ":-1")
    config = config.replace("server.pem", str(issued.cert_file))
    server = fleet.start(config=config.replace("server.key", str(issued.key_file)), port=None)
    for line in TLS_COMMANDS:
        run(server, line.replace("ca.pem", str(authority.ca_file)))

    assert len(TLS_COMMANDS) == 2
