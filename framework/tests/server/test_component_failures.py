from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import structlog
from structlog.testing import capture_logs

from framework.server.component_failures import ComponentFailures
from framework.server.limits import SLOW_TURNS_LOGGED_EVERY_NS

PLUGINS: Any = SimpleNamespace(
    owner_of=lambda kind, name: "route" if (kind, name) == ("component", "manager") else ""
)


def test_long_turns_are_logged_by_component_and_only_now_and_then() -> None:
    now = [5]
    failures = ComponentFailures(PLUGINS, log=structlog.get_logger(), now_ns=lambda: now[0])
    with capture_logs() as logs:
        failures.receive_slow("manager/1", 123_456_789)
        failures.receive_slow("manager/2", 200_000_000)
        failures.receive_slow("client_listener", 200_000_000)
        now[0] += SLOW_TURNS_LOGGED_EVERY_NS
        failures.receive_slow("manager", 400_000_000)

    assert [(it["component"], it.get("plugin"), it["detail"]) for it in logs] == [
        ("manager/1", "route", "123 ms"),
        ("client_listener", None, "200 ms"),
        ("manager", "route", "400 ms"),
    ]
    assert logs[0]["event"] == (
        "Component {component} of plugin {plugin} held up the server for {detail}"
    )
    assert logs[1]["event"] == "Component {component} held up the server for {detail}"
