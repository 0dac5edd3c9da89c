"""Scripts for machines of protocols between servers: see `framework.testing.datadriven`.

A plugin's test has a subclass of `HandshakeScript` for one connection, and shows the effects of its
protocol; those that all have in common are shown here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from framework.peering import (
    AcceptClaim,
    ArmTimer,
    CheckPassword,
    Close,
    Dismiss,
    Noted,
    NotedOf,
    Resume,
    Send,
    Wait,
)
from framework.spec import ClosedState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.peering import Handshake
    from framework.testing.datadriven import Command


def show_effects(effects: Sequence[Any], show_own: Callable[[Any], str]) -> str:
    """Return a line for each effect.

    Args:
        effects: What a machine has returned.
        show_own: Shows an effect of the protocol.
    """
    lines = (f"{_show(effect) or show_own(effect)}\n" for effect in effects)
    return "".join(lines) or "nothing\n"


def _show(effect: object) -> str:  # noqa: C901, PLR0911 - one line a case
    match effect:
        case Noted(level, event, fields):
            return f"{level.name.lower()}: {event.format(**fields)}"
        case NotedOf(link, level, event, fields):
            return f"{link}: {level.name.lower()}: {event.format(**fields)}"
        case Send(data):
            return "send: " + data.decode().replace("\r\n", "\\r\\n")
        case Resume():
            return "resume"
        case CheckPassword():
            return "check password"
        case Close(reason, text):
            return f"close: {reason.text}" + (f" -ERR '{text}'" if text else "")
        case ArmTimer(delay_s):
            return f"timer {delay_s:g}s"
        case Wait(token, delay_s, jitter_s):
            return f"wait {token} {delay_s:g}s" + (f" +{jitter_s:g}s" if jitter_s else "")
        case AcceptClaim(link):
            return f"{link}: accept claim"
        case Dismiss(link, reason, text):
            return f"{link}: dismiss: {reason.text}" + (f" -ERR '{text}'" if text else "")
    return ""


class HandshakeScript(ABC):
    """Drives the machine of one connection by the commands of a script."""

    def __init__(self) -> None:
        self.machine: Any = None

    def handle(self, command: Command) -> str:
        """Return the effects of a command, a line each."""
        return show_effects(self._perform(command), self.show)

    @abstractmethod
    def show(self, effect: Any) -> str:
        """Return the line of an effect of the protocol."""

    @abstractmethod
    def open(self, how: str, command: Command) -> Handshake[Any] | None:
        """Return a new machine; None: the command `how` opens none."""

    @abstractmethod
    def perform_own(self, command: Command) -> Sequence[Any]:
        """Perform a command of the protocol; return effects."""

    def _perform(self, command: Command) -> Sequence[Any]:
        machine = self.open(command.name, command)
        if machine is not None:
            self.machine = machine
            opened: Sequence[Any] = machine.receive_opened()
            return opened
        return self._tell(self.machine, command)

    def _tell(self, machine: Handshake[Any], command: Command) -> Sequence[Any]:  # noqa: PLR0911
        arguments, document = command.arguments, command.input.strip().encode()
        match command.name:
            case "connect":
                return machine.receive_connect(document)
            case "info":
                return machine.receive_info(document)
            case "claim-accepted":
                return machine.receive_claim_accepted()
            case "checked":
                return machine.receive_password_checked(is_right=arguments["right"] == "yes")
            case "pong":
                return machine.receive_pong(int(arguments["rtt_ms"]) * 1_000_000)
            case "dismissed":
                reason = ClosedState[arguments["reason"]]
                return machine.receive_dismissed(reason, command.input.strip())
            case "err":
                return machine.receive_err(document)
            case "timeout":
                return machine.receive_timeout()
        return self.perform_own(command)
