"""Keys: what they sign and encrypt is what nkeys signs and encrypts."""

from __future__ import annotations

import base64

import nkeys
import pytest
from framework_auth.keys import CurvePair, KeyPair, decode_signature, is_signed

from framework.wire.nkey import NkeyKind, encode_public_key, encode_seed

USER = KeyPair(NkeyKind.USER, bytes(range(32)))
ANN, BOB = CurvePair(b"a" * 32), CurvePair(b"b" * 32)


def test_another_library_signs_the_same():
    other = nkeys.from_seed(bytearray(USER.seed, "ascii"))

    assert other.public_key.decode() == USER.public
    assert other.sign(b"data") == USER.sign(b"data")


def test_a_signature_is_of_its_data_and_key():
    signature = USER.sign(b"data")

    assert is_signed(b"data", signature, USER.public)
    assert not is_signed(b"Data", signature, USER.public)
    assert not is_signed(b"data", signature, KeyPair(NkeyKind.USER, bytes(32)).public)
    assert not is_signed(b"data", signature[:-1], USER.public)
    assert not is_signed(b"data", signature + b"\0", USER.public)
    assert not is_signed(b"data", bytes(64), USER.public)
    assert not is_signed(b"data", signature, "no key")
    assert not is_signed(b"data", signature, USER.seed)


@pytest.mark.parametrize("key", [bytes(32), b"\xff" * 32, b"\x01" + bytes(31)])
def test_a_weak_key_has_signed_nothing(key):
    for signature in (bytes(64), b"\x01" + bytes(63), key + bytes(32)):
        assert not is_signed(b"data", signature, encode_public_key(NkeyKind.USER, key))


def test_an_xkey_signs_nothing():
    with pytest.raises(ValueError, match="does not sign"):
        KeyPair.from_seed(encode_seed(NkeyKind.CURVE, bytes(32)))

    assert not is_signed(b"data", bytes(64), ANN.public)


def test_what_is_sealed_is_opened_by_its_recipient_alone():
    sealed = ANN.seal(b"secret", BOB.public)

    assert BOB.open(sealed, ANN.public) == b"secret"
    assert b"secret" not in sealed
    assert sealed != ANN.seal(b"secret", BOB.public)
    with pytest.raises(ValueError, match="cannot be decrypted"):
        BOB.open(sealed, BOB.public)
    with pytest.raises(ValueError, match="cannot be decrypted"):
        CurvePair(b"c" * 32).open(sealed, ANN.public)


@pytest.mark.parametrize("kept", [slice(-1), slice(30), slice(4), slice(28)], ids=str)
def test_what_was_cut_is_not_opened(kept):
    with pytest.raises(ValueError, match="cannot be decrypted"):
        BOB.open(ANN.seal(b"secret", BOB.public)[kept], ANN.public)


@pytest.mark.parametrize("sealed", [b"", b"xkv", b"xkv2" + bytes(80), b"eyJ"])
def test_what_was_not_sealed_is_not_opened(sealed):
    with pytest.raises(ValueError, match="not encrypted"):
        BOB.open(sealed, ANN.public)


def test_only_for_xkeys_is_something_sealed():
    with pytest.raises(ValueError, match="not a public xkey"):
        ANN.seal(b"secret", USER.public)


def test_nothing_secret_is_shown():
    assert USER.seed not in repr(USER)
    assert repr(ANN) == f"CurvePair({ANN.public})"


def test_signatures_are_read_in_either_alphabet():
    signature = bytes(range(192, 256))

    assert decode_signature(base64.urlsafe_b64encode(signature).decode().rstrip("=")) == signature
    assert decode_signature(base64.b64encode(signature).decode()) == signature


@pytest.mark.parametrize("text", ["ä", "a", "a b", "+/=", "A" * 1_000, "====", "a\n", "wA-_wA=="])
def test_what_is_no_signature(text):
    assert decode_signature(text) is None
