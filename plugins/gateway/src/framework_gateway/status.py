"""Status of gateways for `framework run`: clusters that are connected, and those that are missing.

One document of a bounded size; `/gatewayz` has every connection in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_gateway.limits import SHOWN_CHARACTERS_MAX, SHOWN_CLUSTERS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.spec import LinkId, LinkRow
    from framework_gateway.mesh import Mesh

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


def describe_status(
    mesh: Mesh, rows: Mapping[LinkId, LinkRow], rates: Mapping[LinkId, Rates]
) -> dict[str, object]:
    """Return the document.

    Args:
        mesh: Whose status it is.
        rows: Links that are up.
        rates: Of those links.
    """
    remotes = sorted(mesh.remotes)
    connected = [name for name in remotes if (it := mesh.outbound(name)) and it.link in rows]
    sought = [name for name in remotes if name not in set(connected)]
    return {
        "gateways": len(connected),
        "clusters": [
            _cluster_document(mesh, name, rows, rates) for name in connected[:SHOWN_CLUSTERS_MAX]
        ],
        "clusters_left_out": max(0, len(connected) - SHOWN_CLUSTERS_MAX),
        "sought": [name[:SHOWN_CHARACTERS_MAX] for name in sought[:SHOWN_CLUSTERS_MAX]],
        "sought_left_out": max(0, len(sought) - SHOWN_CLUSTERS_MAX),
    }


def _cluster_document(
    mesh: Mesh, name: str, rows: Mapping[LinkId, LinkRow], rates: Mapping[LinkId, Rates]
) -> dict[str, object]:
    outbound = mesh.outbound(name)
    assert outbound is not None
    inbound = [it.link for it in mesh.inbound() if it.gateway == name]
    total = sum((rates.get(link, Rates()) for link in (outbound.link, *inbound)), Rates())
    return {
        "name": name[:SHOWN_CHARACTERS_MAX],
        "mode": outbound.mode,
        "inbound": len(inbound),
        "rtt_ns": rows[outbound.link].rtt_ns,
        "in_msgs_per_s": total.in_msgs,
        "in_bytes_per_s": total.in_bytes,
        "out_msgs_per_s": total.out_msgs,
        "out_bytes_per_s": total.out_bytes,
    }
