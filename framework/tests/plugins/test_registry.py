"""Each hook of the core is tested here, by a function that begins with `test_` and its name."""

from __future__ import annotations

import argparse
import asyncio
from types import SimpleNamespace

import pytest
import structlog
from msgspec import Struct
from msgspec.structs import replace
from structlog.testing import capture_logs

from framework.errors import PluginError
from framework.hookspecs import hookimpl, hookspec
from framework.plugins import PluginRegistry
from framework.spec import (
    AccountPlan,
    Authenticator,
    ClosedState,
    Codec,
    CommandGroup,
    ComponentSpec,
    CompressionMode,
    ConnectionInfo,
    DownloadSpec,
    GateSpec,
    HealthCheck,
    KindNames,
    KindTraits,
    LinkKind,
    LinkKindSpec,
    ListenerSpec,
    MonitorEndpoint,
    MonitorFields,
    PortSpec,
    ProcessSpec,
    Quota,
    RefusedAddresses,
    ReservedPrefix,
    ServiceSpec,
    StatusColumn,
    StatusSection,
    StopReason,
    TapSpec,
    TransportSpec,
)
from framework.topology.errors import TopologyError
from framework.topology.option import ConfigSection
from framework.topology.place import Place
from framework.topology.planner import PortSlot, TopologyPlanner
from framework.topology.topology import ServerPlan, Topology

CONFIG = SimpleNamespace()
SERVER = SimpleNamespace(log=structlog.get_logger())
CONNECTION = ConnectionInfo(link=1, kind=LinkKind.CLIENT, cid=1, host="127.0.0.1", port=5)


def registry_of(**plugins):
    """Return a registry of plugins that are given as (hook without prefix, implementation)."""
    registry = PluginRegistry()
    for name, (hook, function) in plugins.items():
        implementation = staticmethod(hookimpl(function))
        registry.register(type(name, (), {f"framework_{hook}": implementation})(), name)
    registry.check()
    return registry


def names(items):
    return [item.name for item in items]


def component(name, *requires):
    return ComponentSpec(name=name, factory=print, requires=requires)


def listener(kind, owner):
    return ListenerSpec(kind=kind, host="127.0.0.1", port=-1, owner=owner)


class OfAccount(Struct):
    account: str = ""


def endpoint(path):
    return MonitorEndpoint(path=path, answer=print, help="")


# -- the hooks, one after the other ---------------------------------------------------------------


def test_addhooks_lets_plugins_offer_hooks_to_each_other_whoever_comes_first():
    class Offering:
        @hookspec
        def framework_offered(self, number): ...

        @hookimpl
        def framework_addhooks(self, hooks):
            hooks.add_hookspecs(type(self))
            self.hooks = hooks

    offering = Offering()
    early = type("Early", (), {"framework_offered": staticmethod(hookimpl(lambda number: number))})
    registry = PluginRegistry()
    registry.register(early, "early")
    registry.register(offering, "offering")
    registry.check()

    assert offering.hooks.describe("framework_offered", number=3) == [("early", 3)]


def test_compression_modes_have_names_of_their_own():
    modes = [CompressionMode("tight", offer="s2_best"), CompressionMode("none", offer="off")]

    registry = registry_of(a=("compression_modes", lambda: modes))

    assert registry.compression_modes == {"tight": modes[0], "none": modes[1]}
    registry = registry_of(
        a=("compression_modes", lambda: modes), b=("compression_modes", lambda: modes[1:])
    )
    with pytest.raises(PluginError, match="plugin b: compression mode none belongs to plugin a"):
        _ = registry.compression_modes


def test_a_mode_or_codec_that_nobody_can_name_refuses_to_start():
    for make, problem in [
        (lambda: [CompressionMode("Tight", offer="s2_best")], "mode 'Tight': expected lower case"),
        (lambda: [CompressionMode("", offer="off")], "a name of 0 characters"),
        (lambda: [CompressionMode("x", offer="zip")], "offers 'zip'; expected one of off, accept"),
        (lambda: [Codec("a b", None, None)], "codec 'a b': expected lower case"),
        (lambda: [Codec("a\x1b", None, None)], "printable"),
        (lambda: [Codec("z" * 256, None, None)], "a name of 256 characters; expected 1 to 255"),
    ]:
        with pytest.raises(
            PluginError, match=r"plugin a \(.*test_registry.*: framework_compression_modes failed"
        ) as it:
            _ = registry_of(a=("compression_modes", make)).compression_modes
        assert problem in str(it.value)


def test_config_sections_are_told_which_modes_of_compression_there_are():
    told = []

    def sections(compression_modes):
        told.extend(compression_modes)
        return []

    mode = CompressionMode("tight", offer="s2_best")
    registry_of(
        a=("config_sections", sections), b=("compression_modes", lambda: [mode])
    ).config_sections()

    assert told == ["tight"]


def test_plan_topology_gives_planners_with_slots_of_their_own():
    def planning(name):
        return [TopologyPlanner(slots=(PortSlot(name=name, base=1883),))]

    registry = registry_of(
        a=("plan_topology", lambda: planning("mqtt")),
        b=("plan_topology", lambda: planning("lines")),
    )
    slots = [slot.name for planner in registry.plan_topology() for slot in planner.slots]
    both = registry_of(
        a=("plan_topology", lambda: planning("mqtt")), b=("plan_topology", lambda: planning("mqtt"))
    )
    ours = registry_of(a=("plan_topology", lambda: planning("client")))

    assert slots == ["mqtt", "lines"]
    with pytest.raises(PluginError, match="b: port slot mqtt belongs to plugin a already"):
        both.plan_topology()
    with pytest.raises(PluginError, match="a: port slot client belongs to the core"):
        ours.plan_topology()


def test_config_sections_learn_their_owner():
    registry = registry_of(audit=("config_sections", lambda: [ConfigSection(name="audit")]))

    assert registry.config_sections() == (ConfigSection(name="audit", plugin="audit"),)


def test_add_commands_puts_each_plugin_into_a_group_of_its_own():
    def add(cli):
        cli.add_command("tail", lambda _: 7, help="show")

    registry = registry_of(a=("add_commands", add), b=("add_commands", add), c=("taps", lambda: ()))
    parser = argparse.ArgumentParser()
    groups = parser.add_subparsers()

    registry.add_commands(lambda name: CommandGroup(groups.add_parser(name)))

    assert list(groups.choices) == ["b", "a"]
    arguments = parser.parse_args(["a", "tail"])
    assert arguments.run(arguments) == 7


def test_check_topology_shows_the_errors_of_all_plugins():
    errors = [TopologyError(Place("f"), "wrong"), TopologyError(Place("f"), "worse")]
    registry = registry_of(
        a=("check_topology", lambda topology: errors[:topology]),
        b=("check_topology", lambda: errors[1:]),
    )

    assert registry.check_topology(1) == (errors[1], errors[0])


def test_components_come_in_the_order_of_their_start():
    registry = registry_of(a=("components", lambda server: [component("mine", "core")]))

    order = registry.components(SERVER, [component("core")])

    assert [spec.name for spec in order] == ["core", "mine"]


def test_components_of_one_name_refuse_to_start():
    registry = registry_of(a=("components", lambda: [component("core")]))

    with pytest.raises(PluginError, match="plugin a: component core belongs to the core"):
        registry.components(SERVER, [component("core")])


def test_listeners_have_one_owner_among_the_components():
    mine, core = listener(LinkKind.ROUTE, "mine"), listener(LinkKind.CLIENT, "core")
    registry = registry_of(a=("listeners", lambda server: [mine]))
    components = [component("mine"), component("core")]

    assert registry.listeners(SERVER, [core], components=components) == (core, mine)
    with pytest.raises(PluginError, match="listener of kind ROUTE belongs to the core"):
        registry.listeners(SERVER, [mine], components=components)
    with pytest.raises(
        PluginError, match=r"plugin a \(.*: a listener belongs to mine, which is no comp"
    ):
        registry.listeners(SERVER, components=[])


def test_authenticators_are_asked_in_the_order_of_the_call_and_have_names_of_their_own():
    first, second = (Authenticator(name=name, authenticate=print) for name in "ab")
    registry = registry_of(
        x=("authenticators", lambda server: [second]), y=("authenticators", lambda: [first])
    )

    assert names(registry.authenticators(SERVER)) == ["a", "b"]
    with pytest.raises(PluginError, match="plugin y: authenticator a belongs to plugin x already"):
        registry_of(
            x=("authenticators", lambda: [first]), y=("authenticators", lambda: [first])
        ).authenticators(SERVER)


def test_server_key_is_that_of_the_first_plugin_that_draws_one():
    draws = {"x": ("server_key", lambda: "NX"), "y": ("server_key", lambda config: None)}

    assert registry_of(**draws).server_key(None) == "NX"
    assert registry_of().server_key(None) is None


def test_accounts_are_planned_by_one_plugin():
    plan = AccountPlan(accounts=())

    assert registry_of(x=("accounts", lambda: plan)).accounts(SERVER) is plan
    with pytest.raises(
        PluginError, match=r"plugin x \(.*: framework_accounts must return a AccountPlan"
    ):
        registry_of(x=("accounts", lambda: [plan])).accounts(SERVER)


def test_services_have_names_of_their_own():
    service = ServiceSpec(name="s", subject="a", answer=print)

    assert registry_of(a=("services", lambda: [service])).services(SERVER)[0].name == "s"
    with pytest.raises(PluginError, match="plugin b: service s belongs to plugin a already"):
        registry_of(a=("services", lambda: [service]), b=("services", lambda: [service])).services(
            SERVER
        )


def test_gates_on_one_subject_have_an_order():
    def registry(*second):
        gates = [GateSpec(name="one", subject="a.*", decide=print)], list(second)
        return registry_of(a=("gates", lambda: gates[0]), b=("gates", lambda: gates[1]))

    spec = GateSpec(name="two", subject="*.b", decide=print)
    apart = [replace(spec, order=1), replace(spec, subject="b.*"), replace(spec, account="A")]
    for other in apart:
        assert [it.plugin for it in registry(other).gates(SERVER)] == ["a", "b"]
    with pytest.raises(PluginError, match=r"gate two and gate one of plugin a are both order 0"):
        registry(spec).gates(SERVER)
    with pytest.raises(PluginError, match="gate one belongs to plugin a already"):
        registry(replace(spec, name="one", order=2)).gates(SERVER)


def test_taps_have_names_of_their_own():
    tap = TapSpec(name="t", subject="a", receive=print)

    assert registry_of(a=("taps", lambda: [tap])).taps(SERVER)[0].name == "t"
    with pytest.raises(PluginError, match="plugin b: tap t belongs to plugin a already"):
        registry_of(a=("taps", lambda: [tap]), b=("taps", lambda: [tap])).taps(SERVER)


def test_ports_have_names_of_their_own_and_their_plugins():
    port = PortSpec(name="p", start=print, stop=print)

    assert registry_of(a=("ports", lambda: port)).ports(SERVER) == (replace(port, plugin="a"),)
    with pytest.raises(PluginError, match="port p belongs to plugin a already"):
        registry_of(a=("ports", lambda: port), b=("ports", lambda: port)).ports(SERVER)


def test_transports_have_names_of_their_own_and_their_plugins():
    transport = TransportSpec(name="t", host="127.0.0.1", port=-1)
    registry = registry_of(a=("transports", lambda: transport))

    assert registry.transports(SERVER) == (replace(transport, plugin="a"),)
    registry = registry_of(a=("transports", lambda: transport), b=("transports", lambda: transport))
    with pytest.raises(PluginError, match="transport t belongs to plugin a already"):
        registry.transports(SERVER)


def test_quotas_of_a_client_come_from_all_plugins_and_none_when_one_fails():
    quotas = [Quota(name="q", messages=1.0), Quota(name="r", bytes=2.0)]
    registry = registry_of(
        a=("quotas", lambda client: quotas[0] if client.cid == 1 else ()),
        b=("quotas", lambda: quotas[1]),
    )

    assert registry.has_quotas
    assert sorted(names(registry.quotas(SERVER, CONNECTION))) == ["q", "r"]
    registry = registry_of(a=("quotas", lambda: {}["none"]), b=("quotas", lambda: quotas))
    with capture_logs():
        assert registry.quotas(SERVER, CONNECTION) == ()
    assert not registry_of().has_quotas


def test_status_sections_have_fields_and_columns_of_their_own():
    section = StatusSection(
        field="f", read=print, columns=(StatusColumn(title="c", cell=str, priority=1),)
    )
    registry = registry_of(a=("status_sections", lambda: section))

    assert registry.status_sections() == (section,)
    registry = registry_of(
        a=("status_sections", lambda: section),
        b=("status_sections", lambda: replace(section, field="other")),
    )
    with pytest.raises(PluginError, match="status column c belongs to plugin a already"):
        registry.status_sections()


def test_topology_processes_have_names_of_their_own():
    spec = ProcessSpec(name="p", arguments=("program",))
    server = ServerPlan("s", "", CONFIG)
    topology = Topology("t", "t.toml", None, (server,))
    registry = registry_of(a=("topology_processes", lambda: [spec]))

    assert registry.topology_processes(topology) == (spec,)
    registry = registry_of(
        a=("topology_processes", lambda: [spec]), b=("topology_processes", lambda: [spec])
    )
    with pytest.raises(PluginError, match="process p belongs to plugin a already"):
        registry.topology_processes(topology)
    taken = ProcessSpec(name="s", arguments=("program",))
    with pytest.raises(PluginError, match="process s belongs to the core"):
        registry_of(a=("topology_processes", lambda: [taken])).topology_processes(topology)
    with pytest.raises(ValueError, match="process p: arguments"):
        ProcessSpec(name="p", arguments=())


def test_monitor_fields_have_one_owner_each():
    async def make(): ...

    fields = MonitorFields(document="/varz", names=("mine",), make=make)

    assert registry_of(a=("monitor_fields", lambda: fields)).monitor_fields(SERVER)
    registry = registry_of(
        a=("monitor_fields", lambda: fields), b=("monitor_fields", lambda: fields)
    )
    with pytest.raises(PluginError, match="field /varz mine belongs to plugin a already"):
        registry.monitor_fields(SERVER)


def test_link_kinds_have_one_row_each_that_can_be():
    kind = LinkKind.add("TELEX", KindNames(noun="telex", counters="telexes", title="Telex"))
    spec = LinkKindSpec(kind=kind, traits=KindTraits())
    bad = LinkKindSpec(kind=kind, traits=KindTraits(), reserved=(ReservedPrefix(prefix=b""),))
    core = LinkKindSpec(kind=LinkKind.ROUTE, traits=KindTraits())

    assert registry_of(a=("link_kinds", lambda: [spec])).link_kinds(CONFIG) == (spec,)
    for others, refused, problem in (
        ([spec], spec, "link kind TELEX belongs to plugin a"),
        ([], core, "link kind ROUTE belongs to the core"),
        ([], bad, "2 to 30 bytes"),
    ):
        registry = registry_of(
            a=("link_kinds", lambda found=others: found),
            b=("link_kinds", lambda found=refused: [found]),
        )
        with pytest.raises(PluginError, match=f"plugin b.*{problem}"):
            registry.link_kinds(CONFIG)


def test_refused_addresses_have_names_of_their_own_and_their_plugins():
    spec = RefusedAddresses(name="r", ranges=["10.0.0.0/8"])
    registry = registry_of(a=("refused_addresses", lambda: [spec]))

    assert [it.plugin for it in registry.refused_addresses(SERVER)] == ["a"]
    with pytest.raises(PluginError, match="plugin b: refused addresses r belongs to plugin a"):
        registry_of(
            a=("refused_addresses", lambda: [spec]), b=("refused_addresses", lambda: [spec])
        ).refused_addresses(SERVER)


def test_there_are_sixteen_tables_of_refused_addresses():
    specs = [RefusedAddresses(name=str(it)) for it in range(17)]
    registry = registry_of(a=("refused_addresses", lambda: specs))

    with pytest.raises(PluginError, match="plugin a: there are 17 RefusedAddresses, at most 16"):
        registry.refused_addresses(SERVER)


def test_monitor_endpoints_have_paths_of_their_own():
    registry = registry_of(a=("monitor_endpoints", lambda: [endpoint("/auditz")]))

    paths = registry.monitor_endpoints(SERVER, [endpoint("/varz")])

    assert [item.path for item in paths] == ["/varz", "/auditz"]
    with pytest.raises(PluginError, match="path /auditz belongs to the core"):
        registry.monitor_endpoints(SERVER, [endpoint("/auditz")])


def test_monitor_endpoints_have_requests_of_their_own_or_none():
    ours = [
        MonitorEndpoint(answer=print, options=OfAccount, request="CONNZ", account_request="CONNZ")
    ]
    silent = [endpoint("/a"), endpoint("/b"), MonitorEndpoint(answer=print, request="AUDITZ")]

    assert registry_of(a=("monitor_endpoints", lambda: silent)).monitor_endpoints(SERVER, ours)
    ours.append(MonitorEndpoint(answer=print, status="CONNZ"))
    for asked in ("request", "account_request", "status"):
        theirs = [MonitorEndpoint(answer=print, options=OfAccount, **{asked: "CONNZ"})]
        registry = registry_of(a=("monitor_endpoints", lambda it=theirs: it))
        with pytest.raises(PluginError, match=f"{asked.replace('_', ' ')}.* CONNZ belongs to"):
            registry.monitor_endpoints(SERVER, ours)


def test_a_stand_in_answers_only_while_no_plugin_does():
    stand_ins = [
        MonitorEndpoint(answer=print, path="/leafz", request="LEAFZ", is_fallback=True),
        MonitorEndpoint(answer=print, options=OfAccount, account_request="LEAFZ", is_fallback=True),
    ]
    leaf = MonitorEndpoint(answer=print, request="LEAFZ")
    registry = registry_of(a=("monitor_endpoints", lambda: [leaf]))

    first, other = registry.monitor_endpoints(SERVER, stand_ins)
    assert (first, other.request) == (stand_ins[1], "LEAFZ")
    assert registry_of().monitor_endpoints(SERVER, stand_ins) == tuple(stand_ins)


class NoOption(Struct):
    when: float = 0


def test_options_of_endpoints_are_looked_at_when_they_are_declared():
    wrong = MonitorEndpoint(answer=print, path="/auditz", options=NoOption)
    registry = registry_of(a=("monitor_endpoints", lambda: [wrong]))

    with pytest.raises(PluginError, match=r"/auditz: options: NoOption\.when: expected"):
        registry.monitor_endpoints(SERVER)
    with pytest.raises(ValueError, match="endpoint A: options: expected a field `account`"):
        MonitorEndpoint(answer=print, account_request="A", options=NoOption)
    with pytest.raises(ValueError, match="endpoint /a: options: expected a Struct"):
        MonitorEndpoint(answer=print, path="/a", options=dict)


def test_downloads_have_folders_of_their_own():
    async def begin(request):
        return request

    def folder(name="/rows/", **more):
        return DownloadSpec(folder=name, open=begin, **more)

    registry = registry_of(a=("downloads", lambda: [folder()]))
    [spec] = registry.downloads(SERVER)
    with pytest.raises(PluginError, match="/rows/ must return a Download, not"):
        asyncio.run(spec.open("rows"))
    both = registry_of(a=("downloads", lambda: [folder()]), b=("downloads", lambda: [folder()]))
    with pytest.raises(PluginError, match="download /rows/"):
        both.downloads(SERVER)
    with pytest.raises(PluginError, match=r"/rows/: options: NoOption\.when: expected"):
        registry_of(a=("downloads", lambda: [folder(options=NoOption)])).downloads(SERVER)
    for wrong in ("rows/", "/rows", "/", ""):
        with pytest.raises(ValueError, match="slashes around it"):
            folder(wrong)


def test_health_checks_have_names_of_their_own():
    check = HealthCheck(name="disk", check=lambda: None)
    registry = registry_of(a=("health_checks", lambda server: [check]))

    assert names(registry.health_checks(SERVER)) == ["disk"]
    with pytest.raises(PluginError, match="health check disk belongs to the core"):
        registry.health_checks(SERVER, [check])


def test_server_info_merges_fields_that_nobody_else_has():
    registry = registry_of(
        a=("server_info", lambda server: {"one": 1}), b=("server_info", lambda: {"two": 2})
    )

    assert registry.server_info(SERVER, ["port"]) == {"one": 1, "two": 2}
    with pytest.raises(PluginError, match="INFO field one belongs to the core"):
        registry.server_info(SERVER, ["one"])


def test_server_info_of_another_type_is_refused():
    with pytest.raises(PluginError, match=r"must return a mapping, not \['one'\]"):
        registry_of(a=("server_info", lambda: ["one"])).server_info(SERVER)


def test_server_started_and_the_other_notices_keep_errors_from_others():
    told = []

    def fail():
        raise OSError

    registry = registry_of(
        a=("server_started", lambda server: told.append(server.log)), b=("server_started", fail)
    )

    with capture_logs() as logs:
        registry.server_started(SERVER)

    assert told == [SERVER.log]
    assert [log["plugin"] for log in logs] == ["b"]
    assert registry.usage("b")["framework_server_started"].failures == 1


def test_server_stopping_says_why():
    told = []
    registry = registry_of(a=("server_stopping", lambda reason: told.append(reason.value)))

    registry.server_stopping(SERVER, StopReason.ASKED)

    assert told == ["asked"]


def test_check_reload_shows_the_errors_of_all_plugins():
    error = TopologyError(Place("a.conf", 1), "no such user")
    registry = registry_of(a=("check_reload", lambda diff: [error] if diff else []))

    assert registry.check_reload(SERVER, "diff") == (error,)
    assert registry.check_reload(SERVER, "") == ()


def test_reloaded_says_what_has_changed():
    told = []
    registry = registry_of(a=("reloaded", lambda server, diff: told.append((server, diff))))

    registry.reloaded(SERVER, "diff")

    assert told == [(SERVER, "diff")]


def test_lame_duck_says_how_long():
    told = []

    def remember(duration_s):
        told.append(duration_s)

    registry = registry_of(a=("lame_duck", remember))

    registry.lame_duck(SERVER, 30.0)

    assert told == [30.0]


def test_accounts_changed_says_which():
    told = []
    registry = registry_of(a=("accounts_changed", lambda server, names: told.append(names)))

    registry.accounts_changed(SERVER, ("A", "B"))

    assert told == [("A", "B")]


def test_connection_opened_says_who():
    told = []
    registry = registry_of(a=("connection_opened", lambda connection: told.append(connection.cid)))

    registry.connection_opened(SERVER, CONNECTION)

    assert told == [1]


def test_connection_closed_says_who_and_why():
    told = []
    registry = registry_of(
        a=("connection_closed", lambda connection, reason: told.append((connection, reason)))
    )

    registry.connection_closed(SERVER, CONNECTION, ClosedState.CLIENT_CLOSED)

    assert told == [(CONNECTION, ClosedState.CLIENT_CLOSED)]


# -- what plugins return --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "shown"), [("text", "'t'"), (component("x"), "ComponentSpec"), ([None], "None")]
)
def test_the_wrong_thing_is_refused(answer, shown):
    registry = registry_of(a=("taps", lambda: answer))

    with pytest.raises(
        PluginError, match=f"framework_taps must return TapSpecs, not {shown}"
    ) as it:
        registry.taps(SERVER)
    assert it.value.origin.startswith(f"{__file__}:")


def test_one_thing_alone_is_as_good_as_a_list():
    tap = TapSpec(name="t", subject="a", receive=print)

    assert registry_of(a=("taps", lambda: tap)).taps(SERVER)[0].name == "t"
