"""What is on the disk of a server and not assigned to it: it is set aside, and never deleted.

nats-server deletes such streams when a fresh meta leader does not know them; with a damaged
snapshot that is all of them (Jepsen's report of NATS 2.12.1, issue 7556).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework_jetstream.meta.assignments import Asset  # noqa: TC001 - a field of records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework_jetstream.meta.machine import MetaMachine


class FoundGroup(Struct, frozen=True):
    """A group that the log of this server has."""

    asset: Asset
    group_name: str


class SetAside(Struct, frozen=True):
    """What goes to `lost+found`, and stays there."""

    asset: Asset
    group_name: str
    reason: str


def not_assigned(
    machine: MetaMachine, found: Iterable[FoundGroup], confirmed_index: int
) -> list[SetAside]:
    """Return what has no place on this server.

    Args:
        machine: What is assigned.
        found: All groups of assets that the log has.
        confirmed_index: Up to which a majority of the meta group has confirmed that entries are
            committed, since this server was started; 0: nobody has. While the machine is not
            there, or waits for a newer version, nothing is set aside.
    """
    if not 0 < confirmed_index <= machine.state.index:
        return []
    lost = []
    for it in found:
        reason = _reason(machine, it)
        if reason:
            lost.append(SetAside(it.asset, it.group_name, reason))
    return lost


def _reason(machine: MetaMachine, group: FoundGroup) -> str:
    """Return why a group has no place here; empty: it has one, or may have one."""
    if machine.is_offline(group.asset):
        return ""
    index = machine.state.index
    found = machine.state.find(group.asset)
    if found is None:
        return f"nothing of this name is assigned at index {index} of the meta group"
    if found.group.name != group.group_name:
        return f"its name belongs to group {found.group.name} at index {index} of the meta group"
    if machine.peer not in found.group.hosts:
        return f"other servers have it at index {index} of the meta group"
    return ""
