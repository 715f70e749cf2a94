"""Pairing: who is offered, what is asked, and that the owner's file keeps everything but the one entry."""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from gateway.config import load_config
from gateway.config_edit import key_from_text, read_handhelds, write_handheld
from gateway.errors import GatewayError, UsageError
from gateway.pairing import DONE, NOTHING, WRONG_USE, Asked, Wish, candidates, run_pair
from gateway.protocol.admission import Handheld, fingerprint
from gateway.protocol.messages import NodeSeen

ANNA, BEN, CARL = 0xBB02, 0xBB03, 0xBB04
OLD, NEW, BENS = b"a" * 32, b"n" * 32, b"b" * 32
OLD_TEXT, NEW_TEXT, BENS_TEXT = (base64.b64encode(key).decode() for key in (OLD, NEW, BENS))

CONFIG = f"""# my gateway
[vault]
path = "~/Notes"   # the real one

[access]
# only family
open = false

[[access.handheld]]
node = "!0000bb02"   # Anna's
key = "{OLD_TEXT}"
name = "Anna"
folders = ["Trips"]

[radio]  # below the handhelds
port = "/dev/meshtastic"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "meshseek.toml"
    path.write_text(CONFIG, encoding="utf-8")
    path.chmod(0o600)
    return path


def lines_added(path: Path) -> list[str]:
    before = CONFIG.splitlines()
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and line not in before]


def test_a_new_handheld_is_added_and_every_line_of_the_owner_stays(config: Path) -> None:
    backup = write_handheld(config, BEN, BENS, "Ben")
    text = config.read_text(encoding="utf-8")
    assert text.startswith(CONFIG)
    assert lines_added(config) == ['node = "!0000bb03"', f'key = "{BENS_TEXT}"', 'name = "Ben"']
    assert read_handhelds(config) == (Handheld(ANNA, OLD, "Anna"), Handheld(BEN, BENS, "Ben"))
    assert backup.read_text(encoding="utf-8") == CONFIG


def test_file_and_backup_stay_closed_to_others_and_nothing_is_left_behind(config: Path) -> None:
    write_handheld(config, BEN, BENS)
    assert {p.name: p.stat().st_mode & 0o777 for p in config.parent.iterdir()} == {
        "meshseek.toml": 0o600,
        "meshseek.toml.bak": 0o600,
    }


def test_a_link_to_the_config_stays_a_link(config: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(config)
    write_handheld(link, BEN, BENS)
    assert link.is_symlink()
    assert len(read_handhelds(config)) == 2


def test_a_changed_key_is_never_written_in_passing(config: Path) -> None:
    with pytest.raises(UsageError, match="ALARM"):
        write_handheld(config, ANNA, NEW)
    assert config.read_text(encoding="utf-8") == CONFIG


def test_a_changed_key_that_is_wanted_replaces_the_old_one_in_its_place(config: Path) -> None:
    write_handheld(config, ANNA, NEW, "ignored", change_key=True)
    assert config.read_text(encoding="utf-8") == CONFIG.replace(OLD_TEXT, NEW_TEXT)


def test_one_key_under_two_numbers_is_refused_since_the_config_would_be(config: Path) -> None:
    with pytest.raises(UsageError, match="!0000bb02"):
        write_handheld(config, BEN, OLD)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet\n",
        "[access]\nopen = true",
        '[access]\r\nopen = true # x\r\n[vault]\r\npath = "x"\r\n',
        f'[access]\nhandheld = [{{node = "!0000bb02", key = "{OLD_TEXT}"}}]  # short form\n[vault]\npath = "x"\n',
    ],
)
def test_other_layouts_keep_their_content(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(text.encode())
    before = len(read_handhelds(path))
    write_handheld(path, BEN, BENS, 'Ben "[[x]]" \\ Müller')
    handhelds = read_handhelds(path)
    assert len(handhelds) == before + 1
    assert handhelds[-1] == Handheld(BEN, BENS, 'Ben "[[x]]" \\ Müller')
    assert all(comment in path.read_text() for comment in ("# nothing yet", "# x", "# short form") if comment in text)


def test_a_layout_that_cannot_be_kept_is_left_alone_and_the_entry_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("access = {open = false}\n")
    with pytest.raises(GatewayError, match="by hand"):
        write_handheld(path, BEN, BENS)
    assert path.read_text() == "access = {open = false}\n"


@pytest.mark.parametrize(
    "name",
    ['"]\n[access]\nopen = true\n#', "\x1b[2J\u202eevil", "'''", "a\\", "\ud800", "x" * 1000, "👩‍👩‍👧" * 20, "\x00"],
)
def test_a_hostile_name_is_only_ever_a_name(config: Path, name: str) -> None:
    write_handheld(config, BEN, BENS, name)
    parsed = tomllib.loads(config.read_text(encoding="utf-8"))
    assert parsed["access"]["open"] is False
    written = parsed["access"]["handheld"][1]["name"]
    assert len(written.encode()) <= 24
    assert written.isprintable() or "\u200d" in written


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"[access", "meshseek.toml"),
        (b'[[access.handheld]]\nnode = "anna"\nkey = "x"\n', "handheld"),
        (b"[access]\nhandheld = 3\n", "handheld"),
    ],
)
def test_a_broken_config_is_named_and_not_touched(config: Path, content: bytes, message: str) -> None:
    config.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        write_handheld(config, BEN, BENS)
    assert config.read_bytes() == content


def test_without_a_config_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="meshseek init"):
        read_handhelds(tmp_path / "absent.toml")


def test_when_the_backup_cannot_be_made_nothing_is_changed_or_left_behind(config: Path) -> None:
    (config.parent / "meshseek.toml.bak").mkdir()
    with pytest.raises(GatewayError, match="nothing was changed"):
        write_handheld(config, BEN, BENS)
    assert config.read_text(encoding="utf-8") == CONFIG
    assert sorted(path.name for path in config.parent.iterdir()) == ["meshseek.toml", "meshseek.toml.bak"]


@pytest.mark.parametrize("text", ["", "x", "AAAA", "A" * 43 + "=", BENS_TEXT + "A", "é" * 44, "\x1b[2J"])
def test_only_base64_of_32_bytes_that_are_not_all_zero_is_a_key(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        key_from_text(text)
    assert "\x1b" not in str(caught.value)
    assert key_from_text(f" base64:{BENS_TEXT}\n") == BENS


CONFIGURED = (Handheld(ANNA, OLD, "Anna"),)


def test_those_who_asked_come_first_then_by_when_they_were_heard() -> None:
    seen = [
        NodeSeen(1, "old", key=BENS, last_heard=10),
        NodeSeen(2, "new", key=NEW, last_heard=90),
        NodeSeen(3, "keyless", last_heard=99),
        NodeSeen(BEN, "Ben", key=BENS, last_heard=5),
        NodeSeen(ANNA, "Anna", key=OLD, last_heard=100),
    ]
    found = candidates(seen, [Asked(BEN, BENS, 50.0), Asked(CARL, NEW, 40.0)], CONFIGURED)
    assert [c.node for c in found] == [BEN, CARL, 2, 1, 3]
    assert found[0].last_heard == 50


def test_the_key_that_was_proved_counts_before_the_one_in_the_radios_list() -> None:
    (ben,) = candidates([NodeSeen(BEN, key=NEW)], [Asked(BEN, BENS)], ())
    assert ben.key == BENS


def test_a_known_number_with_another_key_is_an_alarm() -> None:
    (anna,) = candidates([NodeSeen(ANNA, key=NEW)], [], CONFIGURED)
    assert (anna.has_changed, anna.pinned) == (True, OLD)


def test_a_key_of_the_wrong_length_is_no_key() -> None:
    assert [c.key for c in candidates([NodeSeen(1, key=b"x"), NodeSeen(2, key=bytes(32))], [], ())] == [None, None]


class Owner:
    """Answers from a list, then end of file; keeps what was said."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.heard: list[str] = []

    def ask(self, question: str) -> str:
        self.heard.append(question)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    def said(self) -> str:
        return "\n".join(self.heard)


BEN_SEEN = NodeSeen(BEN, "T-Deck \x1b[2J\u202e of Ben", key=BENS, last_heard=3_400)
NO_WISH = Wish()
ANNA_RESET = NodeSeen(ANNA, "Anna", key=NEW, last_heard=3_590)


def pair(
    config: Path,
    owner: Owner,
    wish: Wish = NO_WISH,
    nodes: Sequence[NodeSeen] = (BEN_SEEN, ANNA_RESET),
) -> int:
    return run_pair(config, nodes, [], wish, now=4_000.0, ask=owner.ask, say=owner.heard.append)


def test_the_owner_chooses_compares_and_confirms(config: Path) -> None:
    owner = Owner("2", "y")
    assert pair(config, owner) == DONE
    assert read_handhelds(config)[1].key == BENS
    assert fingerprint(BENS) in owner.said()
    assert BENS_TEXT in owner.said()
    assert "10 min ago" in owner.said()
    assert "KEY CHANGED" in owner.heard[0]
    assert not {"\x1b", "\u202e"} & set(owner.said())


@pytest.mark.parametrize("answers", [(), ("",), ("2",), ("2", ""), ("2", "n"), ("2", "perhaps")])
def test_anything_but_yes_changes_nothing(config: Path, answers: tuple[str, ...]) -> None:
    assert pair(config, Owner(*answers)) == NOTHING
    assert config.read_text(encoding="utf-8") == CONFIG


@pytest.mark.parametrize("answer", ["0", "3", "x", "-1", "²", "9" * 5000, "\x1b"])
def test_a_number_that_is_not_in_the_list_is_wrong_use(config: Path, answer: str) -> None:
    with pytest.raises(UsageError, match="1 to 2"):
        pair(config, Owner(answer, answer, answer))


def test_a_slip_of_the_finger_is_asked_again(config: Path) -> None:
    owner = Owner("22", "2", "y")
    assert pair(config, owner) == DONE
    assert "'22' is none of the numbers 1 to 2" in owner.said()


def test_when_all_that_are_known_are_let_in_that_is_said(config: Path) -> None:
    owner = Owner()
    assert pair(config, owner, nodes=(NodeSeen(ANNA, "Whatever", key=OLD),)) == NOTHING
    assert "let in already: !0000bb02 Anna. For another one, send any text" in owner.said()


def test_a_changed_key_shows_both_fingerprints_and_wants_a_word(config: Path) -> None:
    owner = Owner("1", "y")
    assert pair(config, owner) == NOTHING
    assert fingerprint(OLD) in owner.said()
    assert fingerprint(NEW) in owner.said()
    assert "reset" in owner.said()
    assert pair(config, Owner("1", "replace")) == DONE
    assert read_handhelds(config)[0].key == NEW


def test_with_yes_nothing_is_asked(config: Path) -> None:
    owner = Owner()
    assert pair(config, owner, Wish(node="!0000BB03", name="Ben", yes=True)) == DONE
    assert read_handhelds(config)[1] == Handheld(BEN, BENS, "Ben")


def test_yes_alone_does_not_replace_a_key(config: Path) -> None:
    owner = Owner()
    assert pair(config, owner, Wish(node="!0000bb02", yes=True)) == WRONG_USE
    assert config.read_text(encoding="utf-8") == CONFIG
    assert "ALARM" in owner.said()
    assert pair(config, Owner(), Wish(node="!0000bb02", key=NEW, yes=True)) == DONE
    assert read_handhelds(config)[0].key == NEW


def test_a_key_by_hand_pairs_a_node_that_the_radio_does_not_know(config: Path) -> None:
    with pytest.raises(UsageError, match="does not know the key"):
        pair(config, Owner(), Wish(node="!0000bb04", yes=True))
    assert pair(config, Owner(), Wish(node="!0000bb04", key=NEW, yes=True)) == DONE
    assert read_handhelds(config)[1].node == CARL


def test_a_key_by_hand_must_not_contradict_the_radio(config: Path) -> None:
    with pytest.raises(UsageError, match="one of them is not"):
        pair(config, Owner(), Wish(node="!0000bb03", key=NEW, yes=True))


def test_a_handheld_that_is_configured_already_is_left_alone(config: Path) -> None:
    owner = Owner()
    assert pair(config, owner, Wish(node="!0000bb02", yes=True), nodes=()) == DONE
    assert "already" in owner.said()
    assert config.read_text(encoding="utf-8") == CONFIG


@pytest.mark.parametrize(
    "node", ["anna", "0000bb02", "!bb02", "!ffffffff", "!00000000", "!1_23_456", "!-0000001", "! 000bb02", "\x1b[2J"]
)
def test_a_node_is_named_by_its_number_only(config: Path, node: str) -> None:
    with pytest.raises(UsageError, match="hexadecimal"):
        pair(config, Owner(), Wish(node=node, yes=True))


def test_what_pairing_writes_the_gateway_reads(config: Path) -> None:
    config.write_text(CONFIG.replace('path = "~/Notes"', f'path = "{config.parent}"'), encoding="utf-8")
    write_handheld(config, BEN, BENS, 'Ben "\x1b" #1')
    assert load_config(config).access.handhelds == (
        Handheld(ANNA, OLD, "Anna", ("Trips",)),
        Handheld(BEN, BENS, 'Ben "\ufffd" #1'),
    )


def test_without_candidates_the_owner_is_told_what_to_do(config: Path) -> None:
    owner = Owner()
    assert pair(config, owner, nodes=()) == NOTHING
    assert "send any text" in owner.said()
