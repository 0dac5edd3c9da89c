"""How long logins may take where TLS is spoken: what `/varz` says, and what it comes to."""

from __future__ import annotations

import pytest

from framework.testing.certificates import Authority

LOGIN = "authorization { user: u, password: p, timeout: %s }"
CASES = {
    "without TLS": ("", 2, 2),
    "with TLS": ("tls { FILES }", 3, 2),
    "with a TLS timeout": ("tls { FILES, timeout: 0.5 }", 1.5, 2),
    "for routes": ("cluster { TLS }", 2, 3),
    "for routes, 0": (f"cluster {{ TLS, {LOGIN % 0} }}", 2, 3),
    "as configured": (f"tls {{ FILES }}, {LOGIN % 7}, cluster {{ TLS, {LOGIN % 8} }}", 7, 8),
    "of 0": (f"tls {{ FILES }}, {LOGIN % 0}", 3, 2),
}
"""What a configuration says, and the timeouts of clients and of routes that it comes to."""


@pytest.mark.parametrize("case", CASES)
def test_the_default_follows_the_handshake(fleet, kind, tmp_path, case):
    text, client_s, route_s = CASES[case]
    authority = Authority(tmp_path)
    issued = authority.issue("server")
    files = f'cert_file: "{issued.cert_file}", key_file: "{issued.key_file}"'
    tls = f'tls {{ FILES, ca_file: "{authority.ca_file}" }}'
    if "cluster" not in text:
        text += "\ncluster {}"
    text = text.replace("cluster {", "cluster { port: -1, name: c, ").replace(", }", "}")
    text = text.replace("TLS", tls).replace("FILES", files)
    server = fleet.start(kind=kind, config=f"http: 127.0.0.1:-1\n{text}\n")

    varz = server.document("/varz")

    assert varz["auth_timeout"] == client_s
    assert varz["cluster"]["auth_timeout"] == route_s
