"""`framework jetstream verify`, `dump` and `lost`: read what a server has stored.

The first two want a store that no server has open.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from framework_jetstream.api.saved import SavedStream, saved_from_text
from framework_jetstream.encryption.errors import CipherError, LockedFileError
from framework_jetstream.encryption.keys import keys_to_read
from framework_jetstream.log.offline import plain_parts, read_log, words_of
from framework_jetstream.log.record import NewerVersionError
from framework_jetstream.snapshots.lost_folder import FOLDER as LOST_AND_FOUND
from framework_jetstream.snapshots.lost_folder import LostFolder
from framework_jetstream.storage.folder import kept_heads, kept_in
from framework_jetstream.store._pages import bad_pages
from framework_jetstream.store.encrypted import check_segments
from framework_jetstream.store.folder import SegmentFolder, name_of
from framework_jetstream.store.named import named_segments
from framework_jetstream.store.offline import read_segments, words_of_damage

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping

    from framework.spec import CommandGroup
    from framework_jetstream.encryption._cipher import Keys
    from framework_jetstream.log import Log
    from framework_jetstream.log.record import GroupState
    from framework_jetstream.snapshots.lost_folder import Placed
    from framework_jetstream.store.named import NamedSegments

_KEYS_MAX: Final = 2
LOG_FOLDER: Final = "folder of a log, with files named 0000000001.log and so on, and `segments`"


def add_store_commands(cli: CommandGroup) -> None:
    """Add the commands to the plugin's group."""
    parser = cli.add_command("verify", _verify, help="read every byte of a store, and name damage")
    parser.add_argument("folder", metavar="DIR", help=LOG_FOLDER)
    parser.add_argument("--key-from", **_KEY_FROM)
    parser = cli.add_command("dump", _dump, help="write what a store has as lines of JSON")
    parser.add_argument("folder", metavar="DIR", help=LOG_FOLDER)
    parser.add_argument("--key-from", **_KEY_FROM)
    parser = cli.add_command("lost", _lost, help="list streams that a server has set aside")
    parser.add_argument("folder", metavar="DIR", help="`store_dir` of the server")
    parser.add_argument("--key-from", **_KEY_FROM)
    parser.add_argument("--to", metavar="DIR", help="write what is encrypted there, without a key")


_KEY_FROM: Final[dict[str, Any]] = {
    "metavar": "VARIABLE",
    "action": "append",
    "default": [],
    "help": "environment variable with the `key` of what is encrypted; again for `prev_key`",
}


def _lost(arguments: argparse.Namespace) -> int:
    """List what is in `lost+found`, and how it comes back."""
    if _keys(arguments) is None:
        return 2
    found = [
        it
        for it in (Path(arguments.folder), Path(arguments.folder, "jetstream"))
        if (it / LOST_AND_FOUND).is_dir()
    ]
    if not found:
        sys.stdout.write(f"nothing is set aside in {arguments.folder}\n")
        return 0
    folder = LostFolder(found[0], [os.environ[it] for it in arguments.key_from])
    try:
        for it in folder.all():
            _tell_lost(folder, it, arguments.to)
    except (OSError, LockedFileError, CipherError, msgspec.MsgspecError) as error:
        sys.stderr.write(f"framework: {folder.path}: {error}\n")
        return 2
    return 0


def _tell_lost(folder: LostFolder, it: Placed, to: str | None) -> None:
    say = sys.stdout.write
    if it.reason is None:
        say(f"{it.path.name}: encrypted: --key-from is needed\n")
        return
    reason = it.reason
    whole = "" if reason.is_whole else "; something of it had been lost there before"
    say(
        f"{it.path.name}: stream {reason.stream} of account {reason.account},"
        f" {reason.messages} messages, last sequence {reason.last_seq},"
        f" {len(reason.consumers)} consumers\n"
        f"  set aside by {reason.server} at {reason.set_aside}: {reason.reason}{whole}\n"
    )
    path = it.path
    if to is not None:
        path = folder.copied(it, Path(to))
    elif folder.is_sealed(it):
        say("  encrypted: `--to DIR` writes it where `nats stream restore` can read it\n")
        return
    say(f"  nats stream restore {shlex.quote(str(path))}\n")


def _keys(arguments: argparse.Namespace) -> Keys | None:
    """Return the keys that the environment has; None, and why is said: not all of them."""
    missing = [it for it in arguments.key_from if not os.environ.get(it)]
    if missing or len(arguments.key_from) > _KEYS_MAX:
        what = f"there is no {missing[0]} in the environment" if missing else "too many keys"
        sys.stderr.write(f"framework: --key-from: {what}\n")
        return None
    try:
        return keys_to_read(*(os.environ[it] for it in arguments.key_from))
    except CipherError as error:
        sys.stderr.write(f"framework: {error}\n")
        return None


def _read(folder: str, keys: Keys) -> Log | None:
    try:
        if keys.count:
            check_segments(folder, keys, kept_heads(folder))
        return read_log(folder, keys)
    except (OSError, NewerVersionError, LockedFileError) as error:
        sys.stderr.write(f"framework: {folder}: {error}\n")
        return None


def _named(log: Log) -> dict[str, int]:
    """Return the segments that a log names, with how many messages each was written with."""
    states = {group: log.group(group) for group in log.groups()}
    return {
        name_of(group, file): count
        for group, state in states.items()
        if state is not None and (named := _segments_of(state)) is not None
        for file, count in named.files.items()
    }


def _segments_of(state: GroupState) -> NamedSegments | None:
    """Return which segments a group has; nobody can read what some groups are."""
    try:
        known = saved_from_text(state.description)
    except msgspec.DecodeError:
        return named_segments(state, is_shared=False)
    if not isinstance(known, SavedStream):
        return None
    return named_segments(state, is_shared=bool(known.replicas))


def _verify(arguments: argparse.Namespace) -> int:
    keys = _keys(arguments)
    log = _read(arguments.folder, keys) if keys is not None else None
    if log is None:
        return 2
    entries = sum(1 for _ in log.committed())
    for damage in log.damage:
        sys.stdout.write(f"damaged: {words_of(damage)}\n")
    if log.torn_bytes:
        sys.stdout.write(f"torn: {log.torn_bytes} bytes at the end, never acknowledged\n")
    is_damaged = bool(log.damage)
    if log.locked_count:
        return _verify_locked(arguments.folder, log, entries)
    missing = _named(log)
    segments = messages = 0
    for name, segment in read_segments(arguments.folder, keys):
        if missing.pop(name, None) is None:
            sys.stdout.write(f"left over: {name}, which the log does not name\n")
            continue
        segments += 1
        messages += len(segment.messages)
        is_damaged |= bool(segment.damage)
        for bad in segment.damage:
            sys.stdout.write(f"damaged: {words_of_damage(name, bad)}\n")
    is_damaged |= _tell_missing(arguments.folder, missing)
    verdict = "damaged" if is_damaged else "whole"
    stored = f", {messages} messages in {segments} segments" if segments else ""
    sys.stdout.write(f"{verdict}: {entries} entries in {len(log.groups())} groups{stored}\n")
    return 1 if is_damaged else 0


def _verify_locked(folder: str, log: Log, entries: int) -> int:
    """Look at the sums of what is encrypted, for which nobody has the key."""
    segments = SegmentFolder(folder)
    is_damaged = bool(log.damage)
    files = segments.files()
    for group, file in files:
        for at in bad_pages(segments.read(group, file)):
            is_damaged = True
            where = f"file {name_of(group, file)}, byte {at}"
            sys.stdout.write(f"damaged: {where}: a page of what is encrypted\n")
    sys.stdout.write(
        f"encrypted: {log.locked_count} files of the log were read without a key (--key-from):"
        " sums are over what is encrypted, and which messages there are is not known\n"
    )
    verdict = "damaged" if is_damaged else "whole"
    stored = f", {len(files)} segments" if files else ""
    sys.stdout.write(f"{verdict}: {entries} entries in {len(log.groups())} groups{stored}\n")
    return 1 if is_damaged else 0


def _tell_missing(folder: str, missing: Mapping[str, int]) -> bool:
    """Say which segments are not there; return whether one is with no storage kind either.

    Args:
        folder: Of the log.
        missing: How many messages each was written with, by name.
    """
    kept = {name_of(*place): it for place, it in kept_in(SegmentFolder(folder).folder).items()}
    is_damaged = False
    for name, count in missing.items():
        if name in kept:
            where = f"storage kind {kept[name].kind}, as {kept[name].name}"
            sys.stdout.write(f"elsewhere: {name}, with {count} messages, is not read: {where}\n")
        else:
            is_damaged = True
            sys.stdout.write(f"damaged: file {name} is missing, with {count} messages\n")
    return is_damaged


def _dump(arguments: argparse.Namespace) -> int:
    keys = _keys(arguments)
    log = _read(arguments.folder, keys) if keys is not None else None
    if log is None or keys is None:
        return 2
    if log.locked_count:
        sys.stderr.write(f"framework: {arguments.folder}: is encrypted: --key-from is needed\n")
        return 2
    for entry in log.committed():
        row = {
            "group": entry.group,
            "kind": entry.kind.name,
            "term": entry.term,
            "index": entry.index,
            "file": entry.file,
            "parts": [part.hex() for part in plain_parts(entry)],
        }
        sys.stdout.write(f"{json.dumps(row)}\n")
    for damage in log.damage:
        sys.stderr.write(f"damaged: {words_of(damage)}\n")
    return 1 if _dump_segments(arguments.folder, keys, _named(log)) or log.damage else 0


def _dump_segments(folder: str, keys: Keys, named: Collection[str]) -> bool:
    """Write the messages of segments that the log names; return whether one is damaged."""
    is_damaged = False
    for name, segment in read_segments(folder, keys):
        if name not in named:
            continue
        for seq, subject, header, payload, time_ns in segment.messages:
            row = {
                "segment": name,
                "seq": seq,
                "subject": subject.decode("utf-8", "replace"),
                "time_ns": time_ns,
                "header": header.hex(),
                "payload": payload.hex(),
            }
            sys.stdout.write(f"{json.dumps(row)}\n")
        for damage in segment.damage:
            is_damaged = True
            sys.stderr.write(f"damaged: {words_of_damage(name, damage)}\n")
    return is_damaged
