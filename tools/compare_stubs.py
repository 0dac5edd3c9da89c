"""Compare each `.pyi` with the compiled module beside it, by mypy's stubtest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Return stubtest's exit code; a compiled module that Python imports must have a `.pyi`."""
    modules = [
        ".".join(stub.relative_to(folder).with_suffix("").parts)
        for folder in (ROOT, *sorted(ROOT.glob("plugins/*/src")))
        for stub in sorted(folder.glob("framework*/**/*.pyi"))
    ]
    command = [sys.executable, "-m", "mypy.stubtest", "--concise"]
    command += ["--allowlist", "tools/stubtest_allowed.txt", "--ignore-unused-allowlist"]
    command += ["--mypy-config-file", "pyproject.toml", *modules]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
