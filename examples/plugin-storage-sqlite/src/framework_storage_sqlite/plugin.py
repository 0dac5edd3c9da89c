"""A storage kind `sqlite`: finished segments of streams in one SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct

from framework import hookimpl
from framework.topology import Setting, section_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import ServerContext
    from framework.topology import ConfigSection

_TABLE: Final = "CREATE TABLE IF NOT EXISTS segments (name TEXT PRIMARY KEY, data BLOB NOT NULL)"


class SqliteConfig(Struct, frozen=True):
    file: Annotated[
        str, Setting(help="Where segments stand; `segments.db` in the server's store, if empty")
    ] = ""


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(SqliteConfig, name="storage_sqlite", help="Keep streams in a SQLite file")


@hookimpl(optionalhook=True)
def framework_jetstream_storage(server: ServerContext) -> Iterator[SqliteKind]:
    yield SqliteKind(server.config.section_as(SqliteConfig) or SqliteConfig())


class SqliteKind:
    """Keeps each segment as a row; all calls come on one thread."""

    name = "sqlite"

    def __init__(self, config: SqliteConfig) -> None:
        self._config = config

    def open(self, folder: Path) -> None:
        file = Path(self._config.file) if self._config.file else folder / "segments.db"
        self._database = sqlite3.connect(file, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")  # a commit is synced when it returns
        self._database.execute(_TABLE)

    def write(self, name: str, data: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO segments VALUES (?, ?)", (name, data))

    def read(self, name: str) -> bytes:
        found = self._database.execute("SELECT data FROM segments WHERE name = ?", (name,))
        row = found.fetchone()
        if row is None:
            raise KeyError(name)
        return bytes(row[0])

    def remove(self, names: Sequence[str]) -> None:
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(
                "DELETE FROM segments WHERE name = ?", [(name,) for name in names]
            )

    def close(self) -> None:
        self._database.close()
