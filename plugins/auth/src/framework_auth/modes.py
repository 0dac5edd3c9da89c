"""Operator mode and auth callout of each server, made when a hook first asks.

Their modules are loaded by who uses them: a server without them starts a tenth sooner.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from framework.errors import PluginError
from framework.spec import Authenticator, ComponentSpec
from framework_auth.callout_options import callout_settings
from framework_auth.operator_options import names_operators
from framework_auth.server_key import keys_of
from framework_auth.users import timeout_s_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from framework.actors import Reply
    from framework.spec import AccountSpec, LoginAnswer, LoginRequest, ServerContext
    from framework_auth.operator.mode import OperatorMode
    from framework_auth.operator.user_logins import NeedsCallout

_modes: WeakKeyDictionary[ServerContext, OperatorMode] = WeakKeyDictionary()


def operator_mode(server: ServerContext) -> OperatorMode | None:
    """Return the operator mode of a server; None when it trusts no operator."""
    mode = _modes.get(server)
    if mode is None:
        if not names_operators(server.config.values):
            return None
        from framework_auth.operator.mode import OperatorMode  # noqa: PLC0415 - see above
        from framework_auth.operator_settings import operator_settings  # noqa: PLC0415 - see above

        mode = _modes[server] = OperatorMode(
            operator_settings(server.config.values),
            server,
            timeout_s=_timeout_s(server),
            ask_service=partial(_ask_service, server),
        )
    return mode


def callout_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Return the actor that asks services, if one may be there to be asked.

    Raises:
        PluginError: Another plugin has named the server, so that nothing can be signed.
    """
    mode = operator_mode(server)
    settings = callout_settings(server.config.section("authorization"))
    if mode is None and settings is None:
        return
    if keys_of(server.server_id) is None:
        raise PluginError(
            "auth",
            "another plugin has chosen the server's key, so that nothing can be signed by it",
            fix="leave out that plugin, or the auth callout",
        )
    from framework_auth.callout.auth_callout import (  # noqa: PLC0415 - see above
        AUTH_CALLOUT,
        AuthCallout,
    )

    resolve = mode.resolve if mode else None
    yield ComponentSpec(
        name=AUTH_CALLOUT, factory=lambda _: (AuthCallout, _callout(server, resolve))
    )


def with_callout(server: ServerContext, inner: Authenticator | None) -> Authenticator | None:
    """Return an authenticator that leaves to a service what is the service's to decide.

    Args:
        server: The server.
        inner: Decides on configured users; None: there are none.
    """
    settings = callout_settings(server.config.section("authorization"))
    if settings is None:
        return inner
    from framework_auth.callout.gate import CalloutGate  # noqa: PLC0415 - see above

    gate = CalloutGate(settings, server, inner)
    shell = inner or Authenticator(
        name="authorization", authenticate=gate.authenticate, timeout_s=_timeout_s(server)
    )
    return replace(shell, authenticate=gate.authenticate, recheck=gate.recheck, wants_nonce=True)


def asks_service(server: ServerContext) -> bool:
    """Tell whether a service decides on the logins of this server."""
    return callout_settings(server.config.section("authorization")) is not None


def _ask_service(
    server: ServerContext, request: LoginRequest, needed: NeedsCallout, reply: Reply[LoginAnswer]
) -> None:
    from framework_auth.callout.auth_callout import (  # noqa: PLC0415 - see above
        AUTH_CALLOUT,
        AuthCallout,
    )
    from framework_auth.callout.judges import OperatorJudge  # noqa: PLC0415 - see above

    mode = operator_mode(server)
    assert mode is not None
    judge = OperatorJudge(needed.account, mode.known)
    server.component(AUTH_CALLOUT).tell(AuthCallout.Ask(request, judge, needed.token, reply))


def _callout(
    server: ServerContext, resolve: Callable[[str], Reply[AccountSpec | None]] | None
) -> Mapping[str, object]:
    from framework_auth.operator.mode import wall_s  # noqa: PLC0415 - see above

    return {
        "server": server,
        "keys": keys_of(server.server_id),
        "timeout_s": _timeout_s(server),
        "resolve": resolve,
        "wall_s": wall_s,
    }


def _timeout_s(server: ServerContext) -> float:
    return timeout_s_from(server.config.values)
