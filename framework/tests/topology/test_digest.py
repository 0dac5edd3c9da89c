from __future__ import annotations

import hashlib

import pytest

from framework.topology import Schema, read_server_conf, read_topology
from framework.topology.digest import digest_of
from framework.topology.natsconf import parse_conf
from framework.topology.toml_file import node_from_toml


def digest(json_text):
    """Return the digest of what Go's JSON encoder writes."""
    line = f"{json_text}\n".encode()
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


@pytest.mark.parametrize(
    ("conf", "go"),
    [
        ("", "{}"),
        ("port: 4222 # one\n", '{"port":4222}'),
        ("b: 8MB\na: yes\nB: [ x, { y: off } ]\n", '{"B":["x",{"y":false}],"a":true,"b":8388608}'),
        ("P=1\nport: $P\n", '{"P":1,"port":1}'),
        ("a: 2.0, b: 0.5, c: -0.0", '{"a":2,"b":0.5,"c":-0}'),
        ("a: 0.000001, b: 0.00000015", '{"a":0.000001,"b":1.5e-7}'),
        ("a: 12345678901234567890.5", '{"a":12345678901234567000}'),
        ("a: 1000000000000000000000.5", '{"a":1e+21}'),
        ("a: 2016-05-04T18:53:41Z", '{"a":"2016-05-04T18:53:41Z"}'),
        (r"""a: '<&> "\'""", r'{"a":"\u003c\u0026\u003e \"\\"}'),
        (r'a: "é\t\x01\x7f"', '{"a":"é\\t\\u0001\x7f"}'),
        (r'a: "\xff\xe2\x80\xa8"', r'{"a":"\ufffd\u2028"}'),
        (r'"\": 1, é: 2, z: 3', r'{"\\":1,"z":3,"é":2}'),
    ],
)  # fmt: skip
def test_it_is_that_of_nats_server(conf, go):
    assert digest_of(parse_conf(conf)) == digest(go)


def test_formats_do_not_matter():
    toml = node_from_toml("port = 4222\nauthorization = { timeout = 0.5 }\n", "text")

    assert digest_of(toml) == digest_of(parse_conf("authorization { timeout: 0.5 }\nport: 4222"))


def test_flags_do_not_change_it(write):
    file = write("a.conf", "port: 4222\n")
    flags = parse_conf("port: 5222")

    assert read_server_conf(file, Schema(()), flags).digest == digest('{"port":4222}')
    assert read_server_conf(None, Schema(()), flags).digest == ""


def test_in_a_topology_each_server_has_its_own(schema, planners, write):
    text = "[clusters.a.servers]\nn1 = {}\nn2.max_payload = "
    before = read_topology(write("t.toml", f"{text}1024"), schema, planners)
    after = read_topology(write("t.toml", f"{text}2048"), schema, planners)
    changed = [
        old.config.digest != new.config.digest
        for old, new in zip(before.servers, after.servers, strict=True)
    ]

    assert changed == [False, True]
