"""Logins at a real server that asks a real service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import nats
import pytest

ANYBODY = """
from framework import hookimpl
from framework.actors import Reply
from framework.spec import Accepted, Authenticator

def authenticate(request):
    reply = Reply()
    reply.set(Accepted("anybody"))
    return reply

@hookimpl(trylast=True)
def framework_authenticators():
    return [Authenticator(name="later", authenticate=authenticate)]
"""


def test_the_service_says_who_comes_where(service, start, lets_in, connz):
    service.answers["joe"] = (200, {"user": "Joseph", "account": "$SYS"})
    server = start()

    assert lets_in(server, name="till-1")
    (connection,) = connz(server)
    assert (connection["authorized_user"], connection["account"]) == ("Joseph", "$SYS")
    assert service.questions == [
        {"user": "joe", "password": "s3cr3t", "token": "", "host": "127.0.0.1", "type": "STANDARD"}
    ]


def test_what_a_client_may_say_is_what_the_service_allows(service, start):
    rules = {"publish": {"deny": ["orders.old"]}, "subscribe": {"allow": ["orders.>"]}}
    service.answers["joe"] = (200, {"permissions": rules, "max_payload": 10})
    with start().client() as client:
        client.log_in(user="joe", **{"pass": "s3cr3t"})
        client.expect(b"INFO")  # behind the first PONG
        client.send(b"SUB orders.> 1\r\nSUB secret 2\r\n")
        client.send(b"PUB orders.old 2\r\nhi\r\nPUB orders.new 2\r\nhi\r\n")
        heard = client.flush()

    assert [it.line.split()[0] for it in heard] == [b"-ERR", b"-ERR", b"MSG"]
    assert heard[2].subject == b"orders.new"


def test_a_user_is_named_as_he_named_himself_unless_the_service_knows_better(
    service, start, lets_in, connz
):
    service.answers["joe"] = (200, {})
    server = start()

    assert lets_in(server)
    assert [it["authorized_user"] for it in connz(server)] == ["joe"]


@pytest.mark.parametrize("status", [401, 403])
def test_who_is_refused_is_asked_about_each_time(service, start, lets_in, status):
    service.answers["joe"] = (status, {})
    server = start()

    assert not lets_in(server)
    assert not lets_in(server)
    assert len(service.questions) == 2
    server.wait_log("the login service says no")


def test_whom_the_service_does_not_know_another_authenticator_may(
    service, start_server, lets_in, tmp_path
):
    (tmp_path / "zz_later.py").write_text(ANYBODY)
    config = f"auth_http {{ url: 'http://127.0.0.1:{service.port}/login' }}"
    service.answers["joe"] = (403, {})
    server = start_server("--plugin", str(tmp_path / "zz_later.py"), config=config)

    assert lets_in(server, user="ann")
    assert not lets_in(server, user="joe")


def test_whom_nobody_knows_is_refused(start, lets_in):
    assert not lets_in(start())


def test_who_brings_nothing_is_not_asked_about(service, start, lets_in):
    assert not lets_in(start(), user="", password="")
    assert service.questions == []


def test_a_token_is_a_login_too(service, start, lets_in, connz):
    service.answers[""] = (200, {"user": "robot"})
    server = start()

    assert lets_in(server, user="", password="", auth_token="t0k3n")
    assert service.questions[0]["token"] == "t0k3n"
    assert [it["authorized_user"] for it in connz(server)] == ["robot"]


def test_who_was_let_in_is_remembered_with_his_password(service, start, lets_in):
    service.answers["joe"] = (200, {})
    server = start()

    assert lets_in(server)
    service.answers["joe"] = (403, {})
    assert lets_in(server)
    assert not lets_in(server, password="other")
    assert len(service.questions) == 2


@pytest.mark.parametrize("options", [{"cache_ttl": 0}, {"cache_size": 0}])
def test_nobody_is_remembered_where_that_is_not_wanted(service, start, lets_in, options):
    service.answers["joe"] = (200, {})
    server = start(**options)

    assert lets_in(server)
    assert lets_in(server)
    assert len(service.questions) == 2


def test_one_connection_serves_many_questions(service, start, lets_in):
    service.answers |= {f"u{number}": (200, {}) for number in range(5)}
    server = start()

    assert all(lets_in(server, user=user) for user in service.answers)
    assert len(service.connections) == 1


def test_the_service_gets_some_questions_at_once_and_the_others_wait(service, start, lets_in):
    users = [f"u{number}" for number in range(6)]
    service.answers = dict.fromkeys(users, (200, {}))
    service.held = set(users)
    server = start(concurrency=2, timeout="10s")
    with ThreadPoolExecutor(6) as pool:
        logins = [pool.submit(lets_in, server, user=user) for user in users]
        service.await_questions(2)
        service.released.set()

        assert all(login.result() for login in logins)
    assert service.most_at_once == 2
    assert len(service.questions) == 6


def test_clients_of_one_user_that_come_at_once_are_one_question(service, start, lets_in):
    service.answers["joe"] = (200, {})
    service.held = {"joe"}
    server = start(timeout="10s")
    with ThreadPoolExecutor(5) as pool:
        logins = [pool.submit(lets_in, server) for _ in range(5)]
        service.await_questions(1)
        service.released.set()

        assert all(login.result() for login in logins)
    assert len(service.questions) == 1


def test_answers_that_decide_nothing_refuse(service, start, lets_in):
    service.answers = {
        "down": (500, {}),
        "moved": (302, {}),
        "broken": (200, b"no json"),
        "long": (200, b"x" * 100_000),
        "misspelt": (200, {"permission": {}}),
    }
    server = start(failures=100)

    assert not any(lets_in(server, user=user) for user in service.answers)
    server.wait_log("it answered with status 500")
    server.wait_log("the answer is too long")
    server.wait_log("the login service is down", count=5)


def test_a_service_that_is_not_there_refuses_at_once_and_says_why(start, lets_in, service):
    server = start(url="http://127.0.0.1:1/login?key=qu3ry", failures=2)

    assert not lets_in(server)
    assert not lets_in(server)
    server.wait_log("The login service did not decide")
    server.wait_log("The login service is down, it is left alone for a while")
    server.wait_log("http://127.0.0.1:1/login")
    assert service.questions == []


def test_a_service_that_is_down_may_pass_logins_on(start_server, lets_in, tmp_path):
    (tmp_path / "zz_later.py").write_text(ANYBODY)
    config = "auth_http { url: 'http://127.0.0.1:1/', when_down: pass }"

    assert lets_in(start_server("--plugin", str(tmp_path / "zz_later.py"), config=config))


def test_a_silent_service_costs_the_time_out_but_not_for_every_login(service, start, lets_in):
    service.held = {"joe", "ann"}
    service.answers["bob"] = (200, {})
    server = start(timeout="50ms", failures=2, pause="1h")

    assert not lets_in(server, user="joe")
    assert not lets_in(server, user="ann")
    assert not lets_in(server, user="bob")
    assert [it["user"] for it in service.questions] == ["joe", "ann"]


def test_a_service_that_is_back_is_asked_again(service, start, lets_in):
    service.answers["joe"] = (503, {})
    server = start(failures=1, pause="10ms")

    assert not lets_in(server)
    service.answers["joe"] = (200, {})
    while not lets_in(server):
        pass
    server.wait_log("The login service is back")


def test_secrets_are_in_no_log(service, start, lets_in):
    service.answers["joe"] = (500, {"user": "an5w3r"})
    server = start(url="http://127.0.0.1:{port}/login?key=qu3ry", bearer="b34r3r")

    assert not lets_in(server)
    server.stop()
    assert service.headers[0]["Authorization"] == "Bearer b34r3r"
    assert service.paths == ["/login?key=qu3ry"]
    assert not [it for it in ("s3cr3t", "b34r3r", "qu3ry", "an5w3r") if it in server.log()]


def test_a_server_stops_while_the_service_thinks(service, start):
    service.held = {"joe"}
    server = start(timeout="10s")
    with server.client() as client:
        client.expect(b"INFO")
        client.send(b'CONNECT {"user":"joe","pass":"s3cr3t"}\r\n')
        service.await_questions(1)
        server.stop()

    assert "Traceback" not in server.log()


def test_nats_py_is_let_in(service, start, connz):
    service.answers["joe"] = (200, {})
    server = start()

    async def session():
        client = await nats.connect(server.url, user="joe", password="s3cr3t")
        await client.flush()
        await client.close()

    asyncio.run(session())
    assert [it["lang"] for it in connz(server)] == ["python3"]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("{ timeout: 1s }", "url"),
        ('{ url: "ftp://a" }', "is no http:// or https:// URL"),
        ('{ url: "http://" }', "is no http:// or https:// URL"),
        ('{ url: "http://a:99999/" }', "is no http:// or https:// URL"),
        ('{ url: "http://u:p4ss@a/" }', "has a login in it"),
        ('{ url: "http://a/", ca_file: "x" }', "is for https:// only"),
        ('{ url: "http://a/", when_down: "hope" }', "refuse"),
    ],
)
def test_a_wrong_block_is_refused_with_its_place(tmp_path, block, problem):
    config = tmp_path / "wrong.conf"
    config.write_text(f"auth_http {block}\n")
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode != 0
    assert "wrong.conf:1" in result.stderr
    assert problem in result.stderr
    assert "p4ss" not in result.stderr
