"""Test the compiled rooms under the compiler's address and undefined-behaviour sanitizers.

The compiled code works on plain C memory, where Cython's bounds checks see nothing.
Arguments go to pytest; without any, all tests of the compiled rooms run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.instrumented import build, compiler

FLAGS = (
    "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined "
    "-fno-sanitize=nonnull-attribute"  # memcpy of nothing from nowhere is harmless
)
TESTS = ["framework/tests/sublist", "framework/tests/dataplane", "framework/tests/wire/test_s2.py"]


def main() -> int:
    """Return pytest's exit code, or that of the sanitizer."""
    with tempfile.TemporaryDirectory(prefix="framework-sanitized-") as name:
        folder = Path(name) / "tree"
        environment = build(folder, FLAGS)
        environment |= {
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # Python itself never frees all
            "LD_PRELOAD": " ".join(map(_library, ("libasan.so", "libubsan.so"))),
            "PYTHONMALLOC": "malloc",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        options = ["-p", "no:cacheprovider", "--timeout=300", "--capture=sys"]
        arguments = sys.argv[1:] or TESTS
        command = [sys.executable, "-m", "pytest", *options, *arguments]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def _library(name: str) -> str:
    found = subprocess.run(
        [compiler(), f"-print-file-name={name}"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
