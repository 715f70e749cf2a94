"""A large vault at rest is not swept, and nothing that happens in it is missed for that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from search_core import SearchCore, VaultMissing
from search_core import index as index_module
from search_core.local_disk import is_local
from search_core.vault import Vault


class Bench:
    """A vault that counts as large, and how often it was swept."""

    def __init__(self, root: Path, cache: Path, sweeps: list[int]) -> None:
        self.root, self._sweeps = root, sweeps
        self.core = SearchCore(str(root), cache_dir=str(cache))

    def found(self, query: str) -> list[str]:
        return sorted(hit.path for hit in self.core.search(query, source="local").hits)

    def swept(self) -> bool:
        """Whether a question makes a sweep."""
        before = len(self._sweeps)
        self.found("anything")
        return len(self._sweeps) > before

    def rest(self) -> None:
        while self.swept():
            assert len(self._sweeps) < 20


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    root, sweeps, sweep = tmp_path / "vault", list[int](), Vault.sweep

    def counted(vault: Vault, *arguments: dict[str, bytes]) -> object:
        sweeps.append(1)
        return sweep(vault, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Vault, "sweep", counted)
    monkeypatch.setattr(index_module, "LEAST_NOTES", 0)
    for path in ("a/one.md", "a/b/two.md", "three.md"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("everywhere")
        os.utime(root / path, (1, 1))
    monkeypatch.setattr(index_module, "RACY_SECONDS", 0.0)
    bench = Bench(root, tmp_path / "cache", sweeps)
    bench.rest()
    yield bench
    bench.core.close()


def _in_place(root: Path) -> None:
    with (root / "a/one.md").open("r+") as file:
        file.write("zebra zebr")


def _made(root: Path) -> None:
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/note.md").write_text("zebra")


def _moved_in(root: Path) -> None:
    (root.parent / "outside").mkdir()
    (root.parent / "outside/note.md").write_text("zebra")
    (root.parent / "outside").rename(root / "a/inside")


def _mended_time(root: Path) -> None:
    (root / "a/b/two.md").write_text("zebra text")
    os.utime(root / "a/b/two.md", (1, 1))


@pytest.mark.parametrize("happens", [_in_place, _made, _moved_in, _mended_time])
def test_what_happens_is_seen_at_once(bench: Bench, happens: Callable[[Path], None]) -> None:
    assert not bench.swept()
    happens(bench.root)
    assert len(bench.found("zebra")) == 1
    bench.rest()
    assert len(bench.found("zebra")) == 1


def test_what_goes_is_gone_at_once(bench: Bench) -> None:
    (bench.root / "a/one.md").unlink()
    assert bench.found("everywhere") == ["a/b/two.md", "three.md"]
    bench.rest()
    (bench.root / "a/b").rename(bench.root / "c")
    assert bench.found("everywhere") == ["c/two.md", "three.md"]
    bench.rest()
    (bench.root / "c/two.md").write_text("zebra")
    assert bench.found("zebra") == ["c/two.md"]


def test_a_folder_made_again_is_watched_again(bench: Bench) -> None:
    for text in ("zebra", "giraffe"):
        (bench.root / "a/b/two.md").unlink()
        (bench.root / "a/b").rmdir()
        (bench.root / "a/b").mkdir()
        (bench.root / "a/b/two.md").write_text(text)
        assert bench.found(text) == ["a/b/two.md"]
        bench.rest()


def test_a_vault_that_is_moved_away_is_missed_at_once(bench: Bench) -> None:
    bench.root.parent.rename(f"{bench.root.parent}-away")
    try:
        with pytest.raises(VaultMissing):
            bench.found("everywhere")
    finally:
        Path(f"{bench.root.parent}-away").rename(bench.root.parent)
    assert len(bench.found("everywhere")) == 3


def test_a_note_with_a_name_outside_is_swept_for(bench: Bench) -> None:
    outside = bench.root.parent / "outside.md"
    outside.hardlink_to(bench.root / "a/one.md")
    bench.core.close()
    assert [bench.swept() for _ in range(4)] == [True] * 4
    outside.write_text("zebra text")
    assert bench.found("zebra") == ["a/one.md"]
    assert bench.swept()


def test_another_process_that_wrote_the_index_means_a_sweep(bench: Bench, tmp_path: Path) -> None:
    other = SearchCore(str(bench.root), cache_dir=str(tmp_path / "cache"))
    (bench.root / "new.md").write_text("zebra")
    assert len(other.search("zebra", source="local").hits) == 1
    other.close()
    assert bench.found("zebra") == ["new.md"]


def test_now_and_then_it_is_swept_in_any_case(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.monotonic() + 601
    monkeypatch.setattr("search_core.folder_watch.time.monotonic", lambda: later)
    assert bench.swept()
    assert not bench.swept()


def test_the_queue_is_given_back(bench: Bench) -> None:
    before = len(os.listdir("/proc/self/fd"))
    bench.core.close()
    assert len(os.listdir("/proc/self/fd")) < before
    assert bench.found("everywhere") == ["a/b/two.md", "a/one.md", "three.md"]


@pytest.mark.parametrize(
    ("mounts", "local"),
    [
        ("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", True),
        ("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /home rw shared:1 - nfs4 server:/home rw\n", False),
        ("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /home/me/Vault/Shared rw - fuse.sshfs x rw\n", False),
        ("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /home/me/Vault\\0402 rw - cifs x rw\n", True),
        ("", False),
    ],
)
def test_only_local_file_systems_are_trusted(mounts: str, local: bool) -> None:
    assert is_local("/home/me/Vault", mounts) is local
