"""Of servers with JetStream in one cluster and domain that don't share streams, one has it."""

from __future__ import annotations

import pytest

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = 'jetstream {{ store_dir: "{}", domain: "{}"{} }}\nhttp: "127.0.0.1:-1"'
REFUSED = "one server of a cluster may have it"


@pytest.fixture
def join(fleet, tmp_path):
    """Return a function that starts a server with JetStream in the cluster of others."""

    def go(name, *seeds, domain="", kind="ours"):
        routes = ",".join(f"nats://127.0.0.1:{it.cluster_port}" for it in seeds)
        return fleet.start(
            *("-cluster", "nats://127.0.0.1:-1", "-cluster_name", "test", "-n", name),
            *(("-routes", routes) if seeds else ()),
            *(PLUGIN if kind == "ours" else ()),
            config=CONFIG.format(
                tmp_path / name, domain, ", replication: false" if kind == "ours" else ""
            ),
            clustered=True,
            kind=kind,
        )

    return go


def test_the_second_one_leaves_it_to_the_first(join, log_in):
    first = join("one")
    second = join("two", first)
    second.wait_log(REFUSED)
    with second.client() as client:
        user = log_in(client)
        made = user.api("STREAM.CREATE.S", {"name": "S", "storage": "memory", "subjects": ["s"]})

        assert "error" not in made
        assert user.ask("s", b"x")[1]
    with first.client() as client:
        assert log_in(client).api("STREAM.INFO.S")["state"]["messages"] == 1
    assert "server one of cluster test" in second.log()
    assert REFUSED not in first.log()


def test_each_domain_has_its_own(join):
    first = join("one", domain="a")
    second = join("two", first, domain="b")
    third = join("three", first, domain="a")
    third.wait_log(REFUSED)

    assert REFUSED not in first.log() + second.log()


@pytest.mark.interop
def test_a_real_server_keeps_it(join):
    ours = join("ours")
    join("real", ours, kind="2.15.2")
    ours.wait_log(REFUSED)
