"""The config: every mistake at once, each with file, key, value and what is allowed; the example is the whole truth."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from gateway.config import Config, load_config, parse_key
from gateway.toml_tables import ConfigError

EXAMPLE = Path(__file__).resolve().parents[3] / "deploy" / "meshseek.example.toml"
KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "meshseek.toml"
    file.write_text(text, encoding="utf-8")
    return file


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text))
    return str(caught.value).splitlines()


def test_the_smallest_config_gives_safe_defaults(tmp_path: Path, vault: Path) -> None:
    config = load_config(write(tmp_path, f'[vault]\npath = "{vault}"\n'))
    assert config.access.handhelds == ()
    assert not config.access.open
    assert config.access.channels == ()
    assert config.notes_inbox == ""
    assert config.privacy.redact


def test_the_example_is_a_valid_config_that_changes_nothing(tmp_path: Path, vault: Path) -> None:
    example = load_config(write(tmp_path, EXAMPLE.read_text(encoding="utf-8").replace("~/Vault", str(vault))))
    plain = load_config(write(tmp_path, f'[vault]\npath = "{vault}"\n'))
    assert example == plain


def test_the_example_names_every_key_that_is_read(tmp_path: Path, vault: Path) -> None:
    """An unknown key is answered with the known ones: each of those must stand in the example."""
    example = EXAMPLE.read_text(encoding="utf-8")
    tables = re.findall(r"known here: (.*)", "\n".join(problems(tmp_path, "zzzzzzzz = 1\n")))[0].split(", ")
    for table in tables:
        assert f"[{table}]" in example
        rest = "" if table == "vault" else f'[vault]\npath = "{vault}"\n'
        lines = problems(tmp_path, f"{rest}[{table}]\nzzzzzzzz = 1\n")
        known = next(line for line in lines if "zzzzzzzz" in line).split("known here: ")[1].split(", ")
        for key in known:
            assert re.search(rf"^(# )?\[?\[?(access\.)?{key}\b", example, re.MULTILINE), f"{table}.{key}"


def test_every_mistake_is_reported_at_once_with_file_key_and_value(tmp_path: Path) -> None:
    text = """
    [vault]
    path = "/nowhere/at/all"
    exclud = ["Private"]
    [radio]
    prot = "/dev/ttyACM0"
    tcp = "host:99999"
    [[access.handheld]]
    node = "T-Deck"
    key = "c2hvcnQ="
    [limits]
    questions_per_hour = 0
    [log]
    level = "chatty"
    """
    lines = problems(tmp_path, text)
    file = str(tmp_path / "meshseek.toml")
    assert all(line.startswith(file) for line in lines)
    expected = {
        "vault.path": "/nowhere/at/all",
        "vault.exclud": "did you mean exclude?",
        "radio.prot": "did you mean port?",
        "radio.tcp": "host:99999",
        "access.handheld[1].node": "T-Deck",
        "access.handheld[1].key": "it has 5 bytes",
        "limits.questions_per_hour": "from 1 to 1000",
        "log.level": '"debug", "info"',
    }
    assert len(lines) == len(expected)
    for key, detail in expected.items():
        assert any(f" {key} = " in line and detail in line for line in lines), key


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "vault.path: is missing"),
        ("[vault\n", "TOML"),
        ("vault = 3\n", "must be a table"),
        ("[vault]\npath = 3\n", "must be a text in quotes"),
        ('access = {handheld = "x"}\n', "[[access.handheld]]"),
        ("[[access.handheld]]\n", "access.handheld[1].node: is missing"),
        ("[access]\nopen = 1\n", "must be true or false"),
        ('[radio]\nport = "/dev/x"\nble = "y"\n', "cannot stand beside port"),
        ('[notes]\ninbox = "../outside.md"\n', "must be a note in the vault"),
        ('[privacy]\npatterns = ["(a+)+"]\n', "linear time"),
        ('[vault]\nexclude = "Private"\n', "must be a list of texts"),
        ("[airtime]\nhour_percent = nan\n", "must be a number from"),
    ],
)
def test_each_kind_of_mistake_has_its_sentence(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in line for line in problems(tmp_path, text))


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = " + b"[" * 5000, b"x" * 1_000_001, b"\x00"])
def test_a_file_that_is_no_toml_is_one_line(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "meshseek.toml"
    file.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert len(str(caught.value).splitlines()) == 1


def test_what_stands_in_the_file_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    lines = problems(tmp_path, '"\\u001b[2Jevil" = "\\u001b[2J"\n')
    assert any("evil" in line for line in lines)
    assert "\x1b" not in "\n".join(lines)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="gone"):
        load_config(tmp_path / "gone.toml")


def test_a_vault_that_is_not_mounted_yet_is_no_mistake_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, '[vault]\npath = "/nowhere/at/all"\n'))
    assert caught.value.is_outside


def handheld_config(tmp_path: Path, vault: Path, *entries: tuple[str, str]) -> Config:
    tables = "".join(f'[[access.handheld]]\nnode = "{node}"\nkey = "{key}"\nname = "T"\n' for node, key in entries)
    return load_config(write(tmp_path, f'[vault]\npath = "{vault}"\n{tables}'))


def test_a_handheld_is_known_by_number_and_key(tmp_path: Path, vault: Path) -> None:
    (handheld,) = handheld_config(tmp_path, vault, ("!a1b2c3d4", KEY)).access.handhelds
    assert (handheld.node, handheld.key) == (0xA1B2C3D4, bytes(range(32)))


def test_the_same_key_or_node_twice_is_a_mistake(tmp_path: Path, vault: Path) -> None:
    with pytest.raises(ConfigError, match="same key"):
        handheld_config(tmp_path, vault, ("!a1b2c3d4", KEY), ("!a1b2c3d5", KEY))


@pytest.mark.parametrize("text", ["", "AAAA", "!!!!", base64.b64encode(bytes(32)).decode(), "ключ"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_key(text)
