"""Figures beside what is asked of them."""

from __future__ import annotations


def asked(name: str, value: float, limit: float, unit: str = "", *, at_most: bool = False) -> str:
    """Return a line that says a figure, and whether it is what was asked for.

    Args:
        name: Of the figure.
        value: As measured.
        limit: The least that is asked for.
        unit: Of both.
        at_most: The limit is the most.
    """
    is_met = value <= limit if at_most else value >= limit
    sign = "<=" if at_most else ">="
    shown = f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"  # noqa: PLR2004 - as people read
    return f"{'met   ' if is_met else 'MISSED'} {name}: {shown}{unit} ({sign} {limit:,g}{unit})"
