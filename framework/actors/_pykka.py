"""Every private name of pykka that this room uses, in one place; `pykka` is pinned to its minor."""

from __future__ import annotations

from pykka._envelope import Envelope  # noqa: PLC2701
from pykka.messages import _ActorStop as ActorStop  # noqa: PLC2701

__all__ = ["ActorStop", "Envelope"]
