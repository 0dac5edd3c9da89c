from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.wire.nkey import (
    NkeyKind,
    decode_public_key,
    decode_seed,
    encode_public_key,
    encode_seed,
    is_public_key,
)

KEYS = st.binary(min_size=32, max_size=32)
REAL_SEED = "SUAIO3FHUX5PNV2LQIIP7TZ3N4L7TX3W53MQGEIVYFIGA635OZCKEYHFLM"
"""From the documentation of jwt's credentials; belongs to nobody."""


@given(st.sampled_from(NkeyKind), KEYS)
def test_public_keys_come_back(kind, key):
    text = encode_public_key(kind, key)

    assert decode_public_key(text) == (kind, key)
    assert len(text) == 56
    assert text[0] == kind.value


@given(st.sampled_from(NkeyKind), KEYS)
def test_seeds_come_back_and_are_no_public_keys(kind, secret):
    text = encode_seed(kind, secret)

    assert decode_seed(text) == (kind, secret)
    assert len(text) == 58
    assert text[:2] == "S" + kind.value
    assert not is_public_key(text)


def test_keys_of_others_are_read():
    kind, secret = decode_seed(REAL_SEED)

    assert kind is NkeyKind.USER
    assert encode_seed(kind, secret) == REAL_SEED


def test_a_kind_is_asked_for():
    text = encode_public_key(NkeyKind.ACCOUNT, bytes(32))

    assert is_public_key(text)
    assert is_public_key(text, NkeyKind.ACCOUNT)
    assert is_public_key(text, NkeyKind.USER, NkeyKind.ACCOUNT)
    assert not is_public_key(text, NkeyKind.USER)


GOOD = encode_public_key(NkeyKind.USER, bytes(range(32)))
BAD = {
    "empty": "",
    "one character": "U",
    "two bytes": "AAAA",
    "lower case": GOOD.lower(),
    "padding": GOOD + "========",
    "line end": GOOD + "\n",
    "one character less": GOOD[:-1],
    "one more": GOOD + "A",
    "another checksum": GOOD[:-1] + ("A" if GOOD[-1] != "A" else "B"),
    "another byte": GOOD[:10] + ("A" if GOOD[10] != "A" else "B") + GOOD[11:],
    "no ASCII": GOOD[:-1] + "Ä",
    "huge": "A" * 1_000_000,
    "nul": GOOD[:-1] + "\0",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
@pytest.mark.parametrize("decode", [decode_public_key, decode_seed])
def test_what_is_no_key_is_refused_and_not_repeated(decode, text):
    with pytest.raises(ValueError, match="not an nkey") as raised:
        decode(text)

    assert text not in str(raised.value) or not text[2:]
    assert not is_public_key(text)


@given(st.text(max_size=70))
def test_any_text_is_a_key_or_refused(text):
    assert not is_public_key(text) or encode_public_key(*decode_public_key(text)) == text


@given(st.sampled_from(NkeyKind), KEYS)
def test_a_public_key_is_no_seed(kind, key):
    with pytest.raises(ValueError, match="not an nkey seed"):
        decode_seed(encode_public_key(kind, key))
