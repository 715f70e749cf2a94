"""`search_core` as others use it: one function, one class, typed answers."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest

from search_core import Hit, NoteGone, Scope, SearchCore, VaultMissing, WrongUse, search


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OMNISEARCH_URL", "off")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "Home").mkdir(parents=True)
    (root / "Home/tape.md").write_text("# Tape\n\nThe robot needs the key.\n\nThe tape drive is an Ultrium 4-SCSI.\n")
    (root / "diary.md").write_text("---\nprivate: true\n---\ntape of a birthday\n")
    return root


@pytest.fixture
def core(root: Path) -> Iterator[SearchCore]:
    core = SearchCore(str(root))
    yield core
    core.close()


def test_search_gives_hits_that_are_dicts_as_well(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSIDIAN_VAULT_PATH", str(root))
    results, engine = search("tape", limit=1, folder="Home")
    assert engine == "local"
    hit = results[0]
    assert isinstance(hit, Hit)
    assert hit.path == hit["path"] == "Home/tape.md"
    assert json.loads(json.dumps(hit)) == {
        "path": "Home/tape.md",
        "basename": "tape",
        "score": hit.score,
        "excerpt": hit.excerpt,
        "engine": "local",
    }


def test_search_keeps_to_the_vault_that_was_named(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("tape")
    assert [hit.path for hit in search("tape", vault=str(other))[0]] == ["o.md"]
    assert len(search("tape", vault=str(root))[0]) == 2
    assert [hit.path for hit in search("tape", vault=str(other))[0]] == ["o.md"]


def test_a_hit_is_cut_to_any_number_of_bytes(core: SearchCore) -> None:
    hit = core.search("ultrium drive").hits[0]
    for size in (0, 1, 20, 60, 500):
        assert len(hit.cut(size).encode()) <= size
    assert "Ultrium" in hit.cut(60)


def test_reading_starts_where_the_question_is_answered(core: SearchCore) -> None:
    reading = core.read("Home/tape.md", query="ultrium")
    assert reading.path == "Home/tape.md"
    assert reading.text[reading.start :].startswith("The tape drive")
    assert core.read("Home/tape.md").start == 0


def test_the_digest_follows_the_text(core: SearchCore, root: Path) -> None:
    before = core.read("Home/tape.md").digest
    assert core.read("Home/tape.md").digest == before
    (root / "Home/tape.md").write_text("other")
    assert core.read("Home/tape.md").digest != before


@pytest.mark.parametrize(
    "path", ["gone.md", "../vault/Home/tape.md", "/etc/passwd", "", "Home", "a\0b.md", ".obsidian/app.json"]
)
def test_what_is_no_note_of_the_vault_is_gone(core: SearchCore, path: str) -> None:
    with pytest.raises(NoteGone):
        core.read(path)


def test_a_private_note_is_gone_like_any_other(core: SearchCore) -> None:
    scope = Scope(private_key="private")
    with pytest.raises(NoteGone) as hidden:
        core.read("diary.md", scope=scope)
    with pytest.raises(NoteGone) as missing:
        core.read("dairy.md", scope=scope)
    assert str(hidden.value).replace("diary", "dairy") == str(missing.value)
    assert core.read("diary.md").text == "tape of a birthday"


def test_info(core: SearchCore, root: Path) -> None:
    os.utime(root / "Home/tape.md", (1_000_000_000, 1_000_000_000))
    os.utime(root / "diary.md", (1_100_000_000, 1_100_000_000))
    info = core.info()
    assert (info.notes, info.newest) == (2, 1_100_000_000)
    assert info.index_bytes > 0
    assert Path(info.index_place).is_file()
    scoped = core.info(Scope(private_key="private"))
    assert (scoped.notes, scoped.newest) == (1, 1_000_000_000)


def test_near_words(core: SearchCore) -> None:
    answer = core.search("ultrum tape qqqqq")
    assert [(near.word, near.suggestion, near.notes) for near in answer.near] == [
        ("ultrum", "ultrium", 1),
        ("qqqqq", "", 0),
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"tape drive"', ["Home/tape.md"]),
        ('"drive tape"', []),
        ("tape -birthday", ["Home/tape.md"]),
        ("tape -ultrium -birthday", ["Home/tape.md", "diary.md"]),
        ("tape in:Home", ["Home/tape.md"]),
        ("tape in:Hom", []),
        ("Ultrium4SCSI", ["Home/tape.md"]),
        ("ultrium 4 scsi", ["Home/tape.md"]),
        ("robto", ["Home/tape.md"]),
        ("ltrium", ["Home/tape.md"]),
        ("xylophone", []),
    ],
)
def test_questions(core: SearchCore, query: str, found: list[str]) -> None:
    assert sorted(hit.path for hit in core.search(query).hits) == found


def test_wrong_use(core: SearchCore) -> None:
    with pytest.raises(WrongUse, match="limit"):
        core.search("tape", limit=0)
    with pytest.raises(WrongUse, match="google"):
        core.search("tape", source="google")


def test_a_vault_that_goes_away_and_comes_back(core: SearchCore, root: Path) -> None:
    assert core.search("tape").hits
    root.rename(root.with_name("away"))
    with pytest.raises(VaultMissing):
        core.search("tape")
    root.with_name("away").rename(root)
    assert len(core.search("tape").hits) == 2


def test_a_fresh_process_loads_little() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, search_core, search_core.cli; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = {
        "argparse",
        "asyncio",
        "dataclasses",
        "json",
        "logging",
        "pathlib",
        "socket",
        "subprocess",
        "http.client",
        "hashlib",
    }
    assert heavy.isdisjoint(loaded)


def test_threads_may_search_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread has a database handle of its own; a shared one brought the whole process down."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    vaults = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.md").write_text(f"the lamp of {name}\n")
        vaults.append(folder)
    found: list[str] = []

    def ask(number: int) -> None:
        for turn in range(4):
            hits, _engine = search("lamp", vault=str(vaults[(number + turn) % 2]))
            found.extend(hit.basename for hit in hits)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["one"] * 8 + ["two"] * 8


def test_secrets_are_blanked_before_anything_is_cut(tmp_path: Path) -> None:
    """At every size of excerpt: a secret cut in half would not be recognised afterwards."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "router.md").write_text("# Router\n\nThe router stands in the hall. Its word is SESAME-open-1234.\n")
    with closing(SearchCore(str(folder), blank=lambda text: text.replace("SESAME-open-1234", "[hidden]"))) as core:
        (hit,) = core.search("router word").hits
        shown = [hit["excerpt"], *(hit.cut(size) for size in range(20, 120)), core.read("router.md", query="word").text]
        shown += [passage for size in range(20, 120) for passage in hit.passages(size, 2)]
    assert not any("SESA" in str(text) or "1234" in str(text) for text in shown)
    assert any("[hidden]" in str(text) for text in shown)


class TestLateExcerpt:
    """A hit whose excerpt is cut late is the same dict to everybody."""

    WHOLE: ClassVar[dict[str, object]] = {
        "path": "a/b.md",
        "basename": "b",
        "score": 1.5,
        "excerpt": "text",
        "engine": "local",
    }

    @pytest.fixture
    def hit(self) -> Hit:
        return Hit(path="a/b.md", basename="b", score=1.5, excerpt=lambda: "text", engine="local")

    @pytest.mark.parametrize(
        "look",
        [
            dict,
            lambda hit: {**hit},
            lambda hit: {} | hit,
            lambda hit: hit | {},
            lambda hit: hit.copy(),
            lambda hit: dict(hit.items()),
            lambda hit: dict(zip(hit, hit.values(), strict=True)),
            lambda hit: {key: hit[key] for key in hit.keys()},  # noqa: SIM118 - what is looked at
            lambda hit: {key: hit.get(key) for key in TestLateExcerpt.WHOLE},
            lambda hit: json.loads(json.dumps(hit)),
            lambda hit: json.loads("".join(json.JSONEncoder(indent=1).iterencode([hit])))[0],
            lambda hit: ast.literal_eval(repr(hit)),
            lambda hit: hit,
        ],
    )
    def test_whoever_looks_sees_all_of_it(self, hit: Hit, look: Callable[[Hit], object]) -> None:
        seen = look(hit)
        assert seen == self.WHOLE
        assert list(self.WHOLE) == list(seen)

    def test_what_is_changed_stays_changed(self, hit: Hit) -> None:
        hit["excerpt"] = "other"
        assert hit.excerpt == hit["excerpt"] == "other"

    def test_it_is_cut_once_and_only_when_asked_for(self) -> None:
        cuts: list[str] = []
        hit = Hit(path="a.md", basename="a", score=1.0, excerpt=lambda: cuts.append("cut") or "x", engine="local")  # type: ignore[func-returns-value]
        assert (hit.path, hit["score"], len(hit), "excerpt" in hit, cuts) == ("a.md", 1.0, 5, True, [])
        assert (hit.excerpt, hit["excerpt"], cuts) == ("x", "x", ["cut"])


def test_hits_are_equal_by_what_they_say_whoever_looked_first(tmp_path: Path) -> None:
    """An excerpt is cut when it is looked at; comparing is looking, on both sides."""
    folder = tmp_path / "same"
    folder.mkdir()
    (folder / "a.md").write_text("the lamp stands here\n")
    with closing(SearchCore(str(folder))) as core:
        first, second, third = (core.search("lamp").hits for _ in range(3))
        assert first == second
        assert third[0]["excerpt"] == "the lamp stands here"
        assert third == core.search("lamp").hits
        assert core.search("lamp").hits == third
        assert (core.search("lamp").hits != third) is False
