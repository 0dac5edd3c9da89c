"""Passwords of servers against hashes, and in which order."""

from __future__ import annotations

import bcrypt

from framework.peering import CheckPassword, PasswordQueue, matches


def test_a_password_is_held_against_its_hash():
    hashed = bcrypt.hashpw(b"s3cret", bcrypt.gensalt(4)).decode()

    assert matches(hashed, "s3cret")
    assert not matches(hashed, "s3cre")
    assert not matches("$2a$04$short", "s3cret")


def test_passwords_are_checked_one_at_a_time_and_not_for_those_who_have_left():
    queue = PasswordQueue()
    checks = [CheckPassword("hash", f"password {number}") for number in range(4)]
    for link, check in enumerate(checks):
        queue.add(link, check)

    assert queue.begin() == (0, checks[0])
    assert queue.begin() is None
    queue.forget(0)  # its check goes on
    queue.forget(1)
    assert queue.begin() is None
    queue.end()
    assert queue.begin() == (2, checks[2])
