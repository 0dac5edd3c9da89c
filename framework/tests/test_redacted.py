"""Records with secrets."""

from __future__ import annotations

from typing import ClassVar

from framework.redacted import Redacted


class Token(Redacted, frozen=True):
    hidden: ClassVar = frozenset({"text"})

    user: str
    text: str = "none"


def test_hidden_fields_are_not_shown_and_count_all_the_same():
    token = Token("alice", "s3cr3t")

    assert repr(token) == "Token(user='alice')"
    assert "s3cr3t" not in f"{[token]} {(token,)}"
    assert token == Token("alice", "s3cr3t")
    assert token != Token("alice", "another")
    assert hash(token) == hash(Token("alice", "s3cr3t"))
