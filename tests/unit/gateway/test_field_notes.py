"""One line in one note of the vault, once, whatever is sent and whatever stands in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.field_notes import FieldNotes, neutral
from gateway.protocol.requests import Saved, Trouble

INBOX = "Inbox/From the field.md"
AT = 1_787_493_900.0


@pytest.fixture(autouse=True)
def a_known_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def save(vault: Path, text: str, packet: int = 1, name: str = "Ann", at: float = AT) -> Saved | Trouble:
    return FieldNotes(str(vault), INBOX).append(text, name, at, packet)


def content(vault: Path) -> str:
    return (vault / INBOX).read_bytes().decode()


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_note_and_its_folder_are_made(vault: Path) -> None:
    assert save(vault, "spring at km 4 is dry") == Saved("- 2026-08-23 14:05 Ann: spring at km 4 is dry", INBOX)
    assert content(vault) == "- 2026-08-23 14:05 Ann: spring at km 4 is dry ^00000001\n"


def test_lines_follow_what_is_there(vault: Path) -> None:
    (vault / "Inbox").mkdir()
    (vault / INBOX).write_bytes(b"# Inbox\n\nno line end")
    save(vault, "one", 1)
    save(vault, "two", 2, name="")
    assert content(vault) == (
        "# Inbox\n\nno line end\n- 2026-08-23 14:05 Ann: one ^00000001\n- 2026-08-23 14:05: two ^00000002\n"
    )


def test_line_ends_of_windows_are_kept(vault: Path) -> None:
    (vault / "Inbox").mkdir()
    (vault / INBOX).write_bytes(b"# Inbox\r\n")
    save(vault, "one")
    assert content(vault).endswith(" ^00000001\r\n")
    save(vault, "one")
    assert content(vault).count("one") == 1


def test_a_doubled_packet_is_saved_once_also_after_a_restart_and_later(vault: Path) -> None:
    for at in (AT, AT + 3_600):
        assert isinstance(save(vault, "once", 7, at=at), Saved)
    assert content(vault).count("once") == 1


def test_the_same_words_in_another_packet_are_saved_again(vault: Path) -> None:
    save(vault, "ok", 7)
    save(vault, "ok", 8)
    save(vault, "other", 8)
    assert len(content(vault).splitlines()) == 3


def test_at_home_there_is_no_packet(vault: Path) -> None:
    save(vault, "ok", 0)
    save(vault, "ok", 0)
    assert content(vault) == "- 2026-08-23 14:05 Ann: ok\n" * 2


@pytest.mark.parametrize(
    ("text", "saved"),
    [
        ("---\nprivate: true\n---", "--- private: true ---"),
        ("see [[Secret|this]] ![[embed]]", r"see \[\[Secret|this\]\] !\[\[embed\]\]"),
        ("![x](http://evil.example/?q)", r"!\[x\](http://evil.example/?q)"),
        ("<img src=x onerror=alert(1)>", r"\<img src=x onerror=alert(1)>"),
        ("<% tp.system.prompt() %> <%* x %>", r"\< % tp.system.prompt() % > \< %* x % >"),
        ("`= this.file` `$= dv.pages()` ```js", r"\`= this.file\` \`\$= dv.pages()\` \`\`\`js"),
        ("key:: value", "key: : value"),
        ("%%hidden%% {{date}}", "% %hidden% % { {date} }"),
        ("#tag and # heading", r"\#tag and # heading"),
        ("back\\[[slash]]", r"back\\\[\[slash\]\]"),
        ("2^10 ends ^0000abcd", r"2^10 ends \^0000abcd"),
        ("a\u202eb\x1b[31m\u2028c", r"ab\[31m c"),
        ("вода в роднике 水 पानी ماء 물 👩‍👧", "вода в роднике 水 पानी ماء 물 👩‍👧"),
    ],
)
def test_nothing_in_the_text_acts(text: str, saved: str) -> None:
    assert neutral(text) == saved


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["[", "]", "<", "%", ">", ":", "\\", "`", "#", "a", " ", "{", "^"])).map("".join)
)
@example("<\u200b%")
@example("[\\[")
def test_any_text_is_neutral(text: str) -> None:
    said = neutral(text)
    assert "\n" not in said
    assert not any(pair in said for pair in ("[[", "]]", "<%", "%>", "%%", "::", "{{", "}}"))
    plain = said.replace("\\\\", "")
    assert all(plain[at - 1] == "\\" for at, char in enumerate(plain) if char in "[]<`$")


def test_the_sender_name_is_neutral_too(vault: Path) -> None:
    save(vault, "x", name="[[Ann]]\n# " + "n" * 99)
    assert content(vault).startswith(r"- 2026-08-23 14:05 \[\[Ann\]\] # nnn")
    assert len(content(vault)) < 120


def test_a_long_text_is_bounded(vault: Path) -> None:
    save(vault, "x" * 100_000)
    assert len(content(vault)) < 1_100


def test_nothing_is_saved_of_nothing(vault: Path) -> None:
    assert isinstance(save(vault, " \u200b\n"), Trouble)
    assert everything(vault) == {}


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e30, -1e30])
def test_a_clock_that_cannot_be_is_said(at: float, vault: Path) -> None:
    save(vault, "x", at=at)
    assert content(vault) == "- (no clock) Ann: x ^00000001\n"


@pytest.mark.parametrize(
    "inbox",
    ["/etc/x.md", "../x.md", "a/../x.md", "", "x", "x.txt", ".obsidian/x.md", "a//b.md", ".md", "a\0.md", "./x.md"],
)
def test_a_path_that_is_no_note_of_the_vault_is_refused(inbox: str, vault: Path) -> None:
    with pytest.raises(ValueError):
        FieldNotes(str(vault), inbox)


def test_a_vault_that_is_not_there(tmp_path: Path) -> None:
    outcome = save(tmp_path / "none", "x")
    assert isinstance(outcome, Trouble)
    assert outcome.kind == "vault"
    assert not (tmp_path / "none").exists()


def _outside(vault: Path) -> Path:
    outside = vault.parent / "outside"
    outside.mkdir()
    (outside / "From the field.md").write_text("mine")
    return outside


def _linked_folder(vault: Path) -> None:
    (vault / "Inbox").symlink_to(_outside(vault))


def _linked_file(vault: Path) -> None:
    (vault / "Inbox").mkdir()
    (vault / INBOX).symlink_to(_outside(vault) / "From the field.md")


def _dangling(vault: Path) -> None:
    (vault / "Inbox").mkdir()
    (vault / INBOX).symlink_to(_outside(vault) / "new.md")


def _hard_link(vault: Path) -> None:
    (vault / "Inbox").mkdir()
    os.link(_outside(vault) / "From the field.md", vault / INBOX)


def _pipe(vault: Path) -> None:
    (vault / "Inbox").mkdir()
    os.mkfifo(vault / INBOX)


def _folder_in_its_place(vault: Path) -> None:
    (vault / INBOX).mkdir(parents=True)


def _file_as_folder(vault: Path) -> None:
    (vault / "Inbox").write_text("a file")


@pytest.mark.parametrize(
    "trap", [_linked_folder, _linked_file, _dangling, _hard_link, _pipe, _folder_in_its_place, _file_as_folder]
)
def test_nothing_is_written_through_a_link_or_to_what_is_no_file(trap: object, vault: Path) -> None:
    assert callable(trap)
    trap(vault)
    before = everything(vault.parent)
    outcome = save(vault, "x")
    assert isinstance(outcome, Trouble)
    assert everything(vault.parent) == before


def test_a_vault_reached_by_a_link_is_the_owners_choice(vault: Path) -> None:
    link = vault.parent / "link"
    link.symlink_to(vault)
    assert isinstance(save(link, "x"), Saved)
    assert "x" in content(vault)


def test_a_full_disk_leaves_no_half_line(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(vault, "first", 1)
    before = content(vault)
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:5]))
    assert isinstance(save(vault, "second", 2), Trouble)
    assert content(vault) == before


def test_a_note_replaced_while_it_is_written_gets_the_line(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(vault, "first", 1)
    write = os.write
    replaced: list[bool] = []

    def write_and_replace(file: int, data: bytes) -> int:
        if not replaced:
            replaced.append(True)
            (vault / "new").write_text("edited\n")
            (vault / "new").rename(vault / INBOX)
        return write(file, data)

    monkeypatch.setattr(os, "write", write_and_replace)
    assert isinstance(save(vault, "second", 2), Saved)
    assert content(vault) == "edited\n- 2026-08-23 14:05 Ann: second ^00000002\n"


def test_a_read_only_note_is_trouble_and_not_an_exception(vault: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    save(vault, "first", 1)
    (vault / INBOX).chmod(0o444)
    assert isinstance(save(vault, "second", 2), Trouble)


def test_two_programs_at_once_lose_nothing(vault: Path) -> None:
    code = (
        "import sys; from gateway.field_notes import FieldNotes; notes = FieldNotes(sys.argv[1], sys.argv[2])\n"
        "for n in range(40): notes.append('line', sys.argv[3], 0.0, int(sys.argv[3]) * 100 + n)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(vault), INBOX, str(n)]) for n in (1, 2)]
    assert [process.wait(30) for process in running] == [0, 0]
    lines = content(vault).splitlines()
    assert len(lines) == len(set(lines)) == 80
