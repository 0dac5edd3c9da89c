"""The handshake of one connection, by the script `scripts/handshake.txt`."""

from __future__ import annotations

from framework_gateway.effect import AccountTold, Claim, Register
from framework_gateway.info import GatewayInfo
from framework_gateway.machine import LinkMachine
from framework_gateway.url import parse_gateway_url

from framework.peering import Introduce, Login, Update
from framework.testing.peering import HandshakeScript

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


class Handshakes(HandshakeScript):
    """Drives one machine by the commands of a script."""

    def show(self, effect) -> str:
        match effect:
            case Register(is_outbound, headers, traces, is_optimistic):
                way = "outbound" if is_outbound else "inbound"
                mode = " optimistic" if is_optimistic else ""
                return f"register {way} headers={headers} traces={traces}{mode}"
            case AccountTold(account, ends):
                return f"interest in {account} {'was' if ends else 'is'} told"
            case Claim(gateway):
                return f"claim {gateway}"
            case Introduce(info):
                return f"introduce {info.server_id} name={info.server_name} gateway={info.gateway}"
            case Update(info):
                return f"update {info.gateway} command={info.gateway_cmd}"
        raise AssertionError(effect)

    def open(self, how, command):
        if how not in {"accepted", "dialed"}:
            return None
        arguments = command.arguments
        is_dialed = how == "dialed"
        return LinkMachine(
            local=LOCAL,
            login=Login(arguments.get("user", ""), arguments.get("password", "")),
            gateway=arguments["gateway"] if is_dialed else "",
            url=parse_gateway_url(arguments["url"]) if is_dialed else None,
        )

    def perform_own(self, command):
        assert command.name == "admitted"
        return self.machine.receive_admitted(LOCAL)


def test_handshakes(run_script):
    run_script("handshake.txt", Handshakes().handle)
