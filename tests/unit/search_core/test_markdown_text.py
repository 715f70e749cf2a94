"""A note as a person reads it: marks off, code and everything that only looks like a mark kept."""

from __future__ import annotations

import time

import pytest

from search_core.inline_text import plain_inline
from search_core.markdown_text import Line, plain_lines, plain_text
from search_core.sentences import sentence_starts


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("**bold**, *italic*, ***both***, ~~gone~~, ==marked==", "bold, italic, both, gone, marked"),
        ("__bold words__ and _italic_ ones", "bold words and italic ones"),
        ("这是**粗体**文字", "这是粗体文字"),
        ("2*3*4 and a_snake_case_name and __init__", "2*3*4 and a_snake_case_name and __init__"),
        ("*.md and *.txt files", "*.md and *.txt files"),
        ("a ** b ** c", "a ** b ** c"),
        ("`code *as* it [is](x)`", "code *as* it [is](x)"),
        ("``a ` tick``", "a ` tick"),
        ("`never closed", "`never closed"),
        (r"\*not bold\* and 5\_000", "*not bold* and 5_000"),
        ("[demo](https://a.example/?q=f(g(h(x))))(y)) end", "demo end"),
        ("[text](https://a.example/x_(y)) [ref][1] ![image](p.png)", "text ref"),
        ('[text](<a b.md> "title")', "text"),
        ("[![badge](b.svg)](https://ci.example)", ""),
        ("[[Note]] [[Note|alias]] [[Note#Part]] ![[embed.png]]", "Note alias Note › Part"),
        ("[[]] and [[ alone", "[[]] and [[ alone"),
        ("see https://user@host.example/path_with_parts.", "see https://user@host.example/path_with_parts."),
        ("https://h.example/" + "a" * 60, "https://h.example/" + "a" * 40 + "…"),
        ("<https://auto.example> <me@mail.example>", "https://auto.example me@mail.example"),
        ("press <Esc>, then <C-w> in Vec<T> at <ip>", "press <Esc>, then <C-w> in Vec<T> at <ip>"),
        ("put it in <path> or <title>", "put it in <path> or <title>"),
        ("<b>bold</b> line<br>next <span class='x'>s</span>", "bold line next s"),
        ("<Button to={'/a'} style={{a: 1}} /> after", "after"),
        ("a < b and c > d, x <- y, a << 2", "a < b and c > d, x <- y, a << 2"),
        ("shown<!-- hidden --> and %%hidden%% shown", "shown and shown"),
        ("sales rose 5%% to 7%%", "sales rose 5%% to 7%%"),
        ("AT&amp;T &lt;3 &copy; &nosuch;", "AT&T <3 © &nosuch;"),
        ("noted[^1] and ^[inline note]", "noted and (inline note)"),
        ("energy $E=mc^2$ costs $5 or $6", "energy E=mc^2 costs $5 or $6"),
        ("a\nhard-wrapped\n  line", "a hard-wrapped line"),
        ("NUL \x00 0\x00 stays harmless", "NUL 0 stays harmless"),
    ],
)
def test_inline(raw: str, plain: str) -> None:
    assert plain_inline(raw) == plain


def test_the_parts_of_a_note() -> None:
    note = """\ufeff---
title: Pump
tags: [garden]
---

import Tabs from "@theme/Tabs";

# Pump ##

It lifts
water **up**.

Setext
------

1. Open the valve
2. [x] Wait
* [ ] Close

> [!warning] Danger
> Hot pipes.

| Part | Size |
|:-----|-----:|
| `A|B` pipe | 3 cm |

```sh
# not a heading
  pump --fast *all*
```

<!--
a comment
over lines -->
:::note Title
Text.
:::
[1]: https://ref.example
[^1]: A footnote.
"""
    assert plain_lines(note) == [
        Line("Pump", "heading", 1, ""),
        Line("It lifts water up.", "text", 0, "Pump"),
        Line("Setext", "heading", 2, "Pump"),
        Line("1. Open the valve", "item", 0, "Setext"),
        Line("2. [x] Wait", "item", 0, "Setext"),
        Line("- [ ] Close", "item", 0, "Setext"),
        Line("Danger", "text", 0, "Setext"),
        Line("Hot pipes.", "text", 0, "Setext"),
        Line("Part · Size", "table", 0, "Setext"),
        Line("`A · B` pipe · 3 cm", "table", 0, "Setext"),
        Line("# not a heading", "code", 0, "Setext"),
        Line("  pump --fast *all*", "code", 0, "Setext"),
        Line("Title", "text", 0, "Setext"),
        Line("Text.", "text", 0, "Setext"),
        Line("A footnote.", "text", 0, "Setext"),
    ]


def test_code_keeps_its_shape_but_not_the_margin_of_the_fence() -> None:
    assert plain_text("- do:\n\n  ```py\n  if x:\n      y = __z__\n  ```\n") == "- do:\nif x:\n    y = __z__"


def test_a_fence_closes_only_with_its_own_mark() -> None:
    assert plain_text("````\n```\n**x**\n````\n**y**") == "```\n**x**\ny"
    assert plain_text("```\nnever *closed*") == "never *closed*"


@pytest.mark.parametrize("note", ["---\nnot closed\n# A", "<!-- not closed\ntext", "%%\nnot closed"])
def test_what_is_never_closed_hides_nothing(note: str) -> None:
    assert plain_text(note).endswith(note.rpartition("\n")[2].lstrip("# "))


def test_line_ends_and_forms_of_unicode_do_not_matter() -> None:
    assert plain_text("a\r\n\r\nb\rc") == "a\nb c"
    assert plain_text("Cafe\u0301") == plain_text("Caf\u00e9")


def test_a_line_that_has_only_a_picture_is_no_line() -> None:
    assert plain_text("- ![x](y.png)\n\n![z](z.png)\n\ntext") == "text"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Version 2.4.1 runs at 3.3 V on example.org. Next.", ["Version 2.4.1 runs at 3.3 V on example.org.", "Next."]),
        (
            "Use e.g. a clamp, i.e. a Clip. Then Mr. Smith came.",
            ["Use e.g. a clamp, i.e. a Clip.", "Then Mr. Smith came."],
        ),
        ("Open notes.md now. Edit it.", ["Open notes.md now.", "Edit it."]),
        ("1. Open it. Close it.", ["1. Open it.", "Close it."]),
        ('He said "Stop." She did.', ['He said "Stop."', "She did."]),
        ("开门。关门！好吗？好", ["开门。", "关门！", "好吗？", "好"]),
        ("पानी गरम है। चाय बनाओ।", ["पानी गरम है।", "चाय बनाओ।"]),
        ("هل هذا؟ نعم.", ["هل هذا؟", "نعم."]),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    starts = sentence_starts(text)
    ends = [*starts[1:], len(text)] if starts else []
    assert [text[a:b].strip() for a, b in zip(starts, ends, strict=True)] == sentences


HOSTILE = ["[[", "[", "****", "*a ", "<<<", "<a ", "`", "``` `", "![", "[a](", "%%", "<!--", "$$", "__a", "\\"]
HOSTILE += ['[a](b "', "> ", "http://", "[^", "<br ", "![a](b(", '<a b="', "|-|\n", "<!-- \n", "<script\n", "1.\n"]
HOSTILE += ["[a](http://", "<A {", "$a", "&#1;", ". "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_cost_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        before = time.process_time()
        sentence_starts(plain_text(text))
        return time.process_time() - before

    small = max(min(cost(20_000) for _ in range(3)), 0.002)
    assert any(cost(160_000) < 40 * small for _ in range(5))  # eightfold the text; a square would be 64-fold
