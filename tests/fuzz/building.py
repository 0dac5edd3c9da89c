"""The instrumented copy of the tree that is fuzzed, kept until its sources change."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from tools.instrumented import build, compiler
from tools.wheels import ROOT

FOLDER = ROOT / "build" / "fuzz"
LIBRARY = FOLDER / "coverage.so"
_ROOMS = ("dataplane", "sublist", "wire")
_FLAGS = (
    "-O1 -g1 -fno-omit-frame-pointer -fsanitize-coverage=trace-pc "
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined "
    "-fno-sanitize=nonnull-attribute"  # memcpy of nothing from nowhere is harmless
)


def prepare() -> dict[str, str]:
    """Build what is not there yet, and return the environment to fuzz in."""
    here = Path(__file__).parent
    sources = [ROOT / "pyproject.toml", here / "coverage.c"]
    for room in _ROOMS:
        sources += sorted((ROOT / "framework" / room).rglob("*.p[xy]*"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = FOLDER / "stamp"
    if not stamp.exists() or stamp.read_text("utf-8") != digest:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        build(FOLDER / "tree", _FLAGS)
        flags = ("-O2", "-shared", "-fPIC", "-o", LIBRARY)
        subprocess.run([compiler(), *flags, here / "coverage.c"], check=True)
        stamp.write_text(digest, "utf-8")
    shutil.copytree(here, FOLDER / "tree" / "tests" / "fuzz", dirs_exist_ok=True)
    return _environment()


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:detect_odr_violation=0",
        "LD_PRELOAD": f"{_shared('libasan.so')} {_shared('libubsan.so')} {LIBRARY}",
        "PYTHONHASHSEED": "0",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(FOLDER / "tree"),
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
    }


def _shared(name: str) -> str:
    command = [compiler(), f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
