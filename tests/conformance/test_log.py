"""What ours logs, beside what the real server logs in the same situations."""

from __future__ import annotations

import re
import signal
import tomllib
from pathlib import Path

import pytest

from framework.testing import OURS
from framework.testing.routes import await_pools

REAL = "2.15.2"
ALLOWED = tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8"))["log"]
VARYING = {
    r"^\[\d+\] \S+ \S+ ": "",
    r"127\.0\.0\.1:\d+": "ADDRESS",
    r"\b([cr]id):\d+": r"\1:N",
    r"\bN[A-Z2-7]{55}\b": "ID",
    r"sha256:\w+": "DIGEST",
    r"\S+\.conf": "FILE",
}
ENDINGS = (
    b"FROB\r\n",
    b"PUB foo x\r\n",
    b"PUB foo\r\n",
    b"PUB foo 99999999\r\n",
    b"HPUB foo 12 14\r\n",
    b"SUB " + b"a" * 5_000 + b" 1\r\n",
    b"-ERR 'x'\r\n",
    b'CONNECT {"protocol":9}\r\n',
    b"CONNECT {]\r\n",
)


def lines(server):
    text = server.log()
    for pattern, name in VARYING.items():
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    return text.splitlines()


def clients(fleet, kind):
    """Clients that say what they should, and others."""
    server = fleet.start("-DV", kind=kind, config="http: 127.0.0.1:-1\n")
    with server.client() as client:
        client.log_in(name="me", lang="c", version="1")
        client.send(b"SUB foo.* 1\r\nSUB foo.> q 2\r\nUNSUB 1 3\r\nPUB foo.a r 2\r\nhi\r\n")
        client.send(b"SUB foo..a 3\r\nUNSUB 2\r\n")
        client.flush()
    for ending in ENDINGS:
        with server.client() as client:
            client.log_in(name="me", lang="c", version="1", headers=False, no_responders=False)
            client.send(ending)
            client.read_to_end()
    server.wait_log("Protocol Violation")
    server.stop()
    return lines(server)


def routes(fleet, kind):
    """A cluster of two; the seed is stopped first."""
    seed, other = fleet.start_cluster(kind, kind, flags=("-D", "-m", "-1"))
    await_pools(seed, other)
    seed.stop()
    other.wait_log("Attempting reconnect for solicited route")
    other.wait_log(r"Error trying to connect to route \(attempt 1\).*connection refused")
    other.stop()
    return [*lines(seed), *lines(other)]


def lame_duck(fleet, kind):
    """A server that nobody is connected to leaves."""
    config = "server_name: n1\nlisten: 127.0.0.1:-1\n"
    server = fleet.start("-D", kind=kind, config=config, port=None)
    server.signal(signal.SIGUSR1)
    server.wait_log("File log re-open")
    server.signal(signal.SIGHUP)
    server.wait_log("Reloaded server configuration")
    server.signal(signal.SIGUSR2)
    server.wait()
    return lines(server)


def internal_lines(fleet, kind, flags):
    """Return how the log has the answer to a `$SYS` request, in whatever width."""
    config = "accounts { $SYS { users: [ {user: sys, password: s} ] } }\n"
    server = fleet.start(flags, kind=kind, config=config)
    with server.client() as client:
        client.log_in(user="sys", **{"pass": "s"})
        client.send(b"SUB inbox 1\r\nPUB $SYS.REQ.SERVER.PING.IDZ inbox 0\r\n\r\n")
        size = len(client.read_until(b"MSG")[-1].body)
    server.stop()
    told = [" ".join(it.split()) for it in lines(server) if " SYSTEM - <<- " in it]
    at = [it.endswith(f"[PUB inbox {size}]") for it in told].index(True) if told else 0
    return [it.partition("MSG_PAYLOAD")[0].replace(str(size), "N") for it in told[at : at + 2]]


def test_verbose_traces_show_what_the_server_publishes(fleet, kind):
    assert internal_lines(fleet, kind, "-DV") == []
    assert internal_lines(fleet, kind, "-DVV") == [
        "[TRC] SYSTEM - <<- [PUB inbox N]",
        "[TRC] SYSTEM - <<- ",
    ]


@pytest.mark.peer(REAL)
def test_ours_logs_what_the_real_server_logs(fleet):
    differing, excused = [], set()
    for situation in (clients, routes, lame_duck):
        theirs, ours = set(situation(fleet, REAL)), set(situation(fleet, OURS))
        if situation is routes:  # the real one has four connections, and what they meet varies
            theirs &= ours
        for side, missing in (("real", theirs - ours), ("ours", ours - theirs)):
            for line in sorted(missing):
                patterns = [each[side] for each in ALLOWED if side in each]
                found = {(side, it) for it in patterns if re.fullmatch(it, line)}
                excused |= found
                differing += [] if found else [f"{situation.__name__}: {side}: {line}"]

    assert differing == []
    assert excused == {(side, e[side]) for e in ALLOWED for side in ("real", "ours") if side in e}
