"""Features of nats-server that are not there yet: off is as if nobody had said anything."""

from __future__ import annotations

import pytest

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
def read(write):
    def read_text(text, *argv, schema=None):
        schema = schema or Schema()
        settings = parse_flags(argv, schema).settings if argv else None
        return read_server_conf(write("server.conf", text), schema, settings)

    return read_text


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("mqtt { listen: -1 }", "MQTT is"),
        ("ocsp: true", "OCSP stapling is"),
        ("ocsp { mode: always }", "OCSP stapling is"),
    ],
)
def test_what_is_on_is_not_there_yet(read, text, feature):
    with pytest.raises(TopologyErrors) as caught:
        read(f"debug: true\n{text}")

    key = text.split()[0].rstrip(":")
    problem = f"server.conf:2:1: `{key}` is not available: {feature} not there yet"
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "plugin"),
    [
        ("websocket { port: 8080, no_tls: true }", "websocket"),
        ("ws: true", "websocket"),
        ("gateway { name: A, port: 7222 }", "gateway"),
        ("gateway { name: A }", "gateway"),
        ("leafnodes { port: 7422 }", "leafnode"),
        ("leaf { listen: 7422 }", "leafnode"),
        ("leafnodes { listen: nonsense }", "leafnode"),
        ("leafnodes { remotes: [{ url: nats-leaf://a:1 }] }", "leafnode"),
        ("jetstream: true", "jetstream"),
        ("jetstream: enabled", "jetstream"),
        ("jetstream {}", "jetstream"),
        ("jetstream { store_dir: x }", "jetstream"),
        ("default_js_domain { A: hub }", "auth"),
    ],
)
def test_what_a_plugin_has_that_is_not_loaded_is_not_there(read, text, plugin):
    with pytest.raises(TopologyErrors, match=f"it needs the {plugin} plugin, which is not loaded"):
        read(text)


def test_what_is_off_leaves_no_trace(read):
    config = read(
        "jetstream: off\nleafnodes { remotes: [{ url: nats-leaf://a:1, disabled: true }] }"
    )

    assert config.values["jetstream"] is None
    assert config.values["leafnodes"] is None
    assert config.places == {}


def test_flags_of_jetstream(read):
    assert read("", "-sd", "x", "-js=false").values["store_dir"] == "x"
    assert read("", "--store_dir", "x").values["jetstream"] is None
    with pytest.raises(TopologyErrors, match="it needs the jetstream plugin, which is not loaded"):
        read("", "-js")


def test_off_in_a_topology(write):
    from framework.topology import read_topology  # noqa: PLC0415

    name = write("t.toml", "[clusters.a]\njetstream = false\nmqtt.port = 0\n")

    assert len(read_topology(name, []).servers) == 1


def test_a_plugin_takes_the_place_of_what_is_absent(read):
    inside = Option(name="name", kind=Kind.STRING, help="Name", flags=("sd",))
    owner = ConfigSection(name="gateway", plugin="gateway", help="Gateways", options=(inside,))
    config = read("gateway { name: A }", "-sd", "B", schema=Schema([owner]))

    assert config.section("gateway") == {"name": "B"}
    assert "store_dir" not in config.values
    assert config.values["jetstream"] is None
