"""Make a wheelhouse, install from it alone, and try what users and third parties would.

What they meet: our wheels, their own folder, no file of this tree. The commands that
docs/PLUGINS.md begins with are run as they stand there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.wheels import ROOT, build_wheels, collect_requirements, copy_sources, outside, run

EXAMPLES = (
    "plugin-audit",
    "plugin-auth-http",
    "plugin-compression-brotli",
    "plugin-dead-letter",
    "plugin-gate-c",
    "plugin-lines",
    "plugin-metrics",
    "plugin-placement-zones",
    "plugin-port-c",
    "plugin-quota",
    "plugin-redact",
    "plugin-schema",
    "plugin-storage-sqlite",
)
START_DEADLINE_S = 30


def main() -> None:
    """Build, install, try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, help="keep the wheels in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="framework-wheels-") as name:
        place = Path(name)
        wheels = arguments.wheels or place / "wheels"
        wheels.mkdir(parents=True, exist_ok=True)
        build_wheels(wheels, reuses=not arguments.wheels)
        collect_requirements(wheels)
        _try_core(_environment(place / "core"), wheels, place)
        _try_standard(_environment(place / "standard"), wheels, place)
        python = _environment(place / "authors")
        # Jobs of Spark need pyarrow, which is large, and which no plugin of a server does.
        ours = set(wheels.glob("framework*.whl")) - set(wheels.glob("framework_spark-*.whl"))
        _install_for_authors(python, sorted(ours))
        _try_page(python.parent, place)
        _try_examples(python, place)


def _environment(folder: Path) -> Path:
    """Make an empty environment; return its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def _try_core(python: Path, wheels: Path, elsewhere: Path) -> None:
    """The core alone runs, and says what it lacks."""
    run([*_pip(python), "--no-index", "--find-links", str(wheels), "framework"])
    said = _said_by_a_server(python, elsewhere)
    _demand("framework[standard]" in said, "a core without plugins must say so", said)


def _try_standard(python: Path, wheels: Path, elsewhere: Path) -> None:
    """One command brings core and plugins, and each command answers."""
    run([*_pip(python), "--no-index", "--find-links", str(wheels), "framework[standard]"])
    run([str(python), "-m", "pip", "check"])
    said = _said_by_a_server(python, elsewhere, "--cluster", "nats://127.0.0.1:-1")
    _demand("framework[standard]" not in said, "nothing is missing", said)
    store = elsewhere / "store"
    _said_by_a_server(python, elsewhere, "-js", "-sd", str(store))
    _demand(any(store.rglob("*.log")), "streams are kept where it was told", str(store))
    bin_ = python.parent
    run([str(bin_ / "nats-server"), "--version"], cwd=elsewhere)
    plugins = subprocess.run(
        [str(bin_ / "framework"), "plugins"], cwd=elsewhere, check=True, capture_output=True
    ).stdout.decode()
    for name in ("auth", "gateway", "jetstream", "leafnode", "route", "websocket"):
        _demand(f"{name}: " in plugins, f"the plugin {name} is there", plugins)


def _said_by_a_server(python: Path, elsewhere: Path, *flags: str) -> str:
    """Start a server, wait for its INFO, stop it; return its log."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(python.parent / "nats-server"), "-a", "127.0.0.1", "-p", str(port), *flags]
    print("+", *command, flush=True)
    with subprocess.Popen(
        command, cwd=elsewhere, env=outside(), stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        lines = []
        for line in server.stderr:
            lines.append(line)
            if "Server is ready" in line:
                with socket.create_connection(("127.0.0.1", port), START_DEADLINE_S) as client:
                    _demand(client.recv(5) == b"INFO ", "a client is greeted", line)
                server.terminate()
        _demand(server.wait(START_DEADLINE_S) == 0, "it stops when told", "".join(lines))
    return "".join(lines)


def _demand(is_so: bool, what: str, said: str) -> None:  # noqa: FBT001
    if not is_so:
        sys.exit(f"not so: {what}; what was said:\n{said}")


def _install_for_authors(python: Path, wheels: list[Path]) -> None:
    """Install the wheels beside the pinned requirements of tests."""
    files = [ROOT / "requirements" / f"{name}.txt" for name in ("build", "run", "test")]
    options = [option for file in files for option in ("-r", str(file))]
    run([*_pip(python), "--require-hashes", *options])
    run([*_pip(python), "--no-index", *map(str, wheels)])  # what they declare must be there


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
        env={**outside(), **offline, **path},
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
    server = subprocess.Popen(program, cwd=folder, env=outside(), stderr=subprocess.PIPE, text=True)
    assert server.stderr
    lines = []
    for line in server.stderr:
        lines.append(line)
        if "Server is ready" in line:
            server.send_signal(signal.SIGTERM)
    if server.wait() != 0:
        raise SystemExit("".join(lines))


def _try_examples(python: Path, place: Path) -> None:
    """Install the plugins of others beside each other, and run the tests that each brings."""
    projects = [copy_sources(ROOT / "examples" / name, place / name) for name in EXAMPLES]
    options = ["--no-index", "--no-build-isolation", *map(str, projects)]
    run([*_pip(python), *options])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [said for said in pool.map(partial(_failure_of, python), projects) if said]
    _demand(not failed, "all examples pass their tests", "".join(failed))


def _failure_of(python: Path, project: Path) -> str:
    """Run the tests of an example; return what they said if they failed."""
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        cwd=project,
        env=outside(),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print("+", *command, f"# in {project.name}\n{done.stdout}", flush=True)
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    main()
