"""Real Spark and real servers; what needs them is left out, with the reason, where they are not."""

from __future__ import annotations

import contextlib
import functools
import threading
import uuid
from pathlib import Path

import psutil
import pytest
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.credentials import Credentials
from pyspark_nats.jetstream import JetStream

from framework.testing import OURS, Fleet

REAL = "2.15.2"
SERVERS = [pytest.param(REAL, marks=pytest.mark.peer(REAL)), OURS]
"""Kinds that store streams; each test that needs one runs with each of them."""
FLAGS = {OURS: ("-plugin", "framework_jetstream.plugin")}
HELD_S = 3600.0
"""Longer than the session."""


def pytest_collection_modifyitems(config, items):
    here = Path(__file__).parent
    own = [item for item in items if here in item.path.parents]
    left_out = [item for item in own if not is_of_interest(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in own:
        # Spark's own sockets and deprecations are not ours.
        item.add_marker(pytest.mark.filterwarnings("ignore"), append=False)
        if repeats(item):
            item.add_marker(pytest.mark.slow)


def is_of_interest(item):
    """Whether a test is to be run with the kind of server that it is for."""
    return kind_of(item) != OURS or not item.get_closest_marker("once")


def kind_of(item):
    """Return the kind of server of a test; None: it has none, or a module's own."""
    callspec = getattr(item, "callspec", None)
    return callspec and callspec.params.get("kind")


def repeats(item):
    """Whether a test lets Spark do what it has done beside the real server.

    What differs by server is read and written without Spark, which is tested with both.
    """
    needs_spark = "session" in item.fixturenames
    return needs_spark and kind_of(item) == OURS and not item.get_closest_marker("both")


@pytest.fixture(scope="session", params=SERVERS)
def kind(request):
    return request.param


def streams_config(folder, more=""):
    return f'jetstream {{ store_dir: "{folder}" }}\n{more}'


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """Give a function that returns the server of a kind, with JetStream, that tests share."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def start(kind):
            folder = tmp_path_factory.mktemp("store")
            fleet = Fleet(folder)
            stack.callback(fleet.stop)
            server = fleet.start(*FLAGS.get(kind, ()), kind=kind, config=streams_config(folder))
            return Store(server)

        yield start


@pytest.fixture(scope="module")
def store(kind, stores):
    """The shared server; each test takes stream names of its own.

    Of a module, since a module may say another `kind`: pytest keeps what it has by the name alone.
    """
    return stores(kind)


@pytest.fixture
def own_store(kind, fleet, tmp_path):
    """Give a function that starts a server with JetStream, which the test may stop or restart."""

    def start(more="", user="", password=""):
        config = streams_config(tmp_path / "js", more)
        server = fleet.start(*FLAGS.get(kind, ()), kind=kind, config=config)
        return Store(server, fleet, user=user, password=password)

    return start


@pytest.fixture(scope="module")
def start_store(kind, tmp_path_factory):
    """As `own_store`, for the tests of a module together."""
    folder = tmp_path_factory.mktemp("store")
    fleet = Fleet(folder)

    def start(more="", user="", password=""):
        config = streams_config(folder / "js", more)
        server = fleet.start(*FLAGS.get(kind, ()), kind=kind, config=config)
        return Store(server, fleet, user=user, password=password)

    yield start
    fleet.stop()


@pytest.fixture
def tap_store(fleet, tmp_path):
    """Give a function that starts one of our servers with streams and taps."""

    def start(more):
        config = streams_config(tmp_path / "js", more)
        return Store(fleet.start(*FLAGS[OURS], kind=OURS, config=config), fleet)

    return start


class Store:
    """A server with streams, and a connection that fills them."""

    def __init__(self, server, fleet=None, *, user="", password=""):
        self.server, self.fleet = server, fleet
        self.login = (user, password)

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.server.port}"

    @contextlib.contextmanager
    def api(self):
        address = Address("127.0.0.1", self.server.port)
        with contextlib.closing(Connection(Target((address,), Credentials(*self.login)))) as it:
            yield JetStream(it)

    def ask(self, request, body=None):
        with self.api() as api:
            return api.connection.request(f"$JS.API.{request}", body)

    def stream(self, count=0, *, name="", subjects=None, **config):
        """Make a stream and fill it; return its name."""
        name = name or f"S{uuid.uuid4().hex[:10]}"
        with self.api() as api:
            api.create_stream({"name": name, "subjects": subjects or [f"{name}.*"], **config})
        if count:
            self.fill(name, range(1, count + 1))
        return name

    def fill(self, name, numbers, *, subjects=10, payload=b"message %d", headers=None):
        """Publish one message a number, and wait until all are stored."""
        lines = []
        with self.api() as api:
            connection = api.connection
            reply = f"{connection.inbox}.stored".encode()
            connection.subscribe(reply.decode())
            for number in numbers:
                body = payload % number if b"%d" in payload else payload
                subject = f"{name}.{number % subjects}".encode()
                if headers and (head := headers(number)):
                    sizes = (len(head), len(head) + len(body))
                    lines.append(b"HPUB %b %b %d %d\r\n" % (subject, reply, *sizes) + head + body)
                else:
                    lines.append(b"PUB %b %b %d\r\n" % (subject, reply, len(body)) + body)
                lines.append(b"\r\n")
            for at in range(0, len(lines), 2000):
                connection.send(b"".join(lines[at : at + 2000]))
                for _ in lines[at : at + 2000 : 2]:
                    assert b"error" not in connection.next_message(20).payload

    def delete(self, name, *sequences):
        for seq in sequences:
            self.ask(f"STREAM.MSG.DELETE.{name}", {"seq": seq, "no_erase": True})

    def purge(self, name, before):
        self.ask(f"STREAM.PURGE.{name}", {"seq": before})

    def remake(self, name, count):
        self.ask(f"STREAM.DELETE.{name}")
        self.stream(count, name=name)

    def restart(self):
        self.server.stop()
        self.server = self.fleet.restart(self.server)


@pytest.fixture
def wait_until():
    """Give a function that returns what is true at last; the test's own time ends it."""

    def wait(what):
        turn = threading.Event()
        while not (found := what()):
            turn.wait(0.02)
        return found

    return wait


@pytest.fixture
def workers_of():
    """Give a function that returns the Python workers of this session that a server has."""

    def found(port):
        pids = []
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                ports = [it.raddr.port for it in process.net_connections("tcp4") if it.raddr]
                if port in ports:
                    pids.append(process.pid)
        return pids

    return found


@pytest.fixture
def stop_behind():
    """Give a function that waits until so many bytes have passed a proxy, and holds what follows.

    What comes on connections from then on passes when `proxy.delay_s` is 0 again.
    """

    def stop(proxy, passed_bytes):
        def is_in_the_middle():
            passed = [max(it.dialed_bytes, it.answered_bytes) for it in proxy.connections]
            if max(passed, default=0) < passed_bytes:
                return False
            proxy.delay_s = HELD_S
            return True

        proxy.wait(is_in_the_middle, f"{passed_bytes} bytes")

    return stop
