"""Which files are notes, and what is read of them: the odd things that people keep in a vault."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from search_core import log_once as log_once_module
from search_core.errors import VaultMissing
from search_core.glance import Mark
from search_core.local_disk import place_of
from search_core.vault import MAX_NOTE_BYTES, Content, Unread, Vault, decode


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_once_module, "_said", set())


def note(root: Path, path: str, text: str | bytes = "text") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def paths(vault: Vault) -> set[str]:
    vault.load_rules()
    changed, _ = vault.sweep({})
    return {f"{one.folder}/{entry.name}".lstrip("/") for one in changed for entry in vault.entries(one)}


def text_of(vault: Vault, path: str) -> str:
    content = vault.read(path)
    assert isinstance(content, Content)
    return content.text


def test_notes_at_any_depth_and_nothing_else(tmp_path: Path) -> None:
    for path in ("a.md", "x/y/z/b.MD", ".hidden/c.md", ".trash.md", "x/d.txt", "x/.obsidian/e.md", "no_ext"):
        note(tmp_path, path)
    (tmp_path / "folder.md").mkdir()
    note(tmp_path, "folder.md/inside.md")
    assert paths(Vault(str(tmp_path))) == {"a.md", "x/y/z/b.MD", "folder.md/inside.md"}


@pytest.mark.parametrize("exclude", ["Private", "private/", "/PRIVATE"])
def test_excluded_folders_and_notes(tmp_path: Path, exclude: str) -> None:
    for path in (
        "Private/a.md",
        "Private/x/b.md",
        "Privateer/c.md",
        "Journal/2019/d.md",
        "Journal/2020/e.md",
        "Keys.md",
    ):
        note(tmp_path, path)
    found = Vault(str(tmp_path), (exclude, "Journal/2019", "Keys"))
    assert paths(found) == {"Privateer/c.md", "Journal/2020/e.md"}
    assert found.read("Private/a.md") is Unread.GONE


def test_obsidians_own_ignore_list(tmp_path: Path) -> None:
    for path in ("Archive/a.md", "Archive2/b.md", "x/draft-1.md", "x/c.md"):
        note(tmp_path, path)
    note(tmp_path, ".obsidian/app.json", json.dumps({"userIgnoreFilters": ["Archive/", "/draft-\\d/", "/[/", 7]}))
    assert paths(Vault(str(tmp_path))) == {"Archive2/b.md", "x/c.md"}


@pytest.mark.parametrize("text", ["{", "[]", '{"userIgnoreFilters": 3}', "\xff"])
def test_a_broken_ignore_list_ignores_nothing(tmp_path: Path, text: str) -> None:
    note(tmp_path, "a.md")
    note(tmp_path, ".obsidian/app.json", text)
    assert paths(Vault(str(tmp_path))) == {"a.md"}


def test_links_are_followed_inside_the_vault_only(tmp_path: Path) -> None:
    root, outside = tmp_path / "vault", tmp_path / "outside"
    note(outside, "secret.md")
    note(root, "real.md", "inside")
    note(root, "Private/p.md")
    note(root, "deep/n.md")
    (root / "link.md").symlink_to("real.md")
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "hidden.md").symlink_to("Private/p.md")
    (root / "away").symlink_to(outside)
    (root / "to_private").symlink_to("Private")
    (root / "broken.md").symlink_to("nowhere.md")
    (root / "also").symlink_to("deep")
    vault = Vault(str(root), ("Private",))
    assert paths(vault) == {"real.md", "link.md", "deep/n.md", "also/n.md"}
    assert text_of(vault, "link.md") == "inside"
    for path in ("out.md", "away/secret.md", "hidden.md", "to_private/p.md", "../outside/secret.md", "/etc/hostname"):
        assert vault.read(path) is Unread.GONE


def test_loops_of_links_end(tmp_path: Path) -> None:
    note(tmp_path, "a/n.md")
    note(tmp_path, "b/m.md")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/self").symlink_to(".")
    (tmp_path / "a/to_b").symlink_to("../b")
    (tmp_path / "b/to_a").symlink_to("../a")
    (tmp_path / "round.md").symlink_to("round.md")
    found = paths(Vault(str(tmp_path)))
    assert {"a/n.md", "b/m.md"} <= found
    assert len(found) <= 8


def test_the_target_of_a_link_is_watched(tmp_path: Path) -> None:
    target = note(tmp_path, ".keep/real.txt")
    note(tmp_path, "real.md", "one")
    (tmp_path / "link.md").symlink_to("real.md")
    vault = Vault(str(tmp_path))
    known = {listing.folder: listing.packed for listing in vault.sweep({})[0]}
    assert vault.sweep(known)[0] == []
    note(tmp_path, "real.md", "two!")
    assert [entry.name for entry in vault.entries(vault.sweep(known)[0][0]) if entry.size == 4] != []
    assert target.exists()


def test_pipes_and_sockets_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    note(tmp_path, "a.md")
    vault = Vault(str(tmp_path))
    began = time.monotonic()
    assert paths(vault) == {"a.md"}
    assert vault.read("pipe.md") is Unread.REFUSED
    assert time.monotonic() - began < 1


def test_names_that_are_not_utf8_are_left_out_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    note(tmp_path, "a.md")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    (tmp_path / os.fsdecode(b"d\xe9")).mkdir()
    (tmp_path / os.fsdecode(b"d\xe9") / "b.md").write_text("x")
    vault = Vault(str(tmp_path))
    with caplog.at_level(logging.WARNING, "meshseek.search"):
        assert paths(vault) == paths(vault) == {"a.md"}
    assert len(caplog.records) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_survived(tmp_path: Path) -> None:
    note(tmp_path, "closed/a.md")
    note(tmp_path, "b.md").chmod(0)
    (tmp_path / "closed").chmod(0)
    vault = Vault(str(tmp_path))
    try:
        assert paths(vault) == {"b.md"}
        assert vault.read("b.md") is Unread.REFUSED
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_missing_vault_is_named(tmp_path: Path) -> None:
    with pytest.raises(VaultMissing, match="nowhere"):
        Vault(str(tmp_path / "nowhere")).sweep({})


def test_a_huge_note_is_cut_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (tmp_path / "big.md").open("wb") as file:
        file.write(b"first words\n")
        file.truncate(50_000_000)
    vault = Vault(str(tmp_path))
    with caplog.at_level(logging.WARNING, "meshseek.search"):
        for _ in range(2):
            content = vault.read("big.md")
            assert isinstance(content, Content)
            assert content.cut
            assert len(content.text) <= MAX_NOTE_BYTES
            assert content.text.startswith("first words")
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", "Grüße"),
        (b"Gr\xfc\xdfe \xc3\xa9t\xc3\xa9", "Grüße été"),
        (b"\x80 5", "€ 5"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b"a\0b", "a b"),
        (b"\x81", "\ufffd"),
        (b"", ""),
    ],
)
def test_bytes_are_read_without_loss_of_the_rest(data: bytes, text: str) -> None:
    assert decode(data) == text


def test_an_empty_young_note_is_being_written(tmp_path: Path) -> None:
    file = note(tmp_path, "a.md", "")
    vault = Vault(str(tmp_path))
    assert vault.read("a.md") is Unread.BUSY
    old = time.time() - 60
    os.utime(file, (old, old))
    assert text_of(vault, "a.md") == ""


def test_a_note_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = note(tmp_path, "a.md", "half")
    writes: list[Callable[[], object]] = [lambda: file.write_text("half and half")]
    stat = os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        result = stat(descriptor)
        if writes:
            writes.pop()()
        return result

    monkeypatch.setattr(os, "fstat", fstat)
    assert text_of(Vault(str(tmp_path)), "a.md") == "half and half"


def test_a_sweep_tells_only_what_changed(tmp_path: Path) -> None:
    note(tmp_path, "a/x.md")
    note(tmp_path, "b/y.md")
    vault = Vault(str(tmp_path))
    changed, seen = vault.sweep({})
    known = {listing.folder: listing.packed for listing in changed}
    assert seen == {"a", "b"}
    assert vault.sweep(known)[0] == []
    note(tmp_path, "a/z.md")
    assert [listing.folder for listing in vault.sweep(known)[0]] == ["a"]
    (tmp_path / "b/y.md").unlink()
    assert vault.sweep(known)[1] == {"a"}


class TestMarks:
    """What a process remembers of its last sweep never hides a change, whether a folder's own times are believed or
    not. They are long past at first: on older kernels two changes within 4 ms look like one."""

    @pytest.fixture(params=["listed", "believed"])
    def swept(self, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], list[str]]:
        note(tmp_path, "a/one.md")
        note(tmp_path, "a/two.md")
        note(tmp_path, "b/c/three.md")
        for folder in ("b/c", "b", "a", ""):
            os.utime(tmp_path / folder, (1e9, 1e9))
        vault, marks = Vault(str(tmp_path)), dict[str, Mark]()
        known: dict[str, bytes] = {}

        def sweep(now: float | None = None) -> list[str]:
            changed, seen = vault.sweep(known, marks, time.time() if now is None else now)
            known.update({listing.folder: listing.packed for listing in changed})
            for listing in changed:
                marks.pop(listing.folder, None)
            gone = known.keys() - seen
            for folder in gone:
                del known[folder]
            return sorted({*(listing.folder for listing in changed), *gone})

        now = time.time() + (3600 if request.param == "believed" else 0)
        assert sweep(now) == ["a", "b/c"]
        assert sweep(now) == sweep(now) == []
        if request.param == "believed" and place_of(str(tmp_path)) is None:
            pytest.skip("the temporary directory is not on a local file system")
        assert {bool(mark.stamp) for mark in marks.values()} == {request.param == "believed"}
        return sweep

    def test_a_note_of_the_same_size_and_time(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        times = (tmp_path / "a/one.md").stat()
        note(tmp_path, "a/one.md", "TEXT")
        os.utime(tmp_path / "a/one.md", ns=(times.st_atime_ns, times.st_mtime_ns))
        assert swept() == ["a"]
        assert swept() == []

    def test_notes_that_come_and_go(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        note(tmp_path, "b/new.md")
        note(tmp_path, "b/c/d/new.md")
        (tmp_path / "a/one.md").rename(tmp_path / "a/won.md")
        assert swept() == ["a", "b", "b/c/d"]
        assert swept() == []
        (tmp_path / "b/new.md").unlink()
        (tmp_path / "b/c").rename(tmp_path / "e")
        assert swept() == ["b", "b/c", "b/c/d", "e", "e/d"]
        assert swept() == []

    def test_a_note_that_becomes_a_link_or_a_folder(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        (tmp_path / "a/one.md").rename(tmp_path / "b/one.md")
        (tmp_path / "a/one.md").symlink_to("../b/one.md")
        assert swept() == ["a", "b"]
        assert swept() == []
        note(tmp_path, "b/one.md", "longer text")
        assert swept() == ["a", "b"]
        (tmp_path / "b/one.md").unlink()
        note(tmp_path, "b/one.md/inner.md")
        assert swept() == ["a", "a/one.md", "b", "b/one.md"]
        assert swept() == []

    def test_a_linked_folder(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        (tmp_path / "a/link").symlink_to("../b/c")
        assert swept() == ["a/link"]
        note(tmp_path, "b/c/three.md", "changed")
        assert swept() == ["a/link", "b/c"]
        (tmp_path / "a/link").unlink()
        assert swept() == ["a/link"]

    def test_a_folder_in_place_of_another(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        note(tmp_path, "new/one.md")
        note(tmp_path, "new/two.md", "TEXT")
        os.utime(tmp_path / "new", (1e9, 1e9))
        (tmp_path / "a").rename(tmp_path / "old")
        (tmp_path / "new").rename(tmp_path / "a")
        assert swept() == ["a", "old"]
        assert swept() == []

    def test_a_note_that_may_not_be_read_any_more(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        (tmp_path / "a/one.md").chmod(0)
        assert swept() == ["a"]
        assert swept() == []

    def test_a_hidden_folder_stays_hidden(self, tmp_path: Path, swept: Callable[[], list[str]]) -> None:
        note(tmp_path, "b/.trash/old.md")
        note(tmp_path, "b/.draft.md")
        assert swept() == []
