"""What is known of secrets without computing a hash."""

from __future__ import annotations

from framework_auth.passwords import Passwords

KEY = b"k" * 32
HASH = "$2b$04$dL.VEGvkaLR.DVCs5LLAqOoJsu0CqbIP8Dcq20UGXovMYvBU8WHRu"
"""Of `secret`, at the lowest cost."""
STRONGER = HASH.replace("$04$", "$05$")


def test_plain_secrets_are_known_from_the_start():
    passwords = Passwords({"a": "x", "b": "é"}, key=KEY)

    assert passwords.is_known("a", b"x")
    assert passwords.is_known("b", "é".encode())
    assert not passwords.is_known("a", b"")
    assert not passwords.is_known("a", b"x ")
    assert not passwords.is_known("b", b"x")
    assert not passwords.is_known("", b"x")
    assert passwords.decoy is None


def test_nobody_has_no_secret():
    passwords = Passwords({"a": "x"}, key=KEY)

    assert not passwords.is_known("nobody", KEY)


def test_the_secret_behind_a_hash_is_learnt():
    passwords = Passwords({"a": HASH, "b": "x", "c": STRONGER}, key=KEY)

    assert not passwords.is_known("a", b"secret")
    assert not passwords.is_known("a", HASH.encode())
    passwords.learn("a", b"secret")
    assert passwords.is_known("a", b"secret")
    assert not passwords.is_known("c", b"secret")


def test_the_most_costly_hash_is_the_decoy():
    passwords = Passwords({"a": HASH, "b": "x", "c": STRONGER}, key=KEY)

    assert passwords.decoy == passwords.hash_of("c")
    assert passwords.hash_of("b") is None
    assert passwords.hash_of("nobody") is None


def test_no_secret_is_kept_as_it_is():
    passwords = Passwords({"a": "hidden"}, key=KEY)

    assert b"hidden" not in str(vars(passwords)).encode()


def test_what_was_learnt_stays_known_as_long_as_the_hash_stays():
    former = Passwords({"a": HASH, "b": HASH, "c": HASH}, key=KEY)
    for user in "abc":
        former.learn(user, b"secret")

    passwords = Passwords({"a": HASH, "b": STRONGER, "d": HASH}, key=KEY, former=former)

    assert passwords.is_known("a", b"secret")
    assert not any(passwords.is_known(user, b"secret") for user in "bcd")


def test_a_digest_proves_as_much_as_the_secret():
    passwords = Passwords({"a": "x"}, key=KEY)

    assert passwords.is_proof("a", passwords.digest(b"x"))
    assert not passwords.is_proof("a", passwords.digest(b"y"))
    assert not passwords.is_proof("nobody", passwords.digest(KEY))
