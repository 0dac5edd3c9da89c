"""An HTTP server that is asked for accounts: a real one, which also answers badly."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager

import pytest
from framework_auth.limits import URL_ANSWER_BYTES_MAX
from framework_auth.resolver.sources import UrlSource

WAIT_S = 10.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


class Server:
    """Answers each connection with the next of its answers: bytes, or what talks to it."""

    def __init__(self, *answers):
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.asked = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        for answer in self._answers:
            sock, _ = self._listener.accept()
            with sock:
                sock.settimeout(WAIT_S)
                self.asked.append(sock.recv(65_536).split(b" ")[1].decode())
                if callable(answer):
                    answer(sock, self._is_over)
                else:
                    sock.sendall(answer)

    @contextmanager
    def running(self):
        self._thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            self._thread.join(WAIT_S)
            self._listener.close()
            assert not self._thread.is_alive()

    def source(self, *, timeout_s=WAIT_S, login=""):
        return UrlSource(f"http://{login}127.0.0.1:{self.port}/jwt/", timeout_s=timeout_s)


def answer_of(mint, *answers, **options):
    """Return what is loaded from a server, and what it was asked for."""
    server = Server(*answers)
    with server.running():
        return server.source(**options).load(mint.account.public), server.asked


def problem_of(mint, *answers, **options):
    """Return why nothing could be loaded."""
    with pytest.raises(OSError, match="the account server") as raised:
        answer_of(mint, *answers, **options)
    assert "127.0.0.1" not in str(raised.value)
    return str(raised.value)


def with_length(body):
    return HEAD % len(body) + body


def redirect_to(target):
    return b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % target.encode()


def drip(first):
    """Return what says something, and then a byte now and then, as long as somebody listens."""

    def answer(sock, is_over):
        sock.sendall(first)
        try:
            while not is_over.wait(0.02):
                sock.sendall(b"x")
        except OSError:
            return

    return answer


def say_nothing(_sock, is_over):
    is_over.wait(WAIT_S)


def test_a_jwt_without_the_blanks_around_it(mint):
    token, asked = answer_of(mint, with_length(b" a.b.c \n"))

    assert token == "a.b.c"
    assert asked == [f"/jwt/{mint.account.public}"]


def test_what_has_no_length_ends_with_the_connection(mint):
    assert answer_of(mint, b"HTTP/1.0 200 OK\r\n\r\na.b.c")[0] == "a.b.c"


def test_an_account_that_it_does_not_have(mint):
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    assert answer_of(mint, missing)[0] is None


@pytest.mark.parametrize("status", ["204 No Content", "401 Unauthorized", "500 Broken"])
def test_other_answers(mint, status):
    answer = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()

    assert problem_of(mint, answer).endswith(f"status {status[:3]}")


def test_redirects_are_followed_to_http_alone(mint):
    token, asked = answer_of(mint, redirect_to("/there"), with_length(b"a.b.c"))

    assert (token, asked[1]) == ("a.b.c", "/there")
    for target in ("ftp://127.0.0.1/x", "file:///etc/hostname", "data:,a.b.c"):
        problem_of(mint, redirect_to(target))


def test_redirects_in_a_circle(mint):
    problem_of(mint, *[redirect_to(f"/{index}") for index in range(11)])


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 999999 x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_answer(mint, answer):
    problem_of(mint, answer)


def test_more_than_a_jwt_may_have(mint):
    longest = b"x" * URL_ANSWER_BYTES_MAX
    assert len(answer_of(mint, with_length(longest))[0]) == URL_ANSWER_BYTES_MAX

    def flood(sock, _is_over):
        try:
            sock.sendall(HEAD % 10**12)
            while True:
                sock.sendall(longest)
        except OSError:
            return

    assert problem_of(mint, flood).endswith("too long")


@pytest.mark.parametrize(
    "answer",
    [say_nothing, drip(b"HTTP/1.1 200 OK\r\nX: "), drip(HEAD % 10_000)],
    ids=["silence", "headers", "body"],
)
def test_an_answer_has_its_time_as_a_whole(mint, answer):
    assert problem_of(mint, answer, timeout_s=0.2).endswith("TimeoutError")


def test_nobody_is_there(mint):
    server = Server()
    with server.running():
        source = server.source()
    with pytest.raises(OSError, match="cannot be reached"):
        source.load(mint.account.public)


def test_a_password_in_the_address_is_not_repeated(mint):
    server = Server()
    with server.running(), pytest.raises(OSError, match="cannot be reached") as raised:
        server.source(login="joe:secret@").load(mint.account.public)

    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None
