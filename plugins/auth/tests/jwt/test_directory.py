"""The directory of accounts: what it keeps, what it refuses, and that a write is whole."""

from __future__ import annotations

import hashlib
import os

import pytest
from framework_auth.claims import ClaimsError
from framework_auth.resolver.directory import AccountDirectory, DirectoryError

from framework.wire.nkey import NkeyKind


@pytest.fixture
def make(tmp_path, realm):
    clock = [realm.now_s]

    def check(token, name):
        return realm.trust.check_signed(token, name).claims

    def directory(**options):
        made = AccountDirectory(tmp_path / "jwt", check=check, wall_s=lambda: clock[0], **options)
        made.damage = made.open()
        made.clock = clock
        return made

    return directory


@pytest.fixture
def accounts(mint):
    keys = [mint.key(NkeyKind.ACCOUNT, f"account {number}") for number in range(4)]
    return {it.public: mint.account_token(it) for it in keys}


def test_what_is_saved_is_there_after_a_restart(make, accounts, tmp_path):
    directory = make()
    for name, token in accounts.items():
        assert directory.save(name, token)
        assert not directory.save(name, token)
    again = make()

    assert {name: again.load(name) for name in again.names()} == accounts
    assert again.digest() == directory.digest() != bytes(32)
    files = {it.name for it in (tmp_path / "jwt").iterdir()}
    assert files == {f"{name}.jwt" for name in accounts}
    assert again.damage == []


def test_the_digest_is_that_of_nats_server(make, accounts):
    directory = make()
    for name, token in accounts.items():
        directory.save(name, token)
    expected = bytes(32)
    for token in accounts.values():
        digest = hashlib.sha256(token.encode()).digest()
        expected = bytes(a ^ b for a, b in zip(expected, digest, strict=True))

    assert directory.digest() == expected


def test_an_account_that_is_not_there(make, mint):
    assert make().load(mint.other.public) is None


@pytest.mark.parametrize("name", ["../x", "", "A", "/etc/passwd", "A\0", "..", "U" * 56])
def test_no_name_leads_out_of_the_directory(make, name, mint):
    directory = make()

    assert directory.load(name) is None
    with pytest.raises((DirectoryError, ClaimsError)):
        directory.save(name, mint.account_token())
    directory.delete(name)


def test_damaged_and_foreign_files_are_refused_and_the_others_go_on(make, accounts, mint, tmp_path):
    folder = tmp_path / "jwt"
    folder.mkdir()
    (good, token), (cut, cut_token), (foreign, _), (swapped, _) = accounts.items()
    (folder / f"{good}.jwt").write_text(token)
    (folder / f"{cut}.jwt").write_text(cut_token[:-30])
    alien = mint.key(NkeyKind.OPERATOR, "alien")
    account = mint.key(NkeyKind.ACCOUNT, "account 2")
    (folder / f"{foreign}.jwt").write_text(mint.account_token(account, signer=alien))
    (folder / f"{swapped}.jwt").write_text(token)
    (folder / "junk.jwt").write_bytes(b"\xff" * 100)
    (folder / "note.txt").write_text("not ours")
    directory = make()

    assert list(directory.names()) == [good]
    assert {it.file.rpartition("/")[2] for it in directory.damage} == {
        f"{cut}.jwt",
        f"{foreign}.jwt",
        f"{swapped}.jwt",
        "junk.jwt",
    }
    assert (folder / f"{cut}.jwt").exists()


def test_an_unfinished_write_is_as_if_it_had_not_begun(make, accounts, tmp_path, monkeypatch):
    name, token = next(iter(accounts.items()))
    directory = make()

    def fail(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("framework_auth.resolver.directory.os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        directory.save(name, token)
    monkeypatch.undo()

    assert directory.load(name) is None
    assert make().names() == ()
    assert directory.save(name, token)


def test_newer_tokens_of_others_are_taken_and_older_ones_not(make, mint):
    directory = make()
    name = mint.account.public
    tokens = [mint.account_token(issued_s=mint.now_s + age) for age in (0, 5, 3)]

    assert [directory.save_if_newer(name, it) for it in tokens] == [True, True, False]
    assert directory.load(name) == tokens[1]


def test_what_others_send_is_checked(make, mint, accounts):
    directory = make()
    alien = mint.key(NkeyKind.OPERATOR, "alien")

    with pytest.raises(ClaimsError):
        directory.save_if_newer(mint.account.public, mint.account_token(signer=alien))
    with pytest.raises(ClaimsError):
        directory.save_if_newer(mint.account.public, next(iter(accounts.values())))
    assert directory.names() == ()


def test_a_damaged_file_is_replaced_by_what_others_have(make, mint, tmp_path):
    name, token = mint.account.public, mint.account_token()
    (tmp_path / "jwt").mkdir()
    (tmp_path / "jwt" / f"{name}.jwt").write_text("damaged")
    directory = make()

    assert directory.save_if_newer(name, token)
    assert make().names() == (name,)


def test_a_full_directory_takes_nothing_more(make, accounts):
    directory = make(limit=3)
    *some, last = accounts.items()
    for name, token in some:
        directory.save(name, token)

    with pytest.raises(DirectoryError, match="full"):
        directory.save(*last)
    assert len(directory.names()) == 3


def test_a_full_cache_lets_the_one_go_that_was_used_longest_ago(make, accounts):
    directory = make(limit=3, evicts=True)
    (first, *_), (second, *_), *_ = accounts.items()
    *some, last = accounts.items()
    for name, token in some:
        directory.save(name, token)
    directory.load(first)
    directory.save(*last)

    assert set(directory.names()) == set(accounts) - {second}
    assert directory.load(second) is None


def test_expired_accounts_count_no_more_and_are_left(make, mint, tmp_path):
    directory = make()
    directory.save(mint.account.public, mint.account_token(exp=mint.now_s + 10))
    directory.clock[0] += 11

    assert directory.names() == ()
    assert directory.digest() == bytes(32)
    assert make().names() == ()
    assert (tmp_path / "jwt" / f"{mint.account.public}.jwt").exists()


def test_an_unused_account_of_a_cache_is_forgotten(make, accounts):
    directory = make(ttl_s=60.0, evicts=True)
    (used, token), (unused, other), *_ = accounts.items()
    directory.save(used, token)
    directory.save(unused, other)
    directory.clock[0] += 50
    directory.load(used)
    directory.clock[0] += 50

    assert directory.names() == (used,)


@pytest.mark.parametrize("renames", [True, False])
def test_a_deleted_account_is_gone(make, accounts, tmp_path, renames):
    name, token = next(iter(accounts.items()))
    directory = make(renames_deleted=renames)
    directory.save(name, token)
    directory.delete(name)
    directory.delete(name)

    assert directory.load(name) is None
    assert directory.digest() == bytes(32)
    assert (tmp_path / "jwt" / f"{name}.jwt.deleted").exists() is renames


def test_a_pipe_among_the_files_holds_nobody_up(make, accounts, tmp_path):
    directory = make()
    (piped, _), (name, token), *_ = accounts.items()
    os.mkfifo(tmp_path / "jwt" / f"{piped}.jwt")
    directory.save(name, token)

    assert directory.load(piped) == ""
    assert make().load(name) == token
