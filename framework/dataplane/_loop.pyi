import socket
from typing import Literal, Self

from typing_extensions import disjoint_base

from framework.dataplane._core import Core
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkKind

@disjoint_base
class Plane(Core):
    def __new__(
        cls,
        limits: PlaneLimits,
        *,
        poller: Literal["epoll", "poll"] = "epoll",
        seed: int | None = None,
    ) -> Self: ...
    def start(self) -> None: ...
    def stop(self, deadline_s: float) -> None: ...
    def listen(self, sock: socket.socket, kind: LinkKind) -> None: ...
    def unlisten(self, kind: LinkKind) -> None: ...
    def adopt(self, sock: socket.socket, kind: LinkKind, token: int) -> None: ...
