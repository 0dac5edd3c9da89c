"""The `cluster` block, as files and flags write it."""

from __future__ import annotations

import pytest
from framework_route.config import LinkTimes, RouteConfig, cluster_section
from framework_route.modes import MODES

from framework.peering import PeerUrl
from framework.spec import Permissions, SubjectRules
from framework.topology import Schema, TopologyErrors, parse_flags, read_server_conf

SCHEMA = Schema([cluster_section([mode.name for mode in MODES])])


@pytest.fixture
def read(tmp_path):
    def read_text(text: str):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return read_server_conf(path, SCHEMA).section_as(RouteConfig)

    return read_text


def from_flags(*flags):
    settings = parse_flags(flags, SCHEMA).settings
    return read_server_conf(None, SCHEMA, settings).section_as(RouteConfig)


def test_no_block_is_no_cluster(read):
    assert read("port: 4222") is None
    assert read("cluster { name: c1 }") is None


def test_who_is_known_by_gossip_is_told_no_hash(read):
    hashed = "$2a$04$" + "x" * 53
    config = read(
        f"""cluster {{ listen: 4248, authorization {{ user: r, password: "{hashed}" }}
        routes: ["nats://other:no@a:1", "nats://r:secret@b:2"] }}"""
    )
    assert (config.login.password, config.mesh.password) == (hashed, "secret")

    config = read(f'cluster {{ listen: 4248, authorization {{ user: r, password: "{hashed}" }} }}')
    assert (config.mesh.user, config.mesh.password) == ("r", "")


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("cluster { listen: 127.0.0.1:4248 }", "127.0.0.1", 4248),
        ("cluster { listen: 4248 }", "0.0.0.0", 4248),
        ('cluster { listen: ":4248" }', "0.0.0.0", 4248),
        ("cluster { host: 127.0.0.1\n port: 4248 }", "127.0.0.1", 4248),
        ("cluster { port: -1 }", "0.0.0.0", 0),
        ("cluster { net: 127.0.0.1, port: 4248 }", "127.0.0.1", 4248),
    ],
)
def test_where_it_listens(read, text, host, port):
    config = read(text)

    assert (config.host, config.port) == (host, port)


def test_a_whole_block_of_nats_server_is_read(read):
    config = read(
        """
        cluster {
          name: c1
          listen: 0.0.0.0:6222
          authorization {
            user: route_user, password: pwd, timeout: 0.5, permissions: { publish: ">" }
          }
          routes = [
            nats-route://user:pass@127.0.0.1:6223
            nats://token@b.example:6224
            "nats-route://[::1]:6225"
          ]
          cluster_advertise: "a.example:6300"
          no_advertise: true
          connect_retries: 5
          connect_backoff: true
          pool_size: 3
          accounts: [A]
          compression: { mode: s2_auto, rtt_thresholds: [10ms, 50ms] }
          ping_interval: 20s
          ping_max: 3
          write_deadline: 5s
        }
        """
    )

    assert config.name == "c1"
    assert (config.login.user, config.login.password, config.login.timeout_s) == (
        "route_user",
        "pwd",
        0.5,
    )
    assert config.advertise == "a.example:6300"
    assert config.mesh.routes == (
        PeerUrl("127.0.0.1", 6223, "user", "pass", scheme="nats-route"),
        PeerUrl("b.example", 6224, "token"),
        PeerUrl("::1", 6225, scheme="nats-route"),
    )
    assert not config.mesh.is_advertised
    assert config.mesh.connect_retries == 5
    assert config.mesh.has_connect_backoff
    assert config.compression.mode == "s2_auto"
    assert config.compression.rtt_thresholds_ns == (10_000_000, 50_000_000)
    assert (config.mesh.pool_size, config.accounts) == (3, ("A",))
    assert config.times == LinkTimes(ping_interval_s=20.0, ping_max=3, write_deadline_s=5.0)


def test_the_flags_of_the_documents():
    config = from_flags("-cluster", "nats://localhost:5248", "-routes", "nats://localhost:4248")

    assert (config.host, config.port) == ("localhost", 5248)
    assert config.mesh.routes == (PeerUrl("localhost", 4248),)
    assert (config.mesh.pool_size, config.accounts) == (3, ())
    assert (config.permissions, config.times) == (None, LinkTimes())


def test_permissions_say_which_subjects_cross(read):
    config = read(
        """
        cluster { port: 4248, permissions { import: [a, "b.>"], export: { deny: secret } } }
        """
    )

    assert config.permissions == Permissions(
        publish=SubjectRules(allow=("a", "b.>")), subscribe=SubjectRules(deny=("secret",))
    )


@pytest.mark.parametrize(("written", "size"), [("0", 3), ("1", 1), ("-1", -1), ("256", 256)])
def test_the_size_of_a_pool(read, written, size):
    assert read(f"cluster {{ port: 4248, pool_size: {written} }}").mesh.pool_size == size


def test_a_login_in_the_cluster_flag_is_what_others_must_give():
    config = from_flags("--cluster", "nats://ruser:T0pS3cr3t@localhost:-1", "--cluster_name", "c1")

    assert (config.login.user, config.login.password) == ("ruser", "T0pS3cr3t")
    assert config.port == 0
    assert config.name == "c1"


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("on", "s2_fast"),
        ("true", "s2_fast"),
        ("enabled", "s2_fast"),
        ("off", "off"),
        ("false", "off"),
        ("disabled", "off"),
        ("accept", "accept"),
        ("S2_Best", "s2_best"),
        ("better", "s2_better"),
        ("{ mode: s2_auto }", "s2_auto"),
        ("{ mode: auto }", "s2_auto"),
        ("{ rtts: [1ms] }", "accept"),
        ("zstd", "zstd"),
    ],
)
def test_compression_is_a_mode_or_a_block_with_one(read, written, mode):
    assert read(f"cluster {{ port: 1, compression: {written} }}").compression.mode == mode


def test_without_compression_a_server_follows_others(read):
    assert read("cluster { port: 1 }").compression.mode == "accept"


@pytest.mark.parametrize(
    ("written", "thresholds_ms"),
    [
        ("", [10, 50, 100]),
        ("rtts: []", [10, 50, 100]),
        ("rtt: [5ms, 0s, 20ms]", [5, 0, 20]),
        ("thresholds: [5ms, 0s, 0s]", [5]),
        ('rtt_thresholds: ["-5ms", 1s]', [0, 1000]),
        ("rtt_thresholds: 5ms", [5]),
        ("rtt_thresholds: [1ms, 2ms, 3ms, 4ms, 0s]", [1, 2, 3, 4]),
    ],
)
def test_thresholds_of_round_trips_are_read_as_nats_server_reads_them(read, written, thresholds_ms):
    config = read(f"cluster {{ port: 1, compression {{ mode: s2_auto, {written} }} }}")

    assert [ns / 1_000_000 for ns in config.compression.rtt_thresholds_ns] == thresholds_ms


def test_routes_without_a_cluster_are_refused_in_nats_servers_words():
    with pytest.raises(TopologyErrors, match=r"require cluster capabilities, e\.g\. --cluster"):
        from_flags("-routes", "nats://localhost:4248")


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ('name: "my cluster"', "cluster name cannot contain spaces"),
        ("routes: [nats://h:1]", "solicited routes require cluster capabilities"),
        ("port: 1, routes: [nats://h]", "port is missing"),
        ("port: 1, routes: [http://h:1]", "scheme 'http'"),
        ("port: 1, routes: [nats://h:1/x]", "nothing may follow the port"),
        ("authorization { users: [{user: a, password: b}] }", "does not allow multiple users"),
        ("authorization { token: abc }", "does not support tokens"),
        ("pool_size: -1, accounts: [A]", "pool_size cannot be negative if pinned accounts"),
        ("compression: zip", 'unsupported compression mode "zip"'),
        (
            "compression: { mode: s2_uncompressed }",
            'unsupported compression mode "s2_uncompressed"; there are off, accept, s2_auto',
        ),
        ("compression: { mode: s2_auto, rtts: [2s, 1s] }", "should be in ascending order"),
        ("compression: { mode: s2_auto, rtts: [0s, 0s] }", "at least one RTT threshold"),
        ("compression: { mode: s2_auto, rtts: [soon] }", "expected a duration"),
        ("compression: { mode: s2_auto, rtts: [1s, 2s, 3s, 4s, 5s] }", "no more than 4"),
        ("compression: { modus: s2_auto }", "did you mean `mode`"),
        ("permissions: { import: a..b }", "not a valid subject"),
        ("permissions: { allow_responses: true }", "do not support dynamic responses"),
        ("pool_size: -2", "at least -1"),
        ("pool_size: 257", "at most 256"),
        ("tls: { cert_file: a.pem }", "needs a key_file"),
        ("tls: { cert_store: x }", "certificates come from files"),
        ("connect_retrys: 3", "did you mean `connect_retries`"),
        ("connect_retries: -1", "at least 0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(read, inside, problem):
    with pytest.raises(TopologyErrors) as raised:
        read("cluster {\n " + inside + "\n}")

    text = str(raised.value)
    assert problem in text
    assert "server.conf:2" in text or "server.conf:1" in text
