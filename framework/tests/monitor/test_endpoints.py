from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from framework.errors import BadQuery, NoAnswer
from framework.monitor import answer_query, answer_request, core_endpoints
from framework.monitor.http_server import Text
from framework.monitor.root_page import root_page
from framework.tests.monitor.sources import Source

SERVER_REQUESTS = {
    "VARZ", "CONNZ", "SUBSZ", "HEALTHZ", "ACCOUNTZ", "GATEWAYZ", "LEAFZ", "JSZ", "RAFTZ",
    "EXPVARZ", "PROFILEZ", "IPQUEUESZ",
}  # fmt: skip
"""Those of nats-server but ROUTEZ, a plugin's, and IDZ and STATSZ, which are no documents."""


def endpoints(source: Any = None) -> Any:
    return core_endpoints(source or Source())


def get(path: str, source: Any = None, **query: str) -> Any:
    (endpoint,) = (it for it in endpoints(source) if it.path == path)
    return asyncio.run(answer_query(endpoint, query))


def ask(request: str, account: str = "", **options: object) -> Any:
    field = "account_request" if account else "request"
    (endpoint,) = (it for it in endpoints() if getattr(it, field) == request)
    return asyncio.run(answer_request(endpoint, options, account=account))


def test_every_request_of_the_real_server_has_its_endpoint() -> None:
    assert {it.request for it in endpoints()} - {""} == SERVER_REQUESTS
    assert {it.account_request for it in endpoints()} - {""} == {
        "CONNZ",
        "SUBSZ",
        "LEAFZ",
        "JSZ",
        "INFO",
        "STATZ",
    }


def test_what_is_not_there_is_empty() -> None:
    assert get("/leafz")["leafs"] == ask("LEAFZ", account="A")["leafs"] == []
    assert get("/gatewayz")["outbound_gateways"] == get("/gatewayz")["inbound_gateways"] == {}
    assert get("/jsz", limit="1")["disabled"]
    assert get("/raftz") == Text("No Raft nodes registered", status=404)
    assert ask("RAFTZ", group="g") == {}
    assert ask("PROFILEZ", name="heap")["error"] == 'Profile "heap" not found'
    assert ask("PROFILEZ")["error"] == "Profile name not specified"


def test_there_is_no_leader_and_no_jetstream_in_an_account() -> None:
    with pytest.raises(NoAnswer):
        ask("JSZ", leader_only=True)
    with pytest.raises(BadQuery, match="jetstream not enabled"):
        ask("JSZ", account="A")
    with pytest.raises(BadQuery, match="expvars"):
        ask("EXPVARZ")


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/jsz", {"limit": "x"}),
        ("/leafz", {"subs": "detail"}),
        ("/gatewayz", {"subs": "x"}),
        ("/ipqueuesz", {"all": "x"}),
    ],
)
def test_what_makes_no_sense_is_refused_by_what_is_not_there_too(
    path: str, query: dict[str, str]
) -> None:
    with pytest.raises(BadQuery):
        get(path, **query)


def test_mailboxes_in_which_something_waits() -> None:
    assert get("/ipqueuesz") == {"route_manager": {"pending": 3}}
    assert get("/ipqueuesz", all="1", queues="client") == {"client_listener": {"pending": 0}}


def test_stacks_are_those_of_all_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="waits_for_done")
    thread.start()
    try:
        text = get("/stacksz").text
    finally:
        done.set()
        thread.join()

    assert "waits_for_done" in text
    assert "test_stacks_are_those_of_all_threads" in text


def test_the_index_page_links_to_what_has_a_path_and_a_help() -> None:
    html = root_page(endpoints(), (), "/base", "title").html

    assert '<a href="/base/accstatz">/accstatz</a> Account Stats' in html
    assert "stacksz" not in html
    assert html.count("<li>") == len([it for it in endpoints() if it.path and it.help])
