"""Who must log in: authenticators, and all that follows from there being some."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.dataplane.limits import PlaneLimits
    from framework.server.client_info import ClientInfoDocument
    from framework.server.clients import Clients
    from framework.server.plane_port import ServerPlane
    from framework.spec import Authenticator


class LoginGate:
    """Keep plane, INFO and table of clients of one mind on who must log in.

    Args:
        plane: Parks clients that must.
        clients: Asks the authenticators.
        client_info: Tells clients.
    """

    def __init__(
        self, *, plane: ServerPlane, clients: Clients, client_info: ClientInfoDocument
    ) -> None:
        self._plane = plane
        self._clients = clients
        self._client_info = client_info
        self._authenticators: Sequence[Authenticator] = ()

    def set(
        self, authenticators: Sequence[Authenticator], limits: PlaneLimits, *, waiting_max: int
    ) -> None:
        """Let authenticators decide from now on.

        Args:
            authenticators: In the order in which they are asked; none: everybody may begin.
            limits: As they are configured.
            waiting_max: Clients that may be there without having logged in.
        """
        self._authenticators = authenticators
        fresh = self.limits(limits)
        self._plane.set_limits(fresh)
        self._plane.set_nonces(LinkKind.CLIENT, any(it.wants_nonce for it in authenticators))
        self._clients.set_logins(authenticators, waiting_max=waiting_max)
        needs_none = any(it.lets_anybody_in and not it.asks_anyway for it in authenticators)
        self._client_info.set_auth_required(fresh.auth_required and not needs_none)

    def limits(self, limits: PlaneLimits) -> PlaneLimits:
        """Return configured limits with what authenticators make of them."""
        if not self._authenticators:
            return limits
        return replace(
            limits,
            auth_required=True,
            lets_anybody_in=any(it.lets_anybody_in for it in self._authenticators),
            auth_timeout_s=max(it.timeout_s for it in self._authenticators),
        )
