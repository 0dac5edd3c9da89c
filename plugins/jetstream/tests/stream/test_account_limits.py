"""What accounts and servers have room for."""

from __future__ import annotations

import pytest
from framework_jetstream.api.account_streams import Reservations
from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.api.records import StreamConfig
from framework_jetstream.config import JetStreamConfig
from framework_jetstream.stream.account_limits import check_server, check_stream, tier_of

from framework.spec import ALL_TIERS, JetStreamLimits


def stream(name="other", **config):
    return StreamConfig(name=name, **{"storage": "memory", "num_replicas": 1, **config})


def reserved(*streams):
    found = Reservations()
    for it in streams:
        found.add(it)
    return found


def refusal(limits, others=(), *, is_new=True, **config):
    tiers = limits if isinstance(limits, dict) else {ALL_TIERS: limits}
    wanted = stream("S", **{"max_bytes": -1, **config})
    try:
        check_stream(tiers, wanted, reserved(*others), is_new=is_new)
    except ApiFailure as failure:
        return failure.error.err_code
    return None


@pytest.mark.parametrize(
    ("limits", "config", "code"),
    [
        ({}, {}, None),
        ({"max_streams": 1}, {}, 10027),
        ({"max_streams": 2}, {}, None),
        ({"max_streams": 0}, {}, None),
        ({"max_consumers": 3}, {"max_consumers": 4}, 10026),
        ({"max_consumers": 3}, {"max_consumers": 3}, None),
        ({"max_memory": 10}, {"max_bytes": 6}, 10028),
        ({"max_memory": 10}, {"max_bytes": 5}, None),
        ({"max_memory": 5}, {}, 10028),
        ({"max_memory": 0}, {"storage": "file"}, None),
        ({"max_storage": 0}, {"storage": "file"}, 10047),
        ({"max_bytes_required": True}, {}, 10113),
        ({"max_bytes_required": True}, {"max_bytes": 1}, None),
        ({"memory_max_stream_bytes": 5}, {"max_bytes": 6}, 10122),
        ({"memory_max_stream_bytes": 5}, {"max_bytes": 5}, None),
        ({"storage_max_stream_bytes": 5}, {"max_bytes": 6}, None),
    ],
)
def test_an_account_has_room_for_so_much(limits, config, code):
    assert refusal(JetStreamLimits(**limits), [stream(max_bytes=5)], **config) == code


def test_streams_that_are_there_are_not_counted_anew():
    limits = JetStreamLimits(max_streams=1)

    assert refusal(limits, [stream()], is_new=False) is None


def test_tiers_count_their_own_streams_alone():
    tiers = {"R1": JetStreamLimits(max_streams=1), "R3": JetStreamLimits()}
    three = stream(num_replicas=3)

    assert [tier_of(tiers, it) for it in (0, 1, 2, 3)] == ["R1", "R1", None, "R3"]
    assert refusal(tiers, [three]) is None
    assert refusal(tiers, [stream()]) == 10027
    assert refusal(tiers, num_replicas=2) == 10120


def test_a_server_has_room_for_what_all_accounts_reserve():
    server = JetStreamConfig(max_memory=10, max_file=0)

    check_server(server, stream(max_bytes=4), reserved(stream(max_bytes=6)))
    with pytest.raises(ApiFailure, match="memory"):
        check_server(server, stream(max_bytes=5), reserved(stream(max_bytes=6)))
    with pytest.raises(ApiFailure, match="storage"):
        check_server(server, stream(max_bytes=-1, storage="file"), reserved())
