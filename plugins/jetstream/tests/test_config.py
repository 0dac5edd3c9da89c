"""The block `jetstream`, with all keys of nats-server's."""

from __future__ import annotations

import os

import pytest
from framework_jetstream.config import JetStreamConfig, jetstream_section
from framework_jetstream.resources import settled_config

from framework.topology import Schema, TopologyErrors, inert_settings, read_server_conf

SCHEMA = Schema([jetstream_section()])


@pytest.fixture
def conf(tmp_path):
    def read_text(text):
        path = tmp_path / "s.conf"
        path.write_text(text)
        return read_server_conf(path, SCHEMA)

    return read_text


@pytest.fixture
def read(conf):
    return lambda text: conf(text).section_as(JetStreamConfig)


def test_a_whole_block_is_read(read):
    config = read(
        "jetstream { store_dir: /s, max_mem: 1G, max_file: 2GB, domain: hub, strict: false\n"
        " unique_tag: ' AZ: ', extension_hint: no_extend\n"
        " limits { max_ack_pending: 5, max_ha_assets: 6, max_request_batch: 7\n"
        "  default_max_consumers: 8, duplicate_window: '9s'\n"
        "  batch { max_inflight_per_stream: 1, max_inflight_total: 2, max_msgs: 3, timeout: 4s }"
        " } }"
    )

    assert (config.store_dir, config.domain, config.strict) == ("/s", "hub", False)
    assert (config.max_memory, config.max_file) == (10**9, 2 * 2**30)
    assert config.unique_tag == "az:"
    limits = config.limits
    assert (limits.max_ack_pending, limits.max_ha_assets, limits.max_request_batch) == (5, 6, 7)
    assert (limits.default_max_consumers, limits.max_duplicate_window) == (8, 9 * 10**9)
    assert (limits.max_batch_inflight_per_stream, limits.max_batch_inflight_total) == (1, 2)
    assert (limits.max_batch_size, limits.max_batch_timeout) == (3, 4 * 10**9)


@pytest.mark.parametrize("text", ["jetstream: enabled", "jetstream: true", "jetstream {}"])
def test_a_word_stands_for_all_defaults(read, text):
    config = read(text)

    assert (config.max_memory, config.max_file, config.strict) == (-1, -1, True)
    assert config.limits.default_max_consumers == 1000


@pytest.mark.parametrize(
    "text", ["", "jetstream: disabled", "jetstream { enabled: false }", "store_dir: /s"]
)
def test_without_it_there_are_no_streams(read, text):
    assert read(text) is None


def test_the_folder_may_stand_at_the_top_but_not_twice(read):
    assert read("store_dir: /s\njetstream: enabled").store_dir == "/s"
    with pytest.raises(TopologyErrors, match="stands in the block `jetstream` too"):
        read("store_dir: /s\njetstream { store_dir: /t }")


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ("prev_key: x", "there is no `key` beside it"),
        ("key: x, cipher: rot13", "it is `chachapoly` or `aes`"),
        ("tpm { keys_file: x }", "a TPM is not there yet"),
        ("extension_hint: maybe", "it is `will_extend` or `no_extend`"),
        ("domain: 'a.b'", "a domain has no blanks, dots"),
        ("limits { max_ack_pending: x }", "max_ack_pending"),
        ("limits { no: 1 }", "no"),
        ("no: 1", "no"),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_refused(read, inside, problem):
    with pytest.raises(TopologyErrors, match=problem):
        read(f"jetstream {{ {inside} }}")


def test_what_changes_nothing_is_told(conf):
    config = conf(
        "jetstream { max_outstanding_catchup: 1MB, meta_compact: 5, meta_compact_size: 6\n"
        " meta_compact_sync: true, max_buffered_size: 7, max_buffered_msgs: 8\n"
        " request_queue_limit: 9, info_queue_limit: 10, max_concurrent_io: 11 }"
    )

    assert len(list(inert_settings(config))) == 9


@pytest.mark.parametrize(
    ("disk", "size"), [(250 << 30, 512 << 20), (768 << 20, 192 << 20), (100 << 20, 128 << 20)]
)
def test_the_log_has_a_quarter_of_a_disk_at_most(read, tmp_path, monkeypatch, disk, size):
    found = os.statvfs(tmp_path)
    small = os.statvfs_result((4096, 4096, disk >> 12, disk >> 13, disk >> 13, *found[5:]))
    monkeypatch.setattr(os, "statvfs", lambda folder: small)

    config = settled_config(read(f"jetstream {{ store_dir: '{tmp_path}' }}"))
    assert config.log_bytes == size
    assert config.max_file == (disk >> 1) * 3 // 4
    set_by_hand = read(f"jetstream {{ store_dir: '{tmp_path}', log_size: 1GB }}")
    assert settled_config(set_by_hand).log_bytes == 1 << 30
