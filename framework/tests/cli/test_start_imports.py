"""What a plain server imports: that is nearly all of its start, and counted, not timed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

MODULES_MAX = 603
"""Modules from the first line of Python to "Server is ready"; 655 in release 0.1.

Each plugin that is installed has three: its package, its hooks and its options.
"""

NOT_FOR_A_PLAIN_START = {
    "bcrypt": "hashed passwords",
    "cramjam": "codecs of routes",
    "cryptography": "certificates",
    "dataclasses": "records, which a Struct makes in a tenth of the time",
    "difflib": "mistakes",
    "email": "metadata of distributions",
    "framework.monitor.http_server": "the monitoring port",
    "framework.topology.natsconf": "configuration files",
    "framework.topology.toml_file": "topologies",
    "framework.topology.topology_file": "topologies",
    "ctypes": "compressed frames",
    "framework_route.mesh": "clusters",
    "framework_route.route_manager": "clusters",
    "h11": "the monitoring port",
    "importlib.metadata": "zipped applications",
    "pyhocon": "topologies",
    "rich": "the screen of `framework run`",
    "structlog": "plugins that import it",
    "tomllib": "topologies",
    "zipfile": "metadata of distributions",
}
"""Modules, and what they are for."""


def imported_by_a_start():
    """Return the names of all modules that a server has imported when it is ready."""
    code = "from framework.cli import nats_server_main; raise SystemExit(nats_server_main())"
    command = [sys.executable, "-X", "importtime", "-c", code, "-a", "127.0.0.1", "-p", "-1"]
    names = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        for line in server.stderr:
            if match := re.match(r"import time:.*\|\s+(\S+)$", line):
                names.append(match[1])
            if "Server is ready" in line:
                server.send_signal(signal.SIGTERM)
                break
        server.stderr.read()
    assert server.returncode == 0
    return names


def test_a_plain_start_imports_what_it_needs():
    names = imported_by_a_start()

    assert {name: NOT_FOR_A_PLAIN_START.get(name) for name in names} == dict.fromkeys(names)
    assert "framework.server.server" in names
    assert len(names) <= MODULES_MAX
