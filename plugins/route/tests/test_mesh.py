"""Who is connected to whom, by the script `scripts/mesh.txt`, and at the bounds."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from framework_route import effect as e
from framework_route.limits import (
    GOSSIPED_MAX,
    HANDSHAKES_MAX,
    HEALING_ATTEMPTS,
    LOST_ATTEMPTS,
    LOST_DELAY_GROWTH,
    LOST_DELAY_MAX_S,
    LOST_DELAY_S,
    OWED_MAX,
    PEER_CONNECTIONS_MAX,
    RECONNECT_JITTER_S,
    SETTLED_S,
)
from framework_route.mesh import Mesh
from framework_route.settings import MeshSettings
from framework_route.url import parse_route_url
from msgspec.structs import replace

from framework import peering as p
from framework.testing.peering import show_effects
from framework.wire.closed_state import ClosedState
from framework.wire.info import RouteInfo, SubjectPermission

if TYPE_CHECKING:
    from framework_route.effect import MeshEffect


def shown(effect: MeshEffect) -> str:  # noqa: C901, PLR0911 -- one line a case
    match effect:
        case e.Dial(token, url, address, avoided, turn):
            return (
                f"dial {token} {url.address}"
                + (f" as {url.user}/{url.password}" if url.user else "")
                + (f" at {address}" if address else "")
                + (f" not at {','.join(avoided)}" if avoided else "")
                + (f" turn {turn}" if turn else "")
            )
        case e.Greet(link, local, url, account):
            return (
                f"{link}: greet {local.cluster}"
                + (f" {url}" if url else "")
                + (f" for {account}" if account else "")
            )
        case e.Admit(link, pool_slot, _):
            place = pool_slot.account or f"{pool_slot.pool_index} of {pool_slot.assigned_size}"
            return f"{link}: admit {place} peer={pool_slot.peer}"
        case e.FetchAccount(account):
            return f"fetch {account}"
        case e.Pin(accounts):
            return f"pin {','.join(accounts) or 'none'}"
        case p.Tell(link, data):
            told = json.loads(data.removeprefix(b"INFO "))
            if "route_acc_add_reqid" in told:
                account, request = told.get("route_account", ""), told["route_acc_add_reqid"]
                return f"{link}: pinning account={account} request={request}"
            if "ldm" in told:
                return f"{link}: tell {told['server_id']} ldm={told['ldm']}"
            account = f" for {told['route_account']}" if "route_account" in told else ""
            return f"{link}: gossip {told['server_id']} {told['ip']}{account}"
        case e.ClientUrlsChanged(urls):
            return f"clients: {' '.join(urls) or 'none'}"
        case e.ClusterNameChanged(local):
            return f"cluster: {local.cluster} dynamic={local.cluster_dynamic}"
        case p.LocalChanged(local):
            return f"local: ldm={local.ldm} urls={','.join(local.connect_urls)}"
    raise AssertionError(effect)


def routes_of(text: str):
    return tuple(parse_route_url(url) for url in text.split(",") if url)


class Meshes:
    """Drives one mesh by the commands of a script."""

    def __init__(self) -> None:
        self.mesh: Mesh | None = None
        self.known: list[str] = []

    def handle(self, command) -> str:
        if command.name == "routes":
            return self.routes()
        effects = self.perform(command.name, command.arguments)
        return show_effects(effects, shown)

    def routes(self) -> str:
        lines = [
            f"{c.link}: {c.remote_id} {c.slot.account or c.slot.pool_index}"
            f" solicited={c.is_solicited} explicit={c.is_explicit}"
            f" retried={c.is_retried} targets={','.join(t.url.address for t in c.targets)}\n"
            for c in self.mesh.routes
        ]
        return "".join(lines) or "none\n"

    def perform(self, name, arguments):  # noqa: C901, PLR0911, PLR0912 -- one line a case
        if name == "start":
            return self.start(arguments)
        mesh, link = self.mesh, int(arguments.get("link", 0))
        match name:
            case "accepted" | "dialed":
                token = int(arguments.get("token", 0))
                host = arguments.get("host", "10.0.0.9")
                return mesh.receive_opened(link, token, host, 40000 + link)
            case "claim":
                return mesh.receive_claim(
                    link,
                    arguments["id"],
                    arguments["cluster"],
                    is_dynamic=arguments.get("dynamic") == "yes",
                )
            case "introduce":
                agreed = {"agreed": agreed_size(mesh, arguments)}
                return mesh.receive_introduction(link, info(**(agreed | arguments)))
            case "update":
                return mesh.receive_update(link, info(**arguments))
            case "closed":
                return mesh.receive_closed(
                    link, ClosedState[arguments.get("reason", "CLIENT_CLOSED")]
                )
            case "dial-failed":
                none_left = arguments.get("left") == "none"
                error = "no other address" if none_left else "connection refused"
                token = int(arguments["token"])
                return mesh.receive_dial_failed(token, error, is_none_left=none_left)
            case "pong":
                return mesh.receive_answer(link)
            case "renew":
                return mesh.renew([link])
            case "reload":
                return self.reload(arguments)
            case "accounts":
                self.known[:] = arguments["known"].split(",")
                return mesh.receive_accounts_changed()
            case "lame-duck":
                return mesh.begin_lame_duck()
            case "timer":
                return mesh.receive_timer(int(arguments["token"]))
        raise AssertionError(name)

    def start(self, arguments):
        local = RouteInfo(
            server_id=arguments["id"],
            server_name=arguments["id"].lower(),
            cluster=arguments["cluster"],
            cluster_dynamic=arguments.get("dynamic") == "yes",
            connect_urls=("me:4222",),
        )
        self.known = [*KNOWN]
        self.mesh = Mesh(
            local=local, settings=self.settings(arguments), accounts=self.known, tokens=count(1)
        )
        return self.mesh.start(pins_of(arguments))

    def reload(self, arguments):
        pins = pins_of(arguments)
        return self.mesh.receive_reload(self.settings(arguments), self.mesh.local, pins)

    def settings(self, arguments):
        return MeshSettings(
            routes=routes_of(arguments.get("routes", "")),
            connect_retries=int(arguments.get("retries", 0)),
            has_connect_backoff=arguments.get("backoff") == "yes",
            user=arguments.get("user", ""),
            password=arguments.get("password", ""),
            is_advertised=arguments.get("advertise") != "no",
            pool_size=int(arguments.get("pool", -1)),
            is_pool_strict=arguments.get("strict") == "yes",
        )


KNOWN = ("A", "B", "$SYS")


def agreed_size(mesh, arguments) -> int:
    """Return what a server like this one makes of both sizes."""
    sizes = (mesh._settings.pool_size, int(arguments.get("pool", 0)))
    return max(sizes) if min(sizes) > 0 else 0


def pins_of(arguments):
    return tuple(account for account in arguments.get("pins", "").split(",") if account)


def info(id, cluster="c1", **fields) -> RouteInfo:  # noqa: A002 -- as the script says it
    urls = tuple(fields.pop("clients", "").split(",")) if "clients" in fields else ()
    return RouteInfo(
        server_id=id,
        server_name=fields.get("name", id.lower()),
        cluster=cluster,
        cluster_dynamic=fields.get("dynamic") == "yes",
        host="0.0.0.0",
        port=int(fields.get("port", 6222)),
        ip=fields.get("ip", ""),
        connect_urls=urls,
        auth_required=fields.get("auth") == "yes",
        route_account=fields.get("account", ""),
        route_acc_add_reqid=fields.get("request", ""),
        route_pool_size=int(fields.get("pool", 0)),
        route_pool_idx=int(fields.get("index", 0)),
        pool_shared=fields.get("shared") == "yes",
        route_pool_agreed=int(fields.get("agreed", 0)),
        ldm=fields.get("ldm") == "yes",
    )


def test_meshes(run_script):
    run_script("mesh.txt", Meshes().handle)


def started(*, accounts=KNOWN, pins=(), **settings) -> Mesh:
    local = RouteInfo(server_id="NA", server_name="a", cluster="c1", connect_urls=("me:4222",))
    mesh = Mesh(local=local, settings=MeshSettings(**settings), accounts=accounts, tokens=count(1))
    mesh.start(pins)
    return mesh


def with_route(mesh: Mesh, link: int = 1, server_id: str = "NB") -> Mesh:
    mesh.receive_opened(link, 0, "10.0.0.9", 40000)
    mesh.receive_claim(link, server_id, "c1", is_dynamic=False)
    mesh.receive_introduction(link, info(server_id))
    return mesh


def test_ten_thousand_servers_told_of_by_one_peer_are_bounded_and_noted_seldom():
    mesh = with_route(started())
    effects = [
        effect
        for number in range(10_000)
        for effect in mesh.receive_update(
            1, info(f"NX{number}", ip=f"nats-route://10.1.0.1:{number + 1}/")
        )
    ]

    assert sum(isinstance(effect, e.Dial) for effect in effects) == GOSSIPED_MAX
    warnings = [x for x in effects if isinstance(x, p.Noted) and x.level is p.Level.WARNING]
    assert 0 < len(warnings) < 20


def test_a_server_told_of_twice_is_dialed_once():
    mesh = with_route(started())
    first = mesh.receive_update(1, info("NX", ip="nats-route://10.1.0.1:6222/"))

    assert any(isinstance(effect, e.Dial) for effect in first)
    assert not mesh.receive_update(1, info("NX", ip="nats-route://10.1.0.2:6222/"))


def test_connections_that_never_become_routes_are_bounded():
    mesh = started()
    for link in range(1, HANDSHAKES_MAX + 1):
        assert mesh.receive_opened(link, 0, "10.0.0.9", 40000) == [e.Greet(link, mesh.local, None)]

    (refused,) = mesh.receive_opened(9_999, 0, "10.0.0.9", 40000)
    assert refused.reason is ClosedState.MAX_CONNECTIONS_EXCEEDED

    mesh.receive_closed(1, ClosedState.CLIENT_CLOSED)
    assert mesh.receive_opened(10_000, 0, "10.0.0.9", 40000) == [e.Greet(10_000, mesh.local, None)]


def test_routes_do_not_count_as_handshakes():
    mesh = started()
    for link in range(1, HANDSHAKES_MAX + 10):
        with_route(mesh, link, f"N{link}")

    assert len(mesh.routes) == HANDSHAKES_MAX + 9


def test_a_server_that_always_refuses_is_asked_less_and_less_and_then_no_more():
    mesh = with_route(started())
    mesh.receive_update(1, info("NX", ip="nats-route://10.1.0.1:6222/"))
    delays_s = []
    for link in range(2, 100):
        assert mesh.receive_opened(link, 2, "10.1.0.1", 6222)
        effects = mesh.receive_closed(link, ClosedState.CLIENT_CLOSED)
        waits = [effect for effect in effects if isinstance(effect, p.Wait)]
        if not waits:
            break
        delays_s.append(waits[0].delay_s)
        assert any(isinstance(x, e.Dial) for x in mesh.receive_timer(waits[0].token))

    assert delays_s[:7] == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert len(delays_s) == HEALING_ATTEMPTS


def with_dialed(mesh: Mesh, token: int, link: int, server_id: str = "NB", **fields) -> Mesh:
    mesh.receive_opened(link, token, "10.0.0.2", 6222)
    mesh.receive_introduction(link, info(server_id, **fields))
    return mesh


def with_confirmed(**settings) -> Mesh:
    """Return a mesh whose connection 1, dialed by target 1, is a route that its peer has as one."""
    mesh = with_dialed(started(routes=routes_of("10.0.0.2:6222"), **settings), 1, 1)
    mesh.receive_answer(1)
    return mesh


def lost_delays_s(mesh: Mesh, attempts: int) -> list[float]:
    """Lose the route of connection 1, dialed by target 1, and fail to reach its server again."""
    waits = [x for x in mesh.receive_closed(1, ClosedState.CLIENT_CLOSED) if isinstance(x, p.Wait)]
    while len(waits) < attempts:
        assert any(isinstance(x, e.Dial) for x in mesh.receive_timer(waits[-1].token))
        effects = mesh.receive_dial_failed(1, "connection refused")
        waits += [effect for effect in effects if isinstance(effect, p.Wait)]
    assert {wait.jitter_s for wait in waits if wait.delay_s < 1.0} <= {RECONNECT_JITTER_S}
    return [wait.delay_s for wait in waits]


def test_a_lost_server_is_dialed_at_once_and_then_often_for_some_seconds():
    delays_s = lost_delays_s(with_confirmed(), 50)

    soon_s = delays_s[:LOST_ATTEMPTS]
    assert soon_s[:3] == [0.0, LOST_DELAY_S, LOST_DELAY_S * LOST_DELAY_GROWTH]
    assert soon_s == sorted(soon_s)
    assert soon_s[-1] == LOST_DELAY_MAX_S
    assert 5.0 < sum(soon_s) < 10.0
    assert delays_s[LOST_ATTEMPTS:] == [1.0] * 10


def test_few_of_the_failures_to_reach_a_lost_server_are_errors():
    mesh = with_confirmed()
    mesh.receive_closed(1, ClosedState.CLIENT_CLOSED)
    reported = []
    for attempt in range(1, LOST_ATTEMPTS + 10):
        noted = mesh.receive_dial_failed(1, "connection refused")[0]
        if noted.level is p.Level.ERROR:
            reported.append(attempt)

    assert reported == [1, 2, 4, 8, 16, 32, *range(LOST_ATTEMPTS, LOST_ATTEMPTS + 10)]


def test_backoff_counts_for_a_lost_server_as_well():
    delays_s = lost_delays_s(with_confirmed(has_connect_backoff=True), 12)

    assert delays_s == [0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]


def test_a_lost_server_that_ends_each_connection_is_asked_less_and_less():
    mesh = with_confirmed()
    delays_s = []
    for link in range(2, LOST_ATTEMPTS + 4):
        (wait,) = (
            effect
            for effect in mesh.receive_closed(link - 1, ClosedState.CLIENT_CLOSED)
            if isinstance(effect, p.Wait)
        )
        delays_s.append(wait.delay_s)
        mesh.receive_timer(wait.token)
        mesh.receive_opened(link, 1, "10.0.0.2", 6222)

    assert delays_s == sorted(delays_s)
    assert (delays_s[0], delays_s[1], delays_s[-1]) == (0.0, LOST_DELAY_S, 1.0)


def test_who_takes_no_login_of_ours_is_not_dialed_as_one_that_was_lost():
    """Its INFO comes before its verdict: we register the route, and it does not."""
    delays_s = lost_delays_s(with_dialed(started(routes=routes_of("10.0.0.2:6222")), 1, 1), 3)

    assert delays_s == [1.0, 1.0, 1.0]


def test_a_route_that_has_settled_is_dialed_at_once_again():
    mesh = started(routes=routes_of("10.0.0.2:6222"))
    mesh.receive_opened(1, 1, "10.0.0.2", 6222)
    for link in (1, 2):
        effects = mesh.receive_introduction(link, info("NB"))
        (settled,) = (x for x in effects if isinstance(x, p.Wait) and x.delay_s == SETTLED_S)
        mesh.receive_answer(link)
        mesh.receive_timer(settled.token)
        effects = mesh.receive_closed(link, ClosedState.CLIENT_CLOSED)
        (wait,) = (effect for effect in effects if isinstance(effect, p.Wait))
        assert wait.delay_s == 0.0
        mesh.receive_opened(link + 1, 1, "10.0.0.2", 6222)


def tokens_of(effects, kind=e.Dial):
    return [effect.token for effect in effects if isinstance(effect, kind)]


def test_a_further_connection_that_meets_another_server_is_not_taken_for_its_first():
    mesh = started(routes=routes_of("10.0.0.2:6222"), pool_size=2)
    with_dialed(mesh, 1, 1, pool="2")
    (further,) = tokens_of(mesh.receive_answer(1))
    with_dialed(mesh, further, 2, "NC", pool="2")
    effects = mesh.receive_closed(2, ClosedState.DUPLICATE_ROUTE)

    assert [route.link for route in mesh.routes] == [1]
    assert not tokens_of(effects, p.Wait)


def test_an_accepted_connection_that_goes_by_a_pool_of_before_a_reload_is_begun_again():
    mesh = started(pool_size=3)
    mesh.receive_opened(1, 0, "10.0.0.9", 40_000)
    mesh.receive_reload(MeshSettings(pool_size=-1), mesh.local, ())
    effects = mesh.receive_introduction(1, info("NB", pool="3", shared="yes", agreed="3"))

    assert [x.reason for x in effects if isinstance(x, p.Dismiss)] == [ClosedState.ROUTE_REMOVED]
    assert not mesh.routes


def test_a_server_that_changes_its_pool_each_time_is_not_dialed_without_a_pause():
    mesh = started(routes=routes_of("10.0.0.2:6222"), pool_size=1)
    with_dialed(mesh, 1, 1, pool="2")
    delays_s = []
    for link in range(2, 12, 2):
        mesh.receive_opened(link, 0, "10.0.0.2", 40_000)
        mesh.receive_introduction(link, info("NB", pool=str(link + 1), index="1"))
        waits = [
            effect
            for effect in mesh.receive_closed(link - 1, ClosedState.ROUTE_REMOVED)
            if isinstance(effect, p.Wait)
        ]
        delays_s += [wait.delay_s for wait in waits]
        for wait in waits:
            mesh.receive_timer(wait.token)
            with_dialed(mesh, wait.token, link + 1, pool=str(link + 2))

    assert delays_s[:2] == [0.0, 1.0]
    assert all(delay_s >= 1.0 for delay_s in delays_s[1:])


def test_a_server_that_keeps_changing_its_exports_is_told_all_interest_seldom():
    mesh = with_route(started())
    effects = [
        effect
        for number in range(1_000)
        for effect in mesh.receive_update(
            1, replace(info("NB"), export=SubjectPermission(allow=(f"a.{number}",)))
        )
    ]

    assert [type(effect) for effect in effects] == [e.RepeatInterest, p.Wait]
    again = mesh.receive_timer(effects[1].token)
    assert [type(effect) for effect in again] == [e.RepeatInterest, p.Wait]
    assert not mesh.receive_timer(again[1].token)


def test_connections_that_one_server_asks_us_to_open_for_accounts_are_bounded_and_forgotten():
    names = {f"A{number}" for number in range(10_000)}
    mesh = started(routes=routes_of("10.0.0.2:6222"), pool_size=1, accounts=names)
    with_dialed(mesh, 1, 1, pool="1")
    effects = [
        effect
        for name in names
        for effect in mesh.receive_update(1, info("NB", account=name, request="r"))
    ]

    assert len(tokens_of(effects, p.Wait)) == OWED_MAX
    mesh.receive_closed(1, ClosedState.CLIENT_CLOSED)
    assert not mesh._pins._owed


def test_connections_of_one_server_are_bounded():
    names = {f"A{number}" for number in range(10_000)}
    mesh = started(pool_size=1, accounts=names)
    for link, name in enumerate(["", *names], 1):
        mesh.receive_opened(link, 0, "10.0.0.9", 40_000)
        effects = mesh.receive_introduction(link, info("NB", pool="1", account=name))
        if any(isinstance(effect, p.Dismiss) for effect in effects):
            break

    assert len(mesh.routes) == PEER_CONNECTIONS_MAX


def test_an_account_that_is_known_only_after_a_reload_gets_its_connection_then():
    known = ["$SYS"]
    mesh = started(pool_size=1, accounts=known)
    with_route(mesh)
    mesh.receive_closed(1, ClosedState.CLIENT_CLOSED)
    settings = MeshSettings(pool_size=1)
    mesh.receive_opened(2, 0, "10.0.0.9", 40_000)
    mesh.receive_introduction(2, info("NB", pool="1"))

    assert not requests_of(mesh.receive_reload(settings, mesh.local, ("A",)))
    known.append("A")
    assert requests_of(mesh.receive_reload(settings, mesh.local, ("A",)))
    assert not requests_of(mesh.receive_reload(settings, mesh.local, ("A",)))


def requests_of(effects):
    return [x for x in effects if isinstance(x, p.Tell) and b"route_acc_add_reqid" in x.data]


def test_the_connection_of_an_account_that_is_unpinned_on_the_way_becomes_no_route():
    mesh = started(routes=routes_of("10.0.0.2:6222"), pool_size=1, pins=("A",))
    with_dialed(mesh, 1, 1, pool="1")
    (pinned,) = tokens_of(mesh.receive_answer(1))
    mesh.receive_opened(2, pinned, "10.0.0.2", 6222)
    mesh.receive_reload(mesh._settings, mesh.local, ())
    mesh.receive_introduction(2, info("NB", pool="1"))

    assert [route.link for route in mesh.routes] == [1]
