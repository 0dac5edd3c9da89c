"""Routes with codecs of plugins: who has them uses them, everybody else gets nats-server's S2."""

from __future__ import annotations

from pathlib import Path

import pytest

from framework.testing import OURS, await_mesh, await_routes, check_exchange
from framework.testing.certificates import Authority


@pytest.fixture
def join(start_server):
    """Start a server with a mode of compression, that dials others."""

    def begin(mode, *seeds, kind=OURS, tls=""):
        urls = ", ".join(f'"nats-route://127.0.0.1:{seed.cluster_port}"' for seed in seeds)
        inside = f'name: test, listen: "127.0.0.1:-1", routes: [{urls}]\n{tls}'
        if mode:
            inside += f"compression: {mode}\n"
        return start_server("-m", "-1", kind=kind, config=f"cluster {{ {inside} }}", clustered=True)

    return begin


def shown(server, count):
    """Return how the routes of a server are compressed, by the first letters of the other's ID."""
    rows = await_routes(server, lambda rows: len(rows) >= count)
    return {row.get("compression") for row in rows}


@pytest.mark.parametrize(
    "modes", [("zstd", "accept"), ("lz4", "zstd_better"), ("s2_best", "snappy")]
)
@pytest.mark.parametrize("dialer", [0, 1])
def test_two_servers_that_know_a_codec_use_it_whoever_dials(join, modes, dialer):
    servers = {}
    for at in (1 - dialer, dialer):
        servers[at] = join(modes[at], *servers.values())
    await_mesh(*servers.values())
    check_exchange([servers[0], servers[1]])

    # Each encodes as its own operator wants, or else as the other's does.
    own = [mode if mode in {"zstd", "zstd_better", "lz4", "snappy"} else None for mode in modes]
    assert shown(servers[0], 4) == {own[0] or own[1]}
    assert shown(servers[1], 4) == {own[1] or own[0]}


def test_a_codec_works_over_tls(join, tmp_path):
    authority = Authority(tmp_path)
    issued = [authority.issue(name) for name in ("here", "there")]
    tls = [
        f'tls {{ cert_file: "{it.cert_file}", key_file: "{it.key_file}",'
        f' ca_file: "{authority.ca_file}" }}\n'
        for it in issued
    ]
    first = join("zstd", tls=tls[0])
    second = join("zstd", first, tls=tls[1])
    await_mesh(first, second)
    check_exchange([first, second])

    assert shown(first, 4) == shown(second, 4) == {"zstd"}


@pytest.mark.peer("2.15.2")
@pytest.mark.parametrize("kinds", [(OURS, "2.15.2"), ("2.15.2", OURS)], ids="-".join)
def test_a_real_server_gets_s2(join, kinds):
    modes = {OURS: "zstd", "2.15.2": "s2_best"}
    first = join(modes[kinds[0]], kind=kinds[0])
    second = join(modes[kinds[1]], first, kind=kinds[1])
    await_mesh(first, second)
    check_exchange([first, second])

    ours, real = (first, second) if kinds[0] == OURS else (second, first)
    assert shown(ours, 4) == {"s2_fast"}
    assert shown(real, 4) == {"s2_best"}


@pytest.mark.peer("2.9.10")
def test_a_server_older_than_compression_gets_nothing(join):
    first = join("zstd")
    second = join("", first, kind="2.9.10")
    await_mesh(first, second)
    check_exchange([first, second])

    assert shown(first, 1) == {"not supported"}


def test_a_reload_to_another_codec_is_negotiated_anew(join):
    first = join("zstd")
    second = join("accept", first)
    await_mesh(first, second)
    assert shown(first, 4) == {"zstd"}

    path = Path(first.command[first.command.index("-c") + 1])
    first.reload(path.read_text().replace("zstd", "lz4"))
    await_routes(first, lambda rows: [row.get("compression") for row in rows] == ["lz4"] * 4)
    await_routes(second, lambda rows: [row.get("compression") for row in rows] == ["lz4"] * 4)
    check_exchange([first, second])
