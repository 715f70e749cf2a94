"""One paragraph of Markdown without its marks, as a reader of plain text wants it. Pure.

Every pattern either excludes its own opening character or is bounded, so that hostile text (a megabyte of
``[[[[``) costs linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from search_core.lazy_pattern import LazyPattern

_MARKED = re.compile(r"[`*_\[\]<>!\\&$=~|%]|://|\^")
"""Text without any of these is plain already."""

_KEPT = LazyPattern("\x00([0-9]{1,9})\x00")
_TICKS = LazyPattern("`+")
_ESCAPED = LazyPattern(r"\\([!-/:-@\[-`{-~])")
_AUTOLINK = LazyPattern(r"<((?:https?|ftp|mailto):[^<>\s]{1,500}|[^<>\s@]{1,64}@[^<>\s@]{1,200}\.[a-z]{2,12})>", re.I)
_URL = LazyPattern(r"\bhttps?://[^\s<>\"\x00|]{1,2000}", re.I)
_COMMENT = LazyPattern(r"<!--(?:[^-<]|-(?!->)|<(?!!--))*-->|(?<!\d)%%[^%\n]*%%")
_EMBED = LazyPattern(r"!\[\[([^\[\]\n]{0,500})\]\]")
_IMAGE = LazyPattern(
    r"!\[[^\[\]]{0,500}\](?:\([^()\n]{0,1000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)|\[[^\[\]\n]{0,200}\])"
)
_WIKI = LazyPattern(r"\[\[([^\[\]|\n]{1,500})(?:\|([^\[\]\n]{0,500}))?\]\]")
_LINK = LazyPattern(
    r"\[([^\[\]]{0,1000})\]"
    r"(?:\((?:<[^<>\n]{0,300}>|[^()\s]|\([^()\s]{0,200}\)){0,1000}(?:\s{1,3}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|\([^()\n]{0,300}\)))?\s{0,3}\)"
    r"|\[[^\[\]\n]{0,200}\])(?:\{[^{}\n]{0,200}\})?"
)
_TANGLED_LINK = LazyPattern(
    r"\[([^\[\]]{1,1000})\]\(https?://[^\s\[\]<>\"]{1,3000}\)"
)  # an address with brackets of its own
_FOOTNOTE = LazyPattern(r"\[\^[^\[\]\s]{1,80}\]|\^\[([^\[\]\n]{0,500})\]")
_BLOCK_ID = LazyPattern(r"(?<=\s)\^[A-Za-z0-9-]{1,40}\s*$")
_TAG_NAMES = (
    "a|abbr|article|aside|audio|b|base|blockquote|body|br|button|center|cite|code|col|colgroup|dd|del|details|dfn|div|dl|dt|em"
    "|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav"
    "|ol|optgroup|option|p|picture|pre|q|s|samp|script|section|select|small|source|span|strike|strong|style|sub|summary|sup"
    "|svg|table|tbody|td|textarea|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr|path"
)
_ALSO_PLACEHOLDERS = LazyPattern(
    "address|body|button|code|form|head|header|input|label|link|main|option|output|path|section|select"
    "|source|style|summary|table|template|time|title|var|video",
    re.I,
)
"""``<path>`` alone stands for something to fill in; it is a tag when it has attributes or is closed."""
_VALUE = r"(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'|\{[^<>{}]{0,500}\}|[^\s\"'<>/]{1,200})"
_HTML = LazyPattern(
    rf"</?(?P<name>{_TAG_NAMES})(?P<rest>\s[^<>]{{0,2000}}|/)?>"  # HTML proper
    r"|</?[A-Za-z][\w.-]{0,40}\s+[\w:@-]{1,40}=" + _VALUE + r"(?:\s+[\w:@-]{1,40}(?:=" + _VALUE + r")?){0,12}\s{0,3}/?>"
    r"|<[A-Z][\w.]{0,40}\s?/>|</[A-Z][\w.]{0,40}>",  # components of MDX pages
    re.I,
)
_COMPONENT = LazyPattern(r"<[A-Z][\w.]{0,40}\s(?=[^<>]{0,200}\{)")
_BRACE = LazyPattern("[{}>]")
_COMPONENT_CHARS = 3000  # the longest opening tag of an MDX component that is taken for one
_MDX_COMMENT = LazyPattern(r"\{/\*[^*]{0,500}\*/\}")
_ENTITY = LazyPattern(r"&(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,31});")
_EMPHASIS = LazyPattern(r"\*{1,3}|_{1,3}|~~|==")
_MATH = LazyPattern(r"\$\$?(?=[^\s$])([^$\n\x00]{0,300}[^\s$])\$\$?(?![0-9A-Za-z])")
_SPACE = re.compile(r"\s+")

_URL_PATH_CHARS = 40
"""A link target is kept to its host and this much: enough to know it, not enough to fill a packet."""

_CJK = range(0x2E80, 0xFFF0)
_BREAKS = LazyPattern(r"<br\s{0,3}/?>", re.I)


def plain_inline(raw: str) -> str:
    """`raw` (one paragraph, item or cell) without Markdown and HTML, white space folded; code spans exact."""
    if not _MARKED.search(raw):
        return " ".join(raw.replace("\x00", "").split())
    kept: list[str] = []
    text = _without_marks(_protect(raw.replace("\x00", ""), kept), kept)
    if kept:
        text = _KEPT.now.sub(lambda match: _restore(match[1], kept), text)
    return _SPACE.sub(" ", text).strip()


def _restore(number: str, kept: list[str]) -> str:
    index = int(number)
    return kept[index] if index < len(kept) else ""


def _protect(text: str, kept: list[str]) -> str:
    """Code spans, escaped marks and addresses out of the way of everything that follows."""

    def keep(value: str) -> str:
        kept.append(value)
        return f"\x00{len(kept) - 1}\x00"

    if "`" in text:
        text = _code_spans(text, keep)
    if "\\" in text:
        text = _ESCAPED.now.sub(lambda match: keep(match[1]), text)
    if "<" in text:
        text = _AUTOLINK.now.sub(lambda match: keep(_short_url(match[1].removeprefix("mailto:"))), text)
    return text


def _code_spans(text: str, keep: object) -> str:
    """A run of back-ticks opens a span when a run of the same length follows; the next such run closes it."""
    assert callable(keep)
    runs = [match.span() for match in _TICKS.now.finditer(text)]
    places: dict[int, list[int]] = {}
    for start, end in runs:
        places.setdefault(end - start, []).append(start)
    out: list[str] = []
    done = 0
    for start, end in runs:
        if start < done:
            continue
        same = places[end - start]
        at = bisect_right(same, start)
        if at < len(same):
            code = text[end : same[at]]
            out += (text[done:start], keep(_trimmed_code(code)))
            done = same[at] + (end - start)
    out.append(text[done:])
    return "".join(out)


def _trimmed_code(code: str) -> str:
    code = code.replace("\n", " ")
    return code[1:-1] if len(code) > 2 and code[0] == code[-1] == " " and code.strip() else code


def _without_marks(text: str, kept: list[str]) -> str:
    if "<" in text or "%%" in text:
        text = _COMMENT.now.sub("", text)
    if "[" in text:
        text = _links(text)
    if "://" in text:
        text = _URL.now.sub(lambda match: _keep_url(match[0], kept), text)
    if "<" in text:
        text = _HTML.now.sub(_untagged, _without_components(_BREAKS.now.sub(" ", text)))
    if "{/*" in text:
        text = _MDX_COMMENT.now.sub("", text)
    text = _without_emphasis(text)
    if "$" in text:
        text = _MATH.now.sub(r"\1", text)
    if "^" in text:
        text = _BLOCK_ID.now.sub("", text)
    if "&" in text:
        text = _ENTITY.now.sub(_unescaped, text)
    return text


def _untagged(match: re.Match[str]) -> str:
    name = match["name"]
    if not name or match["rest"] or match[0][1] == "/" or not _ALSO_PLACEHOLDERS.now.fullmatch(name):
        return ""
    return "" if f"</{name}>" in match.string else match[0]


def _without_components(text: str) -> str:
    """Opening tags of MDX components whose attributes are expressions in braces, which may hold tags of their own."""
    out: list[str] = []
    done = 0
    for match in _COMPONENT.now.finditer(text):
        if match.start() >= done:
            end = _component_end(text, match.end())
            out.append(text[done : match.start()])
            done = end or match.start()
            if not end:
                break
    out.append(text[done:])
    return "".join(out)


def _component_end(text: str, start: int) -> int:
    """Index after the ``>`` that is in no braces; 0 when there is none near."""
    depth = 0
    for match in _BRACE.now.finditer(text, start, start + _COMPONENT_CHARS):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
        elif depth <= 0:
            return match.end()
    return 0


def _unescaped(match: re.Match[str]) -> str:
    import html  # its table of names takes a millisecond to load, and few notes need it

    return html.unescape(match[0])


def _links(text: str) -> str:
    if "![" in text:
        text = _IMAGE.now.sub("", _EMBED.now.sub("", text))
    if "^" in text:
        text = _FOOTNOTE.now.sub(lambda match: f" ({match[1]})" if match[1] else "", text)
    if "[[" in text:
        text = _WIKI.now.sub(
            lambda match: (match[2] or match[1].replace("#", " › ").replace("^", "")).strip(" ›"), text
        )
    text = _LINK.now.sub(r"\1", text)
    return _TANGLED_LINK.now.sub(r"\1", text) if "](http" in text else text


def _keep_url(url: str, kept: list[str]) -> str:
    tail = url[len(url.rstrip(".,;:!?)'*_")) :]
    if ")" in tail and "(" in url:
        tail = ""
    kept.append(_short_url(url[: len(url) - len(tail)]))
    return f"\x00{len(kept) - 1}\x00{tail}"


def _short_url(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if not mark or len(path) <= _URL_PATH_CHARS:
        return url
    return f"{scheme}{mark}{host}{slash}{path[:_URL_PATH_CHARS]}…"


def _without_emphasis(text: str) -> str:
    """Pairs of emphasis marks out; single ones, ``snake_case``, ``2*3*4`` and ``*.md`` stay."""
    drop: list[tuple[int, int]] = []
    opened: dict[str, tuple[int, int]] = {}
    for match in _EMPHASIS.now.finditer(text):
        start, end = match.span()
        before, after = text[start - 1 : start], text[end : end + 1]
        mark = match[0]
        if mark in opened and _closes(mark, before, after):
            first = opened.pop(mark)
            if not _is_name(mark, text[first[1] : start]):
                drop += (first, (start, end))
        elif _opens(mark, before, after):
            opened[mark] = (start, end)
    if not drop:
        return text
    drop.sort()
    out: list[str] = []
    done = 0
    for start, end in drop:
        out.append(text[done:start])
        done = end
    out.append(text[done:])
    return "".join(out)


def _opens(mark: str, before: str, after: str) -> bool:
    return not (not after or after.isspace() or before == mark[0] or after == mark[0]) and not _in_word(mark, before)


def _closes(mark: str, before: str, after: str) -> bool:
    return not (before.isspace() or before == mark[0] or after == mark[0]) and not _in_word(mark, after)


def _in_word(mark: str, neighbour: str) -> bool:
    if mark == "**" and neighbour.isalpha():
        return False  # bold within a word is seen more often than a power of letters
    return neighbour.isalnum() and ord(neighbour) not in _CJK


def _is_name(mark: str, inner: str) -> bool:
    """``__init__`` is a name far more often than a bold word."""
    return mark == "__" and inner.isidentifier() and inner.islower()
