"""Mistakes that people make in Raft, each to be found.

The library is built once with all of them, and one is switched on at a time. The library itself
knows nothing of them: a copy of its sources is changed before it is compiled.

`python raft_mutants.py FOLDER` builds; `python raft_mutants.py FOLDER NUMBER SEEDS` says who finds
one.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
ROOM = HERE.parents[1] / "src" / "framework_jetstream" / "raft"
MEMORY_BYTES_MAX = 1 << 31


@dataclass(frozen=True)
class Mutant:
    """A piece of text that stands once in a module, and what stands in its place."""

    name: str
    module: str
    old: str
    new: str
    """`{on}` is whether the mistake is made."""

    def planted(self, text: str, number: int) -> str:
        """Return the source with the mistake in it, off until it is switched on."""
        # Not the end of a longer name.
        old = ("" if self.old[0] == "\n" else r"(?<!\w)") + re.escape(self.old)
        found = re.findall(old, text)
        assert len(found) == 1, f"{self.name}: {len(found)} times in {self.module}"
        new = self.new.replace("{on}", f"mistake == {number}")
        return re.sub(old, lambda _: new, text)


def instead(name: str, module: str, old: str, new: str) -> Mutant:
    """Return a mutant with another expression."""
    return Mutant(name, module, old, f"(({new}) if {{on}} else ({old}))")


def without(name: str, module: str, old: str, new: str = "pass") -> Mutant:
    """Return a mutant with another statement, or none."""
    for space in (4, 8, 12):
        before = "\n" + " " * space
        if f"{before}{old}\n" in (ROOM / f"{module}.pyx").read_text():
            text = f"{before}if {{on}}:{before}    {new}{before}else:{before}    {old}\n"
            return Mutant(name, module, f"{before}{old}\n", text)
    msg = f"{name}: no longer in {module}"
    raise AssertionError(msg)


MUTANTS = (
    instead(
        "votes twice in a term",
        "_elections",
        "raft.vote == message.sender or (not raft.vote and not raft.leader)",
        "True",
    ),
    instead("votes whatever the log", "_elections", "not _is_up_to_date(raft, message)", "False"),
    instead(
        "compares logs by their length only",
        "_elections",
        "message.log_term > term or "
        "(message.log_term == term and message.index >= raft.log.last_index)",
        "message.index >= raft.log.last_index",
    ),
    instead(
        "is elected by one vote too few",
        "_elections",
        "granted >= quorum_of(raft)",
        "granted + 1 >= quorum_of(raft)",
    ),
    without(
        "forgets to write the vote",
        "_elections",
        "raft.hard_is_new = raft.hard_is_new or not raft.vote",
    ),
    instead(
        "votes though a leader rests on it",
        "_elections",
        "raft.role == LEADER or raft.heard_ticks < raft.settings.election_ticks",
        "raft.role == LEADER",
    ),
    instead(
        "leads on unheard",
        "_elections",
        "heard_voters(raft) < quorum_of(raft)",
        "False",
    ),
    instead("begins without an entry", "_elections", "append_own(raft, ENTRY_EMPTY, NULL, 0)", "1"),
    without("keeps the lease after a transfer", "_replication", "raft.lease_is_void = True"),
    instead("takes a question for a term", "_raft", "message.kind == PRE_VOTE", "False"),
    instead("believes leaders of earlier terms", "_raft", "message.term < raft.term", "False"),
    instead(
        "appends where logs disagree",
        "_following",
        "log_term_at(&raft.log, message.index) != message.log_term",
        "message.index > raft.log.last_index",
    ),
    instead(
        "acknowledges what is not durable",
        "_following",
        "received if received < raft.stable else raft.stable",
        "received",
    ),
    instead(
        "cuts off what agrees",
        "_following",
        "log_term_at(&raft.log, index) == entry.term",
        "False",
    ),
    without("keeps what disagrees", "_following", "cut_from(raft, index)"),
    instead(
        "commits what the leader did not send",
        "_following",
        "message.commit if message.commit < through else through",
        "message.commit",
    ),
    without("counts as durable what was cut off", "_following", "raft.stable = last"),
    without("counts writes that were cut off", "_following", "raft.writes[at].last_index = last"),
    without("does not write what was cut off", "_following", "raft.cut_index = index"),
    without("keeps members that were cut off", "_following", "members_cut_from(raft, index)"),
    without(
        "answers before the term is durable",
        "_outgoing",
        "message.need = raft.write + 1 if raft.hard_is_new else raft.hard_write",
        "message.need = 0",
    ),
    without("takes agreement into the next term", "_roles", "raft.match_through = 0"),
    instead(
        "takes acknowledgements into the next term",
        "_roles",
        "raft.stable if peer.id == raft.id else 0",
        "raft.stable if peer.id == raft.id else peer.match",
    ),
    instead(
        "tells of more than agrees",
        "_replication",
        "raft.commit if raft.commit < peer.match else peer.match",
        "raft.commit",
    ),
    instead(
        "commits earlier terms by number",
        "_replication",
        "log_term_at(&raft.log, index) != raft.term",
        "False",
    ),
    without(
        "counts its own entries before they are durable",
        "_raft",
        "peer_of(raft, raft.id).match = raft.stable",
        "peer_of(raft, raft.id).match = raft.log.last_index",
    ),
    instead(
        "sends without end",
        "_replication",
        "inflight + log_length(&raft.log, peer.next) > most",
        "False",
    ),
    instead(
        "goes on where it was rejected",
        "_replication",
        "hint + 1 if hint < message.commit else message.commit",
        "message.commit + 1",
    ),
    instead(
        "sends again what was acknowledged",
        "_replication",
        "peer.is_faulty or index > peer.match",
        "True",
    ),
    instead(
        "never believes that something was lost here",
        "_losses",
        "claim.rounds >= CLAIM_ROUNDS_MIN",
        "False",
    ),
    instead(
        "believes it at once",
        "_losses",
        "raft.now - claim.since_tick >= CLAIM_TIMEOUTS * <uint64_t> raft.settings.election_ticks",
        "True",
    ),
    instead(
        "believes it whoever else leads",
        "_roles",
        "raft.claim.sender != leader",
        "False",
    ),
    instead(
        "sends nothing again",
        "_replication",
        "message.context == raft.round and message.commit + 1 < peer.next_before",
        "False",
    ),
    instead(
        "leads on when it was removed",
        "_replication",
        "members_now(raft).index <= raft.commit and not is_voter(raft, raft.id)",
        "False",
    ),
    instead("counts learners", "_members", "not raft.peers[at].is_voter", "False"),
    instead(
        "commits with half of the voters",
        "_members",
        "matches[voters // 2]",
        "matches[(voters - 1) // 2]",
    ),
    instead("elects with half of the voters", "_members", "voters // 2 + 1", "(voters + 1) // 2"),
    instead(
        "changes members twice at a time",
        "_changes",
        "members_now(raft).index > raft.commit",
        "False",
    ),
    instead(
        "changes members before its term has an entry",
        "_changes",
        "raft.commit < raft.term_index",
        "False",
    ),
    instead(
        "lets servers vote that are behind",
        "_changes",
        "peer.match < raft.commit or raft.now - peer.heard_tick >= raft.settings.election_ticks",
        "False",
    ),
    instead("reads without asking", "_reads", "raft.reads[done].round <= round", "True"),
    instead(
        "believes its lease too long",
        "_reads",
        "_of_majority(raft, True) + raft.settings.lease_ticks",
        "_of_majority(raft, True) + 4 * raft.settings.election_ticks",
    ),
    Mutant(
        "reads before its term has an entry",
        "_reads",
        "if raft.commit < raft.term_index",
        "if not ({on}) and raft.commit < raft.term_index",
    ),
    instead(
        "drops the log behind a snapshot",
        "_catching_up",
        "index <= raft.log.last_index "
        "and log_term_at(&raft.log, index) == raft.fetch.snapshot_term",
        "False",
    ),
    instead(
        "takes pieces of a snapshot out of order",
        "_catching_up",
        "message.commit != raft.fetch.offset",
        "False",
    ),
    instead(
        "gives what is not committed",
        "_catching_up",
        "message.commit if message.commit < raft.commit else raft.commit",
        "raft.log.last_index",
    ),
    instead("appends a range elsewhere", "_catching_up", "message.index != raft.commit", "False"),
    instead(
        "applies what is not committed",
        "_raft",
        "raft.commit if raft.commit < raft.stable else raft.stable",
        "raft.stable",
    ),
    without(
        "tells before it is durable", "_raft", "raft.synced = write", "raft.synced = raft.write"
    ),
    without("forgets the vote when it starts", "_raft", "raft.vote = vote"),
    instead("forgets members when it starts", "_raft", "kind != ENTRY_MEMBERS", "True"),
    Mutant(
        "forgets the term of its snapshot",
        "_entries",
        "log.snapshot_term = log_term_at(log, index)\n",
        "log.snapshot_term = 1 if {on} else log_term_at(log, index)\n",
    ),
    Mutant(
        "forgets the term before its first entry",
        "_entries",
        "log.tail_index = index\n    log.tail_term = term\n",
        "log.tail_index = index\n    log.tail_term = 1 if {on} else term\n",
    ),
    without(
        "promises nothing after a start",
        "_raft",
        "raft.now = FIRST_TICK",
        "raft.now, raft.heard_ticks = FIRST_TICK, 1000",
    ),
    Mutant(
        "asks for votes before its own is durable",
        "_elections",
        "it would stand in the same term again\n            say_durable(raft, &message)",
        "\n            if {on}:\n                say(raft, &message)\n            else:\n"
        "                say_durable(raft, &message)",
    ),
    instead(
        "counts for commits who has lost something",
        "_members",
        "0 if raft.peers[at].loss else raft.peers[at].match",
        "raft.peers[at].match",
    ),
    Mutant(
        "votes with a disk that is lost",
        "_elections",
        "raft.is_mute or raft.loss:",
        "raft.is_mute or (raft.loss and not ({on})):",
    ),
    Mutant(
        "stands though it can't read its state, and others have all",
        "_elections",
        "raft.is_faulty and not raft.may_stand:",
        "raft.is_faulty and not raft.may_stand and not ({on}):",
    ),
    Mutant(
        "does not stand for what others lack if it can't read its state",
        "_elections",
        "        raft.may_stand = True\n",
        "        raft.may_stand = not ({on})\n",
    ),
    Mutant(
        "asks the same server for a state again and again",
        "_catching_up",
        "else raft.fetch.failed + 1",
        "or ({on}) else raft.fetch.failed + 1",
    ),
    Mutant(
        "lets others lose their states though its own can't be read",
        "_losses",
        "if raft.is_faulty:\n        return False",
        "if raft.is_faulty and not ({on}):\n        return False",
    ),
    Mutant(
        "stands with a disk that is lost",
        "_elections",
        "raft.is_set_aside or raft.is_mute or raft.loss or not",
        "raft.is_set_aside or raft.is_mute or (raft.loss and not ({on})) or not",
    ),
    Mutant(
        "lets a lease rest on who has lost something",
        "_reads",
        "elif raft.peers[at].loss:",
        "elif raft.peers[at].loss and not ({on}):",
    ),
    Mutant(
        "leads by the word of who has lost something",
        "_members",
        "not peer.is_voter or peer.loss:",
        "not peer.is_voter or (peer.loss and not ({on})):",
    ),
    Mutant(
        "takes an entry from before the loss for a barrier",
        "_losses",
        "barrier = append_own(raft, ENTRY_EMPTY, NULL, 0)",
        "barrier = raft.log.last_index if {on} else append_own(raft, ENTRY_EMPTY, NULL, 0)",
    ),
    without(
        "keeps the barrier of the loss before",
        "_losses",
        "peer.barrier = peer.barrier_round = 0",
    ),
    instead(
        "does not wait until the barrier is committed",
        "_losses",
        "message.index > raft.commit",
        "message.index > raft.log.last_index",
    ),
    instead(
        "does not wait until the barrier is durable where something was lost",
        "_losses",
        "message.index > raft.stable",
        "False",
    ),
    instead(
        "believes what was said before the loss",
        "_losses",
        "not peer.barrier_round or message.context < peer.barrier_round",
        "False",
    ),
    instead(
        "believes acknowledgements of another loss",
        "_losses",
        "peer.loss == (message.log_term if message.flags & LOST else 0)",
        "True",
    ),
    instead(
        "believes that its log agrees, though it is another one",
        "_losses",
        "raft.match_through if raft.loss else raft.log.last_index",
        "raft.log.last_index",
    ),
    instead(
        "takes the end of another loss for its own",
        "_losses",
        "message.log_term != raft.loss",
        "not raft.loss",
    ),
    without("forgets whom it told to begin anew", "_losses", "peer.may_begin_anew = True"),
    instead(
        "says nothing where it is asked whether the logs agree",
        "_following",
        "message.commit > raft.commit and through <= raft.match_through and not raft.loss",
        "not raft.loss",
    ),
    without("forgets that something is lost", "_raft", "ready.is_lost = raft.loss != 0"),
    instead(
        "lets the whole ones go and keeps the lost one",
        "_changes",
        "change in (DEMOTE, REMOVE) and loss_stays(raft, members, id)",
        "False",
    ),
    instead(
        "rests on a server whatever it vouches for",
        "_hibernation",
        "pair != NULL and pair.is_heard and pair.number == number",
        "pair != NULL and pair.is_heard",
    ),
    instead(
        "rests on a server that is not heard",
        "_hibernation",
        "pair.is_heard and server.now - pair.heard_tick >= settings.election_ticks",
        "False",
    ),
    without(
        "vouches after a start as before",
        "_hibernation",
        "server.random = seed",
        "server.random = 1",
    ),
    without(
        "vouches on when it leads or follows no more",
        "_hibernation",
        "raft.server.has_broken = raft.server.has_broken or is_broken",
    ),
    instead(
        "sleeps before all members vouch",
        "_hibernation",
        "peer.rest_round < raft.rest_round",
        "False",
    ),
    instead(
        "takes a late heartbeat for a new one",
        "_hibernation",
        "heartbeat.context <= raft.rest_round",
        "False",
    ),
    instead(
        "sleeps though a member lacks entries",
        "_hibernation",
        "peer.state != REPLICATE or peer.match != raft.log.last_index",
        "False",
    ),
    instead(
        "hibernates with who does not know of it",
        "_hibernation",
        "pair_of(raft.server, peer.id) == NULL or not pair_of(raft.server, peer.id).is_heard",
        "False",
    ),
    instead(
        "takes another digest for its own",
        "_comparing",
        "answer.log_term != it.sum",
        "False",
    ),
    instead(
        "compares with who makes digests otherwise",
        "_comparing",
        "not digest_is_alike(answer.log_term)",
        "not answer.log_term",
    ),
    instead(
        "compares with a leader that makes digests otherwise",
        "_comparing",
        "not digest_is_alike(question.context)",
        "False",
    ),
    instead(
        "compares what was said of another entry",
        "_comparing",
        "answer.commit != it.index",
        "not answer.commit",
    ),
    instead(
        "asks for ever",
        "_comparing",
        "peer.asked >= ASKED_MAX",
        "False",
    ),
    instead(
        "asks only when it is time",
        "_comparing",
        "is_quiet and it.quiet_index != raft.log.last_index",
        "False",
    ),
    instead(
        "compares digests that began at other entries",
        "_comparing",
        "raft.digests.since != question.commit",
        "False",
    ),
    Mutant(
        "compares what can't be read",
        "_comparing",
        "raft.is_faulty or raft.loss or",
        "(raft.is_faulty and not ({on})) or raft.loss or",
    ),
    without(
        "knows as who begins to lead what it knew before",
        "_comparing",
        "peer.compared = peer.differs = 0",
    ),
    instead(
        "repairs without a majority",
        "_repairs",
        "agreed > _voters(raft) // 2",
        "True",
    ),
    instead(
        "gives itself up without a majority",
        "_repairs",
        "against > _voters(raft) // 2",
        "against > 0",
    ),
    instead(
        "gives itself up where others differ among themselves",
        "_repairs",
        "other.said == peer.said",
        "other.said != 0",
    ),
    instead(
        "begins anew though it does not differ",
        "_repairs",
        "not raft.has_other",
        "False",
    ),
    instead(
        "tells for ever that one may begin anew",
        "_repairs",
        "peer.told < TOLD_MAX",
        "True",
    ),
    without(
        "gives up what differs from an earlier leader",
        "_roles",
        "raft.may_begin_anew = raft.has_other = False",
        "raft.may_begin_anew = False",
    ),
    Mutant(
        "lets beats prolong a lease",
        "_hibernation",
        "raft.peers[at].heard_tick = raft.now - passed\n",
        "raft.peers[at].heard_tick = raft.now - passed\n"
        "                if {on}:\n"
        "                    raft.peers[at].round_tick = raft.now - passed\n",
    ),
)

SETUP = """
from setuptools import Extension, setup
from Cython.Build import cythonize
from glob import glob

modules = [
    Extension(path[:-4].replace("/", "."), [path], extra_compile_args=["-O0", "-w"])
    for path in sorted(glob("framework_jetstream/raft/*.pyx"))
]
setup(ext_modules=cythonize(modules, nthreads=2, quiet=True, language_level=3))
"""
SWITCH = """

def set_mistake(int number):
    global mistake
    mistake = number
"""


def build(folder: Path) -> None:
    """Build the library with all mistakes into a folder, as a package of its own."""
    room = folder / "framework_jetstream" / "raft"
    shutil.copytree(ROOM, room, ignore=shutil.ignore_patterns("*.c", "*.so", "__pycache__"))
    (room.parent / "__init__.py").touch()
    for source in sorted(room.glob("*.pyx")):
        text = source.read_text()
        for number, mutant in enumerate(MUTANTS, 1):
            if mutant.module == source.stem:
                text = mutant.planted(text, number)
        head, first, rest = text.partition("\nfrom ")
        source.write_text(f"{head}\ncdef int mistake = 0\n{first}{rest}{SWITCH}")
    (folder / "setup.py").write_text(SETUP)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j2"]
    subprocess.run(command, cwd=folder, check=True)


def found_by(folder: Path, number: int, seeds: int) -> str:
    """Return who finds a mistake, in a process of its own; empty: nobody."""
    command = [sys.executable, __file__, str(folder), str(number), str(seeds)]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        return "it never ends"
    return done.stdout.strip() if done.returncode == 0 else f"it ends with {done.returncode}"


def look(number: int, seeds: int) -> str:
    """Switch a mistake on, and look for it: in whole clusters, then by the thesis."""
    for source in sorted(ROOM.glob("*.pyx")):
        import_module(f"framework_jetstream.raft.{source.stem}").set_mistake(number)
    from raft_cluster import Cluster  # noqa: PLC0415
    from raft_script import played, sections  # noqa: PLC0415
    from test_hibernation import checks  # noqa: PLC0415

    for seed in range(seeds):
        try:
            Cluster(seed).run()
        except Exception as broken:  # noqa: BLE001
            return f"seed {seed}: {broken!r}"[:150]
    for title, lines in sections().items():
        try:
            if played(lines) != lines:
                return f"thesis {title}"
        except Exception as broken:  # noqa: BLE001
            return f"thesis {title}: {broken!r}"[:150]
    for check in checks():
        try:
            check()
        except Exception as broken:  # noqa: BLE001
            return f"hibernation: {broken!r}"[:150]
    return ""


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    if len(sys.argv) == 2:
        build(Path(sys.argv[1]))
    else:
        print(look(int(sys.argv[2]), int(sys.argv[3])))  # noqa: T201
