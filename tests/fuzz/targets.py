"""What is fuzzed: machines of plugins, and the compiled code in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.building import FOLDER, ROOT
from tests.fuzz.judging import Failure
from tests.fuzz.worlds import fuzz

if TYPE_CHECKING:
    from collections.abc import Sequence

CORPUS = Path(__file__).parent / "corpus"
CORPUS_LIMIT_S = 300.0
"""In which the corpus, or one input, must be through; it takes a few seconds."""


@dataclass(eq=False)
class WorldTarget:
    """The machines of a plugin, with whatever servers may say and do."""

    name: str
    """Of its worlds."""
    seconds: float
    seed: int

    def run(self) -> Failure | None:
        """Let worlds live, and remember the seed of the one that fails."""
        return self._run(self.seconds)

    def run_again(self) -> Failure | None:
        """Let the world that failed live once more."""
        return self._run(0.0)

    def _run(self, seconds: float) -> Failure | None:
        failed_seed = fuzz(self.name, seconds, self.seed)
        if failed_seed is None:
            return None
        self.seed = failed_seed
        return Failure(f"seed {failed_seed}")


@dataclass(eq=False)
class CompiledTarget:
    """The compiled code, with bytes of one kind."""

    name: str
    seconds: float
    seed: int
    environment: dict[str, str]
    keeps: bool = False
    """Whether inputs that reach something new go into the corpus."""

    def run(self) -> Failure | None:
        """Fuzz; keep the input that failed, and say how to play it again."""
        with tempfile.TemporaryDirectory() as folder:
            current = Path(folder) / "current"
            words = [self.name, "--corpus", CORPUS / self.name, "--current", current]
            words += ["--seconds", str(self.seconds), "--seed", str(self.seed)]
            words += ["--keep"] if self.keeps else []
            failure = work(words, self.environment, CORPUS_LIMIT_S + 2 * self.seconds)
            if failure is not None:
                shutil.copy2(current, self._kept)
                print(f"{self.name}: failed with seed {self.seed}; to play it again:")
                print(f"  python -m tests.fuzz --replay {self._kept.name}")
            return failure

    def run_again(self) -> Failure | None:
        """Play the input that failed, and then all of it with its seed."""
        return replay(self._kept, self.environment) or self.run()

    @property
    def _kept(self) -> Path:
        return ROOT / f"fuzz-failure.{self.name}"


def replay(path: Path, environment: dict[str, str]) -> Failure | None:
    """Play one input; the suffix of the file says of which kind it is."""
    words = [path.suffix.removeprefix("."), "--replay", path.resolve()]
    return work(words, environment, CORPUS_LIMIT_S)


def work(
    words: Sequence[str | Path], environment: dict[str, str], limit_s: float
) -> Failure | None:
    """Run the worker in the instrumented copy; tell what went wrong."""
    command = [sys.executable, "-m", "tests.fuzz.worker", *words]
    process = subprocess.Popen(command, cwd=FOLDER / "tree", env=environment)
    try:
        code = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        print(how := f"it has not ended after {limit_s:g} s")
        return Failure(how)
    finally:
        process.kill()
        process.wait()
    if code < 0:  # the sanitizers abort
        return Failure(f"ended by signal {-code}", is_proof=True)
    return Failure(f"exit code {code}") if code else None
