"""What the summary of a shop looks like: talkers, rates, latencies, lag, as one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = list[dict[str, Any]]
SHOWN = 6
"""Talkers, subjects and consumers of a plot."""


def save(found: dict[str, Rows], file: Path) -> None:
    """Draw a summary into a file; no window is opened."""
    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - behind the choice of what draws

    figure = draw(found)
    figure.savefig(file)
    plt.close(figure)


def draw(found: dict[str, Rows]) -> Figure:
    """Return a picture of a summary, as `pipeline.summary` returns it."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(2, 2, figsize=(13, 8))
    draw_talkers(axes[0][0], found["talkers"])
    draw_rates(axes[0][1], found["rates"], found["rushes"])
    draw_latencies(axes[1][0], found["latency_curve"])
    draw_lag(axes[1][1], found["lag"])
    figure.tight_layout()
    return figure


def draw_talkers(axes: Axes, talkers: Rows) -> None:
    """Draw who has published most."""
    shown = talkers[:SHOWN][::-1]
    names = [f"{it['client'] or 'unnamed'} ({it['server']}, {it['cid']})" for it in shown]
    axes.barh(names, [it["messages"] for it in shown])
    axes.set_title("top talkers, messages")


def draw_rates(axes: Axes, rates: Rows, rushes: Rows) -> None:
    """Draw messages a second of the subjects that have most; a mark where there is a rush."""
    top = [it["subject"] for it in totals(rates)[:SHOWN]]
    for subject in top:
        rows = [it for it in rates if it["subject"] == subject]
        axes.plot([it["second"] for it in rows], [it["messages"] for it in rows], label=subject)
    marks = [(it["second"], it["now"]) for it in rushes]
    if marks:
        axes.scatter(*zip(*marks, strict=True), marker="x", color="red", label="alert")
    axes.set_title("messages a second")
    axes.tick_params(axis="x", rotation=30)
    if top:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_latencies(axes: Axes, curves: Rows) -> None:
    """Draw which share of requests was answered within which time."""
    curve = (curves or [{"curve": None}])[0]["curve"] or []
    axes.plot(curve, range(1, len(curve) + 1))
    axes.set_title("answers within ms, of 100")
    if curve:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        say_nothing(axes, "no request was answered yet")


def draw_lag(axes: Axes, lags: Rows) -> None:
    """Draw which consumers are furthest behind."""
    shown = lags[:SHOWN][::-1]
    axes.barh([f"{it['stream']} > {it['consumer']}" for it in shown], [it["lag"] for it in shown])
    axes.set_title("lag of consumers, messages")
    if not shown:
        say_nothing(axes, "no stream has a consumer")


def say_nothing(axes: Axes, why: str) -> None:
    """Write why there is nothing, in place of axes of nothing."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)


def totals(rates: Rows) -> Rows:
    """Return subjects and all their messages, the most first."""
    sums: dict[str, int] = {}
    for row in rates:
        sums[row["subject"]] = sums.get(row["subject"], 0) + row["messages"]
    return [{"subject": it, "messages": sums[it]} for it in sorted(sums, key=lambda it: -sums[it])]
