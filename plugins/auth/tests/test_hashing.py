"""bcrypt's hashes: what counts as one, what matches, and how much work a refusal is."""

from __future__ import annotations

import bcrypt
import pytest
from framework_auth import hashing
from framework_auth.bcrypt_hash import is_hash, parse_hash
from framework_auth.hashing import matches

HASH = "$2b$04$dL.VEGvkaLR.DVCs5LLAqOoJsu0CqbIP8Dcq20UGXovMYvBU8WHRu"
"""Of `secret`, at the lowest cost."""
PARSED = parse_hash(HASH)


@pytest.mark.parametrize("version", "abxy")
def test_versions_are_all_the_same(version):
    text = HASH.replace("$2b$", f"$2{version}$")

    assert is_hash(text)
    assert matches(b"secret", parse_hash(text), PARSED)


@pytest.mark.parametrize("text", ["", "secret", "$2q$11$abc", "$2$", "$1$abc"])
def test_what_is_no_hash_is_a_password(text):
    assert not is_hash(text)


@pytest.mark.parametrize(
    "text", [HASH[:-1], HASH + "x", HASH + "\n", HASH.replace("$04$", "$4$"), HASH[:-1] + "ä"]
)
def test_a_malformed_hash_is_not_repeated(text):
    with pytest.raises(ValueError, match=r"^malformed bcrypt hash$"):
        parse_hash(text)


def test_a_hash_made_by_nats_server():
    text = "$2a$11$dZM98SpGeI7dCFFGSpt.JObQcix8YHml4TBUZoge9R1uxnMIln5ly"

    assert matches(b"bar", parse_hash(text), PARSED)


def test_bits_of_the_salt_that_do_not_count():
    canonical = HASH[28]
    alphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    sloppy = HASH[:28] + alphabet[alphabet.index(canonical) + 5] + HASH[29:]

    assert parse_hash(sloppy) == PARSED


@pytest.mark.parametrize(
    ("given", "expected"),
    [(b"x" * 72, True), (b"x" * 73, True), (b"x" * 4_000, True), (b"x" * 71, False)],
    ids=["72", "73", "4000", "71"],
)
def test_72_bytes_count(given, expected):
    text = bcrypt.hashpw(b"x" * 72, bcrypt.gensalt(4)).decode()

    assert matches(given, parse_hash(text), PARSED) is expected


def test_a_zero_byte_ends_nothing():
    expected = parse_hash(bcrypt.hashpw(b"a\0b", bcrypt.gensalt(4)).decode())

    assert matches(b"a\0b", expected, PARSED)
    assert not matches(b"a\0c", expected, PARSED)
    assert not matches(b"a", expected, PARSED)


@pytest.fixture
def work(monkeypatch):
    """Sum up the work of all hashes that are computed."""
    done = []

    def computed(secret, salt):
        done.append(2 ** int(salt[4:6]))
        return real(secret, salt)

    real = bcrypt.hashpw
    monkeypatch.setattr(hashing.bcrypt, "hashpw", computed)
    return done


@pytest.mark.parametrize("cost", [4, 5, 6, None], ids=lambda cost: f"cost-{cost}")
def test_every_refusal_is_the_same_work(work, cost):
    decoy = parse_hash(HASH.replace("$04$", "$06$"))
    expected = parse_hash(HASH.replace("$04$", f"$0{cost}$")) if cost else None

    assert not matches(b"wrong", expected, decoy)
    assert sum(work) == 2**6
