"""`/metrics` of real servers, read by Prometheus' own parser."""

from __future__ import annotations

import urllib.request

import pytest
from framework_metrics.families import varz_families
from prometheus_client.parser import text_string_to_metric_families

from framework.testing import await_answer
from framework.testing.contract import PluginContract


class TestContract(PluginContract):
    """What every plugin must do."""

    PLUGIN = "metrics"


def scraped(server):
    url = f"http://127.0.0.1:{server.monitor_port}/metrics"
    with urllib.request.urlopen(url) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        text = answer.read().decode()
    families = list(text_string_to_metric_families(text))
    return {sample.name: sample for family in families for sample in family.samples}, families


@pytest.fixture
def server(start_server):
    return start_server("-m", "-1", "-n", "alone")


def test_counters_are_those_of_the_server(server):
    with server.client() as client:
        client.log_in()
        client.send(b"SUB a 1\r\nPUB a 2\r\nhi\r\n")
        client.flush()
        found, _ = scraped(server)
        varz = server.document("/varz")

    assert found["nats_varz_in_msgs_total"].value == varz["in_msgs"] == 1
    assert found["nats_varz_connections"].value == varz["connections"] == 1
    assert found["nats_varz_max_payload"].value == varz["max_payload"]
    assert found["nats_varz_in_msgs_total"].labels == {"server": "alone"}
    assert found["nats_healthy"].value == 1


def test_accounts_have_their_own_counters(server):
    with server.client() as client:
        client.log_in()
        client.send(b"PUB a 2\r\nhi\r\n")
        client.flush()
        _, families = scraped(server)

    samples = [
        sample
        for family in families
        if family.name == "nats_account_received_bytes"
        for sample in family.samples
    ]
    assert {it.labels["account"]: it.value for it in samples} == {"$G": 2, "$SYS": 0}


def test_plugins_count_what_they_are_called_for(server):
    scraped(server)
    found, _ = scraped(server)

    assert found["nats_plugin_calls_total"].value > 0
    assert found["nats_plugin_failures_total"].value == 0


def test_every_family_has_one_type_and_stands_once(server):
    _, families = scraped(server)
    names = [family.name for family in families]

    assert len(names) == len(set(names))
    assert {family.type for family in families} == {"counter", "gauge"}


def test_it_needs_no_other_plugin(start_server):
    _, families = scraped(start_server("-m", "-1", "--no-plugin", "route"))

    assert "nats_route_pending_bytes" not in {family.name for family in families}


def test_numbers_below_keys_that_users_choose_make_no_metrics():
    varz = {
        "server_name": "s",
        "mem": 5,
        "cluster": {"pool_size": 3, "name": "c"},
        "http_req_stats": {"/varz": 1},
    }

    names = [family.name for family in varz_families(varz)]
    assert names == ["nats_varz_mem", "nats_varz_cluster_pool_size"]


def test_a_scrape_is_answered_while_clients_come_and_go(server):
    for _ in range(5):
        with server.client() as client:
            client.log_in()
            scraped(server)
    found, _ = await_answer(
        server, lambda: scraped(server), lambda it: it[0]["nats_varz_connections"].value == 0
    )

    assert found["nats_varz_total_connections_total"].value == 5
