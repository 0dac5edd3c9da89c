"""A page in a real browser: headless Chromium, with nats.js as npm has it."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self

from framework.testing import peers

TIMEOUT_S: Final = 40.0
FLAGS: Final = (
    "--headless",
    "--no-sandbox",  # which the user root can't have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--ignore-certificate-errors",
)
TALK: Final = Path(__file__).with_name("websocket_talk.mjs")

PAGE: Final = """<!doctype html><script type="module">
import { talk } from "/talk.mjs";
import { core } from "/nats.mjs";
const steps = await (await fetch("/steps")).json(), found = {};
for (const [name, { cookies, ...options }] of Object.entries(steps)) {
  for (const cookie of cookies ?? []) document.cookie = cookie;
  found[name] = await talk(core, options).catch((error) => ({ error: error.message }));
}
await fetch("/found", { method: "POST", body: JSON.stringify(found) });
</script>"""

LOADER: Final = """
const loaded = {};
function load(path) {
  if (!(path in loaded)) {
    const module = loaded[path] = { exports: {} };
    modules[path](module, module.exports, (name) => load(found(path, name)));
  }
  return loaded[path].exports;
}
function found(from, name) {
  const url = new URL(name, "file:///" + from).pathname.slice(1);
  const own = [`${name}/lib/mod.js`, `${name}/nacl-fast.js`];
  const tried = name[0] === "." ? [url, `${url}.js`] : own;
  return tried.find((path) => path in modules);
}
export const core = load("@nats-io/nats-core/lib/mod.js");
"""
"""Loads the modules of npm's form, which browsers do not know."""


def bundle(folder: Path) -> str:
    """Return all modules of a folder that npm has filled, as one."""
    root = folder / "node_modules"
    made = []
    for path in sorted([*root.glob("@nats-io/*/lib/**/*.js"), root / "tweetnacl" / "nacl-fast.js"]):
        name = json.dumps(path.relative_to(root).as_posix())
        made.append(f"{name}: function (module, exports, require) {{\n{path.read_text()}\n}}")
    return f"const modules = {{\n{','.join(made)}\n}};\n{LOADER}"


class Page:
    """Serves a page, and opens it in a browser.

    Args:
        profile: Folder where the browser may write.
        folder: Of nats.js.
    """

    def __init__(self, profile: Path, *, folder: Path) -> None:
        self._profile = profile
        self._found: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers = {
            "/": ("text/html", PAGE),
            "/talk.mjs": ("text/javascript", TALK.read_text()),
            "/nats.mjs": ("text/javascript", bundle(folder)),
        }
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def origin(self) -> str:
        """Return where the page comes from, as the browser says."""
        return f"http://localhost:{self._server.server_port}"

    def run(self, steps: dict[str, dict[str, object]]) -> dict[str, Any]:
        """Let the page talk to servers; return what each step came to.

        Args:
            steps: By name: options of `wsconnect`, and `cookies` that the page has then.
        """
        self._answers["/steps"] = ("application/json", json.dumps(steps))
        program = peers.browser()
        environment = {
            "HOME": str(self._profile),
            "LD_LIBRARY_PATH": str(program.parent / "lib"),
            "FONTCONFIG_PATH": str(program.parent),
        }
        words = [program, *FLAGS, f"--user-data-dir={self._profile / 'profile'}", f"{self.origin}/"]
        log = self._profile / "browser.log"
        with (
            log.open("wb") as output,
            subprocess.Popen(words, env=environment, stdout=output, stderr=output) as browser,
        ):
            try:
                return self._found.get(timeout=TIMEOUT_S)
            except queue.Empty:
                raise AssertionError(f"no answer of the page:\n{log.read_text()[-2000:]}") from None
            finally:
                browser.terminate()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answers, found = self._answers, self._found

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kind, text = answers.get(self.path, ("text/plain", ""))
                self._answer(200 if text else 404, kind, text.encode())

            def do_POST(self) -> None:
                found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._answer(204, "text/plain", b"")

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
