"""What leaf node connections are registered with: account, permissions, where they lead.

Source: nats-server `leafnode.go`, `addLeafNodeConnection`, `processLeafnodeInfo`,
`leafMsgAllowed`; `client.go`, `setPermissions`; `jetstream_api.go`, `denyAllClientJs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, json

from framework.spec import PeerGuard, PeerTerms, Permissions, Scope, SubjectRules
from framework.wire.info import SubjectPermission
from framework_leafnode.leafs import loop_words

if TYPE_CHECKING:
    from framework_leafnode.effect import Register
    from framework_leafnode.peer import Connection, Peer, Rights
    from framework_leafnode.settings import RemoteSettings

_FREE: Final = ("$JS.ACK.>", "$LDS.>", "_GR_.>", "$GR.>", "_R_.>")
"""Subjects of servers, which no permissions of users are about."""
_JETSTREAM: Final = ("$JS.API.>", "$KV.>", "$OBJ.>")
"""Stay at their side: who wants another one's JetStream names its domain."""
_JETSTREAM_OF_SYSTEM: Final = ("$JSC.>", "$NRG.>", "$FJS.>", *_JETSTREAM)
"""And what servers say of their groups: `$NRG` is nats-server's, `$FJS` that of ours."""
EVERYTHING: Final = SubjectPermission()


class Domains(Struct, frozen=True, kw_only=True):
    """What decides whether requests to JetStream cross."""

    own: str = ""
    """Of this server; empty: it has none, or one without a name."""
    has_jetstream: bool = False
    """This server has."""
    is_extended: bool = False
    """It has no streams and no domain of its own, but is to use the hub's."""
    default: str | None = None
    """Of the account here, as `AccountBook.default_domain` says."""
    is_system: bool = False
    """The account here is the system account."""

    def withheld(self, domain: str) -> tuple[str, ...]:
        """Return what stays at its side, beside a peer of a domain.

        Source: nats-server `leafnode.go`, `addLeafNodeConnection`.
        """
        if not self.is_system:
            return () if self.default == "" else _JETSTREAM
        is_shared = self.own == domain and (
            self.has_jetstream or bool(self.own) or self.is_extended
        )
        return () if is_shared else _JETSTREAM_OF_SYSTEM

    @property
    def kept(self) -> tuple[str, ...]:
        """Return what no peer is sent: requests to the domain here."""
        is_here = self.has_jetstream and bool(self.own) and not self.is_system
        return (f"$JS.{self.own}.API.>",) if is_here else ()


def permissions_of(peer: Peer, remote: RemoteSettings | None, domains: Domains) -> Permissions:
    """Return what may cross: `publish` from there to here, `subscribe` from here to there.

    Args:
        peer: With the rights that the hub has given it.
        remote: Which was dialed; None: the peer dialed us.
        domains: Of JetStream.
    """
    rights = peer.rights
    may_publish = rights.may_publish or EVERYTHING
    may_subscribe = rights.may_subscribe or EVERYTHING
    # At the hub a leaf node publishes; at the leaf node what it may subscribe to comes.
    comes, goes = (may_publish, may_subscribe) if remote is None else (may_subscribe, may_publish)
    withheld = domains.withheld(peer.domain)
    deny_comes = remote.deny_imports if remote else ()
    deny_goes = remote.deny_exports if remote else peer.denied
    responses = rights.responses if remote is None else None
    answers = _FREE if responses is not None and not comes.allow else ()
    return Permissions(
        publish=SubjectRules(
            allow=(*_allow(comes), *answers), deny=(*comes.deny, *deny_comes, *withheld)
        ),
        subscribe=SubjectRules(
            allow=_allow(goes), deny=(*goes.deny, *deny_goes, *withheld, *domains.kept)
        ),
        responses=responses,
    )


def _allow(permission: SubjectPermission) -> tuple[str, ...]:
    return (*permission.allow, *_FREE) if permission.allow else ()


def peer_terms(register: Register, *, account: int, permissions: int, is_strict: bool) -> PeerTerms:
    """Return how a link is registered.

    Args:
        register: What was decided.
        account: Number of the account here.
        permissions: Number of `permissions_of`.
        is_strict: The peer is told, and its link ends, when it says what it may not.
    """
    peer = register.peer
    words = loop_words(peer.account).encode("utf-8", "replace")
    return PeerTerms(
        accounts=[account],
        headers=peer.headers,
        traces=peer.traces,
        permissions=permissions,
        guard=PeerGuard.ENDS if is_strict else PeerGuard.DROPS,
        scope=Scope.HUB if peer.is_hub else Scope.LEAF,
        untold=frozenset({Scope.LEAF, Scope.HUB}) if register.is_isolated else frozenset(),
        origin=b"" if peer.is_hub else peer.cluster.encode("utf-8", "replace"),
        loop=(register.loop_subject.encode(), words),
    )


def request_info(connection: Connection, peer: Peer) -> tuple[bytes, bytes]:
    """Return what services of other accounts are told of who asks there: in brief, and in full.

    A leaf node could say anything else itself.

    Source: nats-server `client.go`, `processServiceImport`, `getClientInfo`.
    """
    brief = {"acc": peer.account}
    full = {
        "host": connection.host,
        "id": connection.cid,
        **brief,
        **({"user": peer.rights.user} if peer.rights.user else {}),
        "name": peer.name,
        "kind": "Leafnode",
    }
    return json.encode(brief), json.encode(full)


def is_strict_with(rights: Rights, remote: RemoteSettings | None) -> bool:
    """Tell whether a peer that says what it may not has been told of that before."""
    has_rules = rights.may_publish is not None or rights.may_subscribe is not None
    return remote is None and has_rules
