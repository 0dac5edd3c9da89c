"""Order of authenticators: those of the option `authenticators`, then the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from framework.errors import PluginError
from framework.topology import TopologyError, TopologyErrors

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from framework.spec import Authenticator
    from framework.topology import ServerConfig


def in_order(
    authenticators: Sequence[Authenticator], config: ServerConfig
) -> tuple[Authenticator, ...]:
    """Sort authenticators as the option says; those not named come last."""
    names = _names(config)
    last = len(names)
    places = {name: place for place, name in enumerate(names)}
    return tuple(sorted(authenticators, key=lambda it: places.get(it.name, last)))


def check_order(authenticators: Sequence[Authenticator], config: ServerConfig) -> None:
    """Refuse a configuration that names an unknown authenticator.

    Raises:
        TopologyErrors: With the place of the option.
    """
    known = [it.name for it in authenticators]
    missing = [name for name in _names(config) if name not in known]
    if missing:
        there = f"there are {', '.join(known)}" if known else "nobody has to log in"
        problem = f"`authenticators`: there is no {', no '.join(missing)}"
        place = config.source("authenticators")
        raise TopologyErrors([TopologyError(place, problem, there)])


def check_transports(authenticators: Sequence[Authenticator], named: Collection[str]) -> None:
    """Refuse a login of a transport that nobody would ask for.

    Args:
        authenticators: All.
        named: The transports that have a login.

    Raises:
        PluginError: Nobody decides on clients of one.
    """
    for transport in named:
        if not any(it.transport in {"", transport} for it in authenticators):
            raise PluginError(
                transport,
                "its clients are to log in, and no plugin decides on logins",
                fix="load the plugin `auth`",
            )


def _names(config: ServerConfig) -> Sequence[str]:
    return cast("Sequence[str]", config.values["authenticators"])
