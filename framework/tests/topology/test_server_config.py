from __future__ import annotations

import pytest
from msgspec.structs import replace

from framework.errors import PluginError
from framework.topology import (
    ConfigSection,
    Kind,
    Option,
    Schema,
    TopologyErrors,
    parse_flags,
    read_server_conf,
)


@pytest.fixture
def read(write, schema):
    def read_text(text, *argv):
        settings = parse_flags(argv, schema).settings if argv else None
        return read_server_conf(write("server.conf", text), schema, settings)

    return read_text


@pytest.fixture
def refuse(read):
    def refuse_text(text, *argv):
        with pytest.raises(TopologyErrors) as caught:
            read(text, *argv)
        return [str(error) for error in caught.value.errors]

    return refuse_text


def test_without_a_file_everything_is_default():
    config = read_server_conf(None)

    assert config.values["listen"] == ("0.0.0.0", 4222)
    assert config.values["http"] is None
    assert config.values["ping_interval"] == 120.0
    assert config.values["max_payload"] == 1_048_576
    assert config.places == {}
    assert str(config.source("port")) == "default"


def test_the_documented_seed_server(read, schema):
    config = read(
        "# Cluster Seed Node\n\nlisten: 127.0.0.1:4222\nhttp: 8222\n\n"
        "cluster {\n  listen: 127.0.0.1:4248\n}\n"
    )

    assert config.values["listen"] == ("127.0.0.1", 4222)
    assert config.values["http"] == ("127.0.0.1", 8222)
    assert config.section("cluster")["listen"] == ("127.0.0.1", 4248)
    assert config.section("accounts") is None
    assert str(config.source("cluster.port")) == "server.conf:7:11"
    assert config.file == "server.conf"


def test_of_listen_and_port_the_last_one_wins(read):
    assert read("listen: 127.0.0.1:1\nport: 2").values["listen"] == ("127.0.0.1", 2)
    assert read("port: 2\nlisten: 127.0.0.1:1").values["listen"] == ("127.0.0.1", 1)
    assert read("host: 127.0.0.1\nlisten: 1").values["listen"] == ("127.0.0.1", 1)
    assert read("listen: 127.0.0.1:1\nlisten: 0.0.0.0:2\nnet: ::1").values["listen"] == ("::1", 2)


def test_any_free_port_is_zero(read):
    config = read('listen: "127.0.0.1:-1"\nhttp: -1\ncluster { port: -1 }')

    assert config.values["listen"] == ("127.0.0.1", 0)
    assert config.values["http"] == ("127.0.0.1", 0)
    assert config.section("cluster")["listen"] == ("0.0.0.0", 0)


def test_a_block_without_a_port_does_not_listen(read):
    assert read("cluster { name: c }").section("cluster")["listen"] is None


def test_keys_have_any_case_and_all_spellings(read):
    config = read("PORT: 1\nPidFile: p\nmax_conn: 5\nCluster { NET: ::1, Advertise: a }")

    assert config.values["port"] == 1
    assert config.values["pid_file"] == "p"
    assert config.values["max_connections"] == 5
    assert config.section("cluster")["host"] == "::1"


def test_tracing_more_implies_tracing(read):
    assert read("trace_verbose: true").values["trace"] is True
    assert read("trace_headers: true").values["trace"] is True


def test_zero_means_the_default_where_nats_server_says_so(read):
    config = read("port: 0\nmax_payload: 0\nping_max: 0\nping_interval: 0")

    assert config.values["port"] == 4222
    assert config.values["max_payload"] == 1_048_576
    assert config.values["ping_max"] == 2
    assert config.values["ping_interval"] == 120.0


@pytest.mark.parametrize("advertised", ["host", "host:4222", "[::1]:4222"])
def test_a_host_may_be_advertised_with_a_port(read, advertised):
    config = read(f'client_advertise: "{advertised}"')

    assert config.values["client_advertise"] == advertised


def test_lists_and_blocks_inside_a_block(read):
    config = read(
        "cluster {\n routes [\n nats://a:1\n nats://b:2\n ]\n"
        " authorization { username: u, timeout: 500ms }\n"
        " remotes = [ {name: r, urls: [nats://c:3]}, {} ]\n permissions { import: x }\n}"
    )

    cluster = config.section("cluster")
    assert cluster["routes"] == ("nats://a:1", "nats://b:2")
    assert cluster["authorization"] == {"user": "u", "password": None, "timeout": 0.5}
    assert cluster["remotes"] == (
        {"name": "r", "urls": ("nats://c:3",)},
        {"name": None, "urls": ()},
    )
    assert cluster["permissions"].plain() == {"import": "x"}
    assert str(config.source("cluster.remotes")) == "server.conf:7:12"


def test_a_free_block_keeps_its_places(read):
    accounts = read("accounts {\n  A { users: [{user: a}] }\n}\nno_auth_user: a").values["accounts"]

    account = accounts.value["A"]
    assert str(account.key_place) == "server.conf:2:3"
    assert account.value["users"].value[0].value["user"].value == "a"


def test_all_mistakes_are_told_at_once(refuse):
    errors = refuse(
        "prot: 4222\nmax_payload: huge\ncluster {\n  rotues: []\n  port: 99999\n}\n"
        "jetstream { }\nsyslog: true\nlame_duck_duration: 5s\n"
    )

    assert errors == [
        "server.conf:1:1: unknown key `prot`; did you mean `port`?",
        "server.conf:4:3: unknown key `rotues`; did you mean `routes`?",
        (
            "server.conf:7:1: `jetstream` is not available: "
            "it needs the jetstream plugin, which is not loaded"
        ),
        (
            "server.conf:8:1: `syslog` is not available: logs go to standard error or a file; "
            "let the service manager forward them"
        ),
        "server.conf:2:14: `max_payload`: expected a size such as 65536, 64KB or 8MB",
        (
            "server.conf:5:9: `cluster.port`: expected a port from 1 to 65535, or -1 for any free"
            " one, found 99999"
        ),
        "server.conf:9:21: `lame_duck_duration`: expected at least 30s, found 5s",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("zzz: 1", "server.conf:1:1: unknown key `zzz`"),
        ("cluster: 5", "server.conf:1:10: expected a block, found 5"),
        ("cluster { remotes: 5 }", "expected a list of blocks, found 5"),
        ("cluster { remotes: [ {nme: x} ] }", "unknown key `nme`; did you mean `name`?"),
        ("cluster { remotes: [ 7 ] }", "expected a block, found 7"),
        ("cluster { tls {} }", "server.conf:1:11: `tls` is not available: not yet"),
        ("cluster { retries: 10 }", "`cluster.retries`: cannot be higher than retries_max"),
        ("max_payload: 2MB\nmax_pending: 1MB", "server.conf:1:14: `max_payload`: cannot be higher"),
        ("debug: true\nmax_pending: 1KB", "server.conf:2:14: `max_payload`: cannot be higher"),
        ("ping_interval: 2m", "found 2000000; a bare 2m means 2,000,000 here: quote it"),
        ("client_advertise: 'a:b'", '`client_advertise`: could not parse port "b"'),
        ("lame_duck_grace_period: 120s", "should be strictly lower than lame_duck_duration"),
        ("server_name: 'a b'", "server.conf:1:14: `server_name`: server name cannot contain"),
        ("write_timeout: never", "expected default, close or retry"),
    ],
)
def test_one_mistake(refuse, text, problem):
    (error,) = refuse(text)

    assert problem in error


def test_an_unknown_key_may_be_a_variable(read):
    assert read("my_port: 4333\nport: $my_port").values["port"] == 4333


def test_flags_win_over_the_file(read):
    config = read(
        "listen: 127.0.0.1:1\ndebug: true\ncluster { port: 2, authorization { user: u } }",
        "-p", "5222", "-D=false", "-cluster", "nats://localhost:4248", "-routes", "nats://h:1",
    )  # fmt: skip

    assert config.values["listen"] == ("127.0.0.1", 5222)
    assert config.values["debug"] is False
    assert config.section("cluster")["listen"] == ("localhost", 4248)
    assert config.section("cluster")["authorization"] is None
    assert config.section("cluster")["routes"] == ("nats://h:1",)
    assert str(config.source("port")) == "command line: -p"


def test_a_section_that_refuses_its_block_is_all_that_is_told(schema):
    cluster = replace(schema.sections[1], refuse=lambda block: f"no {', '.join(block.value)}")
    settings = parse_flags(["-routes", "nonsense", "-p", "nonsense"], schema).settings

    with pytest.raises(TopologyErrors) as caught:
        read_server_conf(None, Schema([cluster]), settings)

    assert str(caught.value) == "no routes"


@pytest.mark.parametrize(
    ("section", "claim"),
    [
        (
            ConfigSection(name="cluster", plugin="other"),
            "claims `cluster`, which belongs to plugin route",
        ),
        (ConfigSection(name="port", plugin="other"), "claims `port`, which belongs to the core"),
        (
            ConfigSection(
                name="x",
                plugin="other",
                options=(Option(name="y", kind=Kind.INT, help="Y", flags=("p",)),),
            ),
            "claims `-p`, which belongs to the core",
        ),
    ],
)
def test_two_owners_of_one_name(schema, section, claim):
    with pytest.raises(PluginError, match=claim):
        Schema([*schema.sections[1:], section])


def test_options_are_found_by_their_path(schema):
    assert schema.option("cluster.authorization.user").aliases == ("username",)
    assert schema.option("cluster.nothing") is None
