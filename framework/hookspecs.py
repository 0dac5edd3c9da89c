# mypy: disable-error-code=empty-body
"""Every hook of the core.

A hook is called when a server is put together, or when a connection comes or goes: never once a
message. A hook that serves messages returns a spec, and the core drives what the spec describes.

Three kinds, told apart by the first word of their contract:

- *Assembly* hooks describe: they do no I/O, and an error stops the start and names the plugin.
- *Choice* hooks are `firstresult`: the first plugin that does not return None decides.
- *Notice* hooks are told what has happened: they must not block, and an error is logged,
  counted, and kept from the other plugins.

The plugin registered last is called first; `tryfirst` and `trylast` change that. An implementation
may leave out arguments that it has no use for. Wrappers are refused: there is nothing to wrap.

Size: all hooks, one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pluggy

from framework.spec import (
    AccountPlan,
    Authenticator,
    ClosedState,
    CommandGroup,
    ComponentSpec,
    CompressionMode,
    ConnectionInfo,
    DownloadSpec,
    GateSpec,
    HealthCheck,
    HookOffer,
    LinkKindSpec,
    ListenerSpec,
    MonitorEndpoint,
    MonitorFields,
    PortSpec,
    ProcessSpec,
    Quota,
    RefusedAddresses,
    ServerContext,
    ServiceSpec,
    StatusSection,
    StopReason,
    TapSpec,
    TransportSpec,
)
from framework.topology import (
    ConfigDiff,
    ConfigSection,
    ServerConfig,
    Topology,
    TopologyError,
    TopologyPlanner,
)

__all__ = ["hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("framework")
hookimpl = pluggy.HookimplMarker("framework")

# ---------------------------------------------------------------------------
# Once a process, before any server
# ---------------------------------------------------------------------------


@hookspec(historic=True)
def framework_addhooks(hooks: HookOffer) -> None:
    """Add the hooks that this plugin offers to others.

    Assembly. Called once for each plugin, as it is registered, whichever was there before it:
    so a plugin may implement hooks of another that is loaded later. Nobody wins or stops it.

    Args:
        hooks: Takes a module of hook specifications by `add_hookspecs`; the plugin keeps `hooks`
            to call them.
    """


@hookspec
def framework_compression_modes() -> Iterable[CompressionMode]:
    """Return modes that users may choose where servers compress what they say to each other.

    Assembly. Called once, before `framework_config_sections`. Two modes with one name stop the
    start; a peer that does not know the codec of a mode gets what the mode offers to all.
    """


@hookspec
def framework_config_sections(
    compression_modes: Mapping[str, CompressionMode],
) -> Iterable[ConfigSection]:
    """Return the configuration blocks that this plugin owns, named as nats-server names them.

    Assembly. Called once, before any file is read. A block has one owner: two plugins with one
    name or alias stop the start, and so does a block in a file whose plugin is absent.

    Args:
        compression_modes: By name, for options that choose one.
    """


@hookspec
def framework_plan_topology() -> Iterable[TopologyPlanner]:
    """Return what this plugin needs of each server of a topology: ports, and what follows from it.

    Assembly. Called once for each file, before its servers are planned, by `framework run` and
    `framework check`. Two slots of ports with one name stop the start. What the file says itself
    is never replaced.
    """


@hookspec
def framework_status_sections() -> Iterable[StatusSection]:
    """Return what `framework run` shows of this plugin's part of its servers.

    Assembly. Called once by `framework run`, in the process that supervises the servers; these
    report by a MonitorEndpoint with `status`. Two columns with one title stop the start.
    """


@hookspec
def framework_topology_processes(topology: Topology) -> Iterable[ProcessSpec]:
    """Declare processes that run beside the servers of a topology, such as what reads from them.

    Assembly. Called once by `framework run`, in the process that supervises, when the file was
    read and checked. Two processes with one name, or one with the name of a server, stop the start.

    Args:
        topology: With every server in it, and their addresses as far as the file says them.
    """


@hookspec
def framework_add_commands(cli: CommandGroup) -> None:
    """Add subcommands to `framework`, under the plugin's name.

    Assembly. Called once by the command line, not by a server; each plugin has a group of its own,
    so nobody can take a name from another.

    Args:
        cli: Takes commands by `add_command`.
    """


# ---------------------------------------------------------------------------
# Once a server, while it is put together
# ---------------------------------------------------------------------------


@hookspec
def framework_check_topology(topology: Topology) -> Iterable[TopologyError]:
    """Check what one section alone cannot.

    Assembly. Called once when the whole file was read and is otherwise valid, by `framework run`
    and `framework check`. The errors of all plugins are shown together; one stops the start.

    Args:
        topology: With every server in it, also those that run in other processes.
    """


@hookspec
def framework_link_kinds(config: ServerConfig) -> Iterable[LinkKindSpec]:
    """Declare kinds of links: what they may say, where they lead, how they stay alive.

    Assembly. Called once, before the data plane is made. Two plugins with a row for one kind stop
    the start, and so does a row that the data plane can't have.

    Args:
        config: Of the server.
    """


@hookspec
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Declare actors.

    Assembly. Called once, before any actor runs. The core starts them after what they require
    and stops them in reverse; two with one name, a missing requirement or a cycle stop the start.

    Args:
        server: Names, configuration and logger can be used; actors and addresses are not there yet.
    """


@hookspec
def framework_listeners(server: ServerContext) -> Iterable[ListenerSpec]:
    """Declare addresses to accept connections on, and which component owns them.

    Assembly. Called once, after `framework_components`; ports open when all components run.
    Two listeners of one kind, or one whose owner is no component, stop the start.

    Args:
        server: As in `framework_components`.
    """


@hookspec
def framework_transports(server: ServerContext) -> Iterable[TransportSpec]:
    """Declare ports where clients come in another way than NATS's own: WebSocket, or a protocol.

    Assembly. Called once, after `framework_listeners`; ports open when all components run. Two
    with one name, or an address that can't be listened on, stop the start.

    Args:
        server: As in `framework_components`.
    """


@hookspec(firstresult=True)
def framework_server_key(config: ServerConfig) -> str | None:
    """Choose the public key that names this run of the server, such as `NAX...`.

    Choice. Called once, before anything else of the server. A plugin that signs in the server's
    name draws a key here and keeps its secret half; without one the server draws a name itself.

    Args:
        config: Of the server.
    """


@hookspec(firstresult=True)
def framework_accounts(server: ServerContext) -> AccountPlan | None:
    """Choose which accounts there are.

    Choice. Called once, after all components have started and before any port opens; later
    changes go through `ServerContext.accounts`. Without a plan there are `$G` and `$SYS`.

    Args:
        server: Its components run.
    """


@hookspec
def framework_services(server: ServerContext) -> Iterable[ServiceSpec]:
    """Declare subjects on which this server answers requests, such as `$SYS.REQ.CLAIMS.LIST`.

    Assembly. Called once, after the accounts are there and before any port opens. Two services
    with one name stop the start.

    Args:
        server: Its components run, and its accounts are known.
    """


@hookspec
def framework_authenticators(server: ServerContext) -> Iterable[Authenticator]:
    """Declare who decides which clients may log in.

    Assembly. Called once, after all components have started and before any port opens, and again
    after each reload. Without an authenticator clients need no login; with one, a client may do
    nothing before it is accepted. Several are asked in the order of the option `authenticators`,
    those that it does not name in the order of the call; each until one accepts or refuses: who
    passes asks the next, and after the last the client is refused. Two with one name stop the
    start, and so does a name in the option that nobody has.

    Args:
        server: Its components run.
    """


@hookspec
def framework_gates(server: ServerContext) -> Iterable[GateSpec]:
    """Declare gates, which decide on what clients and leaf nodes publish before it is received.

    Assembly. Called once, after all components have started; gates stand before any port opens,
    until the last client is gone. Called again after each reload: gates are added, changed and
    taken away, and what waits at one that goes is decided by it. Two gates with one name stop the
    start, and so do two of one account with one order whose subjects overlap, and one whose port
    its plugin does not have; after a reload they are logged, and all gates are what they were.

    Args:
        server: Its components run.
    """


@hookspec
def framework_taps(server: ServerContext) -> Iterable[TapSpec]:
    """Declare subscribers in this process, which get messages in batches.

    Assembly. Called once, after all components have started; taps subscribe before any port
    opens. Called again after each reload: taps are added, changed and taken away, and one that
    stays gets each message once. Two taps with one name stop the start; after a reload they are
    logged, and all taps are what they were.

    Args:
        server: Its components run.
    """


@hookspec
def framework_ports(server: ServerContext) -> Iterable[PortSpec]:
    """Declare threads of this plugin that subscribe and publish by ports.

    Assembly. Called once, after all components have started; `PortSpec.start` is called before any
    address is listened on, and what the port subscribes to there is heard by the first client. Two
    with one name stop the start, and so does one whose `start` raises.

    Args:
        server: Its components run.
    """


@hookspec
def framework_quotas(server: ServerContext, client: ConnectionInfo) -> Iterable[Quota]:
    """Return how much a client may publish, beside what its authenticator has said.

    Assembly. Called once for each client when it has logged in, and again after each reload; what
    is returned becomes a table in the data plane. An error is logged, and the client is under
    none of these quotas; more than 8 for one client are cut off, those of its authenticator first
    of all.

    Args:
        server: Its components run.
        client: Who it is.
    """


@hookspec
def framework_refused_addresses(server: ServerContext) -> Iterable[RefusedAddresses]:
    """Declare addresses whose connections are closed before INFO.

    Assembly. Called once, after all components have started and before any port opens;
    `ServerContext.change_refused_addresses` changes them later. The data plane looks at them as
    it accepts, without a call of the plugin. Two with one name, a range that is none, more than
    65,536 ranges or more than 16 tables of all plugins stop the start.

    Args:
        server: Its components run.
    """


@hookspec
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Declare documents about the server: paths of the monitoring port, such as `/routez`.

    Assembly. Called once, after all components have started, also when no monitoring port is
    configured. The same document may answer a `$SYS` request, such as `ROUTEZ`. A path or a
    request that the core or another plugin has stops the start.

    Args:
        server: Its components run.
    """


@hookspec
def framework_downloads(server: ServerContext) -> Iterable[DownloadSpec]:
    """Declare folders of the monitoring port whose files are made while they are sent.

    Assembly. Called once, after all components have started, also when no monitoring port is
    configured. A folder that another plugin has stops the start.

    Args:
        server: Its components run; `connect_in_process` lets who asks be a client.
    """


@hookspec
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Declare fields of this plugin in documents of the core: `/varz` and STATSZ.

    Assembly. Called once, after all components have started. Two plugins with one field of one
    document stop the start; where making them fails, the document is answered without them.

    Args:
        server: Its components run.
    """


@hookspec
def framework_health_checks(server: ServerContext) -> Iterable[HealthCheck]:
    """Declare what makes `/healthz` say that the server is not well.

    Assembly. Called once, after all components have started. All checks are asked, and each
    complaint is shown; two checks with one name stop the start.

    Args:
        server: Its components run.
    """


@hookspec
def framework_server_info(server: ServerContext) -> Mapping[str, object]:
    """Return fields for the INFO of every client.

    Assembly. Called once, before the first client is accepted; `ServerContext.update_client_info`
    changes fields later. A field that the core or another plugin sets stops the start.

    Args:
        server: Its components run.
    """


# ---------------------------------------------------------------------------
# While a server runs
# ---------------------------------------------------------------------------


@hookspec
def framework_server_started(server: ServerContext) -> None:
    """Hear that every component runs and every listener accepts.

    Notice. Called once.

    Args:
        server: Complete, with its addresses.
    """


@hookspec
def framework_server_stopping(server: ServerContext, reason: StopReason) -> None:
    """Hear that the server is about to stop.

    Notice. Called once for each server that called `framework_server_started`; components and
    connections are still there, and are stopped next.

    Args:
        server: Still complete.
        reason: Why it stops.
    """


@hookspec
def framework_check_reload(server: ServerContext, diff: ConfigDiff) -> Iterable[TopologyError]:
    """Check whether the running server can follow another configuration; change nothing yet.

    Assembly. Called once for each reload, also when no option has changed, since a file that an
    option names may have. Only options that come into force at once have changed; the errors of
    all plugins are shown together, and one refuses the reload as a whole.

    Args:
        server: Complete, with the configuration that is in force.
        diff: What has changed; `diff.config` is what would be in force.
    """


@hookspec
def framework_reloaded(server: ServerContext, diff: ConfigDiff) -> None:
    """Hear that another configuration is in force, and follow it.

    Notice. Called once for each reload that was not refused, when the limits and logs of the
    core have changed. Afterwards the authenticators are asked again about who is connected.

    Args:
        server: With the configuration that is in force now.
        diff: As `framework_check_reload` had it.
    """


@hookspec
def framework_lame_duck(server: ServerContext, duration_s: float) -> None:
    """Hear that the server accepts no more clients and lets those it has go, then stops.

    Notice. Called at most once, before the clients are told; `framework_server_stopping` follows
    when they have gone.

    Args:
        server: Complete; routes and other connections between servers stay until it stops.
        duration_s: Until the last client is closed.
    """


@hookspec
def framework_accounts_changed(server: ServerContext, names: Sequence[str]) -> None:
    """Hear that accounts came, changed or went.

    Notice. Called once for each change while listeners accept: a reload, or claims that were
    fetched, renewed or revoked.

    Args:
        server: Its book of accounts has the change already; it may have further ones.
        names: Which; each once.
    """


@hookspec
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    """Hear that a client, or another server, finished its handshake.

    Notice. Called once for each client and each route; one that fails before is not told.

    Args:
        server: Where it happened.
        connection: Who it is.
    """


@hookspec
def framework_connection_closed(
    server: ServerContext, connection: ConnectionInfo, reason: ClosedState
) -> None:
    """Hear that a connection is gone.

    Notice. Called once for each connection that was told as opened, also when the server stops.

    Args:
        server: Where it happened.
        connection: Equal to the one that was opened.
        reason: Why it ended.
    """
