"""A reload changes limits of the server and of accounts at once."""

from __future__ import annotations

CONFIG = """
jetstream { store_dir: "%s", strict: %s, limits { default_max_consumers: %d } }
accounts { A { jetstream: { max_streams: %d }, users: [{ user: a, password: a }] } }
"""


def test_limits_and_strictness_are_followed(fleet, log_in, tmp_path):
    folder = tmp_path / "store"
    plugin = ("-plugin", "framework_jetstream.plugin")
    server = fleet.start(*plugin, config=CONFIG % (folder, "true", 1, 1))
    with server.client() as client:
        user = log_in(client, user="a", **{"pass": "a"})

        def make(name, **more):
            stream = {"name": name, "subjects": [name], "storage": "memory", **more}
            error = user.api(f"STREAM.CREATE.{name}", stream).get("error", {})
            return error.get("err_code")

        def consume(name):
            body = {"stream_name": "S", "config": {"durable_name": name}}
            return user.api(f"CONSUMER.CREATE.S.{name}", body).get("error", {}).get("err_code")

        before = [make("S"), make("T"), make("S", no=1), consume("C"), consume("D")]
        server.reload(CONFIG % (folder, "false", 2, 2))
        after = [make("T"), make("U"), make("S", no=1), consume("D"), consume("E")]

    assert before == [None, 10027, 10025, None, 10026]
    assert after == [None, 10027, None, None, 10026]
