"""The handshake of one connection, by the script `scripts/handshake.txt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_leafnode.effect import (
    Authenticate,
    Delay,
    Greet,
    Register,
    Secure,
)
from framework_leafnode.info import LeafInfo
from framework_leafnode.machine import LeafHandshake
from framework_leafnode.peer import Peer, Rights
from framework_leafnode.settings import LeafSettings, RemoteSettings
from framework_leafnode.url import parse_hub_url
from framework_leafnode.versions import version_from
from typing_extensions import override

from framework.peering import (
    Compressed,
    Compression,
    CompressionTerms,
    EncodeLink,
    Introduce,
    Update,
)
from framework.spec import CompressionMode
from framework.testing.peering import HandshakeScript
from framework.wire.info import SubjectPermission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_leafnode.effect import LeafEffect

    from framework.testing.datadriven import Command

MODES = {name: CompressionMode(name, offer=name) for name in ("off", "s2_auto", "s2_fast")}
LOCAL = LeafInfo(
    server_id="NA",
    server_name="a",
    host="127.0.0.1",
    port=7422,
    headers=True,
    cluster="east",
    auth_required=True,
    info_on_connect=True,
)


class Handshakes(HandshakeScript):
    """Drives one machine by the commands of a script."""

    @override
    def show(self, effect: LeafEffect) -> str:  # noqa: PLR0911 - one line a case
        match effect:
            case Greet(info, compression):
                return f"greet {info.server_name} nonce={info.nonce} compression={compression}"
            case Secure():
                return "secure"
            case EncodeLink(choice):
                coding = choice.coding
                return f"encode {choice.codec_name if coding is None else coding.name}"
            case Compressed(shown):
                return f"compressed: {shown}"
            case Authenticate(connect):
                return f"authenticate {connect.user or connect.nkey or '-'}"
            case Register(peer, is_isolated, loop_subject):
                return (
                    f"register {role_of(peer)} account={peer.account} headers={peer.headers}"
                    f" traces={peer.traces} isolated={is_isolated} loop={loop_subject}"
                )
            case Introduce(peer):
                return (
                    f"introduce {role_of(peer)} {peer.name} cluster={peer.cluster}"
                    f" account={peer.account} remote={peer.remote_account}"
                    f" denied={','.join(peer.denied)} isolation={peer.wants_isolation}"
                )
            case Update(info):
                return f"update {' '.join(info.leafnode_urls)}".rstrip()
            case Delay(delay_s):
                return f"delay {delay_s:g}s"
        raise AssertionError(effect)

    @override
    def perform_own(self, command: Command) -> Sequence[LeafEffect]:
        arguments = command.arguments
        match command.name:
            case "authenticated":
                account, rules = arguments.get("account"), arguments.get("publish")
                publish = SubjectPermission(allow=tuple(rules.split(","))) if rules else None
                rights = Rights(account=account, may_publish=publish) if account else None
                return self.machine.receive_authenticated(rights)
            case "secured":
                return self.machine.receive_secured()
            case "admitted":
                isolated = arguments.get("isolated") == "yes"
                return self.machine.receive_admitted(is_isolated=isolated, loop_subject="$LDS.x")
        raise AssertionError(command.name)

    @override
    def open(self, how: str, command: Command) -> LeafHandshake | None:
        if how not in {"accepted", "dialed"}:
            return None
        arguments = command.arguments
        minimum = arguments.get("min_version", "")
        remote = RemoteSettings(
            urls=(parse_hub_url("127.0.0.1:7422"),),
            account=arguments.get("account", "$G"),
            is_hub=arguments.get("hub") == "yes",
        )
        return LeafHandshake(
            local=LOCAL,
            settings=LeafSettings(
                min_version=version_from(minimum or "0.0.0"), min_version_text=minimum
            ),
            remote=remote if how == "dialed" else None,
            compression=Compression(CompressionTerms(arguments.get("mode", "off")), MODES),
            needs_tls=arguments.get("tls") == "yes",
            nonce="abc",
            cid=7,
            timeout_s=2.0,
        )


def role_of(peer: Peer) -> str:
    return "hub" if peer.is_hub else "leaf"


def test_handshakes(run_script):
    run_script("handshake.txt", Handshakes().handle)
