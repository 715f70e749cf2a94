"""Words and their spellings: what must be found in any spelling, in every script."""

from __future__ import annotations

import unicodedata

import pytest

from search_core.terms import edits, extra_words, fold, is_unspaced, joined_forms, spaced, stem, symbol_names, words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Straße", "strasse"),
        ("CAFÉ", "cafe"),
        ("Łódź Ørsted", "lodz orsted"),
        ("Ёлка", "елка"),
        ("Йод", "йод"),
        ("Київ", "київ"),
        ("ガス", "ガス"),
        ("ｶﾞｽ", "ガス"),
        ("ＡＢＣ１", "abc1"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("ﬁle", "file"),
        ("İstanbul", "istanbul"),
    ],
)
def test_case_and_accents_are_folded_as_their_readers_expect(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert fold(unicodedata.normalize("NFD", text)) == folded


def test_letters_of_their_own_stay_apart() -> None:
    assert fold("й") != fold("и")
    assert fold("が") != fold("か")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("backup_to_tape.sh", "backup to tape sh"),
        ("东京tokyo", "东 京 tokyo"),
        ("ที่นี่", "ท ี ่ น ี ่"),
        ("서버에서 백업", "서버에서 백업"),
        ("हिन्दी।", "हिन्दी"),
        ("🚀 start", "🚀 start"),
        ("a\r\nb\tc", "a b c"),
    ],
)
def test_words(text: str, found: str) -> None:
    assert spaced(text) == f" {found} "


def test_only_scripts_without_spaces_are_cut_into_characters() -> None:
    assert is_unspaced("京")
    assert is_unspaced("🚀")
    assert not is_unspaced("서")
    assert not is_unspaced("a")


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("run backup_to_tape.sh now", {"backuptotapesh"}),
        ("mac aa:bb:cc:dd:ee:ff", {"aabbccddeeff"}),
        ("LTO-4 drive", {"lto4"}),
        ("E.ON bill", {"eon"}),
        ("C++ and C# on .NET", {"cplusplus", "csharp", "dotnet"}),
        ("HTTPServer", {"http", "server"}),
        ("parseJSONFile", {"parse", "json", "file"}),
        ("v1.2.3", {"v123", "123"}),
        ("error 0x80070057", {"80070057"}),
        ("see app/models/contact.rb", {"appmodelscontactrb", "contactrb"}),
    ],
)
def test_exact_things_are_stored_in_their_other_spellings(text: str, extra: set[str]) -> None:
    assert extra <= set(extra_words(text, fold(text)))


def test_long_compounds_are_not_stored_together() -> None:
    assert joined_forms("-".join(["abcdefghij"] * 5)) == []


def test_a_plain_sentence_has_no_symbols() -> None:
    assert symbol_names("wait... what? a+b #tag and 3.5") == []


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("running", "runs"),
        ("batteries", "battery"),
        ("stopped", "stop"),
        ("caches", "cache"),
        ("installation", "install"),
    ],
)
def test_inflections_share_a_stem(word: str, other: str) -> None:
    assert stem(word) == stem(other)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("tape", "tape", 0),
        ("tape", "tpae", 1),
        ("tape", "tapes", 1),
        ("tape", "type", 1),
        ("backup", "bcakpu", 2),
        ("a", "abcd", 2),
    ],
)
def test_edits(a: str, b: str, distance: int) -> None:
    assert edits(a, b, 1) == min(distance, 2)
    assert edits(b, a, 3) >= min(distance, 2)


def test_words_of_an_ascii_text_and_its_accented_twin_agree() -> None:
    assert words(fold("cafe creme")) == words(fold("café crème"))
