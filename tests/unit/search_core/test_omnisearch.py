"""The Omnisearch client against a server of ours on a real socket: recorded answers and every misbehaviour."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from omnisearch_server import (
    OmnisearchServer,
    Respond,
    drip,
    head,
    hung,
    late,
    playback,
    raw,
    raw_empty,
    row,
    rows,
    wait_for,
)

from search_core import availability as av
from search_core.errors import EngineUnavailable, WrongUse
from search_core.omnisearch import Omnisearch
from search_core.omnisearch_place import ENVIRONMENT, OmnisearchSettings

DATA = Path(__file__).resolve().parents[2] / "data" / "omnisearch"
SETTINGS = OmnisearchSettings(deadline_seconds=0.3, patience_seconds=0.12)
NO_ENVIRONMENT: dict[str, str] = {}


class Clock:
    """The wall clock as a test sets it, seconds."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    target = tmp_path / "fixture-vault"
    shutil.copytree(DATA / "fixture-vault", target)
    return target


@pytest.fixture
def clock() -> Clock:
    return Clock()


Serve = Callable[..., tuple[OmnisearchServer, Omnisearch]]


@pytest.fixture
def serve(vault: Path, clock: Clock) -> Iterator[Serve]:
    servers: list[OmnisearchServer] = []
    clients: list[Omnisearch] = []

    def start(
        respond: Respond, host: str = "127.0.0.1", settings: OmnisearchSettings = SETTINGS, memory: str = ""
    ) -> tuple[OmnisearchServer, Omnisearch]:
        server = OmnisearchServer(respond, host).__enter__()
        servers.append(server)
        set_plugin(vault, httpApiEnabled=True, httpApiPort=str(server.port))
        client = Omnisearch(str(vault), settings, memory=memory, environ=NO_ENVIRONMENT, now=clock)
        clients.append(client)
        return server, client

    yield start
    for client in clients:
        client.close()
    for server in servers:
        server.__exit__(None, None, None)


def set_plugin(vault: Path, text: str = "", **settings: object) -> None:
    file = vault / ".obsidian/plugins/omnisearch/data.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text or json.dumps(settings))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def complaint(client: Omnisearch, query: str = "zebra") -> str:
    with pytest.raises(EngineUnavailable) as caught:
        client.ask(query)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestGoodAnswers:
    def test_recorded_rows_come_sorted(self, serve: Serve) -> None:
        _, client = serve(playback(DATA / "responses"))
        found = client.ask("zebra")
        assert [r.path for r in found] == ["Folder zebra/inside.md", "dup/nfc.md", "nfc.md", "nfd.md"]
        assert client.state.kind == av.OK

    def test_embeds_of_score_zero_are_dropped_and_each_path_comes_once(self, serve: Serve) -> None:
        _, client = serve(playback(DATA / "responses"))
        found = client.ask("aardvark")
        assert [r.path for r in found] == ["embedsrc.md", *(f"embedder{n}.md" for n in range(8))]
        assert all(r.score > 0 for r in found)

    def test_excerpts_are_text(self, serve: Serve) -> None:
        _, client = serve(playback(DATA / "responses"))
        assert client.ask("numbat")[0].excerpt == 'Tom & Jerry <b>bold</b> "quoted" it\'s R&D AT&T x<y numbat'

    def test_the_query_arrives_as_it_was_sent(self, serve: Serve) -> None:
        server, client = serve(playback(DATA / "responses"))
        for query in ("ёлка", "a b&q=c", "100% + #tag", '"crème brûlée"', "🚀"):
            client.ask(query)
        assert server.queries == ["ёлка", "a b&q=c", "100% + #tag", '"crème brûlée"', "🚀"]

    def test_two_megabytes_are_read(self, serve: Serve) -> None:
        body = json.dumps([row(f"n{n}.md", foundWords=["w" * 1000] * 10) for n in range(200)]).encode()
        assert len(body) > 2_000_000
        _, client = serve(raw(head(len(body)) + body), settings=SETTINGS._replace(deadline_seconds=2.0))
        with pytest.raises(EngineUnavailable, match="its notes are not here"):
            client.ask("w")

    def test_chunks_and_bodies_without_length(self, serve: Serve) -> None:
        body = json.dumps([row("nfc.md")]).encode()
        plain = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
        chunked = plain + b"Transfer-Encoding: chunked\r\n\r\n"
        chunked += b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\n\r\n"
        for data in (chunked, plain + b"\r\n" + body):
            _, client = serve(raw(data))
            assert [r.path for r in client.ask("x")] == ["nfc.md"]

    def test_the_older_shape_is_read(self, serve: Serve) -> None:
        old = {"score": 3, "path": "nfc.md", "basename": "nfc", "excerpt": "", "matches": ["zebra"]}
        _, client = serve(rows(old))
        assert client.ask("zebra")[0].path == "nfc.md"

    def test_a_wider_query_follows_an_empty_answer(self, serve: Serve) -> None:
        server, client = serve(playback(DATA / "responses"))
        assert [r.path for r in client.ask("zebra zzzzqqq", "quokka")] == ["emoji 🚀 note.md"]
        assert server.queries == ["zebra zzzzqqq", "quokka"]

    def test_dead_files_hidden_files_and_paths_that_leave_the_vault_are_dropped(
        self, serve: Serve, vault: Path
    ) -> None:
        (vault / "out.pdf").symlink_to("/etc/passwd")
        (vault / "scan.pdf").write_bytes(b"%PDF")
        names = ["/etc/passwd", "../x.md", "a/../../x.pdf", ".hidden/secret.md", "gone.pdf", "out.pdf", "a\\b.pdf"]
        names += ["", "x\0.pdf", "C:/x.pdf", "dup//nfc.md", "scan.pdf", "p" * 5000]
        _, client = serve(rows(*(row(name) for name in names)))
        assert [r.path for r in client.ask("x")] == ["scan.pdf"]

    def test_junk_rows_are_left_out_of_good_ones(self, serve: Serve) -> None:
        body = b'[1, null, {"path": 3, "score": 1}, {"path": "a.md", "score": NaN}, {"path": "a.md", "score": true},'
        body += b'{"path": "b.md", "score": 1e999}, {"path": "crlf.md", "score": 2, "foundWords": 3, "excerpt": null}]'
        _, client = serve(raw(head(len(body)) + body))
        assert [r.path for r in client.ask("x")] == ["crlf.md"]


HTML = b"<html><title>router</title></html>"
LIST = json.dumps([row("nfc.md")]).encode()
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
REFUSED_ANSWERS: dict[str, tuple[bytes, str]] = {
    "200 with nothing": (raw_empty(), "status 200 with nothing in it"),
    "a web page": (head(len(HTML), "text/html") + HTML, "type text/html"),
    "JSON said to be text": (head(len(LIST), "text/plain") + LIST, "type text/plain"),
    "status 404": (head(2, status="404 Not Found") + b"[]", "status 404"),
    "status 500": (head(2, status="500 Oops") + b"[]", "status 500"),
    "not JSON": (head(3) + b"[1,", "not valid JSON"),
    "deep JSON": (head(200_000) + b"[" * 200_000, "not valid JSON"),
    "not UTF-8": (head(3) + b'["\xff', "not valid JSON"),
    "an object": (head(2) + b"{}", "not a list of notes but dict"),
    "a list of numbers": (head(5) + b"[1,2]", "does not hold notes with path and score"),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"),
    "a huge length": (head(9_000_000), "larger than 8 MB"),
    "a huge chunk": (CHUNKED + b"fffffff\r\n", "larger than 8 MB"),
    "a negative length": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "as the length"),
    "a compressed body": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "compressed"),
    "endless headers": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 12_000, "headers have no end"),
}

BROKEN_OFF: dict[str, tuple[bytes, str]] = {
    "half a body": (head(len(LIST)) + LIST[:20], "broke off after 20 of"),
    "half the headers": (b"HTTP/1.1 200 OK\r\nContent-Ty", "closed the connection after part of the headers"),
    "half a chunk": (CHUNKED + b"ff\r\n[", "broke off after"),
    "nothing at all": (b"", "closed the connection after nothing"),
}


class TestBadAnswers:
    @pytest.mark.parametrize(("data", "reason"), REFUSED_ANSWERS.values(), ids=REFUSED_ANSWERS)
    def test_each_is_refused_with_its_reason(self, serve: Serve, data: bytes, reason: str) -> None:
        server, client = serve(raw(data))
        assert reason in complaint(client)
        assert f"127.0.0.1:{server.port} is not Omnisearch or broken" in complaint(client)
        assert client.state.kind == av.NOT_OMNISEARCH
        assert not client.start("zebra")

    @pytest.mark.parametrize(("data", "reason"), BROKEN_OFF.values(), ids=BROKEN_OFF)
    def test_an_answer_that_breaks_off_is_an_obsidian_that_was_closed_and_asked_again_soon(
        self, serve: Serve, clock: Clock, tmp_path: Path, data: bytes, reason: str
    ) -> None:
        server, client = serve(raw(data), memory=str(tmp_path / "state"))
        assert f"127.0.0.1:{server.port} {reason}" in complaint(client)
        assert client.state.kind == av.BROKE_OFF
        assert not client.start("zebra")
        assert not (tmp_path / "state").exists()
        clock.now += 1
        assert client.start("zebra")

    def test_the_reasons_are_distinct(self) -> None:
        reasons = [reason for _, reason in REFUSED_ANSWERS.values() if "JSON" not in reason and "larger" not in reason]
        assert len(set(reasons)) == len(reasons)

    @pytest.mark.parametrize("respond", [hung, drip(head(len(LIST)) + LIST), late(1.0, raw(head(len(LIST)) + LIST))])
    def test_all_together_never_take_longer_than_the_deadline(self, serve: Serve, respond: Respond) -> None:
        _, client = serve(respond)
        started = time.monotonic()
        assert "within 0.3" in complaint(client)
        assert time.monotonic() - started < SETTINGS.deadline_seconds + 1
        assert client.state.kind == av.HUNG

    def test_a_wrong_vault_is_said_once_and_not_used(self, serve: Serve) -> None:
        _, client = serve(rows(row("nfc.md", vault="Work")))
        assert "serves the vault 'Work', not 'fixture-vault'" in complaint(client)
        assert "serves the vault 'Work'" in complaint(client)
        assert client.take_warnings() == ("Omnisearch serves the vault 'Work', not 'fixture-vault'; it is not used",)
        assert client.take_warnings() == ()
        assert client.state.kind == av.WRONG_VAULT

    def test_another_vault_of_the_same_name_is_told_by_its_paths(self, serve: Serve) -> None:
        _, client = serve(rows(*(row(f"other{n}.md") for n in range(5))))
        assert "another vault named 'fixture-vault'" in complaint(client)

    def test_a_vault_reached_by_a_link_is_the_right_one(self, serve: Serve, vault: Path) -> None:
        link = vault.parent / "Notes"
        link.symlink_to(vault)
        server, _ = serve(rows(row("nfc.md")))
        client = Omnisearch(str(link), SETTINGS, environ=NO_ENVIRONMENT)
        assert len(client.ask("x")) == 1
        assert server.queries == ["x"]


class TestSideBySide:
    def test_the_answer_is_there_when_the_local_search_is_done(self, serve: Serve) -> None:
        _, client = serve(late(0.05, playback(DATA / "responses")))
        assert client.start("fossa")
        time.sleep(0.1)  # the local search
        started = time.monotonic()
        assert [r.path for r in client.finish()] == ["board.canvas"]
        assert time.monotonic() - started < 0.2

    def test_refused_costs_next_to_nothing_and_is_tried_again_soon(self, vault: Path, clock: Clock) -> None:
        set_plugin(vault, httpApiPort=str(free_port()))
        client = Omnisearch(str(vault), SETTINGS, environ=NO_ENVIRONMENT, now=clock)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            assert not client.start("zebra")
            times.append(time.perf_counter() - started)
            clock.now += 100
        assert min(times) < 0.02
        assert [attempt.kind for attempt in client.attempts] == [av.REFUSED, av.REFUSED]

    def test_hung_costs_the_patience_once_and_is_then_left_alone(self, serve: Serve, clock: Clock) -> None:
        server, client = serve(hung)
        assert client.start("zebra")
        started = time.monotonic()
        assert client.finish() == ()
        assert time.monotonic() - started < SETTINGS.patience_seconds + 0.5
        assert client.state.kind == av.LATE
        for _ in range(10):
            clock.now += 0.4
            assert not client.start("zebra")
        clock.now += 2
        assert client.start("zebra")
        assert client.finish() == ()
        assert len(server.queries) == 2

    def test_hung_beyond_the_deadline_is_left_alone_for_longer(self, serve: Serve, clock: Clock) -> None:
        _, client = serve(hung)
        client.start("zebra")
        time.sleep(SETTINGS.deadline_seconds)  # a long local search
        assert client.finish() == ()
        assert client.state.kind == av.HUNG
        clock.now += 29
        assert not client.start("zebra")

    def test_never_two_requests_at_once(self, serve: Serve) -> None:
        server, client = serve(late(0.03, playback(DATA / "responses")))
        for _ in range(5):
            client.start("zebra")
            assert client.finish()
            wait_for(lambda: server.busy == 0)
        assert server.at_once == 1

    def test_nothing_is_sent_for_an_empty_query(self, serve: Serve) -> None:
        server, client = serve(playback(DATA / "responses"))
        assert not client.start("")
        assert client.finish() == ()
        assert server.queries == []

    def test_closed_in_the_middle_of_a_query(self, serve: Serve) -> None:
        _, client = serve(hung)
        client.start("zebra")
        client.close()
        assert client.finish() == ()

    def test_a_server_killed_between_question_and_answer(self, serve: Serve) -> None:
        server, client = serve(late(5, rows()))
        client.start("zebra")
        server.__exit__(None, None, None)
        assert client.finish() == ()
        assert client.state.kind == av.BROKE_OFF


class TestMemory:
    def test_the_next_process_does_not_wait_again(
        self, serve: Serve, vault: Path, tmp_path: Path, clock: Clock
    ) -> None:
        memory = tmp_path / "state"
        server, first = serve(hung, memory=str(memory))
        first.start("zebra")
        first.finish()
        second = Omnisearch(str(vault), SETTINGS, memory=str(memory), environ=NO_ENVIRONMENT, now=clock)
        assert not second.start("zebra")
        assert len(server.queries) == 1
        assert memory.stat().st_mode & 0o777 == 0o600

    def test_a_good_answer_removes_the_file(self, serve: Serve, tmp_path: Path, clock: Clock) -> None:
        memory = tmp_path / "state"
        memory.write_text(av.Availability(av.HUNG, 3, clock.now - 1).to_line())
        _, client = serve(playback(DATA / "responses"), memory=str(memory))
        client.start("zebra")
        assert client.finish()
        assert not memory.exists()

    def test_good_and_refused_answers_write_nothing(self, serve: Serve, tmp_path: Path) -> None:
        _, client = serve(playback(DATA / "responses"), memory=str(tmp_path / "state"))
        client.ask("zebra")
        assert not (tmp_path / "state").exists()

    @pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b"hung", b"hung 1 nan\n", b"x" * 100_000])
    def test_a_damaged_file_is_no_file(self, serve: Serve, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "state").write_bytes(content)
        _, client = serve(playback(DATA / "responses"), memory=str(tmp_path / "state"))
        assert client.start("zebra")

    def test_a_place_that_cannot_be_written_is_survived(self, serve: Serve) -> None:
        _, client = serve(hung, memory="/proc/nowhere/state")
        client.start("zebra")
        assert client.finish() == ()


class TestBothLoopbacks:
    def test_ipv6_only_is_found_and_remembered(self, serve: Serve) -> None:
        server, client = serve(playback(DATA / "responses"), host="::1")
        assert client.ask("zebra")
        assert [a.kind for a in client.attempts] == [av.REFUSED, av.OK]
        assert client.ask("zebra")
        assert [a.address for a in client.attempts] == [f"[::1]:{server.port}"]

    def test_another_program_on_the_first_address(self, serve: Serve, vault: Path, clock: Clock) -> None:
        other, _ = serve(raw(head(len(HTML), "text/html") + HTML))
        with OmnisearchServer(playback(DATA / "responses"), "::1", other.port):
            client = Omnisearch(str(vault), SETTINGS, environ=NO_ENVIRONMENT, now=clock)
            assert client.start("zebra")
            assert len(client.finish()) == 4
            assert client.state.kind == av.OK

    @pytest.mark.parametrize("first", [hung, drip(head(len(LIST)) + LIST, 0.2)], ids=["silent", "drips"])
    def test_a_first_address_that_says_nothing_does_not_keep_the_second_from_being_asked(
        self, serve: Serve, vault: Path, clock: Clock, first: Respond
    ) -> None:
        other, _ = serve(first)
        with OmnisearchServer(playback(DATA / "responses"), "::1", other.port) as right:
            client = Omnisearch(str(vault), SETTINGS, environ=NO_ENVIRONMENT, now=clock)
            assert client.start("zebra")
            assert len(client.finish()) == 4
            assert client.state.kind == av.OK
            assert len(client.ask("zebra")) == 4
            assert [attempt.address for attempt in client.attempts] == [f"[::1]:{right.port}"]  # remembered
        assert len(other.queries) == 1

    def test_a_slow_first_address_has_all_the_time_when_there_is_no_second(self, serve: Serve) -> None:
        settings = SETTINGS._replace(patience_seconds=3.0)
        server, client = serve(late(1.6, playback(DATA / "responses")), settings=settings)
        assert client.start("zebra")
        assert len(client.finish()) == 4
        assert server.queries == ["zebra"]

    def test_a_slow_first_address_is_heard_after_another_program_at_the_second(self, serve: Serve) -> None:
        settings = SETTINGS._replace(patience_seconds=3.0)
        server, client = serve(late(1.6, playback(DATA / "responses")), settings=settings)
        with OmnisearchServer(raw(head(len(HTML), "text/html") + HTML), "::1", server.port):
            assert client.start("zebra")
            assert len(client.finish()) == 4
        assert server.queries == ["zebra"]

    def test_two_silent_addresses_cost_no_more_than_one(self, serve: Serve, vault: Path) -> None:
        server, client = serve(hung)
        with OmnisearchServer(hung, "::1", server.port):
            started = time.monotonic()
            assert f"127.0.0.1:{server.port} sent nothing" in complaint(client)
            assert time.monotonic() - started < SETTINGS.deadline_seconds + 1
            assert client.state.kind == av.HUNG
            assert [attempt.address for attempt in client.attempts] == [
                f"127.0.0.1:{server.port}",
                f"[::1]:{server.port}",
            ]

    def test_the_complaint_names_every_address_and_what_to_switch_on(self, vault: Path) -> None:
        port = free_port()
        set_plugin(vault, httpApiEnabled=False, httpApiPort=port)
        text = complaint(Omnisearch(str(vault), SETTINGS, environ=NO_ENVIRONMENT))
        for part in (f"127.0.0.1:{port} refused", f"[::1]:{port} refused", "switched off in the plugin", "HTTP server"):
            assert part in text

    def test_a_host_by_name_is_never_looked_up(self, vault: Path) -> None:
        settings = SETTINGS._replace(host="obsidian.example", allow_remote=True)
        started = time.monotonic()
        assert "address in numbers" in complaint(Omnisearch(str(vault), settings, environ=NO_ENVIRONMENT))
        assert time.monotonic() - started < 0.5

    def test_probe_reports_each_address(self, serve: Serve) -> None:
        server, client = serve(playback(DATA / "responses"))
        assert client.probe() == ((f"127.0.0.1:{server.port}", av.OK, "answered with 0 notes"),)
        assert server.queries == [""]

    def test_probe_says_that_the_environment_names_no_address(self, vault: Path) -> None:
        (attempt,) = Omnisearch(str(vault), SETTINGS, environ={ENVIRONMENT: "junk"}).probe()
        assert "OMNISEARCH_URL is 'junk'" in attempt.text
        assert attempt.kind == av.WRONGLY_NAMED


class TestFilesWithoutAWord:
    def test_files_are_asked_for_once_more_without_it(self, serve: Serve, vault: Path) -> None:
        for name in ("with.pdf", "without.pdf"):
            (vault / name).write_bytes(b"%PDF")
        answers = {"zebra": ["nfc.md", "with.pdf", "without.pdf"], "zebra -horse": ["without.pdf"], "plain": ["nfc.md"]}

        def respond(query: str, connection: socket.socket, stop: threading.Event) -> None:
            rows(*(row(name) for name in answers[query]))(query, connection, stop)

        server, client = serve(respond)
        assert [r.path for r in client.ask("zebra", "", "-horse")] == ["nfc.md", "without.pdf"]
        assert [r.path for r in client.ask("plain", "", "-horse")] == ["nfc.md"]
        assert server.queries == ["zebra", "zebra -horse", "plain"]


class TestWronglyNamed:
    @pytest.mark.parametrize("url", ["junk", "https://127.0.0.1:7", "http://obsidian.example:7", "http://127.0.0.1:x"])
    def test_it_is_wrong_use_for_omnisearch_alone_and_said_once_otherwise(self, vault: Path, url: str) -> None:
        client = Omnisearch(str(vault), SETTINGS, environ={ENVIRONMENT: url})
        with pytest.raises(WrongUse, match="OMNISEARCH_URL is ") as caught:
            client.ask("zebra")
        assert url in str(caught.value)
        with pytest.raises(WrongUse, match="OMNISEARCH_URL is "):
            client.decline()
        assert client.take_warnings() == ()
        for _ in range(3):
            assert not client.start("zebra")
            assert not client.answers_now()
        (warning,) = client.take_warnings()
        assert url in warning
        assert client.attempts == ()

    def test_nothing_is_said_when_we_never_ask(self, vault: Path) -> None:
        client = Omnisearch(str(vault), SETTINGS._replace(enabled="off"), environ={ENVIRONMENT: "junk"})
        assert not client.start("zebra")
        assert client.take_warnings() == ()
