"""The handshake of one connection, by the script `scripts/handshake.txt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_gateway.effect import Claim, Introduce, Register, Update
from framework_gateway.info import GatewayInfo
from framework_gateway.machine import LinkMachine
from framework_gateway.url import parse_gateway_url

from framework.peering import (
    ArmTimer,
    CheckPassword,
    Close,
    Login,
    Noted,
    Resume,
    Send,
)
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from framework_gateway.effect import LinkEffect

LOCAL = GatewayInfo(
    server_id="NA",
    server_name="a",
    host="127.0.0.1",
    port=7222,
    headers=True,
    gateway="east",
    gateway_urls=("127.0.0.1:7222",),
    gateway_url="127.0.0.1:7222",
    gateway_nrp=True,
    gateway_iom=True,
)


def shown(effect: LinkEffect) -> str:  # noqa: C901, PLR0911 -- one line a case
    match effect:
        case Noted(level, event, fields):
            return f"{level.name.lower()}: {event.format(**fields)}"
        case Send(data):
            return "send: " + data.decode().replace("\r\n", "\\r\\n")
        case Resume():
            return "resume"
        case CheckPassword():
            return "check password"
        case Register(is_outbound, headers, traces):
            way = "outbound" if is_outbound else "inbound"
            return f"register {way} headers={headers} traces={traces}"
        case Close(reason, text):
            return f"close: {reason.text}" + (f" -ERR '{text}'" if text else "")
        case ArmTimer(delay_s):
            return f"timer {delay_s:g}s"
        case Claim(gateway):
            return f"claim {gateway}"
        case Introduce(info):
            return f"introduce {info.server_id} name={info.server_name} gateway={info.gateway}"
        case Update(info):
            return f"update {info.gateway} command={info.gateway_cmd}"
    raise AssertionError(effect)


class Handshakes:
    """Drives one machine by the commands of a script."""

    def __init__(self) -> None:
        self.machine: LinkMachine | None = None

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
            case "claim-accepted":
                return self.machine.receive_claim_accepted()
            case "admitted":
                return self.machine.receive_admitted(LOCAL)
            case "checked":
                is_right = arguments["right"] == "yes"
                return self.machine.receive_password_checked(is_right=is_right)
            case "dismissed":
                reason = ClosedState[arguments["reason"]]
                return self.machine.receive_dismissed(reason, command.input.strip())
            case "err":
                return self.machine.receive_err(document)
            case "timeout":
                return self.machine.receive_timeout()
        raise AssertionError(command.name)

    def open(self, how, arguments):
        login = Login(arguments.get("user", ""), arguments.get("password", ""))
        is_dialed = how == "dialed"
        self.machine = LinkMachine(
            local=LOCAL,
            login=login,
            gateway=arguments["gateway"] if is_dialed else "",
            url=parse_gateway_url(arguments["url"]) if is_dialed else None,
        )
        return self.machine.receive_opened()


def test_handshakes(run_script):
    run_script("handshake.txt", Handshakes().handle)
