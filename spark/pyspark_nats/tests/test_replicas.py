"""Streams of three servers: each replica sends tables, and any of them may go while it does."""

from __future__ import annotations

import bisect
import contextlib

import pytest
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.errors import ApiError, ConnectionLostError, RequestTimeoutError
from pyspark_nats.jetstream import JetStream
from pyspark_nats.options import read_options

from framework.testing import OURS, Fleet
from framework.testing.fleet import await_mesh

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: ./dev test -e spark")
pull = pytest.importorskip("pyspark_nats.pull")
plan = pytest.importorskip("pyspark_nats.plan")

pytestmark = pytest.mark.timeout(120)

NAMES = ("n1", "n2", "n3")
ROWS = 20_000
PAYLOAD = b"%d ".ljust(1024, b"x")
"""A range is longer than the frames that may be on their way."""
UNAVAILABLE = 10008
CONFIG = 'jetstream {{ store_dir: "{}", replication: true }}\nhttp: "127.0.0.1:-1"\n'


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    fleet = Fleet(tmp_path_factory.mktemp("replicas"))
    yield fleet
    fleet.stop()


@pytest.fixture(scope="module")
def cluster(fleet, tmp_path_factory):
    """Return three servers that share a stream of many messages, by name."""
    servers, folder = {}, tmp_path_factory.mktemp("stores")
    for name in NAMES:
        routes = ",".join(f"nats://127.0.0.1:{it.cluster_port}" for it in servers.values())
        servers[name] = fleet.start(
            *("-cluster", "nats://127.0.0.1:-1", "-cluster_name", "test", "-n", name),
            *(("-routes", routes) if routes else ()),
            *("-plugin", "framework_jetstream.plugin"),
            kind=OURS,
            config=CONFIG.format(folder / name),
            clustered=True,
        )
    await_mesh(*servers.values())  # or what one asks of another may find no route yet
    while any(size(it) < len(NAMES) for it in servers.values()):
        pass
    config = {"name": "S", "subjects": ["s.*"], "num_replicas": len(NAMES)}
    again(servers["n1"], lambda api: api.create_stream(config))
    fill(servers["n1"])
    await_replicas(servers["n1"])
    for name in NAMES:  # who has all may not have applied it yet
        request = {"seq": 1, "up_to_seq": ROWS, "server": name}
        again(servers["n1"], lambda api, request=request: api.begin_export("S", request))
    return servers


def size(server):
    return (server.document("/jsz").get("meta_cluster") or {}).get("cluster_size", 0)


def connection_to(server):
    target = Target((Address("127.0.0.1", server.port),), request_timeout_s=1.0)
    return contextlib.closing(Connection(target))


def again(server, question):
    """Ask until there is an answer: a leader may just have gone."""
    while True:
        with connection_to(server) as connection:
            try:
                return question(JetStream(connection))
            except RequestTimeoutError:
                pass
            except ApiError as error:
                if error.err_code != UNAVAILABLE:
                    raise


def fill(server):
    with connection_to(server) as connection:
        reply = f"{connection.inbox}.stored"
        connection.subscribe(reply)
        for first in range(1, ROWS + 1, 1000):
            bodies = [PAYLOAD % number for number in range(first, first + 1000)]
            lines = [
                b"PUB s.%d %b %d\r\n%b\r\n" % (at % 7, reply.encode(), len(body), body)
                for at, body in enumerate(bodies)
            ]
            connection.send(b"".join(lines))
            for _ in lines:
                assert b"error" not in connection.next_message(20).payload


def await_replicas(server):
    """Wait until all servers have the whole stream; return their names, the leader's first."""
    found = ()
    while len(found) < len(NAMES):
        found = again(server, lambda api: api.stream("S")).servers
    return found


def target_of(*servers):
    addresses = tuple(Address("127.0.0.1", it.port) for it in servers)
    return Target(addresses, request_timeout_s=1.0)


def whole(state):
    return pull.Range("S", state.id, 1, state.end, (), pull.EXPORT, "")


def sequences(parts):
    return [seq for rows in parts for seq in rows.sequence.to_pylist()]


def begun(asked, **request):
    """Ask a server for an export until it can be had; return what is said of it."""
    return again(asked, lambda api: api.begin_export("S", {"seq": 1, **request}))


def sent_since(cluster):
    """Return a function that tells how many bytes each server has sent to clients since."""
    before = {name: sent(server) for name, server in cluster.items()}
    return lambda: {name: sent(server) - before[name] for name, server in cluster.items()}


def sent(server):
    return sum(it["out_bytes"] for it in server.document("/connz?state=all")["connections"])


def test_each_replica_sends_tables(cluster):
    leader, *others = await_replicas(cluster["n1"])
    state = again(cluster["n1"], lambda api: api.stream("S"))
    for asked in cluster.values():
        for name in NAMES:
            assert begun(asked, up_to_seq=ROWS, server=name)["server"] == name
        assert leader == begun(asked)["server"]
        assert leader == begun(asked, server="n9")["server"]
    # What a replica may lack, who leads is asked for.
    for request in ({"up_to_seq": ROWS + 1}, {}):
        with connection_to(cluster[others[0]]) as asking, pytest.raises(ApiError) as refused:
            JetStream(asking).begin_export("S", {"seq": 1, "server": others[0], **request})
        assert UNAVAILABLE == refused.value.err_code
    found = [
        pa.Table.from_batches([
            pa.record_batch(list(rows[:4]), names=["subject", "sequence", "timestamp", "data"])
            for rows in pull.PullReader(target_of(it), "", whole(state), pull.refuse_loss).read()
        ]).combine_chunks()
        for it in cluster.values()
    ]

    assert list(range(1, ROWS + 1)) == found[0].column("sequence").to_pylist()
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_a_replica_that_is_killed_in_the_middle_of_a_read(cluster, fleet):
    leader, follower, third = await_replicas(cluster["n1"])
    state = again(cluster["n1"], lambda api: api.stream("S"))
    for killed, other in ((follower, leader), (leader, third)):
        target = target_of(cluster[killed], cluster[other])
        parts = pull.PullReader(target, "", whole(state), pull.refuse_loss).read()
        found = sequences([next(parts)])
        cluster[killed].kill()
        found += sequences(parts)

        assert list(range(1, ROWS + 1)) == found
        cluster[killed] = fleet.restart(cluster[killed])
        await_replicas(cluster[other])


def test_a_replica_that_is_gone_is_heard_of_by_others(cluster, fleet):
    """The reader is connected to a server that only passes frames on."""
    leader, follower, third = await_replicas(cluster["n1"])
    with connection_to(cluster[leader]) as asking, connection_to(cluster[third]) as bulk:
        request = {"seq": 1, "up_to_seq": ROWS, "server": follower}
        taken = pull.Export(JetStream(asking), bulk, "S", request, 1.0)
        rows = taken.rows()
        found = sequences([next(rows)])
        cluster[follower].kill()

        with pytest.raises(ConnectionLostError, match="503"):
            found.extend(sequences(rows))
        assert list(range(1, len(found) + 1)) == found
        assert len(found) < ROWS
    cluster[follower] = fleet.restart(cluster[follower])
    await_replicas(cluster[leader])


@pytest.mark.spark
def test_partitions_are_spread_over_servers(cluster, session):
    """Only one of the servers is given; what others tell of is used beside it."""
    await_replicas(cluster["n1"])
    since = sent_since(cluster)
    reader = session.read.format("nats").options(servers=cluster["n1"].url, stream="S")
    frame = reader.option("minPartitions", "3").load()
    found = frame.selectExpr("count(*)", "sum(sequence)", "sum(length(data))").first()

    assert (ROWS, ROWS * (ROWS + 1) // 2) == tuple(found)[:2]
    assert all(it > ROWS * 1024 // 4 for it in since().values()), since()


def test_a_filter_needs_no_consumer(cluster):
    """Consumers in memory can't be had of such a stream yet: parts are cut by their width."""
    options = read_options({
        "servers": cluster["n1"].url, "stream": "S", "subject": "s.3", "minPartitions": "3",
    })  # fmt: skip
    parts = again(
        cluster["n1"], lambda api: plan.batch_parts(api, options, api.stream("S"), 1, ROWS + 1)
    )
    found = [
        seq
        for part in parts
        for seq in sequences(pull.PullReader(options.target, "", part, pull.refuse_loss).read())
    ]

    assert 3 == len(parts)
    assert [it for it in range(1, ROWS + 1) if (it - 1) % 1000 % 7 == 3] == found


def test_a_time_is_found_without_a_consumer(cluster):
    state = again(cluster["n1"], lambda api: api.stream("S"))
    target = target_of(cluster["n1"])
    parts = pull.PullReader(target, "", whole(state), pull.refuse_loss).read()
    stamps = [stamp for rows in parts for stamp in rows.timestamp_ns.to_pylist()]
    times = [0, *(stamps[at] + more for at in (0, 7, ROWS // 2, -1) for more in (0, 1)), 2**62]
    found = [again(cluster["n1"], lambda api, it=it: api.seq_at("S", it)) for it in times]

    assert [bisect.bisect_left(stamps, it) + 1 for it in times] == found
