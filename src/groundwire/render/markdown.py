"""Divides a Markdown text into HTML tags and pieces of text with their offsets in the Markdown.

Words are marked by their offsets, so each piece of text keeps its offsets. The Markdown of links,
images and HTML is shown as it is, so that an answer cannot put any of them into a page.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: The HTML tags of most kinds of Markdown tokens; functions below write the others, such as code.
_TAGS = {
    **{name: name for name in ("table", "thead", "tbody", "tr", "td", "blockquote")},
    **{"em": "em", "strong": "strong", "s": "s", "th": "th", "paragraph": "p"},
    **{"bullet_list": "ul", "ordered_list": "ol", "list_item": "li"},
}
_WIDE = '<div class="wide" role="region" aria-label="Table of the answer" tabindex="0"><table>'


class Piece(NamedTuple):
    """A piece of the text as it is shown, with its range ``[start, end)`` in the Markdown.

    If the range is an entity, such as ``&amp;``, or a backslash escape, ``shown`` is the text that
    the range means. Otherwise ``shown`` has as many characters as the range.
    """

    shown: str
    start: int
    end: int


def divide(text: str) -> list[str | Piece]:
    """Divide a Markdown text into tags and pieces, in reading order.

    The text becomes one piece of plain text if it has a lone carriage return, if a piece cannot be
    found in it, or if the parser drops the text of a table cell.
    """
    # The parser reads "\r\n" as "\n". A space in place of "\r" keeps the offsets as they are.
    source = text.replace("\r\n", " \n")
    if "\r" not in source:
        try:
            return list(_in_reading_order(_blocks(source)))
        except _MisplacedError:
            pass
    return plain(text)


def plain(text: str) -> list[str | Piece]:
    """Return the parts of a text without Markdown: one paragraph with the text as it is."""
    return ['<p class="plain">', Piece(text, 0, len(text)), "</p>"]


class _MisplacedError(Exception):
    """A piece is not found in the Markdown in reading order, or the parser dropped some text."""


def _in_reading_order(parts: Iterable[str | Piece]) -> Iterator[str | Piece]:
    position = 0
    for part in parts:
        if isinstance(part, Piece):
            if part.start < position:
                raise _MisplacedError
            position = part.end
        yield part


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # imported here, since only pages need it

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    unwanted = ["link", "image", "autolink", "html_inline", "html_block", "reference"]
    # Without "text_join", each escape or entity stays a token of its own, with its Markdown.
    return parser.disable([*unwanted, "text_join"])


def _blocks(source: str) -> Iterator[str | Piece]:
    starts, lines = [0], source.split("\n")
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    row_from = row_to = -1
    for token in _parser().parse(source):
        if token.type == "inline":
            assert token.map is not None
            first = token.map[0]
            if row_from < 0:
                places = _places(token.content, lines[first : token.map[1]], starts[first:])
            else:  # a table cell: search after the end of the cell before it
                places = _in_order(token.content, source, row_from)
                row_from = places[-1] + 1 if places else row_from
            yield from _inline(token.children or (), token.content, places)
        elif token.type in ("fence", "code_block"):
            assert token.map is not None
            first = token.map[0] + (token.type == "fence")
            content = token.content.removesuffix("\n")
            places = _places(content, lines[first : token.map[1]], starts[first:])
            yield "<pre><code>"
            yield from _runs(content, places)
            yield "</code></pre>"
        else:
            if token.type == "tr_open":
                assert token.map is not None
                row_from, row_to = starts[token.map[0]], starts[token.map[0] + 1]
            elif token.type == "tr_close":
                if any(map(str.isalnum, source[row_from:row_to])):
                    raise _MisplacedError  # the parser drops cells beyond the table's columns
                row_from = -1
            yield _tag(token)


def _tag(token: "Token") -> str:
    name = token.type.removesuffix("_open").removesuffix("_close")
    if token.hidden:
        return ""
    if name == "hr":
        return "<hr>"
    if name == "table":
        return _WIDE if token.nesting > 0 else "</table></div>"
    if token.nesting < 0:
        return f"</{_TAGS.get(name, 'p')}>"
    if name == "heading":
        # A paragraph: headings of the answer must not become headings of the page.
        return f'<p class="heading level-{int(token.tag[1:])}">'
    if name == "ordered_list" and "start" in token.attrs:
        return f'<ol start="{int(token.attrs["start"])}">'
    return f"<{_TAGS[name]}>"


def _places(content: str, lines: Sequence[str], starts: Sequence[int]) -> list[int]:
    """Return the offset in the Markdown of each character of a block, found line by line."""
    places: list[int] = []
    for number, part in enumerate(content.split("\n")):
        if number >= len(lines) or (at := lines[number].rfind(part)) < 0:
            raise _MisplacedError
        at += starts[number]
        places += range(at, at + len(part) + 1)
    return places[:-1]


def _in_order(content: str, source: str, at: int) -> list[int]:
    """Return the offset in the Markdown of each character of a cell, searched from ``at`` on.

    The offsets may have gaps, because the parser removes the backslash before a bar in a cell.
    """
    places = []
    for letter in content:
        at = source.find(letter, at)
        if at < 0:
            raise _MisplacedError
        places.append(at)
        at += 1
    return places


def _inline(
    tokens: Sequence["Token"], content: str, places: Sequence[int]
) -> Iterator[str | Piece]:
    at, flat = 0, content.replace("\n", " ")

    def find(words: str) -> int:
        found = flat.find(words, at)
        if found < 0:
            raise _MisplacedError
        return found

    for token in tokens:
        if token.type == "text" and token.content:
            start = find(token.content)
            at = start + len(token.content)
            yield from _runs(token.content, places[start:at])
        elif token.type == "text_special":
            start = find(token.markup)
            at = start + len(token.markup)
            yield Piece(token.content, places[start], places[at - 1] + 1)
        elif token.type == "code_inline":
            at = find(token.markup) + len(token.markup)
            start = find(token.content)
            at = find(token.markup) + len(token.markup)
            yield "<code>"
            yield from _runs(token.content, places[start : start + len(token.content)])
            yield "</code>"
        elif token.type in ("softbreak", "hardbreak"):
            at = content.index("\n", at) + 1
            yield "<br>"
        elif token.type != "text":
            yield _tag(token)


def _runs(shown: str, places: Sequence[int]) -> Iterator[Piece]:
    """Yield pieces of a text, cut where characters do not follow each other in the Markdown."""
    first = 0
    for at in range(1, len(shown) + 1):
        if at == len(shown) or places[at] != places[at - 1] + 1:
            yield Piece(shown[first:at], places[first], places[at - 1] + 1)
            first = at
