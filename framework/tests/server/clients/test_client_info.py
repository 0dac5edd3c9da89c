from __future__ import annotations

import json
from typing import Any

from framework.server.clients.client_info import ClientInfoDocument, ServerIdentity


def documents(plane: Any) -> list[tuple[dict[str, Any], bool]]:
    calls = plane.named("set_info")
    return [(json.loads(arguments[1]), keywords["announce"]) for arguments, keywords in calls]


def make(plane: Any) -> ClientInfoDocument:
    identity = ServerIdentity("N1", "one")
    return ClientInfoDocument(plane, identity, host="h", port=1, headers=True, max_payload=9)


def test_nobody_is_told_before_it_is_published(plane: Any) -> None:
    info = make(plane)
    info.update({"cluster": "c"})
    assert documents(plane) == []

    info.publish()
    info.update({"ldm": True})
    info.update({"ldm": True})
    ((first, announced), (second, announced_too)) = documents(plane)

    assert (first["cluster"], "ldm" in first, announced) == ("c", False, False)
    assert (second["ldm"], announced_too) == (True, True)


def test_changes_that_are_held_are_announced_as_one(plane: Any) -> None:
    info = make(plane)
    info.publish()
    with info.held():
        info.update({"connect_urls": ["a:1"]})
        info.update({"ldm": True})
        assert len(documents(plane)) == 1

    _, (held, _) = documents(plane)
    assert (held["connect_urls"], held["ldm"]) == (["a:1"], True)
