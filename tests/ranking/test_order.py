"""The whole expected order for a handful of questions on a small vault, each place with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_core import SearchCore

NOTES = {
    "Homelab/Tape backup.md": "# Tape backup\n\nEach Sunday nas2 goes to an LTO-4 tape by `backup_to_tape.sh`.\n",
    "Homelab/Inventory.md": "# Inventory\n\n- nas2: 4 disks\n- tape drive: Ultrium 4-SCSI\n- UPS\n"
    + "Other things lie about. " * 60,
    "Homelab/Restore.md": "# Restore\n\n## From a backup\n\nInsert the tape, wait for the light.\n",
    "Homelab/Network.md": "# Network\n\nThe switch has the address 192.168.0.1 and the MAC aa:bb:cc:dd:ee:ff.\n",
    "Journal/2024-05-01.md": "Bought sticky tape. Painted the fence.\n",
    "Journal/2024-05-02.md": "No backup this week, nas2 was off. The tape robot is jammed.\n"
    + "It rained all day. " * 80,
    "Outdoors/Water filter.md": "---\naliases: [purifier, Sawyer]\ntags: [camping]\n---\n"
    "# Water filter\n\nBackflush after each trip.\n",
    "Outdoors/Camping list.md": "# Camping list\n\n- tent\n- water filter\n- stove\n- tape for repairs\n",
    "Outdoors/Stove.md": "# Stove\n\nFilter the fuel before filling. Water boils in four minutes.\n",
    "Code/Servers.md": "# Servers\n\nThe HTTPServer listens on port 8080. Written in C++ and .NET, once.\n",
    "Food/Käsespätzle.md": "# Käsespätzle\n\nMehl, Eier, Käse. Zehn Minuten ziehen lassen.\n",
    "Food/拉面.md": "# 拉面\n\n面条要煮三分钟，汤底用猪骨熬一夜。\n",
}

ORDER = [
    (
        "tape backup",
        [
            ("Homelab/Tape backup.md", "both words, in title and text, as a phrase"),
            ("Homelab/Restore.md", "both words, one in a heading, close together"),
            ("Journal/2024-05-02.md", "both words, far apart in a long note"),
            ("Journal/2024-05-01.md", "one word, in a short note"),
            ("Outdoors/Camping list.md", "one word, in a longer note"),
            ("Homelab/Inventory.md", "one word, in the longest note"),
        ],
    ),
    (
        "water filter",
        [
            ("Outdoors/Water filter.md", "the title is the question"),
            ("Outdoors/Camping list.md", "the phrase, in the text"),
            ("Outdoors/Stove.md", "both words, apart"),
        ],
    ),
    ("purifier", [("Outdoors/Water filter.md", "an alias")]),
    (
        "camping",
        [("Outdoors/Camping list.md", "in the title"), ("Outdoors/Water filter.md", "a tag")],
    ),
    (
        "filtr water",
        [
            ("Outdoors/Water filter.md", "a letter is missing, all else as in the question without mistake"),
            ("Outdoors/Camping list.md", "the same"),
            ("Outdoors/Stove.md", "the same"),
        ],
    ),
    ("backuptotape", [("Homelab/Tape backup.md", "the beginning of a name written together")]),
    ("backup to tape sh", [("Homelab/Tape backup.md", "the name with blanks: the others lack words")]),
    ("lto4", [("Homelab/Tape backup.md", "the hyphen left out")]),
    ("lto 4", [("Homelab/Tape backup.md", "a blank for the hyphen"), ("Homelab/Inventory.md", "has a 4")]),
    ("ultrium4 scsi", [("Homelab/Inventory.md", "cut in another place")]),
    ("AABBCCDDEEFF", [("Homelab/Network.md", "an address without its colons")]),
    ("aa-bb-cc-dd-ee-ff", [("Homelab/Network.md", "an address with other signs between")]),
    ("192.168.0.1", [("Homelab/Network.md", "a number with dots")]),
    ("server", [("Code/Servers.md", "the beginning of the title, and a part of a name")]),
    ("C++", [("Code/Servers.md", "signs belong to it")]),
    (".net", [("Code/Servers.md", "signs belong to it")]),
    ("kasespatzle", [("Food/Käsespätzle.md", "without the accents")]),
    ("面条", [("Food/拉面.md", "inside a run of Chinese")]),
    ("how do i restore from the tape", [("Homelab/Restore.md", "the only rare words are there")]),
]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchCore]:
    root = tmp_path_factory.mktemp("vault")
    for path, text in NOTES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    core = SearchCore(str(root), cache_dir=str(tmp_path_factory.mktemp("cache")))
    yield core
    core.close()


@pytest.mark.parametrize(("query", "expected"), ORDER, ids=[query for query, _ in ORDER])
def test_order(core: SearchCore, query: str, expected: list[tuple[str, str]]) -> None:
    found = [hit.path for hit in core.search(query, source="local", limit=len(expected)).hits]
    assert found == [path for path, _ in expected]


@pytest.mark.parametrize("query", [query for query, expected in ORDER if len(expected) > 2])
def test_nothing_more_is_found(core: SearchCore, query: str) -> None:
    expected = next(expected for one, expected in ORDER if one == query)
    assert core.search(query, source="local").total == len(expected)


def test_equal_notes_are_ordered_by_path(core: SearchCore, tmp_path: Path) -> None:
    for name in "bdac":
        (tmp_path / f"{name}.md").write_text("quartz")
    twins = SearchCore(str(tmp_path), cache_dir=str(tmp_path / ".cache"))
    assert [hit.path for hit in twins.search("quartz", source="local").hits] == ["a.md", "b.md", "c.md", "d.md"]
    twins.close()


WRITTEN = {
    "Blanks.md": "# Sign out\n\nTo sign out, press the sign out button.\n",
    "Name.md": "# Devise\n\nCall `sign_out(user)` before each test.\n",
    "Link.md": "# Links\n\nSee https://tape.example/lto/drive for the drive.\n",
    "Other link.md": "# Lto drive\n\nhttps https https https://other.example/lto\n",
}

AS_TYPED = [
    ("sign_out", "Name.md", "one name, as it was typed"),
    ("https://tape.example/lto/drive", "Link.md", "the whole address, not its parts"),
]


@pytest.mark.parametrize(("query", "first", "reason"), AS_TYPED, ids=[query for query, *_ in AS_TYPED])
def test_a_name_is_found_first_where_it_is_written_so(tmp_path: Path, query: str, first: str, reason: str) -> None:
    for name, text in WRITTEN.items():
        (tmp_path / name).write_text(text)
    core = SearchCore(str(tmp_path), cache_dir=str(tmp_path / ".cache"))
    assert core.search(query, source="local").hits[0].path == first, reason
    core.close()


CLOSE = {
    "Apart.md": "# A day\n\nThe antenna is new. " + "It rained, and we sat and read books. " * 4 + "The mast is old.\n",
    "Near.md": "# A day\n\n"
    + "It rained, and we sat and read books. " * 4
    + "The antenna was on a mast again. It is old.\n",
}


def test_words_near_each_other_count_more_than_words_of_one_paragraph(tmp_path: Path) -> None:
    for name, text in CLOSE.items():
        (tmp_path / name).write_text(text)
    core = SearchCore(str(tmp_path), cache_dir=str(tmp_path / ".cache"))
    assert [hit.path for hit in core.search("mast antenna", source="local").hits] == ["Near.md", "Apart.md"]
    core.close()
