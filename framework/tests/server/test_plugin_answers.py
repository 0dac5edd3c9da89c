"""What plugins answer: services with headers and queue groups, endpoints with a content type."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from framework.spec import MonitorEndpoint, MonitorFields, ServiceReply, ServiceRequest, ServiceSpec

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.pytest_plugin import StartServer
    from framework.testing.server_process import ServerProcess

PLUGIN = """
from framework.hookspecs import hookimpl
from framework.spec import MonitorEndpoint, MonitorFields, ServiceReply, ServiceSpec

async def greet(request):
    color = request.headers.get("Color", ("none",))
    return ServiceReply(request.payload, {"Color": color[0], "Server": "mine"})

async def nonsense(request):
    return {"not": "bytes"}

@hookimpl
def framework_services(server):
    yield ServiceSpec(name="greet", subject="greet", answer=greet, account="$G", queue="g")
    yield ServiceSpec(name="nonsense", subject="nonsense", answer=nonsense, account="$G")

@hookimpl
def framework_monitor_endpoints(server):
    async def text(query):
        return "a,b\\n1,2\\n"

    async def wrong(query):
        return {"not": "text"}

    async def names(query):
        varz = await server.monitor_document("/varz")
        clients = await server.monitor_document("/connz", {"limit": "1"})
        return {"name": varz["server_name"], "connections": clients["connections"]}

    yield MonitorEndpoint(path="/text", answer=text, content_type="text/csv")
    yield MonitorEndpoint(path="/wrong", answer=wrong, content_type="text/csv")
    yield MonitorEndpoint(path="/names", answer=names)
"""


@pytest.fixture
def server(start_server: StartServer, tmp_path: Path) -> ServerProcess:
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    return start_server("-m", "-1", "-n", "it", "--plugin", str(plugin))


def test_a_service_reads_headers_and_answers_with_its_own(server: ServerProcess) -> None:
    block = b"NATS/1.0\r\nColor: red\r\n\r\n"
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB inbox 1\r\n")
        client.send(b"HPUB greet inbox %d %d\r\n%bhi\r\n" % (len(block), len(block) + 2, block))
        answer = client.read_until(b"HMSG")[-1]

    assert answer.body == b"NATS/1.0\r\nColor: red\r\nServer: mine\r\n\r\nhi"


def test_one_member_of_a_queue_group_gets_a_request(server: ServerProcess) -> None:
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.expect(b"INFO")
        client.send(b"SUB greet g 1\r\nSUB inbox 2\r\n")
        client.send(b"PUB greet inbox 2\r\nhi\r\n" * 20)
        seen = [client.read().verb for _ in range(20)]

    # The client's own share comes as MSG; what the service took is answered with headers. If it
    # were no member, the client would have all requests before it has any answer.
    assert set(seen) == {b"MSG", b"HMSG"}


def test_a_wrong_answer_of_a_service_names_the_plugin(server: ServerProcess) -> None:
    with server.client() as client:
        client.log_in(headers=True, no_responders=True)
        client.send(b"SUB inbox 1\r\nPUB nonsense inbox 0\r\n\r\n")
        client.read_until(b"MSG")

    server.wait_log("Plugin mine failed in service nonsense .*: service nonsense must return bytes")


def test_an_endpoint_may_be_no_json(server: ServerProcess) -> None:
    url = f"http://127.0.0.1:{server.monitor_port}"
    with urllib.request.urlopen(f"{url}/text") as answer:
        assert answer.headers["Content-Type"] == "text/csv"
        assert answer.read() == b"a,b\n1,2\n"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{url}/wrong")
    with caught.value as error:
        assert error.status == 500

    server.wait_log("Plugin mine failed in endpoint /wrong .* must return text or bytes, not dict")


def test_a_plugin_reads_what_monitoring_answers(server: ServerProcess) -> None:
    assert server.document("/names") == {"name": "it", "connections": []}


FIELDS = """
from framework.hookspecs import hookimpl
from framework.spec import MonitorFields

async def varz():
    return {"mqtt": {"port": 1883}, "mine": 1, "connections": -1, "leaf": {"port": 1}}

async def broken():
    raise RuntimeError("no")

@hookimpl
def framework_monitor_fields(server):
    yield MonitorFields(document="/varz", names=("mqtt", "mine", "connections"), make=varz)
    yield MonitorFields(document="/varz", names=("gateway",), make=broken)
    yield MonitorFields(document="STATSZ", names=("mine",), make=broken)
"""


def test_a_plugin_fills_fields_that_stand_empty_and_no_others(
    start_server: StartServer, tmp_path: Path
) -> None:
    plugin = tmp_path / "fields.py"
    plugin.write_text(FIELDS)
    server = start_server("-m", "-1", "--plugin", str(plugin))
    varz = server.document("/varz")

    assert (varz["mqtt"], varz["mine"]) == ({"port": 1883}, 1)
    assert (varz["connections"], varz["leaf"]) == (0, {})
    assert (varz["gateway"], varz["cluster"], varz["routes"]) == ({}, {}, 0)
    server.wait_log("Plugin fields failed in fields of /varz .*RuntimeError")


def test_fields_of_no_document() -> None:
    with pytest.raises(ValueError, match="document: expected /varz or STATSZ"):
        MonitorFields(document="/connz", names=("a",), make=print)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="names: expected at least one"):
        MonitorFields(document="/varz", names=(), make=print)  # type: ignore[arg-type]


def test_headers_of_a_request() -> None:
    header = b"NATS/1.0\r\nColor: red\r\nColor:blue\r\nEmpty:\r\n\r\n"
    request = ServiceRequest(subject="a", reply="", header=header, payload=b"")

    assert request.headers == {"Color": ("red", "blue"), "Empty": ("",)}
    assert ServiceReply(b"").header_block() == b""


@pytest.mark.parametrize("headers", [{"a b": "c"}, {"a:": "c"}, {"": "c"}, {"a": "c\r\nd: e"}])
def test_headers_that_would_break_the_block_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="reply: headers: expected names and values"):
        ServiceReply(b"", headers)


def test_who_is_asked_by_message_answers_json() -> None:
    with pytest.raises(ValueError, match="content_type: expected JSON"):
        MonitorEndpoint(path="/a", request="A", answer=print, content_type="text/csv")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="queue: expected the name of a queue group"):
        ServiceSpec(name="a", subject="a", answer=print, queue="a b")  # type: ignore[arg-type]
