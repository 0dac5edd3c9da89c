import socket
from typing import Literal

from framework.dataplane._core import Core
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkKind

class Plane(Core):
    def __new__(
        cls,
        limits: PlaneLimits,
        *,
        poller: Literal["epoll", "poll"] = "epoll",
        seed: int | None = None,
    ) -> Plane: ...
    def start(self) -> None: ...
    def stop(self, deadline_s: float) -> None: ...
    def listen(self, sock: socket.socket, kind: LinkKind) -> None: ...
    def unlisten(self, kind: LinkKind) -> None: ...
    def adopt(self, sock: socket.socket, kind: LinkKind, token: int) -> None: ...
