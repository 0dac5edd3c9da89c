"""The handshake of one connection, by the script `scripts/handshake.txt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_leafnode.effect import (
    Authenticate,
    Delay,
    Greet,
    Introduce,
    Register,
    Update,
)
from framework_leafnode.info import LeafInfo
from framework_leafnode.machine import LeafHandshake
from framework_leafnode.peer import Rights
from framework_leafnode.settings import LeafSettings, RemoteSettings
from framework_leafnode.url import parse_hub_url
from framework_leafnode.versions import version_from

from framework.peering import ArmTimer, Close, Noted, Resume, Send
from framework.wire.closed_state import ClosedState
from framework.wire.info import SubjectPermission

if TYPE_CHECKING:
    from framework_leafnode.effect import LeafEffect

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


def shown(effect: LeafEffect) -> str:  # noqa: C901, PLR0911 -- one line a case
    match effect:
        case Noted(level, event, fields):
            return f"{level.name.lower()}: {event.format(**fields)}"
        case Send(data):
            return "send: " + data.decode().replace("\r\n", "\\r\\n")
        case Resume():
            return "resume"
        case Greet(info):
            return f"greet {info.server_name} nonce={info.nonce}"
        case Authenticate(connect):
            return f"authenticate {connect.user or connect.nkey or '-'}"
        case Register(peer, is_isolated, loop_subject):
            role = "hub" if peer.is_hub else "leaf"
            return (
                f"register {role} account={peer.account} headers={peer.headers}"
                f" traces={peer.traces} isolated={is_isolated} loop={loop_subject}"
            )
        case Close(reason, text):
            return f"close: {reason.text}" + (f" -ERR '{text}'" if text else "")
        case ArmTimer(delay_s):
            return f"timer {delay_s:g}s"
        case Introduce(peer):
            role = "hub" if peer.is_hub else "leaf"
            return (
                f"introduce {role} {peer.name} cluster={peer.cluster} account={peer.account}"
                f" remote={peer.remote_account} denied={','.join(peer.denied)}"
                f" isolation={peer.wants_isolation}"
            )
        case Update(info):
            return f"update {' '.join(info.leafnode_urls)}".rstrip()
        case Delay(delay_s):
            return f"delay {delay_s:g}s"
    raise AssertionError(effect)


class Handshakes:
    """Drives one machine by the commands of a script."""

    def __init__(self) -> None:
        self.machine: LeafHandshake | None = None

    def handle(self, command) -> str:
        return "".join(f"{shown(it)}\n" for it in self.perform(command)) or "nothing\n"

    def perform(self, command):  # noqa: PLR0911 -- one line a case
        arguments, document = command.arguments, command.input.strip().encode()
        if command.name in {"accepted", "dialed"}:
            return self.open(command.name, arguments)
        assert self.machine is not None
        match command.name:
            case "connect":
                return self.machine.receive_connect(document)
            case "info":
                return self.machine.receive_info(document)
            case "authenticated":
                account = arguments.get("account")
                rules = arguments.get("publish")
                publish = SubjectPermission(allow=tuple(rules.split(","))) if rules else None
                rights = Rights(account=account, may_publish=publish) if account else None
                return self.machine.receive_authenticated(rights)
            case "admitted":
                isolated = arguments.get("isolated") == "yes"
                return self.machine.receive_admitted(is_isolated=isolated, loop_subject="$LDS.x")
            case "dismissed":
                reason = ClosedState[arguments["reason"]]
                return self.machine.receive_dismissed(reason, command.input.strip())
            case "err":
                return self.machine.receive_err(document)
            case "timeout":
                return self.machine.receive_timeout()
        raise AssertionError(command.name)

    def open(self, how, arguments):
        minimum = arguments.get("min_version", "")
        remote = RemoteSettings(
            urls=(parse_hub_url("127.0.0.1:7422"),),
            account=arguments.get("account", "$G"),
            is_hub=arguments.get("hub") == "yes",
        )
        self.machine = LeafHandshake(
            local=LOCAL,
            settings=LeafSettings(
                min_version=version_from(minimum or "0.0.0"), min_version_text=minimum
            ),
            remote=remote if how == "dialed" else None,
            cid=7,
            timeout_s=2.0,
        )
        return self.machine.receive_opened()


def test_handshakes(run_script):
    run_script("handshake.txt", Handshakes().handle)
