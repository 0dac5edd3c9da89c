"""A plugin that lets the meta group keep its state after a few entries, in place of them."""

from __future__ import annotations

from framework_jetstream.cluster import meta_group

meta_group._SNAPSHOT_ENTRIES = 4  # type: ignore[misc]
