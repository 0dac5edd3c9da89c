"""What goes through links each second, by what they have counted at two moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from framework.spec import LinkId, LinkRow

_NS_PER_S: Final = 1_000_000_000


class _Sample(Struct, frozen=True):
    """Messages and bytes of a link up to a moment."""

    at_ns: int
    counts: tuple[int, int, int, int]


class LinkRates:
    """Rates of links between two looks at them.

    It remembers one sample a link, and none of links that have gone.
    """

    def __init__(self) -> None:
        self._samples: dict[LinkId, _Sample] = {}

    def measure(self, rows: Sequence[LinkRow], now_ns: int) -> Mapping[LinkId, Rates]:
        """Return the rates since the last look; 0 of a link that was not there then.

        Args:
            rows: All links.
            now_ns: Of a clock that goes steadily.
        """
        samples, rates = {}, {}
        for row in rows:
            sample = _Sample(now_ns, (row.in_msgs, row.in_bytes, row.out_msgs, row.out_bytes))
            rates[row.link] = _rates(self._samples.get(row.link, sample), sample)
            samples[row.link] = sample
        self._samples = samples
        return rates


class Rates(Struct, frozen=True):
    """What goes through links, each second."""

    in_msgs: int = 0
    in_bytes: int = 0
    out_msgs: int = 0
    out_bytes: int = 0

    def __add__(self, other: Rates) -> Rates:
        return Rates(
            self.in_msgs + other.in_msgs,
            self.in_bytes + other.in_bytes,
            self.out_msgs + other.out_msgs,
            self.out_bytes + other.out_bytes,
        )


def _rates(before: _Sample, after: _Sample) -> Rates:
    passed_ns = after.at_ns - before.at_ns
    if passed_ns <= 0:
        return Rates()
    differences = (new - old for old, new in zip(before.counts, after.counts, strict=True))
    return Rates(*(round(it * _NS_PER_S / passed_ns) for it in differences))
