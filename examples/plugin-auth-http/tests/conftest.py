from __future__ import annotations

import json
import urllib.request

import pytest
from service import LoginService

from framework.testing import ConnectionEndedError


@pytest.fixture
def service():
    with LoginService() as service:
        yield service


@pytest.fixture
def start(start_server, service):
    """Start a server that asks the service; options as the block has them."""

    def start_(url="http://127.0.0.1:{port}/login", **options):
        block = {"url": url.format(port=service.port), **options}
        lines = "\n".join(f"  {name}: {json.dumps(value)}" for name, value in block.items())
        return start_server("-m", "-1", config=f"auth_http {{\n{lines}\n}}\n")

    return start_


@pytest.fixture
def lets_in():
    """Tell whether a server lets a client in."""

    def lets_in_(server, user="joe", password="s3cr3t", **options):
        with server.client() as client:
            try:
                client.log_in(user=user, **{"pass": password}, **options)
            except ConnectionEndedError:
                return False
        return True

    return lets_in_


@pytest.fixture
def connz():
    def connz_(server, query="auth=1&state=all"):
        url = f"http://127.0.0.1:{server.monitor_port}/connz?{query}"
        while True:  # who has just gone is listed once that is known
            with urllib.request.urlopen(url) as answer:
                if rows := json.load(answer)["connections"]:
                    return rows

    return connz_
