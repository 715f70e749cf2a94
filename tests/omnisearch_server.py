"""A stand-in for Omnisearch on a real socket: plays back recorded answers, searches a folder plainly, and misbehaves.

Usable by itself: ``with OmnisearchServer(respond=playback(folder)) as server: … server.port``. Everything
about how it answers is the `respond` function, which gets the decoded query and the open connection.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

Respond = Callable[[str, socket.socket, threading.Event], None]
"""Query, connection, and an event that is set when the server stops."""

HANG_SECONDS = 20.0
"""The longest a misbehaving answer lasts should nobody stop the server."""


class OmnisearchServer:
    """One listening socket; each connection gets a thread, as many at once as come."""

    def __init__(self, respond: Respond, host: str = "127.0.0.1", port: int = 0) -> None:
        self.queries: list[str] = []
        self.at_once = 0
        self._respond = respond
        self._stop = threading.Event()
        self.busy = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family)
        self._listener.settimeout(0.05)
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> OmnisearchServer:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._start(lambda connection=connection: self._serve(connection))  # type: ignore[misc]

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self.busy += 1
            self.at_once = max(self.at_once, self.busy)
        try:
            self._answer(connection)
        except OSError:
            pass  # the client gave up, which is what many tests are about
        finally:
            connection.close()
            with self._lock:
                self.busy -= 1

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(HANG_SECONDS)
        data = b""
        while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
            data += more
        target = urlsplit(data.split(b" ")[1].decode("ascii"))
        query = parse_qs(target.query).get("q", [""])[0]
        self.queries.append(query)
        self._respond(query if target.path == "/search" else "\0", connection, self._stop)


def head(length: int, kind: str = "application/json", status: str = "200 OK") -> bytes:
    """The status line and headers that the plugin sends."""
    return (
        f"HTTP/1.1 {status}\r\nAccess-Control-Allow-Origin: *\r\nContent-Type: {kind}\r\n"
        f"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def rows(*found: dict[str, object]) -> Respond:
    """Always these rows."""
    return raw(_json(list(found)))


def row(path: str, score: float = 10.0, vault: str = "fixture-vault", **more: object) -> dict[str, object]:
    """One row of the documented shape."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    made: dict[str, object] = {"score": score, "vault": vault, "path": path, "basename": name}
    return made | {"foundWords": [], "matches": [], "excerpt": ""} | more


def raw(data: bytes) -> Respond:
    """Always these bytes, then the connection closes."""

    def respond(_query: str, connection: socket.socket, _stop: threading.Event) -> None:
        connection.sendall(data)

    return respond


def late(seconds: float, then: Respond) -> Respond:
    """As `then`, after a while."""

    def respond(query: str, connection: socket.socket, stop: threading.Event) -> None:
        if not stop.wait(seconds):
            then(query, connection, stop)

    return respond


def hung(_query: str, _connection: socket.socket, stop: threading.Event) -> None:
    """Takes the question and never answers."""
    stop.wait(HANG_SECONDS)


def drip(data: bytes, seconds_per_byte: float = 0.02) -> Respond:
    """Sends `data` one byte at a time."""

    def respond(_query: str, connection: socket.socket, stop: threading.Event) -> None:
        for number in range(len(data)):
            connection.sendall(data[number : number + 1])
            if stop.wait(seconds_per_byte):
                return

    return respond


def playback(folder: Path) -> Respond:
    """The recorded answer to each recorded query; an empty list for others."""
    answers = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    recorded = {answer["query"]: answer["body"] for answer in answers if "query" in answer}

    def respond(query: str, connection: socket.socket, _stop: threading.Event) -> None:
        connection.sendall(raw_empty() if query == "\0" else _json(recorded.get(query, [])))

    return respond


def raw_empty() -> bytes:
    """What the plugin sends for any path but its own."""
    return b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"


def plain_search(vault: Path, *, others: tuple[str, ...] = ()) -> Respond:
    """Every word must be in the file's text or path; ranked by count with the name weighing ten, cut at 50."""
    kinds = ("**/*.md", *others)
    files = {path.relative_to(vault).as_posix(): path for kind in kinds for path in vault.glob(kind)}
    texts = {name: path.read_text("utf-8", "replace").lower() for name, path in files.items()}

    def respond(query: str, connection: socket.socket, _stop: threading.Event) -> None:
        words = [word.strip('"') for word in query.lower().split()]
        scored = [_scored(path, text, words, vault.name) for path, text in texts.items()] if words else []
        found = sorted((r for r in scored if r), key=lambda r: -float(str(r["score"])))
        connection.sendall(_json(found[:50]))

    return respond


def _scored(path: str, text: str, words: list[str], vault: str) -> dict[str, object] | None:
    name = path.lower()
    if not all(word in text or word in name for word in words):
        return None
    counts = [min(text.count(word), 20) + 10 * name.count(word) for word in words]
    at = max(text.find(words[0]) - 100, 0)
    excerpt = escape(text[at : at + 400]).replace("\n", "<br>")
    return row(path, float(sum(counts)), vault, foundWords=words, excerpt=excerpt)


def _json(value: object) -> bytes:
    body = json.dumps(value, ensure_ascii=False).encode()
    return head(len(body)) + body


def wait_for(condition: Callable[[], bool], seconds: float = 2.0) -> None:
    """Until `condition` holds or the time is over."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
