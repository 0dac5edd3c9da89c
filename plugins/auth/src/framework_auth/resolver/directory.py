"""A directory of account JWTs, as nats-server keeps it: `<public key>.jwt`.

A write is whole or was not: a file is written beside its place, synced, and moved there. What is
found damaged, or signed by nobody who is trusted, is left where it is, refused and reported.
Expired files are left too, but count no more; nats-server removes them.

Source: nats-server `dirstore.go`, `DirJWTStore`.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.claims import ClaimsError
from framework_auth.claims.limits import TOKEN_CHARS_MAX
from framework_auth.resolver.jwt_index import JwtIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from framework_auth.claims import AccountClaims

SUFFIX: Final = ".jwt"
_DELETED: Final = ".deleted"
_UNFINISHED: Final = ".unfinished"


class DirectoryError(Exception):
    """The directory cannot store a JWT."""


class Damage(Struct, frozen=True):
    """A damaged file in the directory."""

    file: str
    problem: str


class AccountDirectory:
    """The JWTs in one directory, which no other program changes. Callable from any thread.

    Args:
        folder: Made if it is not there.
        check: Reads the JWT of an account whose public key is given, and raises `ClaimsError`
            when it is not one that counts.
        wall_s: Tells Unix time.
        limit: JWTs that are kept; 0: any number.
        evicts: Beyond the limit, the one used longest ago goes; else nothing more is taken.
        ttl_s: After which an unused one counts no more; 0: when it expires itself.
        renames_deleted: A deleted file is renamed; else it is removed.
    """

    def __init__(
        self,
        folder: Path,
        *,
        check: Callable[[str, str], AccountClaims],
        wall_s: Callable[[], float],
        limit: int = 0,
        evicts: bool = False,
        ttl_s: float = 0.0,
        renames_deleted: bool = True,
    ) -> None:
        assert limit >= 0
        self._folder = folder
        self._check = check
        self._wall_s = wall_s
        self._limit = limit
        self._evicts = evicts
        self._ttl_s = ttl_s
        self._renames_deleted = renames_deleted
        self._index = JwtIndex()
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Make the folder, if it is not there.

        Raises:
            OSError: It cannot be made.
        """
        self._folder.mkdir(parents=True, exist_ok=True)

    def open(self) -> Sequence[Damage]:
        """Read what is there; return what is refused of it.

        Raises:
            OSError: The folder cannot be made or read.

        Cost: about 200 microseconds a file.
        """
        with self._lock:
            self.prepare()
            self._index = JwtIndex()
            return list(self._scan())

    def load(self, name: str) -> str | None:
        """Return a JWT; None when there is none.

        Raises:
            OSError: It cannot be read.
        """
        path = self._path(name)
        if path is None:
            return None
        with self._lock:
            try:
                token = _read(path)
            except FileNotFoundError:
                return None
            self._index.touch(name, self._wall_s() + self._ttl_s if self._ttl_s else None)
            return token

    def save(self, name: str, token: str) -> bool:
        """Keep a JWT that was checked; return whether it is another one than before.

        Raises:
            DirectoryError: The directory is full.
            OSError: It cannot be written.
        """
        path = self._path(name)
        if path is None:
            raise DirectoryError("invalid public key")
        with self._lock:
            return self._write(path, name, token)

    def save_if_newer(self, name: str, token: str) -> bool:
        """Keep a JWT of another server unless the one that is here is as new, or newer.

        Returns:
            Whether it is kept.

        Raises:
            ClaimsError: It is none that counts.
            DirectoryError: The directory is full.
            OSError: It cannot be written.
        """
        claims = self._check(token, name)
        path = self._path(name)
        if path is None:
            raise DirectoryError("invalid public key")
        with self._lock:
            ours = self._claims_at(path, name)
            if ours is not None:
                old, new = ours.standard, claims.standard
                if old.token_id == new.token_id or old.issued_s > new.issued_s:
                    return False
            return self._write(path, name, token)

    def delete(self, name: str) -> None:
        """Delete a JWT, if it is there.

        Raises:
            OSError: It cannot be deleted.
        """
        path = self._path(name)
        if path is None:
            return
        with self._lock:
            try:
                if self._renames_deleted:
                    path.rename(path.with_name(path.name + _DELETED))
                else:
                    path.unlink()
            except FileNotFoundError:
                return
            _sync_folder(self._folder)
            self._index.drop(name)

    def names(self) -> Sequence[str]:
        """Return the public keys of all accounts that count."""
        with self._lock:
            self._forget_expired()
            return self._index.names()

    def digest(self) -> bytes:
        """Return the digest of all JWTs, which equal directories have in common."""
        with self._lock:
            self._forget_expired()
            return self._index.digest

    def _scan(self) -> Iterator[Damage]:
        now_s = self._wall_s()
        for entry in sorted(os.scandir(self._folder), key=lambda it: it.name):
            name = entry.name.removesuffix(SUFFIX)
            if name == entry.name or not entry.is_file():
                continue
            try:
                token = _read(Path(entry.path))
                claims = self._check(token, name)
            except (OSError, ClaimsError) as error:
                yield Damage(entry.path, str(error))
                continue
            if not claims.standard.is_expired(now_s):
                self._track(name, token, claims)

    def _track(self, name: str, token: str, claims: AccountClaims) -> None:
        expires_s = self._wall_s() + self._ttl_s if self._ttl_s else claims.standard.expires_s
        self._index.put(name, token, expires_s)

    def _write(self, path: Path, name: str, token: str) -> bool:
        claims = self._check(token, name)
        if self._index.holds(name, token):
            self._index.touch(name)
            return False
        if self._limit and name not in self._index and len(self._index) >= self._limit:
            self._make_room()
        _write_whole(path, token)
        self._track(name, token, claims)
        return True

    def _make_room(self) -> None:
        if not self._evicts:
            raise DirectoryError("jwt store is full")
        oldest = self._index.names()[0]
        (self._folder / f"{oldest}{SUFFIX}").unlink(missing_ok=True)
        self._index.drop(oldest)

    def _forget_expired(self) -> None:
        for name in self._index.expired(self._wall_s()):
            self._index.drop(name)

    def _claims_at(self, path: Path, name: str) -> AccountClaims | None:
        try:
            return self._check(_read(path), name)
        except (OSError, ClaimsError):
            return None

    def _path(self, name: str) -> Path | None:
        """Return where an account's JWT is; None for what is no public key, such as `../x`."""
        if not is_public_key(name, NkeyKind.ACCOUNT):
            return None
        return self._folder / f"{name}{SUFFIX}"


def _read(path: Path) -> str:
    # A pipe among the files would hold up whoever reads it, and with it all others.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(TOKEN_CHARS_MAX + 1)
    return data.decode("ascii", "replace").strip()


def _write_whole(path: Path, token: str) -> None:
    unfinished = path.with_name(path.name + _UNFINISHED)
    with unfinished.open("wb") as file:
        file.write(token.encode())
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
