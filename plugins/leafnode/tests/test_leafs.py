"""Leaf nodes and hubs together, by the script `scripts/leafs.txt`."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from framework_leafnode.effect import Admit, Dial, Lead
from framework_leafnode.info import LeafInfo
from framework_leafnode.leafs import Leafs, loop_words
from framework_leafnode.limits import HANDSHAKES_MAX, URLS_MAX
from framework_leafnode.peer import Connection, Peer, Rights, Urls
from framework_leafnode.settings import LeafSettings, RemoteSettings
from framework_leafnode.url import parse_hub_url

from framework.peering import Dismiss, LocalChanged, Tell
from framework.testing.peering import show_effects
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from framework_leafnode.effect import LeafsEffect


def shown(effect: LeafsEffect) -> str:
    match effect:
        case Dial(token, url, settings):
            return f"dial {token} {url} {settings.dial_timeout_s:g}s"
        case Lead(link):
            return f"{link}: lead"
        case Admit(link):
            return f"{link}: admit"
        case Tell(link, data):
            return f"{link}: tell " + data.decode().strip()
        case LocalChanged(local):
            return f"local: {' '.join(local.leafnode_urls)}"
    raise AssertionError(effect)


def settings_of(text: str, arguments: dict[str, str]) -> LeafSettings:
    """Read remotes, a line each: account, options, URLs."""
    remotes = []
    for line in text.splitlines():
        account, *words = line.split()
        urls = tuple(parse_hub_url(it) for it in words if ":" in it)
        remotes.append(
            RemoteSettings(
                urls=urls,
                account=account,
                is_disabled="disabled" in words,
                ignores_discovered="ignores" in words,
                is_isolated="isolated" in words,
            )
        )
    return LeafSettings(remotes=tuple(remotes), is_isolated=arguments.get("isolated") == "yes")


def local_info() -> LeafInfo:
    return LeafInfo(server_id="NA", server_name="a", ip="a:7422", leafnode_urls=("a:7422",))


def peer_of(arguments: dict[str, str], *, is_hub: bool) -> Peer:
    account = arguments.get("account", "$G")
    return Peer(
        name=arguments.get("name", "b"),
        version="2.15.2",
        cluster=arguments.get("cluster", ""),
        domain="",
        account=account,
        remote_account=arguments.get("remote", "R"),
        rights=Rights(account=account),
        is_hub=is_hub,
        headers=True,
        traces=True,
        wants_isolation=arguments.get("isolate") == "yes",
    )


class Scripted:
    """Drives one machine by the commands of a script."""

    def __init__(self) -> None:
        self.leafs: Leafs | None = None

    def handle(self, command) -> str:
        return show_effects(self.perform(command), shown)

    def perform(self, command):  # noqa: C901, PLR0911 -- one line a case
        arguments = command.arguments
        link = int(arguments.get("link", "0"))
        if command.name == "leafs":
            room = int(arguments["room"]) if "room" in arguments else None
            self.leafs = Leafs(
                local=local_info(),
                settings=settings_of(command.input, arguments),
                tokens=count(1),
                room=lambda _: room,
            )
            return self.leafs.start()
        leafs = self.leafs
        assert leafs is not None
        match command.name:
            case "reload":
                return leafs.receive_reload(settings_of(command.input, arguments), local_info())
            case "failed":
                return leafs.receive_dial_failed(int(arguments["token"]), "refused")
            case "timer":
                return leafs.receive_timer(int(arguments["token"]))
            case "opened":
                token = int(arguments.get("token", "0"))
                url = parse_hub_url(arguments["url"]) if token else None
                return leafs.receive_opened(Connection(link, link, "h", 1, url=url), token)
            case "introduced":
                is_hub = leafs.connections[link].remote is not None
                return leafs.receive_introduction(link, peer_of(arguments, is_hub=is_hub))
            case "update":
                info = LeafInfo(leafnode_urls=tuple(command.input.split()))
                return leafs.receive_update(link, info)
            case "delay":
                return leafs.receive_delay(link, float(arguments["s"]))
            case "closed":
                detail = loop_words(arguments["loop"]) if "loop" in arguments else ""
                return leafs.receive_closed(link, ClosedState.CLIENT_CLOSED, detail)
            case "neighbours":
                return leafs.receive_neighbours(Urls(tuple(command.input.split())))
            case "stop":
                leafs.stop()
                return []
        raise AssertionError(command.name)


def test_leafs(run_script):
    run_script("leafs.txt", Scripted().handle)


def test_no_more_connections_than_may_be_in_their_handshake():
    leafs = Leafs(local=local_info(), settings=LeafSettings(), tokens=count(1))
    for link in range(HANDSHAKES_MAX):
        leafs.receive_opened(Connection(link, link, "h", 1), 0)

    one_more = Connection(HANDSHAKES_MAX, 0, "h", 1)
    assert isinstance(leafs.receive_opened(one_more, 0)[0], Dismiss)
    assert len(leafs.connections) == HANDSHAKES_MAX


def test_a_hub_tells_of_so_many_servers_only():
    settings = settings_of("A hub:7422", {})
    leafs = Leafs(local=local_info(), settings=settings, tokens=count(1))
    leafs.start()
    leafs.receive_opened(Connection(1, 1, "h", 1, url=settings.remotes[0].urls[0]), 1)
    told = tuple(f"h{number}:7422" for number in range(URLS_MAX + 10))
    leafs.receive_update(1, LeafInfo(leafnode_urls=told))

    assert len(leafs.remotes[0].urls) == URLS_MAX + 1


def test_urls_by_websocket_are_told_with_those_of_the_other_servers():
    local = LeafInfo(ip="a:7422", ws_connect_urls=("a:8080",))
    leafs = Leafs(local=local, settings=LeafSettings(), tokens=count(1))
    leafs.receive_neighbours(Urls(("b:7422",), ("b:8080", "c:8080")))

    assert leafs.local.leafnode_urls == ("a:7422", "b:7422")
    assert leafs.local.ws_connect_urls == ("a:8080", "b:8080", "c:8080")
    leafs.receive_neighbours(Urls())
    assert leafs.local.ws_connect_urls == ("a:8080",)
