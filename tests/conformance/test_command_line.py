"""What nats-server says on the command line without starting."""

from __future__ import annotations

import subprocess

import pytest

CONFIG = rb"""
PORT = 4222                     # variables count
port: $PORT, host: $ADDRESS
include "more.conf"
max_payload: 64KB
debug: yes
ping_interval: "2m"
authorization {
  timeout: 0.5
  users: [
    { user: 'a<b>&c', password: "\t\xe2\x80\xa8" }
    { user: "\xc3\xa9\x7f", password: 'x' }
  ]
}
server_metadata { zone: a, "\xc3\xa9": "\x22", A: "" }
"""
DIGEST = "sha256:acf04e5995a446e375a55fbba01cc4c92b052ace1c48179e9ddfb8388457bc81"


@pytest.fixture
def run(fleet, kind, tmp_path):
    """Return a function that runs a server, and gives its exit code and its words."""

    def run_server(*flags, environ=None):
        done = subprocess.run(
            [*fleet.program(kind), *flags],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env=environ,
            text=True,
        )
        return done.returncode, done.stderr.partition(": ")[2]  # without the program's name

    return run_server


def test_t_tells_one_configuration_from_another(run, tmp_path):
    tmp_path.joinpath("more.conf").write_text("write_deadline: 1s\n")
    tmp_path.joinpath("server.conf").write_bytes(CONFIG)

    said = f"configuration file server.conf is valid ({DIGEST})\n"
    assert run("-t", "-c", "server.conf", environ={"ADDRESS": "127.0.0.1"}) == (0, said)


def test_routes_without_a_cluster(run):
    said = "solicited routes require cluster capabilities, e.g. --cluster\n"
    assert run("-p", "-1", "-routes", "nats://127.0.0.1:4248") == (1, said)
