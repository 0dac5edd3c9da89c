from __future__ import annotations

from framework_brotli.plugin import framework_compression_modes

from framework.testing.contract import CodecContract, PluginContract

(MODE,) = framework_compression_modes()


class TestCodec(CodecContract):
    CODEC = MODE.codec


class TestPlugin(PluginContract):
    PLUGIN = "brotli"
