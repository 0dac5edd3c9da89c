from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.tests.topology.conftest import CLUSTER, JOIN
from framework.topology import (
    ConfigSection,
    Kind,
    Option,
    PortSlot,
    Schema,
    TopologyError,
    TopologyErrors,
    TopologyPlanner,
    open_topology,
    read_topology,
)
from framework.topology.limits import SERVERS_MAX
from framework.topology.node import table_from_plain
from framework.topology.place import Place
from framework.topology.plan import plan_clusters


@pytest.fixture
def read(write, schema, planners):
    return lambda text, name="t.toml": read_topology(write(name, text), schema, planners)


@pytest.fixture
def refuse(read):
    def refuse_text(text, name="t.toml"):
        with pytest.raises(TopologyErrors) as caught:
            read(text, name)
        return [str(error) for error in caught.value.errors]

    return refuse_text


def summary(topology):
    """Return of each server its name, client port, cluster port and the ports it routes to."""
    rows = []
    for plan in topology.servers:
        cluster = plan.config.section("cluster")
        listen = cluster["listen"] if cluster else None
        routes = [int(url.rpartition(":")[2]) for url in cluster["routes"]] if cluster else []
        rows.append((plan.name, plan.config.values["port"], listen and listen[1], routes))
    return rows


def test_names_ports_and_routes_follow_from_a_number(read):
    topology = read("[clusters.east]\nservers = 3")

    assert summary(topology) == [
        ("east-1", 4222, 6222, [6223, 6224]),
        ("east-2", 4223, 6223, [6222, 6224]),
        ("east-3", 4224, 6224, [6222, 6223]),
    ]
    first = topology.servers[0].config
    assert first.values["listen"] == ("127.0.0.1", 4222)
    assert first.values["server_name"] == "east-1"
    assert first.values["http"] is None
    assert first.section("cluster")["name"] == "east"
    assert first.section("cluster")["host"] == "127.0.0.1"
    assert str(first.source("cluster.routes")) == "derived"
    assert topology.name == "t"
    assert topology.plugins is None


def test_what_is_said_is_kept(read):
    topology = read(
        'name = "world"\nplugins = ["route"]\n'
        "[clusters.main.servers.a]\nport = 4222\ncluster = { port = 4248, routes = [] }\n"
        '[clusters.main.servers.b]\nport = 5222\nserver_name = "beta"\n'
        '[clusters.main.servers.b.cluster]\nlisten = "127.0.0.1:5248"\nname = "other"\n'
        'routes = ["nats://127.0.0.1:4248"]\n'
    )

    assert summary(topology) == [("a", 4222, 4248, []), ("beta", 5222, 5248, [4248])]
    assert topology.servers[1].config.section("cluster")["name"] == "other"
    assert str(topology.servers[1].config.source("port")) == "t.toml:7:8"
    assert topology.plugins == ("route",)
    assert topology.server("beta") is topology.servers[1]
    assert topology.server("b") is None
    assert list(topology.clusters) == ["main"]


def test_settings_cascade_block_by_block(read):
    topology = read(
        "[defaults]\ndebug = true\ncluster = { retries = 1, retries_max = 5 }\n"
        "[clusters.x]\ndebug = false\ncluster.retries = 2\n"
        "[clusters.x.servers.one]\n[clusters.x.servers.two]\ndebug = true\ncluster.retries = 3\n"
        "[clusters.y]\n"
    )

    seen = [
        (p.name, p.config.values["debug"], (p.config.section("cluster") or {}).get("retries"))
        for p in topology.servers
    ]
    assert seen == [("one", False, 2), ("two", True, 3), ("y-1", True, 1)]
    assert topology.servers[0].config.section("cluster")["retries_max"] == 5


def test_names_stand_in_texts(read):
    topology = read(
        '[defaults]\nlogfile = "logs/{cluster}/{server}.log"\nserver_tags = ["{server}"]\n'
        "[clusters.east]\nservers = 2\n"
    )

    values = topology.servers[1].config.values
    assert values["logfile"] == "logs/east/east-2.log"
    assert values["server_tags"] == ("east-2",)


def test_shared_ports_are_where_counting_begins(read):
    topology = read(
        "[defaults]\nport = 4300\nhttp = 8300\n"
        "[clusters.a]\nservers = 2\n[clusters.b]\nservers = 2\nport = 4301\ncluster.port = 4300\n"
    )

    assert [port for _, port, _, _ in summary(topology)] == [4300, 4301, 4302, 4303]
    assert [port for _, _, port, _ in summary(topology)] == [6222, 6223, 4304, 4305]
    assert [p.config.values["http"][1] for p in topology.servers] == [8300, 8301, 8302, 8303]


def test_a_port_that_one_server_says_is_passed_over(read):
    topology = read(
        "[clusters.a.servers.x]\n[clusters.a.servers.y]\nport = 6222\n[clusters.a.servers.z]\n"
        "cluster.port = 4222\n"
    )

    assert summary(topology) == [
        ("x", 4223, 6223, [6224, 4222]),
        ("y", 6222, 6224, [6223, 4222]),
        ("z", 4224, 4222, [6223, 6224]),
    ]


def test_ports_are_counted_on_each_host_by_itself(read):
    topology = read(
        '[clusters.a.servers.x]\nhost = "10.0.0.1"\n[clusters.a.servers.y]\nhost = "10.0.0.2"\n'
    )

    assert [p.config.values["listen"] for p in topology.servers] == [
        ("10.0.0.1", 4222),
        ("10.0.0.2", 4222),
    ]
    routes = [p.config.section("cluster")["routes"] for p in topology.servers]
    assert routes == [("nats://10.0.0.2:6222",), ("nats://10.0.0.1:6222",)]


def test_any_free_port(read):
    topology = read("[clusters.a]\nport = -1\nhttp = -1\n")

    values = topology.servers[0].config.values
    assert values["listen"] == ("127.0.0.1", 0)
    assert values["http"] == ("127.0.0.1", 0)


def test_one_server_needs_no_cluster_block(read):
    assert read("[clusters.a]\n").servers[0].config.section("cluster") is None
    lone = read("[clusters.a]\ncluster = {}\n").servers[0].config.section("cluster")
    assert (lone["name"], lone["port"], lone["routes"]) == ("a", 6222, ())


def test_a_nats_server_file_is_one_server(read):
    topology = read("port: 4333\ncluster { port: 1 }", "seed.conf")

    assert [(p.name, p.cluster) for p in topology.servers] == [("seed", "")]
    assert topology.servers[0].config.values["listen"] == ("0.0.0.0", 4333)
    assert read("server_name: n", "seed.conf").servers[0].name == "n"


def test_hocon_has_the_same_schema(read):
    topology = read("plugins = [route]\nclusters.east { servers = 2, port = 4300 }", "t.hocon")

    assert summary(topology) == [("east-1", 4300, 6222, [6223]), ("east-2", 4301, 6223, [6222])]


def test_plugins_are_known_before_the_plan(write):
    file = open_topology(write("t.toml", 'plugins = ["jetstream"]\n[clusters.a]\njetstream = {}\n'))

    assert file.plugins == ("jetstream",)
    with pytest.raises(TopologyErrors, match="`jetstream` is not available: it needs"):
        file.plan()


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("", ["t.toml:1:1: a topology needs a cluster; for example [clusters.main]"]),
        ("clusters = 1", ["t.toml:1:12: a topology needs a cluster; for example [clusters.main]"]),
        ("[cluster.a]", ["t.toml:1:1: unknown key `cluster`; did you mean `clusters`?"]),
        ("plugins = [1]", ["t.toml:1:11: `plugins`: expected a text, found 1; put it in quotes"]),
        (
            "[defaults]\nprot = 1\n[clusters.a]\nserver = 3\n[clusters.a.servers.b]\nhots = 1\n",
            [
                "t.toml:2:1: unknown key `prot`; did you mean `port`?",
                "t.toml:4:1: unknown key `server`; did you mean `servers`?",
                "t.toml:6:1: unknown key `hots`; did you mean `host`?",
            ],
        ),
        (
            "[clusters.a]\nservers = 0",
            [("t.toml:2:11: `servers`: expected a number from 1 to 256, or blocks named after"
             " servers, found 0")],
        ),
        (
            "[clusters.a]\nservers = true",
            [("t.toml:2:11: `servers`: expected a number from 1 to 256, or blocks named after"
             " servers, found true")],
        ),
        (
            f"[clusters.a]\nservers = {SERVERS_MAX}\n[clusters.b]\n",
            ["t.toml:3:1: more than 256 servers"],
        ),
        (
            "[clusters.a.servers.x]\n[clusters.b.servers.x]\n",
            ["t.toml:2:1: two servers are named x, in the clusters a and b"],
        ),
        ("[clusters.'a b']\n", ["t.toml:1:1: server name `a b-1` cannot contain spaces",
                                "t.toml:1:1: cluster name `a b` cannot contain spaces"]),
        (
            "[clusters.a.servers.x]\nport = 1\n[clusters.a.servers.y]\ncluster.port = 1\n",
            [("t.toml:4:16: the cluster port of y cannot have 127.0.0.1:1, it is the client port"
             " of x's")],
        ),
        (
            ('[clusters.a.servers.x]\nport = 1\n[clusters.a.servers.y]\nlisten = "0.0.0.0:1"\n'
            'cluster.host = "127.0.0.1"\n'),
            [("t.toml:4:10: the client port of y cannot have 0.0.0.0:1, it is the client port of"
             " x's")],
        ),
        (
            "[defaults]\nport = 65535\n[clusters.a]\nservers = 2\n",
            ["t.toml:4:11: no port is left for the client port of a-2, counting from 65535"],
        ),
        (
            '[clusters.a.servers.x]\nport = "x"\n[clusters.a.servers.y]\ncluster.port = 70000\n',
            [
                't.toml:2:8: `port`: expected a number, found "x"',
                ("t.toml:4:16: `cluster.port`: expected a port from 1 to 65535, or -1 for any free"
                " one, found 70000"),
            ],
        ),
    ],
    ids=lambda value: value[0][:40] if isinstance(value, list) else None,
)  # fmt: skip
def test_what_is_refused(refuse, text, errors):
    assert refuse(text) == errors


def test_a_mistake_in_the_defaults_is_told_once(refuse):
    text = '[defaults]\nmax_payload = "huge"\n[clusters.a]\nservers = 3\n'

    assert refuse(text) == [
        "t.toml:2:15: `max_payload`: expected a size such as 65536, 64KB or 8MB"
    ]


def test_a_mistake_in_hocon_has_its_key(refuse):
    assert refuse("clusters.a { servers = 2, prot = 1 }", "t.hocon") == [
        "t.hocon: clusters.a.prot: unknown key `prot`; did you mean `port`?"
    ]


def test_several_servers_need_the_route_plugin(write):
    with pytest.raises(TopologyErrors) as caught:
        read_topology(write("t.toml", "[clusters.a]\nservers = 2\n"))

    assert str(caught.value) == (
        "t.toml:2:11: cluster a has 2 servers, which needs the route plugin; "
        'add "route" to `plugins`, or install it'
    )


def test_what_a_planner_finds_wrong_is_told_with_the_rest(write, schema):
    def derive(servers):
        yield from (TopologyError(server.place, f"{server.name} is alone") for server in servers)

    text = "[clusters.a.servers.x]\nport = true\n"
    with pytest.raises(TopologyErrors) as caught:
        read_topology(write("t.toml", text), schema, [TopologyPlanner(derive=derive)])

    assert [str(error) for error in caught.value.errors] == [
        "t.toml:1:1: x is alone",
        "t.toml:2:8: `port`: expected a number, found true",
    ]


def test_a_port_of_a_plugin_is_counted_up_where_its_block_stands(write):
    section = ConfigSection(
        name="mqtt",
        plugin="mqtt",
        help="MQTT",
        options=(Option(name="port", kind=Kind.PORT, help="Port"),),
    )
    planner = TopologyPlanner(slots=(PortSlot(name="mqtt", block="mqtt", base=1883),))
    text = "[clusters.a]\nmqtt = {}\n[clusters.b]\n[clusters.c]\nmqtt = {}\n"

    topology = read_topology(write("t.toml", text), [section], [planner])

    blocks = [plan.config.section("mqtt") for plan in topology.servers]
    assert [block and block["port"] for block in blocks] == [1883, None, 1884]


def test_a_file_of_another_kind(write):
    with pytest.raises(TopologyErrors, match="unknown file type"):
        open_topology(write("t.yaml", ""))


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(TopologyErrors, match=r"cannot read .*: No such file"):
        open_topology(tmp_path / "t.toml")
    (tmp_path / "t.toml").write_bytes(b"a = 1\nb = '\xff'")
    with pytest.raises(TopologyErrors, match=r"t\.toml:2: not UTF-8"):
        open_topology(tmp_path / "t.toml")


PORTS = st.integers(4220, 4226)
SERVERS = st.fixed_dictionaries(
    {},
    optional={
        "port": PORTS,
        "http": PORTS,
        "cluster": st.fixed_dictionaries({}, optional={"port": PORTS}),
        "host": st.sampled_from(["127.0.0.1", "127.0.0.2"]),
    },
)
CLUSTERS = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(dict, servers=st.integers(1, 4), port=PORTS)
    | st.builds(dict, servers=st.lists(SERVERS, min_size=1, max_size=4)),
    min_size=1,
)


@given(CLUSTERS)
def test_no_port_is_given_out_twice(clusters):
    for name, cluster in clusters.items():
        if isinstance(cluster["servers"], list):
            servers = {f"{name}{index}": own for index, own in enumerate(cluster["servers"])}
            cluster["servers"] = servers
    top = table_from_plain({"clusters": clusters}, Place("f"))

    try:
        plans = plan_clusters(top, Schema([CLUSTER]), "f", [JOIN])
    except TopologyErrors as refused:
        plans = []
        problems = [error.problem for error in refused.errors]
    else:
        problems = []

    assert all("cannot have" in problem for problem in problems)
    addresses = [address for plan in plans for address in addresses_of(plan.config)]
    assert len(addresses) == len(set(addresses))


def test_the_plan_follows_from_the_file_alone(schema, planners):
    clusters = {"b": {"servers": 3}, "a": {"servers": {"z": {"port": 4223}, "y": {}}}}
    top = table_from_plain({"clusters": clusters}, Place("f"))

    once = plan_clusters(top, schema, "f", planners)
    again = plan_clusters(top, schema, "f", planners)

    assert [plan.config.values for plan in once] == [plan.config.values for plan in again]


def addresses_of(config):
    cluster = config.section("cluster")
    addresses = [config.values["listen"], config.values["http"], cluster and cluster["listen"]]
    return [address for address in addresses if address]
