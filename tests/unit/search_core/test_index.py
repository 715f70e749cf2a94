"""The index is only a cache: always fresh, and whatever happens to its file, the answer is right."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from search_core import Scope, SearchCore
from search_core import core as core_module
from search_core.index import Index
from search_core.vault import Vault


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(5):
        (folder / f"note{number}.md").write_text(f"# Note {number}\nword{number} everywhere\n")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def core(root: Path, cache: Path) -> Iterator[SearchCore]:
    core = SearchCore(str(root), cache_dir=str(cache))
    yield core
    core.close()


def found(core: SearchCore, query: str) -> list[str]:
    return sorted(hit.path for hit in core.search(query, source="local", limit=100).hits)


def index_file(cache: Path) -> Path:
    return next(cache.glob("*.sqlite"))


# -- fresh


def test_written_renamed_moved_and_deleted_notes_are_seen_at_once(core: SearchCore, root: Path) -> None:
    assert found(core, "zebra") == []
    (root / "new.md").write_text("a zebra")
    assert found(core, "zebra") == ["new.md"]
    (root / "new.md").rename(root / "other.md")
    assert found(core, "zebra") == ["other.md"]
    (root / "sub").mkdir()
    (root / "other.md").rename(root / "sub/other.md")
    assert found(core, "zebra") == ["sub/other.md"]
    (root / "sub").rename(root / "bus")
    assert found(core, "zebra") == ["bus/other.md"]
    shutil.rmtree(root / "bus")
    assert found(core, "zebra") == []


def test_a_rewrite_of_the_same_size_in_the_same_instant_is_seen(core: SearchCore, root: Path) -> None:
    file = root / "swap.md"
    for number in range(30):
        file.write_text(f"token{number:04d}")
        assert found(core, f"token{number:04d}") == ["swap.md"]


def test_a_note_put_back_in_time_is_seen(core: SearchCore, root: Path) -> None:
    file = root / "swap.md"
    file.write_text("aardvark")
    old = time.time() - 3600
    os.utime(file, (old, old))
    assert found(core, "aardvark") == ["swap.md"]
    file.write_text("elephant")
    os.utime(file, (old, old))
    assert found(core, "elephant") == ["swap.md"]
    assert found(core, "aardvark") == []


def test_two_notes_that_change_places_are_seen(core: SearchCore, root: Path) -> None:
    (root / "a.md").write_text("aardvark")
    (root / "b.md").write_text("elephant")
    assert found(core, "aardvark") == ["a.md"]
    (root / "a.md").rename(root / "c.md")
    (root / "b.md").rename(root / "a.md")
    (root / "c.md").rename(root / "b.md")
    assert found(core, "aardvark") == ["b.md"]
    assert found(core, "elephant") == ["a.md"]


def test_half_a_note_does_not_replace_the_last_good_one(core: SearchCore, root: Path) -> None:
    file = root / "note0.md"
    assert found(core, "word0") == ["note0.md"]
    file.write_text("")
    assert found(core, "word0") == ["note0.md"]
    file.write_text("whole again zebra")
    assert found(core, "zebra") == ["note0.md"]
    assert found(core, "word0") == []


def test_a_note_that_stays_empty_is_taken_as_it_is(core: SearchCore, root: Path) -> None:
    assert found(core, "word0") == ["note0.md"]
    (root / "note0.md").write_text("")
    old = time.time() - 60
    os.utime(root / "note0.md", (old, old))
    assert found(core, "word0") == []


def test_a_changed_ignore_list_is_seen(core: SearchCore, root: Path) -> None:
    assert found(core, "everywhere") == [f"note{number}.md" for number in range(5)]
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["note1"]}')
    assert "note1.md" not in found(core, "everywhere")
    (root / ".obsidian/app.json").write_text("{}")
    assert "note1.md" in found(core, "everywhere")


def test_an_index_with_a_history_answers_as_a_fresh_one(core: SearchCore, root: Path, tmp_path: Path) -> None:
    for number in range(20):
        (root / f"note{number % 7}.md").write_text(f"tape backup {'tape ' * (number % 5)} everywhere {number}")
        found(core, "tape")
    fresh = SearchCore(str(root), cache_dir=str(tmp_path / "other"))
    query = "tape backup everywhere"
    assert core.search(query, source="local").hits == fresh.search(query, source="local").hits
    fresh.close()


# -- a cache


def test_the_file_is_private_and_not_in_the_vault(core: SearchCore, root: Path, cache: Path) -> None:
    before = sorted(root.rglob("*"))
    found(core, "word0")
    assert sorted(root.rglob("*")) == before
    assert cache.stat().st_mode & 0o777 == 0o700
    assert index_file(cache).stat().st_mode & 0o777 == 0o600


def _garbage(file: Path) -> None:
    file.write_bytes(os.urandom(50_000))


def _truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _overwrite_middle(file: Path) -> None:
    with file.open("r+b") as handle:
        handle.seek(4096)
        handle.write(b"\xff" * 30_000)


def _foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE meta (key TEXT)")
    db.close()


def _other_schema(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE meta SET value = 'meshseek 0' WHERE key = 'identity'")
    db.close()


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _lost_table(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE notes")
    db.close()


@pytest.mark.parametrize(
    "damage", [_garbage, _truncate, _overwrite_middle, _foreign, _other_schema, _empty, _lost_table]
)
def test_a_damaged_or_foreign_file_is_replaced(root: Path, cache: Path, damage: Callable[[Path], None]) -> None:
    first = SearchCore(str(root), cache_dir=str(cache))
    found(first, "word0")
    first.close()
    damage(index_file(cache))
    second = SearchCore(str(root), cache_dir=str(cache))
    assert found(second, "word3") == ["note3.md"]
    assert second.info().index_place == str(index_file(cache))
    second.close()
    third = SearchCore(str(root), cache_dir=str(cache))
    assert found(third, "everywhere") == [f"note{number}.md" for number in range(5)]
    third.close()


def test_damage_while_the_file_is_open(core: SearchCore, cache: Path) -> None:
    assert found(core, "word0") == ["note0.md"]
    _garbage(index_file(cache))
    assert found(core, "word1") == ["note1.md"]


def test_deletion_under_us(core: SearchCore, root: Path, cache: Path) -> None:
    assert found(core, "word0") == ["note0.md"]
    shutil.rmtree(cache)
    (root / "new.md").write_text("zebra")
    assert found(core, "zebra") == ["new.md"]
    assert index_file(cache).exists()


def test_a_directory_in_the_way_means_memory(root: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    core = SearchCore(str(root), cache_dir=str(cache))
    assert found(core, "word0") == ["note0.md"]
    assert core.info().index_place == "memory"
    assert core.info().index_bytes == 0
    core.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_means_memory(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    core = SearchCore(str(root), cache_dir=str(home / "cache"))
    assert found(core, "word0") == ["note0.md"]
    assert core.info().index_place == "memory"
    core.close()


class _FullDisk(Index):
    """An index on a disk without room."""

    def refresh(self, progress: object = None) -> None:
        if self.path:
            self._db.execute("PRAGMA max_page_count = 1")
        super().refresh()


def test_a_full_disk_means_memory(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (root / f"more{number}.md").write_text("plenty of text " * 500)
    monkeypatch.setattr(core_module, "Index", _FullDisk)
    core = SearchCore(str(root), cache_dir=str(cache))
    assert found(core, "word0") == ["note0.md"]
    assert core.info().index_place == "memory"
    assert list(cache.iterdir()) == []  # what filled the disk is given back
    core.close()


def test_a_disk_that_fills_up_costs_no_index_that_was_complete(
    core: SearchCore, root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(core, "word0") == ["note0.md"]
    core.close()
    monkeypatch.setattr(core_module, "Index", _FullDisk)
    (root / "new.md").write_text("zebra " * 5000)
    assert found(core, "zebra") == ["new.md"]
    assert core.info().index_place == "memory"
    assert index_file(cache).exists()


def test_vaults_and_exclusions_have_files_of_their_own(root: Path, cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "vault"
    other.mkdir(parents=True)
    (other / "o.md").write_text("word0")
    cores = [
        SearchCore(str(root), cache_dir=str(cache)),
        SearchCore(str(other), cache_dir=str(cache)),
        SearchCore(str(root), exclude=("note0.md",), cache_dir=str(cache)),
    ]
    assert [found(core, "word0") for core in cores] == [["note0.md"], ["o.md"], []]
    for core in cores:
        core.close()


# -- several processes

_BUILD = """
import sys
from search_core import SearchCore
core = SearchCore(sys.argv[1], cache_dir=sys.argv[2])
if sys.argv[4:]:
    print("ready", flush=True)
    sys.stdin.readline()
core.search(sys.argv[3], source="local")
"""


def _process(root: Path, cache: Path, query: str, *waiting: str) -> subprocess.Popen[bytes]:
    """Asks one question; told to wait, it says when it is ready, and keeps what it logs."""
    pipe = subprocess.PIPE if waiting else None
    argv = [sys.executable, "-c", _BUILD, str(root), str(cache), query, *waiting]
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe)


def test_a_killed_build_is_finished_by_the_next_question(root: Path, cache: Path) -> None:
    for number in range(1500):
        (root / f"many{number}.md").write_text(f"unique{number} " + "filling words of some length " * 20)
    process = _process(root, cache, "word0")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not list(cache.glob("*-wal")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    core = SearchCore(str(root), cache_dir=str(cache))
    assert found(core, "unique1499") == ["many1499.md"]
    assert core.info().notes == 1505
    core.close()


def test_two_processes_share_the_file_while_notes_change(core: SearchCore, root: Path, cache: Path) -> None:
    found(core, "word0")
    other = SearchCore(str(root), cache_dir=str(cache))
    for number in range(20):
        (root / f"note{number % 5}.md").write_text(f"round{number} everywhere")
        for one in (core, other) if number % 2 else (other, core):
            assert found(one, f"round{number}") == [f"note{number % 5}.md"]
            assert len(found(one, "everywhere")) == 5
    other.close()


def test_a_first_build_by_several_processes_at_once(root: Path, cache: Path) -> None:
    """None of them is content with an index in memory, which it would build again with its next start."""
    for number in range(300):
        (root / f"many{number}.md").write_text(f"unique{number} text")
    for round_ in range(3):
        processes = [_process(root, cache / str(round_), "unique7", "wait") for _ in range(3)]
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.flush()
        assert [(process.communicate(timeout=30)[1], process.returncode) for process in processes] == 3 * [(b"", 0)]
    core = SearchCore(str(root), cache_dir=str(cache / "0"))
    assert core.info().notes == 305
    core.close()


# -- who may see what


@pytest.fixture
def private(root: Path, core: SearchCore) -> SearchCore:
    (root / "Public").mkdir()
    (root / "Publicity").mkdir()
    (root / "Public/open.md").write_text("everywhere shared")
    (root / "Publicity/closed.md").write_text("everywhere hush")
    (root / "diary.md").write_text("---\nprivate: true\n---\neverywhere zebracrossing")
    (root / "tagged.md").write_text("everywhere #secret/deep giraffeneck")
    (root / "listed.md").write_text("---\ntags:\n  - secret\n---\neverywhere pelicanbill")
    return core


OPEN = Scope(private_key="private", private_tags=("#Secret",))


def scoped(core: SearchCore, query: str, scope: Scope) -> tuple[list[str], int]:
    answer = core.search(query, source="local", limit=100, scope=scope)
    return sorted(hit.path for hit in answer.hits), answer.total


def test_private_notes_are_neither_found_nor_counted(private: SearchCore) -> None:
    visible = sorted(["Public/open.md", "Publicity/closed.md", *(f"note{number}.md" for number in range(5))])
    assert scoped(private, "everywhere", OPEN) == (visible, len(visible))
    assert private.info(OPEN).notes == len(visible)
    assert private.info().notes == len(visible) + 3


def test_folders_are_whole_names_whatever_their_case(private: SearchCore) -> None:
    assert scoped(private, "everywhere", Scope(folders=("public/",))) == (["Public/open.md"], 1)
    assert scoped(private, "everywhere in:note0", Scope(folders=("Public",))) == ([], 0)


@pytest.mark.parametrize("word", ["zebracrossin", "giraffenek", "pelicanbil", "zebracrossing", "zebra"])
def test_private_words_are_not_suggested(private: SearchCore, word: str) -> None:
    answer = private.search(word, source="local", scope=OPEN)
    assert answer.hits == ()
    assert [near.suggestion for near in answer.near] == [""]
    assert private.search(word, source="local").hits


def test_ranking_and_suggestions_are_as_if_private_notes_were_not_there(
    private: SearchCore, root: Path, tmp_path: Path
) -> None:
    before = private.search("everywere word1", source="local", scope=OPEN)
    for name in ("diary.md", "tagged.md", "listed.md"):
        (root / name).unlink()
    clean = SearchCore(str(root), cache_dir=str(tmp_path / "clean"))
    after = clean.search("everywere word1", source="local", scope=OPEN)
    assert (before.hits, before.total, before.near) == (after.hits, after.total, after.near)
    clean.close()


def test_an_index_file_is_opened_without_trusting_it(root: Path, cache: Path) -> None:
    cache.mkdir()
    file = cache / "x.sqlite"
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(sqlite3.Error):
        Index(str(file), Vault(str(root)))


def test_two_processes_answer_as_a_plain_scan_while_a_third_rewrites_the_notes() -> None:
    bench = Path(__file__).parents[2] / "benchmarks" / "freshness.py"
    done = subprocess.run([sys.executable, bench, "1.5", "80"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
