"""The mesh of clusters, by the script `scripts/mesh.txt`."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from framework_gateway.effect import Admit, Dial, Greet, Led, RemoteChanged
from framework_gateway.info import GatewayInfo
from framework_gateway.limits import GOSSIPED_MAX, HANDSHAKES_MAX, URLS_MAX
from framework_gateway.mesh import Mesh
from framework_gateway.settings import MeshSettings, RemoteSettings
from framework_gateway.url import parse_gateway_url

from framework.peering import Dismiss, LocalChanged, Tell
from framework.testing.peering import show_effects

if TYPE_CHECKING:
    from framework_gateway.effect import MeshEffect

SECOND_NS = 1_000_000_000


def shown(effect: MeshEffect) -> str:  # noqa: PLR0911 -- one line a case
    match effect:
        case Dial(token, urls):
            texts = (f"{url.user}@{url.address}" if url.user else url.address for url in urls)
            return f"dial {token} {' '.join(texts)}"
        case Greet(link, gateway):
            return f"{link}: greet {gateway}".rstrip()
        case Admit(link):
            return f"{link}: admit"
        case Tell(link, data):
            return f"{link}: tell " + data.decode().strip()
        case Led(gateway, link):
            return f"replies for {gateway}: {link}"
        case LocalChanged(local):
            return f"local: {' '.join(local.gateway_urls)}"
        case RemoteChanged(gateway, urls):
            return f"remote {gateway}: {' '.join(urls)}"
    raise AssertionError(effect)


def settings_of(text: str, arguments: dict[str, str]) -> MeshSettings:
    remotes = []
    for line in text.splitlines():
        name, *urls = line.split()
        remotes.append(RemoteSettings(name, tuple(parse_gateway_url(url) for url in urls)))
    return MeshSettings(
        remotes=tuple(remotes),
        rejects_unknown=arguments.get("rejects_unknown") == "yes",
        connect_retries=int(arguments.get("retries", "0")),
        has_connect_backoff=arguments.get("backoff") == "yes",
        user=arguments.get("user", ""),
        password="secret",
    )


def local_info(name: str = "east") -> GatewayInfo:
    return GatewayInfo(
        server_id="NA",
        server_name="a",
        gateway=name,
        gateway_url="a:7222",
        gateway_urls=("a:7222",),
    )


class Meshes:
    """Drives one mesh by the commands of a script."""

    def __init__(self) -> None:
        self.mesh = Mesh(local=local_info(), settings=MeshSettings(), tokens=count(1))

    def handle(self, command) -> str:
        return show_effects(self.perform(command), shown)

    def perform(self, command):  # noqa: C901, PLR0911, PLR0912 -- one line a case
        arguments = command.arguments
        link, at_ns = int(arguments.get("link", 0)), int(arguments.get("at", 0)) * SECOND_NS
        token, mesh = int(arguments.get("token", 0)), self.mesh
        urls = tuple(arguments["urls"].split(",")) if arguments.get("urls") else ()
        match command.name:
            case "start":
                settings = settings_of(command.input, arguments)
                self.mesh = Mesh(local=local_info(), settings=settings, tokens=count(1))
                return self.mesh.start()
            case "reload":
                settings = settings_of(command.input, arguments)
                return mesh.receive_reload(settings, mesh.local)
            case "dialed":
                url = parse_gateway_url(arguments["url"])
                return mesh.receive_opened(link, token, url.host, url.port, url)
            case "accepted":
                return mesh.receive_opened(link, 0, "10.0.0.9", 40_000, None)
            case "claim":
                return mesh.receive_claim(link, arguments["gateway"])
            case "introduce" | "update":
                info = GatewayInfo(
                    server_id="NX",
                    server_name=arguments.get("name", ""),
                    gateway=arguments["gateway"],
                    gateway_urls=urls,
                    gateway_cmd=int(arguments.get("command", 0)),
                )
                if command.name == "update":
                    return mesh.receive_update(link, info)
                return mesh.receive_introduction(link, info, at_ns)
            case "gossip":
                return mesh.receive_gossip(arguments["gateway"], urls)
            case "neighbours":
                pairs = dict(line.split() for line in command.input.splitlines())
                return mesh.receive_neighbours(tuple(pairs), pairs)
            case "failed":
                return mesh.receive_dial_failed(token, "connection refused")
            case "timer":
                return mesh.receive_timer(token)
            case "closed":
                return mesh.receive_closed(link, at_ns, 2 * SECOND_NS)
            case "lame-duck":
                return mesh.begin_lame_duck()
            case "stop":
                mesh.stop()
                return []
        raise AssertionError(command.name)


def test_meshes(run_script):
    run_script("mesh.txt", Meshes().handle)


def introduced(mesh, link):
    """Return what follows when a server of another cluster has dialed, and says who it is."""
    mesh.receive_opened(link, 0, "10.0.0.9", 40_000, None)
    mesh.receive_claim(link, "west")
    info = GatewayInfo(server_id="NX", server_name="x", gateway="west")
    return mesh.receive_introduction(link, info, SECOND_NS)


def test_a_server_that_plugins_refuse_goes_and_does_not_come_again():
    against = {}
    mesh = Mesh(
        local=local_info(),
        settings=MeshSettings(),
        tokens=count(1),
        check=lambda info: against.get(info.server_id, ""),
    )
    assert Admit(1) in introduced(mesh, 1)
    assert mesh.recheck() == []
    against["NX"] = "come back on Monday"

    refused = [it for it in mesh.recheck() if isinstance(it, Dismiss)]
    assert [(it.link, it.text) for it in refused] == [(1, "come back on Monday")]
    mesh.receive_closed(1, SECOND_NS, SECOND_NS)
    refused = [it for it in introduced(mesh, 2) if isinstance(it, Dismiss)]
    assert [it.text for it in refused] == ["come back on Monday"]
    assert list(mesh.inbound()) == []


def test_told_of_clusters_without_end():
    mesh = Mesh(local=local_info(), settings=MeshSettings(), tokens=count(1))
    for number in range(10_000):
        mesh.receive_gossip(f"g{number}", [f"10.0.0.1:{port}" for port in range(1, 500)])

    assert len(mesh.remotes) == GOSSIPED_MAX
    assert all(len(it.urls) == URLS_MAX for it in mesh.remotes.values())


def test_connections_that_never_introduce_themselves():
    mesh = Mesh(local=local_info(), settings=MeshSettings(), tokens=count(1))
    for link in range(1, HANDSHAKES_MAX + 1):
        assert [Greet(link)] == mesh.receive_opened(link, 0, "10.0.0.1", 1, None)

    assert isinstance(mesh.receive_opened(1_000_000, 0, "10.0.0.1", 1, None)[0], Dismiss)
