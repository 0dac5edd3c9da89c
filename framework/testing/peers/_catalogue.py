"""Which peers there are, where they are kept, and how each is brought."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.testing.errors import PeerMissingError
from framework.testing.peers._browser import unpack_browser
from framework.testing.peers._debian import unpack
from framework.testing.peers._go import build
from framework.testing.peers._npm import install
from framework.testing.peers._run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Peer(Struct, frozen=True):
    """One program to test against."""

    name: str
    """As tests ask for it."""
    binary: str
    """File name in the folder of peers: program and version, so that versions live side by side."""
    version: str
    """What `--version` must print somewhere."""
    package: str
    """Import path of its Go package; empty: it comes from Debian."""
    linker_flags: str = ""
    module: str = ""
    """Folder in `tests/peers` whose `go.mod` pins it; empty: the one of that folder itself, which
    has one version of each package."""
    npm: str = ""
    """Package of npm, with its version; then the peer is a folder. Empty: it is a program."""
    finish: Callable[[str, Path], None] | None = None
    """What such a folder needs besides: told the name of the peer, and where it is."""


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "2.15.2",
            "nats-server-2.15.2",
            "2.15.2",
            "github.com/nats-io/nats-server/v2",
        ),
        Peer("2.9.10", "nats-server-2.9.10", "2.9.10", ""),
        Peer(
            "2.8.4",
            "nats-server-2.8.4",
            "2.8.4",
            "github.com/nats-io/nats-server/v2",
            module="older",
        ),
        Peer(
            "nats",
            "nats-0.4.0",
            "0.4.0",
            "github.com/nats-io/natscli/nats",
            "-X main.version=0.4.0",
        ),
        Peer("s2", "s2-1.20.3", "v1.20.3", "framework.test/peers/s2"),
        Peer("nats.js", "nats.js-3.4.0", "3.4.0", "", npm="@nats-io/nats-core@3.4.0"),
        Peer("deno", "deno-2.9.6", "2.9.6", "", npm="deno@2.9.6"),
        Peer(
            "chromium",
            "chromium-153.0.0",
            "153.0.0",
            "",
            npm="@sparticuz/chromium@153.0.0",
            finish=unpack_browser,
        ),
    )
}
"""By name. 2.9.10 stands for all servers before 2.10: one route connection per pair. 2.8.4 is the
last one whose gateways tell what they do not want, rather than what they want."""


def peers_folder() -> Path:
    """Return the folder that holds the programs, whether it exists or not."""
    chosen = os.environ.get("FRAMEWORK_PEERS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "framework-peers"


def find(name: str) -> Path:
    """Return the program of a peer that is there already.

    Args:
        name: `2.15.2`, `2.9.10`, `2.8.4` (servers), `nats` (the command line tool), `s2` (streams
            of compressed routes, by the library of nats-server), or folders: `nats.js`, `deno`
            and `chromium`.

    Raises:
        PeerMissingError: It was never brought here.
    """
    path = peers_folder() / PEERS[name].binary
    if not path.exists():
        raise PeerMissingError(name, f"{path} is not there", "python -m framework.testing.peers")
    return path


def bring(name: str) -> Path:
    """Return the program of a peer, built or unpacked now if need be; one process at a time.

    Args:
        name: As for `find`.

    Raises:
        PeerMissingError: It can be had neither here nor from a package registry.
    """
    path = peers_folder() / PEERS[name].binary
    with _locked_folder():
        if not path.exists():
            _install(PEERS[name], path)
    return path


def version_text(name: str, path: Path) -> str:
    """Return what a program says its version is; a folder of npm says nothing."""
    if PEERS[name].npm:
        return PEERS[name].version
    return run(name, [path, "--version"], folder=path.parent).strip()


def deno() -> Path:
    """Return Deno's program.

    Raises:
        PeerMissingError: It was never brought here.
    """
    return _inside("deno", "node_modules/@deno/*/deno")


def browser() -> Path:
    """Return Chromium's program; its libraries are in `lib` beside it, its fonts around that.

    Raises:
        PeerMissingError: It was never brought here.
    """
    return _inside("chromium", "chromium")


def _inside(name: str, pattern: str) -> Path:
    program = next(find(name).glob(pattern), None)
    if program is None:
        raise PeerMissingError(name, "it has no program for this machine", "")
    return program


def _install(peer: Peer, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
        new = Path(folder) / peer.binary
        if peer.npm:
            install(peer.name, peer.npm, new)
            if peer.finish:
                peer.finish(peer.name, new)
            new.replace(path)
            return
        if peer.package:
            build(peer.name, peer.package, peer.linker_flags, new, module=peer.module)
        else:
            unpack(peer.name, peer.version, new)
        printed = version_text(peer.name, new)
        if peer.version not in printed:
            raise PeerMissingError(peer.name, f"got {printed!r} in place of {peer.version}", "")
        new.replace(path)


@contextlib.contextmanager
def _locked_folder() -> Iterator[None]:
    folder = peers_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
