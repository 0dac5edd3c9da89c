"""Pieces of work begin together for a moment, and then let everything else go first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from framework.monitor import Turns
from framework.monitor import turns as module

if TYPE_CHECKING:
    import pytest


async def everything_else() -> None:
    """Return when the loop has looked at all that waits."""
    loop = asyncio.get_running_loop()
    seen = loop.create_future()
    loop.call_soon(seen.set_result, None)
    await seen


async def begun(turns: Turns, count: int) -> list[str]:
    """Return what has happened, of pieces that each let something else wait."""
    order: list[str] = []

    async def piece(number: int) -> None:
        await turns.take()
        order.append(f"piece {number}")
        asyncio.get_running_loop().call_soon(order.append, f"other {number}")

    await asyncio.gather(*map(piece, range(count)))
    await everything_else()
    return order


def test_small_pieces_begin_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOGETHER_S", 3600.0)

    assert asyncio.run(begun(Turns(), 3)) == [
        *("piece 0", "piece 1", "piece 2"),
        *("other 0", "other 1", "other 2"),
    ]


def test_whoever_comes_later_lets_all_that_waits_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOGETHER_S", 0.0)

    assert asyncio.run(begun(Turns(), 3)) == [
        *("piece 0", "other 0"),
        *("piece 1", "other 1"),
        *("piece 2", "other 2"),
    ]


def test_who_is_cancelled_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOGETHER_S", 0.0)

    async def go() -> int:
        turns = Turns()
        tasks = [asyncio.create_task(turns.take()) for _ in range(4)]
        await everything_else()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await turns.take()
        return turns.count

    assert asyncio.run(go()) == 4
