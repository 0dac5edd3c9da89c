from __future__ import annotations

import pytest

from framework.wire.closed_state import ClosedState


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (ClosedState.CLIENT_CLOSED, "Client Closed"),
        (ClosedState.SLOW_CONSUMER_PENDING_BYTES, "Slow Consumer (Pending Bytes)"),
        (ClosedState.DUPLICATE_ROUTE, "Duplicate Route"),
        (ClosedState.DUPLICATE_SERVER_NAME, "Duplicate Server Name"),
        (ClosedState.CLUSTER_NAME_CONFLICT, "Cluster Name Conflict"),
        (ClosedState.STALE_CONNECTION, "Stale Connection"),
        (ClosedState.KICKED, "Kicked"),
    ],
)
def test_text_is_nats_servers(state, text):
    assert state.text == text


def test_states_are_told_apart_by_their_texts():
    assert len({state.text for state in ClosedState}) == len(ClosedState)
