from __future__ import annotations

from framework.topology import explain_topology, read_topology


def test_everything_that_was_set_has_its_origin(write, schema, planners):
    text = (
        'name = "world"\nplugins = ["route"]\n'
        '[defaults]\nmax_payload = "8MB"\nping_interval = "30s"\nport = -1\n'
        'server_metadata = { a = "b" }\n'
        '[clusters.a]\ncluster.authorization = { user = "u", password = "secret" }\n'
        "cluster.permissions = { import = 1 }\ncluster.remotes = [{}]\n"
        "[clusters.a.servers.x]\nhttp = 8222\n[clusters.a.servers.y]\ndebug = true\n"
    )

    explained = explain_topology(read_topology(write("t.toml", text), schema, planners))

    assert explained == EXPLAINED


EXPLAINED = """\
topology world (t.toml)
plugins: route

cluster a: 2 servers

  server x
    client port      127.0.0.1, any free port
    cluster port     127.0.0.1:6222
    monitoring port  127.0.0.1:8222
      host                            127.0.0.1              derived
      port                            any free one           t.toml:6:8
      server_name                     x                      derived
      server_metadata                 a=b                    t.toml:7:19
      http                            127.0.0.1:8222         t.toml:13:8
      http_port                       8222                   t.toml:13:8
      max_payload                     8MB                    t.toml:4:15
      ping_interval                   30s                    t.toml:5:17
      cluster.name                    a                      derived
      cluster.host                    127.0.0.1              derived
      cluster.port                    6222                   derived
      cluster.routes                  nats://127.0.0.1:6223  derived
      cluster.permissions             1 entries              t.toml:10:23
      cluster.authorization.user      u                      t.toml:9:34
      cluster.authorization.password  ***                    t.toml:9:50
      cluster.remotes                 1 entries              t.toml:11:19

  server y
    client port      127.0.0.1, any free port
    cluster port     127.0.0.1:6223
      host                            127.0.0.1              derived
      port                            any free one           t.toml:6:8
      server_name                     y                      derived
      server_metadata                 a=b                    t.toml:7:19
      debug                           true                   t.toml:15:9
      max_payload                     8MB                    t.toml:4:15
      ping_interval                   30s                    t.toml:5:17
      cluster.name                    a                      derived
      cluster.host                    127.0.0.1              derived
      cluster.port                    6223                   derived
      cluster.routes                  nats://127.0.0.1:6222  derived
      cluster.permissions             1 entries              t.toml:10:23
      cluster.authorization.user      u                      t.toml:9:34
      cluster.authorization.password  ***                    t.toml:9:50
      cluster.remotes                 1 entries              t.toml:11:19
"""


def test_a_file_of_nats_servers(write, schema, planners):
    explained = explain_topology(read_topology(write("s.conf", "port: 4333"), schema, planners))

    assert explained == (
        "topology s (s.conf)\nplugins: all installed\n\n  server s\n"
        "    client port      0.0.0.0:4333\n"
        "      port  4333  s.conf:1:7\n"
    )
