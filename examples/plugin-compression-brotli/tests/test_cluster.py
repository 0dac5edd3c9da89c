from __future__ import annotations

import subprocess
import sys

import pytest

from framework.testing import OURS, await_routes, check_exchange

POOL = 3
"""Connections between two servers, besides that of the system account."""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "brotli.conf"
    path.write_text("cluster {\n  compression: brotli\n}\n")
    return path


def check(file, *flags):
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(file), *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_servers_of_a_cluster_pass_on_every_message(fleet, file):
    servers = fleet.start_cluster(OURS, OURS, flags=("-c", str(file), "-m", "-1"))
    check_exchange(servers)

    for server in servers:
        rows = await_routes(server, lambda rows: len(rows) == POOL + 1)
        assert {row["compression"] for row in rows} == {"brotli"}


def test_the_mode_is_known_where_the_plugin_is(file):
    assert check(file).returncode == 0

    without = check(file, "--no-plugin", "brotli")

    assert without.returncode == 1
    assert f"{file}:2" in without.stderr
    assert 'unsupported compression mode "brotli"; there are off, accept,' in without.stderr
