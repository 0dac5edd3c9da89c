"""JSON as services send each other: keys that repeat, values that do not, or not much."""

from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
NAMES: Final = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gita", "Hana", "Ivo", "Jan", "Kim")
PLACES: Final = ("Aarhus", "Bergen", "Cadiz", "Delft", "Essen", "Faro", "Ghent", "Hull", "Izmir")
GOODS: Final = ("lamp", "chair", "table", "shelf", "clock", "plant", "mirror", "carpet", "basket")
WORDS: Final = ("please", "ring", "twice", "leave", "at", "door", "call", "before", "noon", "wrap")


def readings(count: int, size_bytes: int, seed: int = 1) -> Iterator[bytes]:
    """Yield what machines report of themselves, of exactly `size_bytes` bytes; at least 256."""
    chance = random.Random(seed)
    loads = [[chance.uniform(10, 90) for _ in range(32)] for _ in range(40)]
    for number in range(count):
        host, load = number % len(loads), loads[number % len(loads)]
        load[:] = [min(99.9, max(0.1, value + chance.gauss(0, 1))) for value in load]
        reading: dict[str, object] = {
            "host": f"node-{host:02}.eu-west",
            "time": (BEGIN + timedelta(milliseconds=25 * number)).isoformat(
                timespec="milliseconds"
            ),
            "status": "ok",
        }
        for core, value in enumerate(load):
            longer = reading | {f"cpu{core}.busy_percent": round(value, 1)}
            if len(_text(longer)) + len(',"pad":""') > size_bytes:
                break
            reading = longer
        padding = size_bytes - len(_text(reading | {"pad": ""}))
        yield _text(reading | {"pad": "-" * padding})


def orders(count: int, size_bytes: int, seed: int = 1) -> Iterator[bytes]:
    """Yield orders of exactly `size_bytes` bytes each; at least 256."""
    chance = random.Random(seed)
    for number in range(count):
        order, items = _order(chance, number), list(_items(chance))
        while len(bare := _text({**order, "items": items, "note": ""})) > size_bytes:
            items.pop()
        note = " ".join(chance.choices(WORDS, k=size_bytes // 4))[: size_bytes - len(bare)]
        yield _text({**order, "items": items, "note": note})


def _order(chance: random.Random, number: int) -> dict[str, object]:
    name, city = chance.choice(NAMES), chance.choice(PLACES)
    return {
        "id": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "type": chance.choice(("order.created", "order.paid", "order.shipped")),
        "time": (BEGIN + timedelta(milliseconds=number * 7 + chance.randrange(7))).isoformat(),
        "customer": {"id": chance.randrange(1_000_000), "name": name, "city": city},
    }


def _items(chance: random.Random) -> Iterator[dict[str, object]]:
    for _ in range(chance.randint(1, 20)):
        yield {
            "sku": f"{chance.choice(GOODS)}-{chance.randrange(10_000):04}",
            "count": chance.randint(1, 5),
            "price": chance.randrange(100, 100_000) / 100,
        }


def _text(document: dict[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


KINDS: Final = {"orders": orders, "readings": readings}
