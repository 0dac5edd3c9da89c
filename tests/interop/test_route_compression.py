"""Compression of routes: who settles on what with whom, and that everything still arrives."""

from __future__ import annotations

import contextlib
import random

import pytest

from framework.testing import OURS, Fleet, await_answer, await_pools, member_config, route_rows
from framework.testing.certificates import Authority
from tests.interop.mixtures import parameters
from tests.interop.pairs import check_passes, log_in

REAL = "2.15.2"
MODES = ("off", "accept", "s2_fast", "s2_better", "s2_best", "s2_auto")
IDENTIFIER = b"\xff\x06\x00\x00S2sTwO"
AUTO = '{ mode: s2_auto, rtt_thresholds: ["20s", "30s", "40s"] }'
"""No machine is so busy that a round trip takes so long: always `s2_uncompressed`."""
MESHES = {
    "ours": [OURS] * 6,
    "ours and real": [OURS] * 6 + [REAL] * 6,
    "real and ours": [REAL] * 6 + [OURS] * 6,
    "real": [REAL] * 6,
}
SIZES = (0, 5, 64 << 10, (1 << 20) - 64)


def shown(own, remote):
    """Return what `/routez` says with one mode of our own and another of the peer."""
    if "off" in {own, remote} or (own, remote) == ("accept", "accept"):
        return "off"
    if own == "accept":
        return "s2_fast" if remote == "s2_auto" else remote
    return "s2_uncompressed" if own == "s2_auto" else own


@pytest.fixture(scope="module", params=parameters(MESHES))
def mesh(request, tmp_path_factory):
    """Start one or two servers of each mode; each dials all that are there."""
    fleet = Fleet(tmp_path_factory.mktemp("mesh"))
    for at, kind in enumerate(request.param):
        mode = MODES[at % 6]
        cluster = f"pool_size: 1\ncompression: {AUTO if mode == 's2_auto' else mode}"
        config = member_config(
            f"{mode}-{at}", routes=[each.cluster_port for each in fleet.servers], cluster=cluster
        )
        fleet.start(kind=kind, config=config, clustered=True, port=None)
    await_pools(*fleet.servers, pool_size=1)
    yield fleet.servers
    fleet.stop()


@pytest.mark.timeout(180)
def test_each_two_modes_settle_on_what_both_ends_show(mesh):
    for server in mesh:
        name = server.document("/varz")["server_name"]
        rows = route_rows(server)
        expected = {
            (
                row["remote_name"],
                shown(name.partition("-")[0], row["remote_name"].partition("-")[0]),
            )
            for row in rows
        }

        assert expected == {(row["remote_name"], row["compression"]) for row in rows}
        assert len(expected) == len(mesh) - 1


@pytest.mark.timeout(180)
@pytest.mark.parametrize("size", SIZES)
def test_messages_arrive_whole_between_all_modes(mesh, size):
    rng = random.Random(size)
    # Half of it repeats itself: compressed and uncompressed blocks come in one stream.
    noise = rng.randbytes(size // 2)
    payload = (noise + b"all the same " * size)[:size]
    headers = b"NATS/1.0\r\nKind: test\r\n\r\n"
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for server in mesh]
        for number, client in enumerate(clients):
            client.log_in()
            client.send(b"SUB all.* 1\r\nSUB ready.%d 2\r\n" % number)
            client.flush()
        for client in clients:
            for number in range(len(clients)):
                client.await_interest(b"ready.%d" % number)
        for number, client in enumerate(clients):
            # One after the other: each must take what comes before the next is sent.
            total = len(headers) + size
            client.send(b"PUB all.%d %d\r\n%b\r\n" % (number, size, payload))
            client.send(b"HPUB all.%d %d %d\r\n" % (number, len(headers), total))
            client.send(headers + payload + b"\r\n")
            for other in clients:
                plain = other.read_until(b"MSG all.%d" % number)[-1]
                headed = other.read_until(b"HMSG all.%d" % number)[-1]

                assert payload == plain.body
                assert headers + payload == headed.body


def modes_of(server):
    return {row["compression"] for row in route_rows(server)}


@pytest.mark.parametrize("mode", ["s2_fast", "off"])
def test_what_repeats_itself_is_short_on_the_wire(start_pair, mode):
    pair = start_pair(f"compression: {mode}")
    await_pools(*pair)
    size = 200_000
    line = b'{"id":17,"name":"somebody","state":"fine"}\n'
    payload = (line * (size // len(line) + 1))[:size]
    for near, far in (pair.servers, pair.servers[::-1]):
        with log_in(far, "A", b"long.* 1") as subscriber, log_in(near) as publisher:
            publisher.await_interest(b"long.try")
            before = total(pair)
            publisher.send(b"PUB long.text %d\r\n%b\r\n" % (size, payload))

            assert payload == subscriber.read_until(b"MSG long.text")[-1].body
            passed = total(pair) - before
            assert passed > size if mode == "off" else passed < size / 5
    for each in pair.proxy.connections:
        for said in (each.dialed, each.answered):
            assert (IDENTIFIER in said) == (mode != "off")


def await_mode(server, mode):
    await_answer(server, lambda: modes_of(server), {mode}.__eq__)


def total(pair):
    return sum(each.dialed_bytes + each.answered_bytes for each in pair.proxy.connections)


LEVELS = {
    "20s": "s2_uncompressed",
    "0s 20s": "s2_fast",
    "0s 0s 20s": "s2_better",
    "0s 0s 0s 20s": "s2_best",
    "1ns 2ns 3ns": "s2_best",
    "1ns 2ns": "s2_fast",
}
"""For round trips longer than some nanoseconds, and shorter than 20 s."""


def auto_with(thresholds):
    times = ", ".join(f'"{each}"' for each in thresholds.split())
    return f"{{ mode: s2_auto, rtt_thresholds: [{times}] }}"


def test_thresholds_choose_the_level_and_new_ones_do_at_once(start_pair):
    pair = start_pair(f"compression: {AUTO}")
    await_pools(*pair)
    before = [rids(server) for server in pair]
    for thresholds, level in LEVELS.items():
        auto = auto_with(thresholds)
        reload_compression(pair, (auto, auto), (level, level))
        check_passes(*pair)

    assert before == [rids(server) for server in pair]


def test_the_level_follows_the_round_trip_time(start_pair):
    """No round trip may take as long as the interval of PINGs: the real server takes the last."""
    auto = 'compression { mode: s2_auto, rtt_thresholds: ["30ms", "80ms", "150ms"] }'
    pair = start_pair(f'pool_size: 1\nping_interval: "300ms"\n{auto}')
    await_pools(*pair, pool_size=1)
    for delay_s, level in (
        (0.0, "s2_uncompressed"),
        (0.03, "s2_fast"),
        (0.06, "s2_better"),
        (0.1, "s2_best"),
        (0.0, "s2_uncompressed"),
    ):
        pair.proxy.delay_s = delay_s
        for server in pair:
            await_mode(server, level)
        check_passes(*pair)
    assert len(pair.proxy.connections) == 2


def rids(server):
    return {row["rid"] for row in route_rows(server)}


def reload_compression(pair, modes, expected):
    """Reload one after the other, and wait until their rows show what is expected."""
    for at, mode in enumerate(modes):
        pair.reload(at, f"compression: {mode}")
    await_pools(*pair)
    for server, level in zip(pair, expected, strict=True):
        await_mode(server, level)


def test_to_and_from_off_the_connections_are_made_anew(start_pair):
    pair = start_pair("compression: off")
    await_pools(*pair)
    with log_in(pair.dialed, "A", b"kept 1") as here, log_in(pair.dialing) as there:
        for mode in ("s2_fast", "off"):
            before = [rids(server) for server in pair]
            reload_compression(pair, (mode, mode), (mode, mode))

            assert [set(), set()] == [
                old & rids(server) for old, server in zip(before, pair, strict=True)
            ]
            there.await_interest(b"kept")
            there.send(b"PUB kept 1\r\nx\r\n")
            here.read_until(b"MSG kept 1 1")


def test_between_levels_the_connections_stay_and_only_the_own_side_changes(start_pair):
    pair = start_pair("compression: s2_fast")
    await_pools(*pair)
    before = [rids(server) for server in pair]
    for modes in (("s2_best", "s2_fast"), ("s2_best", "s2_better"), ("s2_fast", "s2_better")):
        reload_compression(pair, modes, modes)
        check_passes(*pair)

    assert before == [rids(server) for server in pair]


@pytest.mark.parametrize("at", [0, 1], ids=["dialed", "dialing"])
def test_routes_to_a_server_that_is_off_stay_whatever_is_wanted(start_pair, at):
    """A real server makes them anew, for nothing."""
    modes = ["off", "off"]
    modes[at] = auto_with("10s 20s")
    pair = start_pair([f"compression: {mode}" for mode in modes])
    await_pools(*pair)
    for mode in (AUTO, "s2_best", "accept"):
        before = [rids(server) for server in pair]
        pair.reload(at, f"compression: {mode}")
        if pair.kinds[at] == OURS:
            check_passes(*pair)

            assert before == [rids(server) for server in pair]
        else:
            await_answer(pair.servers[at], lambda: rids(pair.servers[at]), before[at].isdisjoint)
            await_pools(*pair)
    assert [{"off"}, {"off"}] == [modes_of(server) for server in pair]


def test_thresholds_that_nothing_goes_by_change_no_route(start_pair):
    pair = start_pair("compression: s2_better")
    await_pools(*pair)
    pair.reload(0, "compression: accept")
    await_pools(*pair)
    before = [rids(server) for server in pair]
    pair.reload(0, 'compression { mode: accept, rtt_thresholds: ["1s", "2s"] }')
    check_passes(*pair)

    assert before == [rids(server) for server in pair]


def test_a_codec_that_the_other_server_does_not_know_changes_only_the_level(start_pair):
    pair = start_pair("compression: s2_best")
    await_pools(*pair)
    before = [rids(server) for server in pair]
    for at, kind in enumerate(pair.kinds):
        other = pair.kinds[1 - at]
        if kind == OURS and other != OURS:
            pair.reload(at, "compression: zstd")
            await_mode(pair.servers[at], "s2_fast")
            check_passes(*pair)

    assert before == [rids(server) for server in pair]


def test_a_reload_to_auto_starts_with_the_time_that_was_measured(start_pair):
    pair = start_pair("compression: s2_best")
    await_pools(*pair)
    before = [rids(server) for server in pair]
    reload_compression(pair, (AUTO, "s2_best"), ("s2_uncompressed", "s2_best"))

    check_passes(*pair)
    assert before == [rids(server) for server in pair]


def test_compression_lies_within_tls(start_pair, tmp_path):
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    tls = f"""tls {{
      cert_file: "{issued.cert_file}", key_file: "{issued.key_file}", ca_file: "{authority.ca_file}"
    }}"""
    pair = start_pair(f"compression: s2_fast\naccounts: [P]\n{tls}")
    await_pools(*pair, accounts=("$SYS", "P"))
    for account in ("A", "RED", "P"):
        check_passes(*pair, account)

    assert [{"s2_fast"}, {"s2_fast"}] == [modes_of(server) for server in pair]


@pytest.mark.parametrize(
    "compression",
    [
        "s2_uncompressed",
        "zip",
        '{ mode: s2_auto, rtt_thresholds: ["20ms", "10ms"] }',
        '{ mode: s2_auto, rtt_thresholds: ["0s", "0s"] }',
        '{ mode: s2_auto, rtt_thresholds: ["1ms", "2ms", "3ms", "4ms", "5ms"] }',
    ],
)
def test_nonsense_stops_the_start(fleet, kind, compression):
    config = member_config("S", cluster=f"compression: {compression}")

    with pytest.raises(AssertionError, match=r"compression mode|RTT threshold"):
        fleet.start(kind=kind, config=config, port=None)
