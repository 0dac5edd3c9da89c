import socket
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from typing_extensions import disjoint_base

from framework.dataplane._core import Core
from framework.dataplane.coding import PlaneStage
from framework.dataplane.kinds import KIND_TRAITS as KIND_TRAITS
from framework.dataplane.kinds import KindTraits
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkId, LinkKind
from framework.dataplane.reserved import RESERVED_PREFIXES as RESERVED_PREFIXES
from framework.dataplane.reserved import ReservedPrefix

@disjoint_base
class Plane(Core):
    def __new__(
        cls,
        limits: PlaneLimits,
        *,
        poller: Literal["epoll", "poll"] = "epoll",
        seed: int | None = None,
        kinds: Mapping[LinkKind, KindTraits] = ...,
        reserved: Sequence[ReservedPrefix] = ...,
    ) -> Self: ...
    def start(self) -> None: ...
    def stop(self, deadline_s: float, *, keep_sockets: bool = False) -> list[int]: ...
    def listen(
        self,
        sock: socket.socket,
        kind: LinkKind,
        *,
        listener: int | None = None,
        tls: Literal["", "after_info", "first"] = "",
    ) -> None: ...
    def set_tls(self, listener: int, tls: Literal["", "after_info", "first"]) -> None: ...
    def unlisten(self, listener: int) -> None: ...
    def adopt(
        self,
        sock: socket.socket,
        kind: LinkKind,
        token: int,
        *,
        peer: tuple[str, int] | None = None,
        accepted: bool = False,
        stages: Sequence[PlaneStage] = (),
        left: bytes = b"",
    ) -> None: ...
    def attach(
        self,
        link: LinkId,
        sock: socket.socket,
        *,
        detach: bool = False,
        parked: bool = False,
        stages: Sequence[PlaneStage] = (),
        left: bytes = b"",
    ) -> None: ...
    def detach(self, link: LinkId) -> None: ...
