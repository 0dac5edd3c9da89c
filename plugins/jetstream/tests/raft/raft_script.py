"""Scripts of Raft: commands to a few servers, and what they answer.

    server 1 log=1,1,4 term=4    a server; its members are those of the last `members`;
                                 stranger=: it knows of none; faulty=: it can't read its state;
                                 mute=: nor entries that it had;
                                 lost=: its disk has lost everything; of one that is there
                                 already: it got another disk
    members 1 2 3 4?             who votes, and who learns only
    stand 1                      tick 1 x12
    propose 1 text               change 1 add 4        transfer 1 2        read 1 5
    ready 1                      show what it says is to be done; frames wait in the network
    sync 1                       its writes are durable
    deliver 1>2                  what waits from 1 to 2 arrives; `drop 1>2`: is lost
    settle [without 3]           ready, sync and deliver until nothing is left
    send 1>2 VOTE term=5         a message made by hand; entries=1:a,2:b,2:members,2:snapshot;
                                 log_term=own: the number of its loss
    crash 1                      it stops, loses what was not synced, and starts
    lose 1                       it stops, loses all that was synced as well, and starts
    compact 1 3                  snapshot up to index 3
    led 1 5 77 2                 entries up to 5 have led to 77 there, by a digest since 2;
                                 1:77 in messages is that digest, made in the way of number 1
    judge 2 1                    there is an entry 2 of term 1, somewhere
    aside 1                      it has no place in the group any more
    show 1                       how it stands

`python raft_script.py` writes the answers of `thesis.txt` anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from framework_jetstream.raft._raftface import RaftGroup, read_frame, write_frame, write_members
from framework_jetstream.raft.records import (
    Change,
    Entry,
    EntryKind,
    Flag,
    FrameRefused,
    Message,
    MessageKind,
    PeerState,
    Ready,
    Refused,
    Role,
    Settings,
)
from raft_judge import Judge
from raft_server import GROUP, Server, snapshot_data

SCRIPTS = Path(__file__).with_name("thesis.txt")
DIGEST_BITS = 56
"""Above them stands how a digest is made: `1:77` is a digest 77 of number 1."""
LOSSES = 1000
"""As many are told apart, by the last digits."""
SETTINGS = Settings(election_ticks=10, heartbeat_ticks=2, lease_ticks=7)
CHANGES = {
    "add": Change.ADD_LEARNER,
    "promote": Change.PROMOTE,
    "demote": Change.DEMOTE,
    "remove": Change.REMOVE,
}


class NoJudge(Judge):
    """Scripts play what no cluster would come to: nothing is judged."""

    def entry_logged(self, server: Server, index: int, entry: Entry) -> None:
        server.chains[index] = self.chains[index, entry.term] = 0

    def commits(self, *_: object) -> None: ...
    def applies(self, *_: object) -> None: ...
    def says(self, *_: object) -> None: ...
    def acknowledges(self, *_: object) -> None: ...
    def sends(self, *_: object) -> None: ...
    def leads(self, *_: object) -> None: ...


@dataclass
class Script:
    """Servers as a script made them."""

    votes: dict[int, bool] = field(default_factory=dict)
    servers: dict[int, Server] = field(default_factory=dict)
    network: list[tuple[int, int, bytes]] = field(default_factory=list)
    judge: Judge = field(default_factory=NoJudge)

    def run(self, line: str) -> list[str]:
        """Carry out a command; return what it says."""
        command, *words = line.split()
        return getattr(self, f"do_{command}")(*words) or []

    # -- commands

    def do_members(self, *words: str) -> None:
        self.votes = {int(word.rstrip("?")): "?" not in word for word in words}

    def do_server(self, server_id: str, *words: str) -> None:
        fields = dict(word.split("=") for word in words)
        votes = None if "stranger" in fields else self.votes
        is_another = int(server_id) in self.servers
        server = self.servers[int(server_id)] = Server(int(server_id), self.judge, SETTINGS, votes)
        terms = [int(term) for term in fields.get("log", "").split(",") if term]
        for index, term in enumerate(terms, 1):
            server.disk.entries[index] = Entry(term, EntryKind.DATA, b"%d" % index)
        server.disk.term = int(fields.get("term", max(terms, default=0)))
        server.disk.vote = int(fields.get("vote", 0))
        server.is_faulty = "faulty" in fields
        server.is_mute = "mute" in fields
        server.disk.is_lost = "lost" in fields
        server.start()
        server.was_old = is_another

    def do_tick(self, *words: str) -> None:
        *ids, times = words
        for server_id in ids:
            self.servers[int(server_id)].group.tick(int(times[1:]))

    def do_stand(self, server_id: str) -> None:
        self.servers[int(server_id)].group.stand()

    def do_propose(self, server_id: str, text: str) -> list[str]:
        group = self.group(server_id)
        return self.told(server_id, group.propose(text.encode()))

    def do_change(self, server_id: str, change: str, of: str) -> list[str]:
        return self.told(server_id, self.group(server_id).change(CHANGES[change], int(of)))

    def do_transfer(self, server_id: str, to: str) -> list[str]:
        return self.told(server_id, int(self.group(server_id).transfer(int(to))))

    def do_read(self, server_id: str, read: str) -> list[str]:
        return self.told(server_id, int(self.group(server_id).read(int(read))))

    def do_ready(self, server_id: str) -> list[str]:
        ready = self.group(server_id).ready()
        return self.performed(int(server_id), ready) if ready is not None else ["nothing"]

    def do_sync(self, server_id: str) -> None:
        server = self.servers[int(server_id)]
        number = server.disk.perform(len(server.disk.pending))
        if number:
            server.group.advance(number)

    def do_deliver(self, way: str) -> list[str]:
        sender, to = map(int, way.split(">"))
        frames, self.network = self.taken(sender, to)
        said = [self.servers[to].group.step(sender, frame) for frame in frames]
        return [it.name for it in said if it]

    def do_drop(self, way: str) -> None:
        self.network = self.taken(*map(int, way.split(">")))[1]

    def do_settle(self, *words: str) -> None:
        without = {int(word) for word in words[1:]}
        self.network = [it for it in self.network if not without & {it[0], it[1]}]
        is_busy = True
        while is_busy:
            is_busy = False
            for server_id in sorted(set(self.servers) - without):
                while (ready := self.servers[server_id].group.ready()) is not None:
                    is_busy = True
                    self.performed(server_id, ready)
                self.do_sync(str(server_id))
            network, self.network = self.network, []
            for sender, to, frame in network:
                if to in self.servers and to not in without:
                    is_busy = True
                    self.servers[to].group.step(sender, frame)

    def do_send(self, way: str, kind: str, *words: str) -> list[str]:
        sender, to = map(int, way.split(">"))
        fields: dict = {"kind": MessageKind[kind], "group": GROUP, "index": 0}
        for word in words:
            name, _, value = word.partition("=")
            if name == "entries":
                fields[name] = tuple(self.entry(it, fields["index"]) for it in value.split(","))
            elif name == "flags":
                fields[name] = Flag[value]
            else:
                fields[name] = self.group(to).loss if value == "own" else told_number(value)
        fields.setdefault("term", 0)
        refused = self.group(to).step(sender, write_frame(sender, to, [Message(**fields)]))
        return [refused.name] if refused else []

    def do_aside(self, server_id: str) -> None:
        self.group(server_id).set_aside()

    def do_crash(self, server_id: str) -> None:
        self.servers[int(server_id)].stop(0)
        self.servers[int(server_id)].start()

    def do_lose(self, server_id: str) -> None:
        server = self.servers[int(server_id)]
        server.stop(0)
        server.lose()
        server.start()

    def do_compact(self, server_id: str, index: str) -> None:
        self.servers[int(server_id)].compact(int(index), int(index))

    def do_led(self, server_id: str, index: str, digest: str, since: str = "0") -> None:
        self.group(server_id).led_to(int(index), int(digest), int(since))

    def do_judge(self, index: str, term: str) -> None:
        self.judge.chains[int(index), int(term)] = 0

    def do_show(self, *ids: str) -> list[str]:
        return [self.shown(int(server_id)) for server_id in ids]

    def entry(self, text: str, index: int) -> Entry:
        term, data = text.split(":")
        if data == "members":
            return Entry(int(term), EntryKind.MEMBERS, write_members(self.votes))
        whole = snapshot_data(index, 0) if data == "snapshot" else data.encode()
        return Entry(int(term), EntryKind.DATA, whole)

    # -- what they say

    def group(self, server_id: str | int) -> RaftGroup:
        return self.servers[int(server_id)].group

    def told(self, server_id: str, result: int) -> list[str]:
        return (
            [str(result)] if result else [f"refused: {Refused(self.group(server_id).refused).name}"]
        )

    def taken(self, sender: int, to: int) -> tuple[list[bytes], list]:
        frames = [frame for a, b, frame in self.network if (a, b) == (sender, to)]
        return frames, [it for it in self.network if it[:2] != (sender, to)]

    def performed(self, server_id: int, ready: Ready) -> list[str]:
        lines = []
        server = self.servers[server_id]
        frames = server.perform(ready)
        if ready.write is not None:
            write = ready.write
            if write.hard_state is not None:
                lines.append("write term={} vote={}".format(*write.hard_state))
                lines[-1] += " lost" if write.hard_state[2] else ""
            if write.install is not None:
                index, term, keeps, _ = write.install
                lines.append(f"install index={index} term={term}{' keeps' if keeps else ''}")
            if write.cut_index:
                lines.append(f"cut {write.cut_index}")
            lines += [
                f"append {index} {entry_text(entry)}"
                for index, entry in enumerate(write.entries, write.first_index)
            ]
        for to, frame in frames:
            self.network.append((server_id, to, frame))
            messages = read_frame(frame, server_id, to)
            assert not isinstance(messages, FrameRefused)
            lines += [f"{server_id}>{to} {message_text(message)}" for message in messages]
        if ready.apply_first <= ready.apply_last:
            lines.append(f"apply {ready.apply_first} to {ready.apply_last}")
        lines += [f"read {read} at {index}" for read, index in ready.reads]
        return lines

    def shown(self, server_id: int) -> str:
        group = self.servers[server_id].group
        first = group.snapshot_index + 1
        terms = ",".join(str(group.term_at(at)) for at in range(first, group.last_index + 1))
        text = f"{server_id} {group.role.name} term={group.term} vote={group.vote}"
        text += f" leader={group.leader}"
        text += f" commit={group.commit} log={f'{first - 1}|' if first > 1 else ''}{terms}"
        members = group.members
        if members is not None and members.votes != self.votes:
            text += " members=" + " ".join(
                f"{it}{'' if votes else '?'}" for it, votes in members.votes.items()
            )
        if group.role is Role.LEADER:
            for it in members.votes if members is not None else ():
                peer = group.peer(it)
                if it != server_id and peer is not None and peer.state is not PeerState.REPLICATE:
                    text += f" {it}:{peer.state.name}"
                if it != server_id and peer is not None and peer.differs:
                    text += f" {it}:DIFFERS at {peer.differs}"
        if group.is_faulty:
            text += " faulty"
        if any(group.digest):
            text += " digest={2} at {1} since {0}".format(*group.digest)
        return text + (f" lies={group.lies}" if group.lies else "")


def told_number(text: str) -> int:
    """Return a number, or a digest as it is told."""
    number, _, digest = text.rpartition(":")
    return int(number or 0) << DIGEST_BITS | int(digest)


def number_text(number: int) -> str:
    made, digest = number >> DIGEST_BITS, number & ((1 << DIGEST_BITS) - 1)
    return f"{made}:{digest}" if made else str(number)


def entry_text(entry: Entry) -> str:
    if entry.kind == EntryKind.DATA:
        return f"{entry.term}:{entry.data.decode()}"
    return f"{entry.term}:{EntryKind(entry.kind).name}"


def message_text(message: Message) -> str:
    """Return a message in a line, without what is 0."""
    names = ("term", "index", "log_term", "commit", "context")
    words = [MessageKind(message.kind).name]
    is_lost = message.flags & (Flag.LOST | Flag.BARRIER)
    values = {name: value for name in names if (value := getattr(message, name))}
    if is_lost:
        values.pop("log_term")
    words += [f"{name}={number_text(value)}" for name, value in values.items()]
    if is_lost:
        words.append(f"loss={message.log_term % LOSSES}")
    if message.flags:
        words.append(f"flags={Flag(message.flags).name}")
    if message.entries:
        words.append("entries=" + ",".join(map(entry_text, message.entries)))
    return " ".join(words)


def sections() -> dict[str, list[str]]:
    """Return the lines of each section, by its title."""
    found: dict[str, list[str]] = {}
    for line in SCRIPTS.read_text().splitlines():
        if line.startswith("## "):
            found[line[3:]] = []
        elif found:
            found[list(found)[-1]].append(line)
    return found


def played(lines: list[str]) -> list[str]:
    """Return the lines of a section with the answers that are given."""
    script = Script()
    result = []
    for line in lines:
        if line.startswith("    "):
            continue
        result.append(line)
        if line and not line.startswith("#"):
            result += [f"    {answer}" for answer in script.run(line)]
    return result


def rewrite() -> None:
    """Write the answers that are given now."""
    head = SCRIPTS.read_text().split("## ")[0]
    texts = ["\n".join([f"## {title}", *played(lines)]) for title, lines in sections().items()]
    SCRIPTS.write_text(head + "\n".join(texts) + "\n")


if __name__ == "__main__":
    rewrite()
