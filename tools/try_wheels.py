"""Build all wheels, install them alone, and test plugins from outside the workspace against them.

What third parties meet: our wheels, their own folder, no file of this tree. The commands that
docs/PLUGINS.md begins with are run as they stand there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ("plugin-audit", "plugin-auth-http", "plugin-compression-brotli", "plugin-metrics")


def main() -> None:
    """Build, install, try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, help="keep the wheels in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="framework-wheels-") as name:
        place = Path(name)
        wheels = arguments.wheels or place / "wheels"
        projects = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
        for project in projects:
            _build(_copied(project, place / "source" / project.name), wheels)
        python = _environment(place / "venv", sorted(wheels.glob("*.whl")))
        _try_commands(python.parent, place)
        _try_page(python.parent, place)
        for example in EXAMPLES:
            _try_example(python, _copied(ROOT / "examples" / example, place / example))


def _copied(project: Path, target: Path) -> Path:
    """Copy what Git would hand out of `project`; so no file built in place gets into a wheel."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "."],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    )
    for file in filter(None, listed.stdout.split("\0")):
        source = project / file
        if source.is_file():
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / file)
    return target


def _build(project: Path, wheels: Path) -> None:
    options = ["--no-build-isolation", "--no-deps", "--wheel-dir", str(wheels)]
    _run([sys.executable, "-m", "pip", "wheel", "--quiet", *options, str(project)])


def _environment(folder: Path, wheels: list[Path]) -> Path:
    """Make an environment with the pinned requirements and `wheels`; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    files = [ROOT / "requirements" / f"{name}.txt" for name in ("build", "run", "test")]
    options = [option for file in files for option in ("-r", str(file))]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", *options])
    _run([*pip, "--no-index", *map(str, wheels)])  # no index: what they declare must be there
    return python


def _try_commands(bin_: Path, elsewhere: Path) -> None:
    _run([str(bin_ / "nats-server"), "--version"], cwd=elsewhere)
    _run([str(bin_ / "framework"), "plugins"], cwd=elsewhere)


def _try_page(bin_: Path, elsewhere: Path) -> None:
    """Run what the page tells authors to do first, up to a server that runs their plugin."""
    page = (ROOT / "docs" / "PLUGINS.md").read_text()
    found = re.search(r"```sh\n(framework new-plugin .*?)```", page, re.DOTALL)
    assert found, "the page begins with `framework new-plugin`"
    *commands, serve = found[1].splitlines()
    # What the page leaves to the index of packages is installed here already.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "off", "PIP_QUIET": "1"}
    path = {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    began_s = time.perf_counter()
    words = " && ".join([*commands, "pwd"])
    print("+", words, flush=True)
    done = subprocess.run(
        ["/bin/sh", "-c", words],
        cwd=elsewhere,
        env={**_outside(), **offline, **path},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    print(done.stdout, f"green after {time.perf_counter() - began_s:.1f} s", flush=True)
    _try_serving(serve.split(), Path(done.stdout.splitlines()[-1]), path)


def _try_serving(command: list[str], folder: Path, path: dict[str, str]) -> None:
    """Start a server as the page says, and stop it when it is ready."""
    print("+", *command, flush=True)
    program = [shutil.which(command[0], path=path["PATH"]) or command[0], *command[1:], "-p", "-1"]
    server = subprocess.Popen(
        program, cwd=folder, env=_outside(), stderr=subprocess.PIPE, text=True
    )
    assert server.stderr
    lines = []
    for line in server.stderr:
        lines.append(line)
        if "Server is ready" in line:
            server.send_signal(signal.SIGTERM)
    if server.wait() != 0:
        raise SystemExit("".join(lines))


def _try_example(python: Path, project: Path) -> None:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--no-index", "--no-build-isolation", "."], cwd=project)
    _run([str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=project)


def _run(command: list[str], cwd: Path = ROOT) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, cwd=cwd, env=_outside(), check=True)


def _outside() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


if __name__ == "__main__":
    main()
