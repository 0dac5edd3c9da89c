"""A stream of a cluster under faults: how it is changed, asked for and read."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from tests.torture.history import Stored
from tests.torture.waiting import until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.torture.publisher import Asker

ASKED_AT_ONCE = 100
"""Messages of the stream."""


class TorturedStream:
    """A stream with as many replicas as it is told to have.

    Args:
        asker: A client of its account.
        name: Its own; its subjects are those below the same name in lower case.
        storage: `file` or `memory`.
    """

    def __init__(self, asker: Asker, name: str = "T", storage: str = "file") -> None:
        self._asker = asker
        self._storage = storage
        self.name = name

    def create(self, replicas: int = 3) -> None:
        """Make the stream, when somebody can, and wait until all replicas are there."""
        self._configure("CREATE", replicas)
        until("all replicas are current", self.is_current)

    def scale(self, replicas: int) -> None:
        """Let the stream have so many replicas."""
        self._configure("UPDATE", replicas)

    def _configure(self, verb: str, replicas: int) -> None:
        def done() -> bool:
            return "config" in self.ask(f"STREAM.{verb}", self.config(replicas))

        until(f"{verb} of {self.name} for {replicas} replicas is done", done)

    def config(self, replicas: int) -> dict[str, Any]:
        """Return what the stream is to be."""
        return {
            "name": self.name,
            "subjects": [f"{self.name.lower()}.>"],
            "num_replicas": replicas,
            "storage": self._storage,
            "duplicate_window": 120_000_000_000,
        }

    def ask(self, what: str, document: object = None, consumer: str = "") -> dict[str, Any]:
        """Return the answer to a request of the stream's API, or of a consumer's; {}: none.

        Args:
            what: Words of the subject before the stream's name.
            document: What is asked for; None: an empty request.
            consumer: Its name, which stands behind the stream's.
        """
        subject = ".".join(filter(None, ("$JS.API", what, self.name, consumer)))
        return self._asker.ask(subject, b"" if document is None else json.dumps(document).encode())

    def info(self) -> dict[str, Any]:
        """Return what who leads the stream says of it; nothing: nobody says anything."""
        return self.ask("STREAM.INFO")

    def leader(self) -> str:
        """Return who leads the stream."""
        return str(until(f"somebody leads {self.name}", lambda: _leader_of(self.info())))

    def is_current(self) -> bool:
        """Whether all replicas that it is to have are there, no more, and have all of it."""
        info = self.info()
        return "config" in info and is_whole(info, info["config"]["num_replicas"])

    def messages(self) -> list[Stored]:
        """Return what who leads the stream has."""
        state = until("the state is known", lambda: self.info().get("state"))
        found = []
        for first in range(state["first_seq"], state["last_seq"] + 1, ASKED_AT_ONCE):
            seqs = range(first, min(first + ASKED_AT_ONCE, state["last_seq"] + 1))
            told = until(f"messages from {first} on are told", lambda seqs=seqs: self._get(seqs))
            found += [
                _stored(seq, it["message"])
                for seq, it in zip(seqs, told, strict=True)
                if "message" in it
            ]
        return found

    def _get(self, seqs: Sequence[int]) -> list[dict[str, Any]]:
        """Return the answer for each sequence; nothing: some have none."""
        wanted = [json.dumps({"seq": it}).encode() for it in seqs]
        said: list[dict[str, Any]] = self._asker.ask_all(
            f"$JS.API.STREAM.MSG.GET.{self.name}", wanted
        )
        codes = [(it.get("error") or {}).get("code") for it in said]
        return said if all(said) and 503 not in codes else []

    def names(self) -> list[str]:
        """Return who has the stream, by name, once all of them are current."""
        info = until(f"{self.name} is current", lambda: self.is_current() and self.info())
        return sorted([
            _leader_of(info),
            *(it["name"] for it in info["cluster"].get("replicas") or ()),
        ])

    def replicas(self) -> list[list[Stored]]:
        """Return what each server has that has the stream, when it leads it."""
        names = self.names()
        found: dict[str, list[Stored]] = {}

        def another_leads() -> str:
            leader = self.leader()
            if leader not in found:
                return leader
            left = next(it for it in names if it not in found)
            self.ask("STREAM.LEADER.STEPDOWN", {"placement": {"preferred": left}})
            return ""

        while len(found) < len(names):
            leader = until("a server leads the stream that has not yet", another_leads)
            read = self.messages()
            if self.leader() == leader:  # else it was read from two of them
                found[leader] = read
        return [found[it] for it in names]


def is_whole(info: dict[str, Any], replicas: int) -> bool:
    """Whether a stream or consumer has so many replicas, all current, and nothing is under way."""
    cluster = info.get("cluster") or {}
    others = cluster.get("replicas") or ()
    good = [it for it in others if it.get("current") and not it.get("offline")]
    return (
        bool(cluster.get("leader"))
        and "desired" not in cluster
        and len(good) == len(others) == replicas - 1
    )


def _leader_of(info: dict[str, Any]) -> str:
    return str((info.get("cluster") or {}).get("leader") or "")


def _stored(seq: int, message: dict[str, Any]) -> Stored:
    headers = base64.b64decode(message.get("hdrs", "")).decode()
    name = headers.partition("Nats-Msg-Id: ")[2].partition("\r\n")[0]
    return Stored(seq, name, base64.b64decode(message.get("data", "")))
