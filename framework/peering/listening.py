"""The port of a protocol between servers, as its plugin tells of it in hooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol

from framework.spec import HealthCheck, LinkKind, ListenerSpec, ServerContext, TlsSettings
from framework.topology import ConfigDiff, TopologyError, TopologyErrors


class PeerBlock(Protocol):
    """What the configuration of every such port has."""

    @property
    def host(self) -> str:
        """Return the address that other servers connect to."""
        ...

    @property
    def port(self) -> int:
        """Return the port; 0: any free one."""
        ...

    @property
    def tls(self) -> TlsSettings | None:
        """Return how it is encrypted; None: it is plain."""
        ...


def peer_listener(kind: LinkKind, config: PeerBlock, *, owner: str) -> ListenerSpec:
    """Return the listener.

    Args:
        kind: Of its links.
        config: Where it listens.
        owner: Name of the ComponentSpec of the PeerManager.
    """
    return ListenerSpec(kind=kind, host=config.host, port=config.port, owner=owner, tls=config.tls)


def listener_check(server: ServerContext, kind: LinkKind, name: str) -> HealthCheck:
    """Return the check that reports a server unhealthy whose port accepts nobody.

    Args:
        server: The one with the port.
        kind: Of its links.
        name: Of the check, such as `routes`.
    """
    return HealthCheck(name=name, check=partial(_problem, server, kind))


def _problem(server: ServerContext, kind: LinkKind) -> str | None:
    if server.listening_address(kind) is None:
        return f"not listening for {kind.names.noun} connections"
    return None


def check_dials(server: ServerContext, path: str, settings: Iterable[TlsSettings | None]) -> None:
    """Read the files of TLS that dials have of their own; the core reads a listener's.

    Args:
        server: Dials.
        path: Where they stand in the configuration, such as `gateway.gateways`.
        settings: One each; None: without any of its own.

    Raises:
        TopologyErrors: They can't be used.
    """
    problems = [server.check_tls(it) for it in settings]
    place = server.config.source(path)
    if errors := [TopologyError(place, it) for it in problems if it is not None]:
        raise TopologyErrors(errors)


def tls_errors(
    server: ServerContext, diff: ConfigDiff, block: str, settings: Iterable[TlsSettings | None]
) -> Sequence[TopologyError]:
    """Return what is wrong with certificates that a reload would have a port show, or dials.

    Args:
        server: The one with the port.
        diff: Of the reload.
        block: Where they stand in a configuration, such as `cluster`.
        settings: As they would be; None: there is no TLS.
    """
    problems = [server.check_tls(it) for it in settings]
    place = diff.config.source(f"{block}.tls")
    return [TopologyError(place, f"`{block}`: {it}") for it in problems if it is not None]
