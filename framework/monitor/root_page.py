"""`/`: an HTML page that links to all endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.monitor.answers import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.spec import DownloadSpec, MonitorEndpoint


def root_page(
    endpoints: Sequence[MonitorEndpoint],
    downloads: Sequence[DownloadSpec],
    base_path: str,
    title: str,
) -> Page:
    """Return the page.

    Args:
        endpoints: What it links to, in this order.
        downloads: Folders that it names behind them.
        base_path: What all paths begin with; empty, or `/` and more.
        title: Product and version.
    """
    from html import escape  # noqa: PLC0415 - a table of 2,000 names, for a page that few ask for

    items = "\n".join(
        f'<li><a href="{escape(base_path + it.path)}">{escape(it.path)}</a> {escape(it.help)}</li>'
        for it in endpoints
        if it.path and it.help
    )
    items += "".join(
        f"\n<li>{escape(base_path + it.folder)} {escape(it.help)}</li>"
        for it in downloads
        if it.help
    )
    return Page(
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title></head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n<ul>\n{items}\n</ul>\n</body>\n</html>\n"
    )
