"""What a server that listens on a wildcard says of its addresses, where there is no default route.

Each runs in a network namespace of its own, of which the loopback interface has two addresses more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or sys.platform != "linux", reason="network namespaces need root and Linux"
)

PREPARE = (
    "ip link set lo up && ip address add 198.51.100.7/32 dev lo"
    ' && ip address add 2001:db8::7/128 dev lo nodad && exec "$@"'
)
OBSERVE = """
import json, pathlib, socket, subprocess, sys

folder, *command = sys.argv[1:]
joining = command[:command.index("-p")] + [
    "-a", "127.0.0.1", "-p", "4223", "-cluster", "nats://127.0.0.1:6223",
    "-cluster_name", "c", "-routes", "nats://127.0.0.1:6222",
]
servers = []
for words in (command, joining):
    servers.append(subprocess.Popen(words, stderr=subprocess.PIPE, text=True))
    while "Server is ready" not in servers[-1].stderr.readline():
        pass
connect_urls = []
while "127.0.0.1:4223" not in connect_urls:  # the real one tells of itself with others alone
    with socket.create_connection(("127.0.0.1", 4222)) as client, client.makefile() as lines:
        info = json.loads(lines.readline().partition(" ")[2])
    connect_urls = info.get("connect_urls", [])
ports = None
while ports is None:
    for path in pathlib.Path(folder).glob("*.ports"):
        try:
            ports = json.loads(path.read_text())
        except ValueError:  # the real one is still writing
            pass
for server in servers:
    server.terminate()
    server.communicate()
connect_urls.remove("127.0.0.1:4223")
print(json.dumps({"connect_urls": connect_urls, "ports": ports}))
"""


@pytest.fixture
def observe(fleet, kind, tmp_path):
    """Return a function that starts a server in its namespace, and says what it says."""

    def run(*flags):
        observer = [sys.executable, "-c", OBSERVE, str(tmp_path), *map(str, fleet.program(kind))]
        places = ["-p", "4222", "-m", "8222", "--ports_file_dir", str(tmp_path)]
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", PREPARE, "sh", *observer, *places, *flags],
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        return json.loads(done.stdout)

    return run


def urls(scheme, port, *hosts):
    return sorted(f"{scheme}://{host}:{port}" for host in hosts)


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_a_wildcard_stands_for_the_addresses_of_all_interfaces(observe, wildcard):
    host = f"[{wildcard}]" if ":" in wildcard else wildcard
    cluster = ("-cluster", f"nats://{host}:6222", "-cluster_name", "c")
    said = observe("-a", wildcard, *cluster)

    everything = ("127.0.0.1", "198.51.100.7", "[::1]", "[2001:db8::7]")
    assert sorted(said["connect_urls"]) == ["198.51.100.7:4222", "[2001:db8::7]:4222"]
    assert {name: sorted(found) for name, found in said["ports"].items()} == {
        "nats": urls("nats", 4222, *everything),
        "monitoring": urls("http", 8222, *everything),
        "cluster": urls("nats", 6222, *everything),
    }


def test_a_name_is_the_address_that_it_came_to(observe):
    cluster = ("-cluster", "nats://localhost:6222", "-cluster_name", "c")
    said = observe("-a", "localhost", *cluster)

    assert said["connect_urls"] == ["localhost:4222"]
    assert said["ports"] == {
        "nats": urls("nats", 4222, "127.0.0.1"),
        "monitoring": urls("http", 8222, "127.0.0.1"),
        "cluster": urls("nats", 6222, "127.0.0.1"),
    }
