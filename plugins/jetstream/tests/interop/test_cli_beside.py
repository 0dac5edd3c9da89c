"""The real CLI beside the real server: the same commands, one after the other, print the same."""

from __future__ import annotations

import re
import shlex

import pytest

from framework.testing import NatsCli

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = """
jetstream { store_dir: "%s", max_mem: 1G, max_file: 1G }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  SYS { users: [{ user: sys, password: sys }] }
}
system_account: SYS
"""
STREAMS = """
    stream add ORDERS --subjects=orders.> --defaults
    stream add EVENTS --subjects=events.> --storage=memory --defaults
    stream add ORDERS --subjects=orders.> --defaults
    stream add OTHER --subjects=orders.x --defaults
    pub orders.new 'hello {{.Count}}' --count 5 --jetstream
    pub orders.x hi -H X-A:b --jetstream
    stream ls
    stream ls --names
    stream ls --subject=events.a
    stream info ORDERS
    stream info ORDERS --json
    stream state ORDERS
    stream subjects ORDERS
    stream report
    stream find --empty
    stream edit ORDERS --max-age=1h -f
    stream edit ORDERS --max-msgs=4 -f
    stream edit ORDERS --storage=memory -f
    stream get ORDERS 1
    stream get ORDERS 3
    stream get ORDERS --last-for orders.x
    stream get ORDERS --json 6
    stream view ORDERS
    stream gaps ORDERS --force
    stream copy EVENTS EVENTS2 --subjects=ev2.>
    stream rmm ORDERS 4 -f
    stream rmm ORDERS 4 -f
    stream gaps ORDERS --force
    stream purge ORDERS -f --subject=orders.x
    stream info ORDERS
    stream backup ORDERS bk --no-progress
    stream rm ORDERS -f
    stream restore bk --no-progress
    stream info ORDERS
    stream purge ORDERS -f
    stream seal ORDERS -f
    pub orders.new no --jetstream
    stream info ORDERS
    stream cluster step-down ORDERS -f
    stream cluster info ORDERS
    stream graph ORDERS
    stream rm ORDERS -f
    stream rm ORDERS -f
    stream info ORDERS
    stream ls
"""
CONSUMERS = """
    stream add ORDERS --subjects=orders.> --defaults
    pub orders.new 'hello {{.Count}}' --count 7 --jetstream
    consumer add ORDERS C1 --pull --defaults
    consumer add ORDERS P1 --target=deliver.p1 --defaults
    consumer add ORDERS PG --pull --defaults --pinned-groups=g1 --pinned-ttl=1m
    consumer add ORDERS F1 --pull --defaults --filter=orders.no --deliver=new --sample=10
    consumer ls ORDERS
    consumer ls ORDERS --names
    consumer info ORDERS C1
    consumer info ORDERS PG
    consumer info ORDERS C1 --json
    consumer state ORDERS C1
    consumer report ORDERS
    consumer next ORDERS C1 --count 2
    consumer next ORDERS C1 --nak
    consumer next ORDERS C1 --term
    consumer next ORDERS C1 --no-ack --raw
    consumer next ORDERS P1 --timeout=200ms
    consumer info ORDERS C1
    consumer edit ORDERS C1 --max-pending=500 -f
    consumer edit ORDERS C1 --filter=orders.new -f
    consumer add ORDERS C1 --pull --defaults --filter=other
    consumer add ORDERS C1 --pull --defaults --filter=orders.new
    consumer copy ORDERS C1 C2
    consumer find ORDERS --pull
    consumer find ORDERS --ack-pending=1
    consumer pause ORDERS C1 1000h -f
    consumer resume ORDERS C1 -f
    consumer reset ORDERS C1 --sequence=1 -f
    consumer info ORDERS C1
    consumer unpin ORDERS PG g1 -f
    consumer cluster step-down ORDERS C1
    consumer graph ORDERS C1
    stream report
    consumer rm ORDERS C2 -f
    consumer rm ORDERS C2 -f
    consumer info ORDERS C2
    consumer ls ORDERS
"""
BUCKETS = """
    kv add CFG --history=5 --storage=memory
    kv add CFG --history=5 --storage=memory
    kv add TTL --ttl=1h --max-value-size=10
    kv put CFG k1 v1
    kv put TTL k1 12345678901
    kv create CFG k2 v2
    kv create CFG k2 v2
    kv update CFG k1 v2 1
    kv update CFG k1 v3 1
    kv get CFG k1
    kv get CFG k1 --raw
    kv get CFG k1 --revision=1
    kv get CFG none
    kv history CFG k1
    kv revert CFG k1 1
    kv ls
    kv ls CFG
    kv ls CFG --display-value --verbose
    kv info CFG
    kv info TTL
    kv del CFG k1 -f
    kv get CFG k1
    kv purge CFG k2 -f
    kv history CFG k1
    kv compact CFG -f
    kv info CFG
    kv edit CFG --history=3
    kv del CFG -f
    kv info CFG
"""
OBJECTS = """
    object add OBJ
    object add OBJ
    object put OBJ big.bin --no-progress -f
    object put OBJ small.txt --no-progress --name=other -f
    object put OBJ small.txt --no-progress --name=other -f
    object ls
    object ls OBJ
    object info OBJ
    object info OBJ big.bin
    object get OBJ big.bin -O out.bin --no-progress
    object get OBJ none -O out.bin --no-progress
    object edit OBJ --description=x
    object del OBJ other -f
    object ls OBJ
    object seal OBJ -f
    object put OBJ small.txt --no-progress -f
    object info OBJ
    object del OBJ -f
    object ls
"""
REPORTS = """
    stream add ORDERS --subjects=orders.> --defaults
    stream add EVENTS --subjects=events.> --storage=memory --defaults
    consumer add ORDERS C1 --pull --defaults
    pub orders.new 'hello {{.Count}}' --count 7 --jetstream
    account info
    account backup all -f
    stream rm ORDERS -f
    stream rm EVENTS -f
    account restore all
    stream report
    stream info ORDERS
    rtt 2
    server check jetstream
    server check stream --stream=ORDERS
    server check message --stream=ORDERS --subject=orders.new
    server check kv --bucket=none
"""
BENCHMARKS = """
    bench js pub sync bjs --msgs=20 --size=16 --create --no-progress
    bench js pub async bjs --msgs=50 --size=16 --no-progress
    bench js ordered --msgs=50 --no-progress
    bench js consume --msgs=50 --no-progress
    consumer rm benchstream nats-bench -f
    bench js fetch --msgs=50 --batch=10 --no-progress
    bench js get sync --msgs=20 --no-progress
    bench kv put --msgs=20 --no-progress
    bench kv get --msgs=20 --no-progress
"""
SYSTEM = """
    server report jetstream
    server report health
    server check jetstream
"""
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|\+00:00)?|\b\d\d:\d\d:\d\d\b"
    r"|\b(\d+[dhm])*\d+(\.\d+)?(n|\xb5|m)?s\b|\b(\d+[hm])+\b"
)
_ID = re.compile(
    r"_INBOX\.\S+|\b[A-Za-z0-9]{22}\b|\bN[A-Z0-9]{55}\b|\b[A-Za-z0-9_-]{43}="
    r"|(?<=Client ID: )\d+|\b\d+ B (un)?compressed"
)
"""Compressed archives have times in them, whose digits vary."""
_FRAME = re.compile("[\u2500-\u257f\xa0\t ]+")
"""What stands around columns and changes."""


class Session:
    """Runs commands of the CLI in a folder of its own, against one server.

    Args:
        masks: Patterns of lines that are not to be compared, and what to show in their place.
    """

    def __init__(self, server, folder, masks=()):
        folder.mkdir()
        (folder / "big.bin").write_bytes(bytes(range(256)) * 1200)
        (folder / "small.txt").write_text("few words\n")
        self._cli = NatsCli(folder)
        self._folder = folder
        self._server = server
        self._masks = masks

    def play(self, script, login="a:a"):
        """Return (command, exit code, lines) of each command of a script."""
        url = f"nats://{login}@127.0.0.1:{self._server.port}"
        told = []
        for line in script.strip().splitlines():
            code, printed = self._cli.attempt(url, *shlex.split(line))
            told.append((line.strip(), code, self._shown(printed)))
        return told

    def _shown(self, text):
        """Return what was printed, without times, addresses, ids and widths of columns."""
        text = text.replace(str(self._server.port), "PORT").replace(str(self._folder), "FOLDER")
        text = _ID.sub("ID", _TIME.sub("TIME", text))
        lines = [_FRAME.sub(" ", line).strip() for line in text.splitlines()]
        text = "\n".join(line for line in lines if not line.startswith("done! ["))
        for pattern, shown in self._masks:
            text = re.sub(pattern, shown, text)
        return _headers_in_order(text.splitlines())


def _headers_in_order(lines):
    """Return lines with those of headers sorted: the CLI prints them as its map has them."""
    if "Headers:" not in lines or "Data:" not in lines:
        return lines
    first, end = lines.index("Headers:") + 1, lines.index("Data:")
    return [*lines[:first], *sorted(lines[first:end]), *lines[end:]]


@pytest.fixture
def sessions(fleet, tmp_path):
    """Return what runs commands against a server of ours, and a real one."""
    ours = fleet.start(*PLUGIN, "-n", "one", config=CONFIG % (tmp_path / "store"))
    real = fleet.start("-n", "one", config=CONFIG % (tmp_path / "real_store"), kind="2.15.2")
    return Session(ours, tmp_path / "ours"), Session(real, tmp_path / "real")


def differences(ours, theirs):
    """Return what is not the same of what two sessions were told, command by command."""
    found = []
    for mine, other in zip(ours, theirs, strict=True):
        if mine != other:
            lines = [f"- {it}" for it in other[2] if it not in mine[2]]
            lines += [f"+ {it}" for it in mine[2] if it not in other[2]]
            found.append(f"nats {mine[0]}: exit {other[1]}, ours {mine[1]}\n" + "\n".join(lines))
    return "\n".join(found)


@pytest.mark.parametrize(
    "script",
    [STREAMS, CONSUMERS, BUCKETS, OBJECTS, REPORTS],
    ids=["streams", "consumers", "buckets", "objects", "reports"],
)
def test_commands_print_the_same(sessions, script):
    ours, theirs = (it.play(script) for it in sessions)

    assert differences(ours, theirs) == ""


def test_benchmarks_run_to_their_end(sessions):
    told = []
    for session in sessions:
        outcomes = session.play(BENCHMARKS)
        told.append([(line, code, len(shown)) for line, code, shown in outcomes])

    assert told[1] == told[0]


def test_operators_are_told_the_same(sessions):
    for session in sessions:
        session.play(REPORTS)
    ours, theirs = (it.play(SYSTEM, "sys:sys") for it in sessions)

    assert differences(ours, theirs) == ""
