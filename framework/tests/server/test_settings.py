from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.dataplane import PlaneLimits
from framework.server.reload import ReloadRefused, refuse_if_any, shown_change
from framework.server.settings import settings_from_config
from framework.topology import (
    CORE_SECTION,
    Change,
    Kind,
    Option,
    Reload,
    diff_configs,
    read_server_conf,
)

if TYPE_CHECKING:
    from pathlib import Path

    from framework.topology import ServerConfig


NO_OPTION = Option(name="none", kind=Kind.STRING, help="None")


def config_of(tmp_path: Path, text: str) -> ServerConfig:
    path = tmp_path / "it.conf"
    path.write_text(text)
    return read_server_conf(path, [CORE_SECTION])


def test_defaults_are_nats_servers(tmp_path: Path) -> None:
    settings = settings_from_config(config_of(tmp_path, "debug: false"))

    assert (settings.host, settings.port, settings.http) == ("0.0.0.0", 4222, None)
    assert settings.limits == PlaneLimits()
    assert settings.headers


def test_values_arrive(tmp_path: Path) -> None:
    settings = settings_from_config(
        config_of(
            tmp_path,
            'listen: "127.0.0.1:5"\nhttp: 8222\nhttp_base_path: "a/"\nmax_payload: 1KB\n'
            "ping_interval: 250ms\nlog_file: x\ntrace: true\nno_header_support: true\n",
        )
    )

    assert (settings.host, settings.port) == ("127.0.0.1", 5)
    assert settings.http == ("127.0.0.1", 8222)
    assert settings.http_base_path == "/a"
    assert settings.limits == PlaneLimits(max_payload=1_024, ping_interval_s=0.25)
    assert settings.logs.log_file == "x"
    assert (settings.logs.level, settings.logs.trace) == (20, True)
    assert not settings.headers


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("max_connections: 0", PlaneLimits(max_connections=-1)),
        ("max_connections: -1", PlaneLimits(max_connections=-1)),
        ("max_connections: 7", PlaneLimits(max_connections=7)),
        ("max_subscription_tokens: 3", PlaneLimits(max_subscription_tokens=3)),
        ("max_traced_msg_len: 0", PlaneLimits()),
        ("max_traced_msg_len: 9", PlaneLimits(max_traced_bytes=9)),
        ("no_fast_producer_stall: true", PlaneLimits(fast_producer_stall=False)),
    ],
)
def test_limits_of_the_plane(tmp_path: Path, text: str, limits: PlaneLimits) -> None:
    assert settings_from_config(config_of(tmp_path, text)).limits == limits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host", ("host", 4222)),
        ("host:9", ("host", 9)),
        ("[::1]:9", ("::1", 9)),
    ],
)
def test_where_clients_are_told_to_connect(
    tmp_path: Path, text: str, expected: tuple[str, int]
) -> None:
    config = config_of(tmp_path, f'client_advertise: "{text}"')

    assert settings_from_config(config).client_advertise == expected


def test_changes_that_can_be_followed(tmp_path: Path) -> None:
    before = config_of(tmp_path, "debug: false")
    diff = diff_configs(before, config_of(tmp_path, "debug: true\nmax_payload: 9"))
    refuse_if_any(diff, [])

    assert [
        (it.path, shown_change(before.schema.option(it.path) or NO_OPTION, it)) for it in diff.live
    ] == [("debug", "true"), ("max_payload", "9")]


def test_changes_that_need_a_restart(tmp_path: Path) -> None:
    diff = diff_configs(
        config_of(tmp_path, "port: 1"), config_of(tmp_path, "port: 2\nserver_name: x\ndebug: on")
    )
    with pytest.raises(ReloadRefused) as caught:
        refuse_if_any(diff, [])

    assert str(caught.value) == (
        "config reload not supported for port, server_name; restart the server"
    )


def test_a_secret_that_changed_is_not_shown() -> None:
    option = Option(name="token", kind=Kind.STRING, help="Token", secret=True)

    assert shown_change(option, Change("token", "a", "b", Reload.LIVE)) is None
