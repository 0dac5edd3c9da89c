"""Ports: subscribers and publishers of this process on threads of their own."""

from framework.dataplane.ports._porthandle import Outgoing, Port

__all__ = ["Outgoing", "Port"]
