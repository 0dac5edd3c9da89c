"""A real HTTP service that says what a test tells it to."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LoginService:
    """Answers by the user's name; use it in a `with` block."""

    def __init__(self, tls=None):
        self.answers = {}
        """User to (status, document)."""
        self.questions = []
        self.headers = []
        self.paths = []
        self.connections = set()
        """Ports of those who asked."""
        self.most_at_once = 0
        self.released = threading.Event()
        """Until it is set, who is in `held` gets no answer."""
        self.held = set()
        self._asked = threading.Condition()
        self._at_once = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def await_questions(self, count):
        """Return when so many were asked, also those that wait for their answer."""
        with self._asked:
            assert self._asked.wait_for(lambda: len(self.questions) >= count, timeout=20)

    def answer(self, headers, question):
        with self._asked:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.questions.append(question)
            self.headers.append(headers)
            self._asked.notify_all()
        try:
            if question["user"] in self.held:
                self.released.wait()
            return self.answers.get(question["user"], (404, {}))
        finally:
            with self._asked:
                self._at_once -= 1

    def _handler(service):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                service.paths.append(self.path)
                service.connections.add(self.client_address[1])
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, document = service.answer(dict(self.headers), question)
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler
