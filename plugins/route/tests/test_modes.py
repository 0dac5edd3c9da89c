"""The modes of this plugin, and what is asked of every codec."""

from __future__ import annotations

from framework_route.modes import CODECS, MODES

from framework.spec.compression import OFFERS
from framework.testing.contract import CodecContract

ZSTD, ZSTD_BETTER, LZ4, SNAPPY = CODECS


class TestZstd(CodecContract):
    CODEC = ZSTD


class TestZstdBetter(CodecContract):
    CODEC = ZSTD_BETTER


class TestLz4(CodecContract):
    CODEC = LZ4


class TestSnappy(CodecContract):
    CODEC = SNAPPY


def test_nats_servers_modes_offer_themselves_and_ours_something_that_it_knows():
    assert [mode.name for mode in MODES] == [
        "off", "accept", "s2_auto", "s2_fast", "s2_better", "s2_best", "zstd", "zstd_better",
        "lz4", "snappy",
    ]  # fmt: skip
    assert all(mode.offer == (mode.name if mode.name in OFFERS else "s2_fast") for mode in MODES)
