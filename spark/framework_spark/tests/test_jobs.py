"""Jobs of a topology, as processes that `framework run` runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from framework_spark.jobs import START_DEADLINE_S
from framework_spark.plugin import framework_status_sections

from framework.cli.plugin_choice import PluginChoice
from framework.cli.topologies import load_topology
from framework.errors import PluginError

TOPOLOGY = """
plugins = ["route", "spark"]

[defaults.spark.jobs.analytics]
file = "job.py"
arguments = ["--since", "now"]
memory = "512m"

[clusters.c.servers.one]
port = 24101

[clusters.c.servers.two]
port = 24102
"""


@pytest.fixture
def processes(tmp_path):
    """Give a function that returns the jobs of a topology."""

    def found(text):
        file = tmp_path / "t.toml"
        file.write_text(text)
        topology, registry = load_topology(str(file), PluginChoice.from_words(()))
        return registry.topology_processes(topology)

    return found


def test_a_job_is_one_process_whatever_servers_there_are(processes, tmp_path):
    [job] = processes(TOPOLOGY)

    assert ("analytics", START_DEADLINE_S) == (job.name, job.start_deadline_s)
    env, urls, python, *words = job.arguments
    assert ("/usr/bin/env", sys.executable) == (env, python)
    assert "NATS_URL=nats://127.0.0.1:24101,nats://127.0.0.1:24102" == urls
    assert [
        *("-m", "pyspark_nats.job", "--cores", "2", "--memory", "512m"),
        *(str(tmp_path / "job.py"), "--", "--since", "now"),
    ] == words


def test_without_jobs_there_is_no_process(processes):
    assert () == processes(TOPOLOGY.partition("[defaults")[0] + "[clusters.c.servers.one]\n")


def test_a_job_with_the_name_of_a_server_is_refused(processes):
    with pytest.raises(PluginError, match="process one belongs to the core"):
        processes(TOPOLOGY.replace("jobs.analytics", "jobs.one"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("spark", "--help"), "shell"),
        (("spark", "run", "--help"), "FILE"),
        (("spark", "shell", "--help"), "--servers"),
    ],
)
def test_commands_say_what_they_do(words, said):
    command = [sys.executable, "-m", "framework", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == result.returncode
    assert said in result.stdout


def test_a_script_is_run_without_the_word_run(tmp_path, monkeypatch):
    """What `framework spark FILE` starts, with a Python that shows its words."""
    shown = tmp_path / "python"
    shown.write_text(f"#!{sys.executable}\nimport json, os, sys\n"
                     "print(json.dumps([sys.argv[1:], os.environ['NATS_URL']]))\n")  # fmt: skip
    shown.chmod(0o755)
    program = (
        "import sys; from framework.cli.main import main; "
        f"sys.executable = {str(shown)!r}; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "spark", "--servers", "nats://h:1", "job.py", "-x"]
    monkeypatch.delenv("NATS_URL", raising=False)
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    words, url = json.loads(result.stdout)
    assert "nats://h:1" == url
    assert ["-m", "pyspark_nats.job"] == words[:2]
    assert ["job.py", "--", "-x"] == words[-3:]


def test_a_lag_that_nobody_knows_is_no_number():
    [section] = framework_status_sections()
    columns = {it.title: it.cell for it in section.columns}
    unknown, known = (section.read({"queries": 1, "rows": 3, "lag": it}) for it in (None, 0))

    assert ("", 0, 3) == (columns["lag"](unknown), columns["lag"](known), columns["rows"](known))
