from __future__ import annotations

from framework.testing.scripts import Replay, read_script, server_config, write_script

SCRIPT = r"""# What this is about.

server
max_payload: 7

connect a {"verbose": false}
----

# Why this step.
a
SUB foo 1
PUB foo 2
hi
----
MSG foo 1 2
hi

a end
<x*70>\
----
-ERR 'Unknown Protocol Operation'
(closed)
"""


def test_a_script_is_read(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(SCRIPT)
    about, server, connect, exchange, end = read_script(path)

    assert about.comment == ("# What this is about.",)
    assert server_config([about, server]) == "max_payload: 7"
    assert connect.command == 'connect a {"verbose": false}'
    assert exchange.comment == ("# Why this step.",)
    assert exchange.sends == ("SUB foo 1", "PUB foo 2", "hi")
    assert exchange.answers == ("MSG foo 1 2", "hi")
    assert end.command == "a end"


def test_what_is_written_is_what_was_read(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(SCRIPT)
    steps = read_script(path)
    write_script(path, steps, [step.answers for step in steps])

    assert path.read_text() == SCRIPT


def test_ours_plays_it_as_it_stands(tmp_path, start_server):
    path = tmp_path / "some.txt"
    path.write_text(SCRIPT)
    steps = read_script(path)
    server = start_server(config=server_config(steps))
    player = Replay(server.port, server.cluster_port, slowly=False)
    answers = [player.play(step) for step in steps]
    player.close()

    assert [list(step.answers) for step in steps] == answers
