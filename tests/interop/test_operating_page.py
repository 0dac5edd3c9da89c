"""docs/OPERATING.md, command by command, with the real `nats`: each prints what it should."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from framework.testing import await_pools, free_port, peers
from framework.tests.supervise.running import Runs

PAGE = (Path(__file__).parents[2] / "docs" / "OPERATING.md").read_text("utf-8")
SEVERAL = PAGE[PAGE.index("## Clusters") : PAGE.index("## Reload")]
SHARED = PAGE[PAGE.index("## Streams on several") : PAGE.index("## Superclusters")]
CLUSTERS = SEVERAL.replace(SHARED, "")
TOPOLOGIES = PAGE[PAGE.index("## Topologies") : PAGE.index("## Secrets")]
REST = PAGE.replace(SEVERAL, "").replace(TOPOLOGIES, "")


def blocks(text, kind=""):
    """Return what stands in the blocks of a page, without what a list puts before each line."""
    found = re.findall(rf"\n\n *```{kind}\n(.*?)```", text, re.DOTALL)
    return [textwrap.dedent(block.rstrip(" ")) for block in found]


CONFIG, TLS_CONFIG = blocks(REST)
CLUSTER_CONFIG, PERMISSIONS = blocks(CLUSTERS)
[SHARED_CONFIG] = blocks(SHARED, "conf")
SHARED_COMMANDS = "".join(blocks(SHARED, "sh")).splitlines()
CLUSTER_COMMANDS = "".join(blocks(CLUSTERS, "sh")).splitlines()
COMMANDS = "".join(blocks(REST, "sh")).splitlines()
CERTIFICATES = [line for line in COMMANDS if line.startswith("openssl ")]
TLS_COMMANDS = [line for line in COMMANDS if "--tlsca" in line]
PASSWORDS = dict(re.findall(r"(\w+_PASSWORD)=(\w+)", PAGE))
NOT_RUN = re.compile("export |.* &$|openssl |.* --tlsca")
"""What the fixtures do, and what has a test of its own."""
PRINTED = {
    r"nats-server .* -t": "configuration file shop.conf is valid",
    r"nats-server --signal": r"^$",
    r"nats .* pub (orders\S+) 1": 'Published 1 bytes to "orders',
    r"nats .* account info": r"User: shop\n +Account: ORDERS .*Connected Server Name: one",
    r"nats .* rtt": r"127\.0\.0\.1:\d+: [\d.]+\w?s\n",
    r"nats context save ops": r'Configuration Context "ops"\n\n +Server URLs: nats://ops:',
    r"nats .* server list": r"Server Overview.*│ one +│",
    r"nats .* server ping": r"one +rtt=.*\n1 replies",
    r"nats .* server info one": r"Server information for one \(N\w{55}\)\n.*Auth Required: true",
    r"nats .* server check connection": "OK Connection OK:connected to .* OK:rtt time",
    r"nats .* report connections": r"Top 1 Connections out of 1 by subs.*│ \$SYS +│",
    r"nats .* report accounts": r"1 Accounts Overview.*│ \$SYS +│ 1 ",
    r"nats .* report health": r"│ one .*│ ok \(200\).*ok: 1 / err: 0",
    r"nats .* report routes": r"Cluster Report.*│ one +│ shop .*│ ORDERS .*│ SYS .*rid:\d+",
    r"nats .* request variables": r'"name":"one".*"server_name": ?"one"',
    r"nats .* request connections": r'"name":"one".*"account": ?"\$SYS"',
    r"nats .* request subscriptions": r'"name":"one".*"num_subscriptions": ?\d{2}',
    r"nats .* request accounts": r'"name":"one".*"ORDERS"',
    r"nats .* request jetstream-health": r'"name":"one".*"status": ?"ok"',
    r"nats .* request routes": r'"name":"one".*"remote_name": ?"t.*"sid":',
    r"nats .* config reload --force": r"Server information for one .*Configuration Load Time",
    r"curl .*/varz": r'"server_name": "one",.*"auth_required": true,',
    r"curl .*/connz": r'"connections": \[.*"name": "NATS CLI.*"authorized_user": "ops"',
    r"curl .*/subsz": r'"num_subscriptions": \d+,.*"limit": 1024',
    r"curl .*/accountz": r'"account_name": "REPORTS",.*"account": "ORDERS"',
    r"curl .*/accstatz": r'"acc": "ORDERS",.*"acc": "REPORTS",',
    r"curl .*/healthz": r'\{"status": ?"ok"\}',
    r"curl .*/pluginz": r'"plugins": \[.*"gates": \[',
    r"curl .*/quotaz": r'"num_quotas": 0',
    r"curl .*/gatewayz": r'"outbound_gateways": \{\}',
    r"curl .*/leafz": r'"leafs": \[\]',
    r"nats .* stream add ORDERS": r"Replicas: 3.*Cluster Group: S-R3F-\w{8}",
    r"nats .* stream info ORDERS": r"Name: C1.*Leader: n\d-c1.*Replica: n\d-c1, ",
    r"nats .* stream report": r"│ ORDERS .*n\d-c1\*",
    r"nats .* consumer add ORDERS": r"Raft Group: C-R3F-\w{8}",
    r"nats .* consumer report ORDERS": r"│ NEW +│ Pull ",
    r"nats .* stream cluster step-down": r'New leader elected "n\d-c1"',
    r"nats .* consumer cluster step-down": r'New leader elected "n\d-c1"',
    r"nats .* report jetstream": r"RAFT Meta Group Information.*n3-c1",
    r"nats .* request jetstream --leader": r'"meta_cluster":',
    r"nats .* request raft": r'"_meta_":.*"state": ?"LEADER"',
    r"nats .* cluster step-down --force": r"New leader elected",
    r"curl .*/jsz": r'"meta_cluster": \{.*"cluster_size": 3,',
    r"curl .*/raftz": r'"_meta_": \{',
    r"curl .*/routez": r'"num_routes": 10,.*"remote_name": "t.*"sid":',
}
"""What each command of the page prints, by the command; one of these must be about it."""
FAILURE = re.compile(r"(?i)violation|failed|error:|refused\b")


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
        [printed] = [text for command, text in PRINTED.items() if re.match(command + r"\b", line)]
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

        said = done.stdout + ("" if program == "curl" else done.stderr)
        assert done.returncode == 0, (line, said)
        assert re.search(printed, said, re.DOTALL), (line, said)
        assert not FAILURE.search(said), (line, said)

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
    for line in CERTIFICATES:
        subprocess.run(shlex.split(line), cwd=tmp_path, check=True, capture_output=True, timeout=60)
    config = TLS_CONFIG.replace(":4222", ":-1")
    for file in ("server.pem", "server.key"):
        config = config.replace(file, str(tmp_path / file))
    server = fleet.start(config=config, port=None)
    for line in TLS_COMMANDS:
        run(server, line)

    assert len(CERTIFICATES) == 3
    assert len(TLS_COMMANDS) == 2


@pytest.mark.peer("nats")
def test_the_cluster_of_the_page_runs_and_is_reloaded(fleet, run, tmp_path):
    servers = start_cluster(fleet, tmp_path, CLUSTER_CONFIG)
    await_pools(servers[0], *servers[1:], accounts=("SYS", "ORDERS"))
    others = [line for line in CLUSTER_COMMANDS if not NOT_RUN.match(line)]
    for line in others:
        run(servers[0], line)

    servers[0].wait_log("Reloaded server configuration")
    assert len(others) == 9


@pytest.mark.peer("nats")
def test_a_cluster_follows_a_rolling_reload_of_the_page(fleet, tmp_path):
    servers = start_cluster(fleet, tmp_path, CLUSTER_CONFIG)
    await_pools(*servers, accounts=("SYS", "ORDERS"))
    with servers[0].client() as client:
        client.log_in(user="shop", **{"pass": "s3ll"})
        permissions = PERMISSIONS.replace("\n", "\n  ").strip()
        for old, new, size, accounts in (
            ("pool_size: 3", "pool_size: 2", 2, ("SYS", "ORDERS")),
            ("accounts: [ORDERS]", "accounts: []", 2, ("SYS",)),
            ("mode: s2_auto", "mode: zstd", 2, ("SYS",)),
            ("  name: shop", f"  name: shop\n  {permissions}", 2, ("SYS",)),
        ):
            for server in servers:
                file = Path(server.command[server.command.index("-c") + 1])
                text = file.read_text()

                assert old in text
                server.reload(text.replace(old, new))
            await_pools(*servers, pool_size=size, accounts=accounts)
        client.flush()


def test_every_command_of_the_page_about_topologies_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [topology] = blocks(TOPOLOGIES, "toml")
    ports = {port: str(free_port()) for port in ("8222", "6222")}
    topology = with_ports(topology, ports).replace("port = 4222", "port = -1")
    Path("shop.toml").write_text(topology.replace(f"http_port = {ports['8222']}", "http_port = -1"))
    check, run, *asks, end = "".join(blocks(TOPOLOGIES, "sh")).splitlines()
    told = [framework(check)]
    with Runs() as runs:
        running = runs.start(sys.executable, "-m", *shlex.split(run.rstrip(" &")))
        running.until("3/3 ready")
        told += [framework(line) for line in asks]
        told.append(framework(end))

        assert running.end()[0] == 0
    assert "east-3" in told[0]
    assert told[1:] == [
        {f"east-{number} reloaded, nothing has changed" for number in (1, 2, 3)},
        {"east-1 drains, and stops when its clients are gone"},
        {f"east-1 is ready, pid {running.pid_of('east-1')}"},
        {"east-3 is stopped"},
        {f"east-{number} is stopped" for number in (1, 2, 3)},
    ]
    assert "Server is ready" in Path("logs/east-2.log").read_text()


@pytest.mark.peer("nats")
def test_servers_of_the_page_share_streams(fleet, run, tmp_path):
    ports = {port: str(free_port()) for port in ("6222", "6322", "6422")}
    servers = []
    for number in (1, 2, 3):
        config = SHARED_CONFIG.replace("n1-c1", f"n{number}-c1")
        config = config.replace(":4222", ":-1").replace(":8222", ":-1")
        first, second, third = sorted(ports, key=lambda it: it != f"6{number + 1}22")
        for old, new in zip(("6222", "6322", "6422"), (first, second, third), strict=True):
            config = config.replace(f"127.0.0.1:{old}", f"HOST:{ports[new]}")
        config = config.replace("HOST", "127.0.0.1")
        servers.append(fleet.start(config=config, clustered=True, port=None))
    while not all(
        it.document("/jsz").get("meta_cluster", {}).get("cluster_size") == 3
        and it.document("/jsz")["meta_cluster"].get("leader")
        for it in servers
    ):
        pass
    for line in SHARED_COMMANDS:
        run(servers[0], line)

    assert len(SHARED_COMMANDS) == 14


def framework(line):
    """Run a command and return the lines that it writes."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)],
        capture_output=True,
        text=True,
        check=False,
        timeout=25,
    )

    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return set(done.stdout.splitlines()) if "check" not in line else done.stdout


def start_cluster(fleet, folder, config):
    """Start the servers as the page says, each with a file of its own and ports that are free."""
    ports = {port: str(free_port()) for port in ("4248", "5248", "6248")}
    servers = []
    for line in CLUSTER_COMMANDS[:3]:
        _, *words = shlex.split(line.rstrip(" &"))
        name = words[words.index("-n") + 1]
        file = folder / f"{name}.conf"
        file.write_text(with_ports(config, ports))
        words = [with_ports(word, ports) for word in words]
        words[words.index("-c") + 1] = str(file)
        words[words.index("-p") + 1] = "-1"
        if "-m" not in words:
            words += ["-m", "-1"]
        words[words.index("-m") + 1] = "-1"
        servers.append(fleet.start(*words, clustered=True, port=None))
    return servers


def with_ports(text, ports):
    return re.sub("|".join(ports), lambda found: ports[found[0]], text)
