"""Pin and hash the requirements: `tox -e lock`, or with names of packages to take their newest.

run.txt follows from the dependencies of our distributions, which are never looked up themselves;
the others follow from the `.in` file of their name.
The order matters: each file is held to the versions of those before it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP_TOOLS = "pip-tools==7.6.2"
SOURCES = {
    "build": "build.in",
    "run": "-",
    "test": "test.in",
    "lint": "lint.in",
    "tox": "tox.in",
    "spark": "spark.in",
    "java": "java.in",
}
OPTIONS = [
    "--quiet",
    "--generate-hashes",
    "--allow-unsafe",
    "--strip-extras",
    "--annotation-style=line",
    "--no-header",
    "--no-emit-index-url",
    "--no-emit-trusted-host",
    "--no-emit-find-links",
    "--no-emit-options",
]


def main() -> None:
    """Write requirements/*.txt."""
    newest = [option for name in sys.argv[1:] for option in ("--upgrade-package", name)]
    environment = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", PIP_TOOLS], check=True)
        for name, source in SOURCES.items():
            command = [python, "-m", "piptools", "compile", *OPTIONS, *newest]
            subprocess.run(
                [*command, "--output-file", f"{name}.txt", source],
                cwd=ROOT / "requirements",
                env=environment,
                input="\n".join(dependencies()) if source == "-" else None,
                text=True,
                check=True,
            )


def dependencies() -> list[str]:
    """Return what our distributions need of others."""
    projects = [ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")]
    needed = {
        dependency
        for project in projects
        for dependency in tomllib.loads(project.read_text())["project"]["dependencies"]
    }
    return sorted(each for each in needed if not each.startswith("framework"))


if __name__ == "__main__":
    main()
