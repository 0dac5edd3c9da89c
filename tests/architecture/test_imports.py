"""The import contracts hold, and each of them would notice."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GATEWAY = "plugins/gateway/src/framework_gateway"
LEAFNODE = "plugins/leafnode/src/framework_leafnode"
JETSTREAM = "plugins/jetstream/src/framework_jetstream"
AUTH = "plugins/auth/src/framework_auth"
ROUTE = "plugins/route/src/framework_route"
SPARK = "spark/pyspark_nats/src/pyspark_nats"
SPARK_PLUGIN = "spark/framework_spark/src/framework_spark"
TAP = "spark/framework_tap/src/framework_tap"

pytestmark = pytest.mark.timeout(120)


@dataclass(frozen=True)
class Violation:
    contract: str
    lines: dict[str, str]
    """File to the line that is put at its end; a file that is not there is made."""
    blamed: str


VIOLATIONS = {
    "upwards": Violation(
        "rooms",
        {"framework/wire/version.py": "import framework.server"},
        "framework.wire is not allowed to import framework.server",
    ),
    "beside": Violation(
        "rooms",
        {"framework/topology/units.py": "import framework.actors"},
        "framework.topology is not allowed to import framework.actors",
    ),
    "a room without a floor": Violation("rooms", {"framework/attic.py": ""}, "attic"),
    "clients that know the system account": Violation(
        "server",
        {"framework/server/clients/clients.py": "import framework.server.system.outbox"},
        "framework.server.clients is not allowed to import framework.server.system",
    ),
    "a plugin": Violation(
        "no-plugin", {"framework/server/limits.py": "import framework_route"}, "framework_route"
    ),
    "another plugin": Violation(
        "plugins-apart", {f"{ROUTE}/config.py": "import framework_auth"}, "framework_auth"
    ),
    "behind the plugin API": Violation(
        "plugin-api", {f"{ROUTE}/config.py": "import framework.server"}, "framework.server"
    ),
    "a socket in a machine": Violation(
        "sans-io", {f"{ROUTE}/machine.py": "import socket"}, "socket"
    ),
    "a clock in the wire": Violation(
        "sans-io", {"framework/wire/version.py": "import time"}, "time"
    ),
    "secrets that know their actor": Violation(
        "auth",
        {f"{AUTH}/passwords.py": "import framework_auth.password_checker"},
        "framework_auth.passwords is not allowed to import framework_auth.password_checker",
    ),
    "a mesh of clusters that knows its actor": Violation(
        "gateway",
        {f"{GATEWAY}/mesh.py": "import framework_gateway.gateway_manager"},
        "framework_gateway.mesh is not allowed to import framework_gateway.gateway_manager",
    ),
    "leaf nodes that know their actor": Violation(
        "leafnode",
        {f"{LEAFNODE}/leafs.py": "import framework_leafnode.leaf_manager"},
        "framework_leafnode.leafs is not allowed to import framework_leafnode.leaf_manager",
    ),
    "a log that knows its plugin": Violation(
        "jetstream",
        {f"{JETSTREAM}/log/__init__.py": "import framework_jetstream.plugin"},
        "framework_jetstream.log is not allowed to import framework_jetstream.plugin",
    ),
    "a machine that knows its actor": Violation(
        "route",
        {f"{ROUTE}/machine.py": "import framework_route.pool_connection"},
        "framework_route.machine is not allowed to import framework_route.pool_connection",
    ),
    "a data source that knows the server": Violation(
        "spark-apart", {f"{SPARK}/jetstream.py": "import framework.wire"}, "framework"
    ),
    "a command that knows its plugin": Violation(
        "spark-plugin",
        {f"{SPARK_PLUGIN}/commands.py": "import framework_spark.plugin"},
        "framework_spark.commands is not allowed to import framework_spark.plugin",
    ),
    "a frame that knows its sink": Violation(
        "tap",
        {f"{TAP}/frames.py": "import framework_tap.stream_sink"},
        "framework_tap.frames is not allowed to import framework_tap.stream_sink",
    ),
    "bytes that know their connection": Violation(
        "spark",
        {f"{SPARK}/frames.py": "import pyspark_nats.connection"},
        "pyspark_nats.frames is not allowed to import pyspark_nats.connection",
    ),
    "a private module": Violation(
        "private",
        {"framework/wire/_secret.py": "", f"{ROUTE}/config.py": "import framework.wire._secret"},
        "framework_route.config imports framework.wire._secret",
    ),
    "a cycle": Violation(
        "no-cycles",
        {
            "framework/wire/hen.py": "import framework.wire.egg",
            "framework/wire/egg.py": "import framework.wire.hen",
        },
        "egg",
    ),
}


def lint_imports(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages that stand in `folder`."""
    places = [folder, *folder.glob("plugins/*/src"), *folder.glob("spark/*/src")]
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--config", "importlinter.toml", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for place in ("framework", "plugins", "spark", "tools"):
        unread = shutil.ignore_patterns("__pycache__", "tests", "*.so", "*.c", "*.pyx", "*.pxd")
        shutil.copytree(ROOT / place, folder / place, ignore=unread)
    shutil.copy2(ROOT / "importlinter.toml", folder)
    return folder


def test_contracts_hold() -> None:
    run = lint_imports(ROOT, "--no-cache")

    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("name", VIOLATIONS)
def test_contract_notices(copy: Path, name: str) -> None:
    violation = VIOLATIONS[name]
    before = {file: (copy / file).exists() for file in violation.lines}
    for file, line in violation.lines.items():
        with (copy / file).open("a") as module:
            module.write(f"\n{line}\n")
    try:
        run = lint_imports(copy, "--no-cache", "--contract", violation.contract)
    finally:
        for file, was_there in before.items():
            if was_there:
                shutil.copy2(ROOT / file, copy / file)
            else:
                (copy / file).unlink()

    assert run.returncode == 1, run.stdout
    assert violation.blamed in run.stdout


def test_each_contract_is_planted() -> None:
    settings = tomllib.loads((ROOT / "importlinter.toml").read_text())["tool"]["importlinter"]

    assert {each["id"] for each in settings["contracts"]} == {
        violation.contract for violation in VIOLATIONS.values()
    }


def test_each_package_is_read() -> None:
    settings = tomllib.loads((ROOT / "importlinter.toml").read_text())["tool"]["importlinter"]
    folders = [*ROOT.glob("plugins/*/src/*"), *ROOT.glob("spark/*/src/*")]
    members = {path.name for path in folders if "." not in path.name}

    assert set(settings["root_packages"]) == {"framework", *members}


def test_no_module_of_the_core_is_named_for_what_a_plugin_brings() -> None:
    # The plane's rooms and the test kit know routes, as rows of tables and as peers; the wire room
    # has the documents and frames of all protocols.
    words = re.compile("route|mesh|gateway|leaf|jetstream|mqtt|websocket")
    rooms = {"dataplane", "testing", "tests", "wire"}
    paths = [path.relative_to(ROOT) for path in (ROOT / "framework").rglob("*.py")]

    assert [it for it in paths if words.search(it.stem) and it.parts[1] not in rooms] == []
