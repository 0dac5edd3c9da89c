"""What a stream may not be configured with yet: refused, never ignored."""

from __future__ import annotations

import pytest
from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.api.records import StreamConfig
from framework_jetstream.stream.rules import settled


@pytest.mark.parametrize(
    "asked",
    [
        {"persist_mode": "async"},
    ],
)
def test_what_is_not_there_yet_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(ApiFailure, match="not available in this version"):
        settled(StreamConfig(name="S", storage="memory", **asked))


def test_the_defaults_of_what_is_not_there_yet_are_taken() -> None:
    assert settled(StreamConfig(name="S", storage="memory")).compression == "none"
