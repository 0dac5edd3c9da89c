"""The real CLI with streams of three replicas, beside three real servers: the same is printed."""

from __future__ import annotations

import pytest

from plugins.jetstream.tests.interop import shared_clusters as shared
from plugins.jetstream.tests.interop import test_cli_beside as beside

pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(180),
    pytest.mark.peer("nats", shared.REAL),
]

CLUSTER = """
    stream add MOVED --subjects=moved.> --replicas=3 --defaults
    consumer add MOVED C1 --pull --defaults
    pub moved.a 'hello {{.Count}}' --count 5 --jetstream
    stream cluster step-down MOVED
    consumer cluster step-down MOVED C1
    stream edit MOVED --replicas=1 -f
    stream edit MOVED --replicas=3 -f
    stream edit MOVED --replicas=5 -f
    stream add WIDE --subjects=wide --replicas=5 --defaults
    stream add EVEN --subjects=even --replicas=2 --defaults
    stream cluster peer-remove MOVED none -f
    stream report
    consumer report MOVED
    stream rm MOVED -f
    stream rm EVEN -f
"""
SYSTEM = """
    server report jetstream
    server report health
    server check jetstream
    server cluster step-down --force
    server cluster peer-remove none --force
"""
LATE = "did not elect a new leader in time"
MASKS = (
    (r"\bn[123]\b[*!]?", "N"),
    (r"\b[SC]-R\d[FM]-\w{8}\b", "GROUP"),
    (r"(?m)^Leader: N.*$", "Leader: N"),
    (r"(?m)^Replica: N.*(\nReplica: N.*)*$", "Replica: N"),
    (r'"active": \d+', '"active": 0'),
    (r'"peer": "\w{8}"', '"peer": ""'),
    (r"(?m)^N \w{8} .*$", "N of the meta group"),
    (r"(?m)^((?:N test )?\d+ .* B) \d+ \d+$", r"\1"),
    (r"(?m)^Active Consumers: \d+$", "Active Consumers:"),
)
"""Who leads, how far others are at that moment, who was asked how often, and whether consumers of
earlier commands are still there."""


@pytest.fixture
def sessions(clusters, tmp_path):
    """Return what runs commands against a cluster of ours, and one of real servers."""
    return [
        beside.Session(clusters(kind)["n1"], tmp_path / kind, MASKS)
        for kind in ("ours", shared.REAL)
    ]


def is_settled(outcome):
    """Whether real servers had come to an end of something when they were asked.

    Now and then nobody leads a stream of theirs for five seconds after its leader stepped down, and
    what they say of one that was just restored has no group.
    """
    line, _, shown = outcome
    has_group = "Cluster Group: GROUP" in shown or not line.startswith("stream restore ")
    return has_group and not any(it.endswith(LATE) for it in shown)


def differences(ours, theirs):
    """Return what is not the same, where real servers are a measure."""
    pairs = [it for it in zip(ours, theirs, strict=True) if is_settled(it[1])]
    return beside.differences(*zip(*pairs, strict=True))


def with_replicas(script):
    """Return commands that make streams, buckets and stores of three replicas.

    Where a consumer of new messages has replicas, the real one says that nothing is acknowledged.
    """
    lines = script.replace(" --deliver=new", "").strip().splitlines()
    makes = ("stream add ", "kv add ", "object add ")
    return "\n".join(f"{it} --replicas=3" if it.strip().startswith(makes) else it for it in lines)


@pytest.mark.parametrize(
    "script",
    [beside.STREAMS, beside.CONSUMERS, beside.BUCKETS, beside.OBJECTS, CLUSTER],
    ids=["streams", "consumers", "buckets", "objects", "cluster"],
)
def test_commands_print_the_same(sessions, script):
    ours, theirs = (it.play(with_replicas(script), "app:x") for it in sessions)

    assert differences(ours, theirs) == ""


def test_operators_are_told_the_same(sessions):
    ours, theirs = (it.play(SYSTEM, "sys:x") for it in sessions)

    assert differences(ours, theirs) == ""
