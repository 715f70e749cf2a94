"""Both engines through the front door: a real vault, a real index, and a server of ours on the port."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from omnisearch_server import OmnisearchServer, Respond, hung, late, plain_search, playback, row, rows

from search_core import EngineUnavailable, Scope, SearchCore, VaultMissing
from search_core.notes import Answer
from search_core.omnisearch_place import ENVIRONMENT, OmnisearchSettings

DATA = Path(__file__).resolve().parents[2] / "data" / "omnisearch"
Serve = Callable[..., SearchCore]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    target = tmp_path / "fixture-vault"
    shutil.copytree(DATA / "fixture-vault", target)
    return target


@pytest.fixture(autouse=True)
def no_address_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


@pytest.fixture
def serve(vault: Path, tmp_path: Path) -> Iterator[Serve]:
    opened: list[tuple[OmnisearchServer, SearchCore]] = []

    def start(respond: Respond, **settings: object) -> SearchCore:
        server = OmnisearchServer(respond).__enter__()
        made = OmnisearchSettings(port=server.port, deadline_seconds=0.4)._replace(**settings)  # type: ignore[arg-type]
        core = SearchCore(str(vault), exclude=("Inbox",), omnisearch=made, cache_dir=str(tmp_path / "cache"))
        opened.append((server, core))
        return core

    yield start
    for server, core in opened:
        core.close()
        server.__exit__(None, None, None)


def paths(answer: Answer) -> list[str]:
    return [hit.path for hit in answer.hits]


RECORDED = [json.loads(path.read_text("utf-8")) for path in sorted((DATA / "responses").glob("*.json"))]
QUERIES = sorted({answer["query"] for answer in RECORDED if answer.get("query")})


@pytest.mark.parametrize("query", QUERIES)
def test_recorded_answers_never_change_the_local_order(serve: Serve, query: str) -> None:
    core = serve(playback(DATA / "responses"))
    local, both = core.search(query, source="local"), core.search(query)
    assert [path for path in paths(both) if path in paths(local)] == paths(local)
    assert len(set(paths(both))) == len(paths(both))
    assert not any(path.startswith(("Archive/", "Inbox/", ".hidden/")) for path in paths(both))
    assert all(hit.excerpt.count("<br>") == 0 for hit in both.hits)
    assert {hit.excerpt for hit in both.hits if hit.path in paths(local)} == {hit.excerpt for hit in local.hits}
    assert both.total >= len(both.hits)


@pytest.mark.parametrize("source", ["auto", "omnisearch"])
def test_what_only_omnisearch_can_read(serve: Serve, source: str) -> None:
    answer = serve(playback(DATA / "responses")).search("fossa", source=source)
    assert (paths(answer), answer.engine, answer.total) == (["board.canvas"], "omnisearch", 1)
    assert answer.hits[0].excerpt == "fossa edge"
    assert answer.hits[0].cut(5) != ""


def test_excluded_and_ignored_folders_hold_on_both_engines(serve: Serve) -> None:
    core = serve(playback(DATA / "responses"))
    for source in ("auto", "local", "omnisearch"):
        assert paths(core.search("gharial", source=source)) == []


def test_a_note_changed_behind_omnisearchs_back(serve: Serve, vault: Path) -> None:
    core = serve(plain_search(vault))
    (vault / "amp.md").write_text("Nothing here any more.")
    (vault / "fresh.md").write_text("A numbat was here.")
    (vault / "dup/nfc.md").unlink()
    assert paths(core.search("numbat")) == ["fresh.md"]
    assert paths(core.search("numbat", source="omnisearch")) == []
    assert "dup/nfc.md" not in paths(core.search("zebra")) + paths(core.search("zebra", source="omnisearch"))


@pytest.mark.parametrize("folder", ["Überordner", "überordner", "U\u0308berordner/", "ÜBERORDNER"])
def test_folders_with_accents_in_any_case(serve: Serve, vault: Path, folder: str) -> None:
    (vault / "Überordner/scan.pdf").write_bytes(b"%PDF")
    (vault / "Überordner-2").mkdir()
    (vault / "Überordner-2/other.pdf").write_bytes(b"%PDF")
    found = (row(f"{name}", foundWords=["narwhal"]) for name in ("Überordner/scan.pdf", "Überordner-2/other.pdf"))
    core = serve(rows(*found, row("Überordner/x.md", foundWords=["narwhal"])))
    for answer in (core.search("narwhal", folder=folder), core.search(f'narwhal in:"{folder}"')):
        assert sorted(paths(answer)) == ["Überordner/scan.pdf", "Überordner/x.md"]


def test_a_folder_without_notes_is_still_searched_by_omnisearch(serve: Serve, vault: Path) -> None:
    (vault / "Сканы").mkdir()
    (vault / "Сканы/a.pdf").write_bytes(b"%PDF")
    core = serve(rows(row("Сканы/a.pdf", foundWords=["zebra"]), row("nfc.md", foundWords=["zebra"])))
    assert paths(core.search("zebra", folder="сканы")) == ["Сканы/a.pdf"]
    assert paths(core.search("zebra", folder="сканы", source="omnisearch")) == ["Сканы/a.pdf"]


def test_private_notes_and_their_files_stay_hidden(serve: Serve, vault: Path) -> None:
    (vault / "diary.md").write_text("---\nprivate: true\n---\nzebra ![[passport scan.pdf]]")
    (vault / "zoo.md").write_text("zebra ![[zoo map.pdf]] #secret")
    for name in ("passport scan.pdf", "zoo map.pdf", "plain.pdf"):
        (vault / name).write_bytes(b"%PDF")
    names = ["diary.md", "passport scan.pdf", "zoo map.pdf", "plain.pdf", "Überordner/x.md"]
    core = serve(rows(*(row(name, foundWords=["zebra"], excerpt="zebra") for name in names)))
    scope = Scope(private_key="private", private_tags=("secret",))
    for source in ("auto", "omnisearch"):
        seen = paths(core.search("zebra", source=source, scope=scope))
        assert not {"diary.md", "zoo.md", "passport scan.pdf", "zoo map.pdf"} & set(seen)
        assert "plain.pdf" in seen
        below = core.search("zebra", source=source, scope=Scope(folders=("Überordner",)))
        assert all(path.startswith("Überordner/") for path in paths(below))


def test_hung_omnisearch_costs_the_patience_once(serve: Serve) -> None:
    core = serve(hung)
    core.search("zebra", source="local")
    times = []
    for _ in range(6):
        started = time.monotonic()
        assert core.search("zebra").engine == "local"
        times.append(time.monotonic() - started)
    assert times[0] < 0.25 + 0.3
    assert sorted(times)[3] < 0.2


def test_slow_omnisearch_is_joined_when_it_comes_in_time(serve: Serve, vault: Path) -> None:
    core = serve(late(0.05, plain_search(vault, others=("*.canvas",))), patience_seconds=1.0)
    assert core.search("okapi").engine == "omnisearch"


def test_the_wrong_vault_is_said_once_and_local_answers(serve: Serve) -> None:
    core = serve(rows(row("nfc.md", vault="Work")))
    first, second = core.search("zebra"), core.search("zebra")
    assert (first.engine, second.engine) == ("local", "local")
    assert len(first.warnings) == 1
    assert "'Work'" in first.warnings[0]
    assert second.warnings == ()


def test_local_never_touches_the_network(serve: Serve, vault: Path) -> None:
    calls: list[str] = []
    core = serve(lambda query, _connection, _stop: calls.append(query))
    core.search("zebra", source="local")
    core.info(source="local")
    off = SearchCore(str(vault), omnisearch=OmnisearchSettings(enabled="off"), cache_dir=str(vault.parent / "c"))
    off.search("zebra")
    assert off.info().engine == "local"
    off.close()
    assert calls == []


def test_info_says_who_would_answer(serve: Serve) -> None:
    assert serve(playback(DATA / "responses")).info().engine == "omnisearch+local"


def test_omnisearch_alone_says_what_was_tried(serve: Serve) -> None:
    core = serve(hung)
    with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:\d+ sent nothing within 0\.4"):
        core.search("zebra", source="omnisearch")


def test_a_question_that_omnisearch_cannot_be_asked(serve: Serve) -> None:
    answer = serve(hung).search("d", source="omnisearch")
    assert (answer.hits, answer.engine) == ((), "omnisearch")
    assert "one letter" in answer.warnings[0]
    assert serve(hung).search("d").warnings == ()


def test_a_missing_vault_is_named_before_any_engine(tmp_path: Path) -> None:
    for source in ("auto", "omnisearch"):
        with pytest.raises(VaultMissing):
            SearchCore(str(tmp_path / "none"), cache_dir=str(tmp_path)).search("x", source=source)


FOLDER = "Simon"
"""The part of the shared notes that is asked: some 600 notes, quick to index."""
MOST_QUESTIONS = 40


def test_with_omnisearch_the_order_is_never_worse(shared_data: Path, tmp_path: Path) -> None:
    vault = shared_data / "vaults" / "notes" / FOLDER
    lines = (shared_data / "questions" / "known-item.jsonl").read_text("utf-8").splitlines()
    questions = [q for line in lines if (q := json.loads(line))["target"].startswith(f"{FOLDER}/")][::2][
        :MOST_QUESTIONS
    ]
    with OmnisearchServer(plain_search(vault)) as server:
        settings = OmnisearchSettings(port=server.port, patience_seconds=2.0)
        core = SearchCore(str(vault), omnisearch=settings, cache_dir=str(tmp_path))
        engines, local, both = set(), 0.0, 0.0
        for question in questions:
            target = question["target"].removeprefix(f"{FOLDER}/")
            answer = core.search(question["query"])
            engines.add(answer.engine)
            both += reciprocal_rank(answer, target)
            local += reciprocal_rank(core.search(question["query"], source="local"), target)
        core.close()
    assert both >= local > 0.5 * len(questions)
    assert "omnisearch+local" in engines


def reciprocal_rank(answer: Answer, target: str) -> float:
    found = paths(answer)
    return 1 / (found.index(target) + 1) if target in found else 0.0
