from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.wire.server_id import NUID_RANDOM_BYTES, nuid_from_random, server_id_from_random

# As real servers called themselves.
REAL_IDS = [
    "NA2TZRKOZETZE32P4FMZBCBQ26XDWIU37HM5N6SDIXZ3QYBMUZVE6Y2N",
    "NAI4VZ4OWZLUTOC3DPRYVWWFRHCT5BWLHKMMPFB6L4VMQLILUIJEATPU",
]


@pytest.mark.parametrize("server_id", REAL_IDS)
def test_server_id_is_what_nkeys_makes_of_a_key(server_id):
    _prefix, *key = base64.b32decode(server_id)[:33]

    assert server_id_from_random(bytes(key)) == server_id


@given(st.binary(min_size=32, max_size=32))
def test_server_id_has_the_form_of_a_server_key(key):
    assert re.fullmatch("N[A-Z2-7]{55}", server_id_from_random(key))


def test_server_id_needs_a_key_of_32_bytes():
    with pytest.raises(AssertionError):
        server_id_from_random(bytes(31))


@given(st.binary(min_size=NUID_RANDOM_BYTES, max_size=40))
def test_nuid_has_22_characters_of_base_62(randomness):
    assert re.fullmatch("[0-9A-Za-z]{22}", nuid_from_random(randomness))


def test_nuid_tells_random_bytes_apart():
    assert nuid_from_random(bytes(17)) == "0" * 22
    assert nuid_from_random(bytes(16) + b"\x3d") == "z" + "0" * 21


def test_nuid_needs_enough_randomness():
    with pytest.raises(AssertionError):
        nuid_from_random(bytes(NUID_RANDOM_BYTES - 1))
