"""`$SYS.REQ.USER.INFO`: a client's own user, account and permissions.

Source: nats-server `events.go`, `userInfoReq`; `client.go`, `publicPermissions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.server.system.outbox import json_bytes
from framework.spec import ServiceSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import (
        AccountBook,
        ClientIdentity,
        LinkId,
        Permissions,
        ServiceAnswer,
        ServiceRequest,
        SubjectRules,
    )

_NS_PER_S: Final = 1_000_000_000


class UserInfo:
    """Answer clients of this server; requests that came by a route are for other servers.

    Args:
        stamp: Names this server.
        identity_of: Tells who a client of this server is.
        accounts: Have names for people.
    """

    def __init__(
        self,
        stamp: ServerStamp,
        identity_of: Callable[[LinkId], ClientIdentity | None],
        accounts: AccountBook,
    ) -> None:
        self._stamp = stamp
        self._identity_of = identity_of
        self._accounts = accounts

    def services(self) -> Sequence[ServiceSpec]:
        """Return the service."""
        subject = "$SYS.REQ.USER.*.INFO"
        return [ServiceSpec(name=subject, subject=subject, answer=self._answer)]

    async def _answer(self, request: ServiceRequest) -> ServiceAnswer:
        identity = self._identity_of(request.link)
        if identity is None or not request.reply:
            return None
        return json_bytes({"server": self._stamp.make(), "data": self._describe(identity)})

    def _describe(self, identity: ClientIdentity) -> dict[str, object]:
        spec = self._accounts.get(identity.account)
        permissions = permissions_document(identity.permissions)
        left_ns = round(identity.expires_s * _NS_PER_S) - self._stamp.wall_ns()
        optional = {
            "account_name": (spec.name_tag or spec.name) if spec else "",
            "user_name": identity.name_tag,
            "permissions": permissions,
            "expires": max(left_ns, 0) if identity.expires_s else 0,
        }
        document: dict[str, object] = {"user": identity.user, "account": identity.account}
        return document | {name: value for name, value in optional.items() if value}


def permissions_document(permissions: Permissions | None) -> dict[str, object] | None:
    """Return permissions as nats-server shows them; None: everything is allowed."""
    if permissions is None:
        return None
    document: dict[str, object] = {
        "publish": _rules(permissions.publish),
        "subscribe": _rules(permissions.subscribe),
    }
    if permissions.responses:
        expires_s = permissions.responses.expires_s
        document["responses"] = {
            "max": permissions.responses.max_msgs,
            "ttl": round(expires_s * _NS_PER_S) if expires_s > 0 else -1,
        }
    return document


def _rules(rules: SubjectRules) -> dict[str, list[str]]:
    lists = {"allow": list(rules.allow), "deny": list(rules.deny)}
    return {name: subjects for name, subjects in lists.items() if subjects}
