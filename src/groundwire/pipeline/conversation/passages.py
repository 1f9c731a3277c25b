"""Divides a block of evidence in a prompt into passages, one for each document in it."""

import re
from collections.abc import Iterator

from groundwire.pipeline.conversation.content import RequestText, usable_name

_ATTRIBUTE = re.compile(r"""(?<![\w-])([\w-]{1,40}+)[ \t]*=[ \t]*(?:"([^"]*)"|'([^']*)')""")
_ITEM = re.compile(
    r"\s*<(document|doc|source|passage|search_result|result|item|chunk|excerpt)"
    r"(?:[ \t][^<>\n]*+)?>",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\s*<(source|title|name|url|document_title)>([^<>\n]*+)</\1>", re.IGNORECASE)
_CONTENT = re.compile(
    r"\s*<(document_content|page_content|contents?|text)>(.*)</\1>\s*", re.DOTALL | re.IGNORECASE
)
#: Matches a text of nothing but tags and spaces, such as the closing tag of the whole block.
_TAGS = re.compile(r"(?:\s|</?[\w-]{1,40}+(?:[ \t][^<>\n]*+)?>)*+")
_IDS, _TITLES = ("id", "index"), ("title", "name", "source", "filename", "url")


def passages_of(inside: str, place: str, attributes: str) -> Iterator[RequestText]:
    """Divide a block into its items, such as ``<document>`` or ``<source>``.

    A block is one passage if it does not begin with an item, or if it has only tags with its source
    or title and a tag with its content. Text between items is a passage too.

    ``inside`` is the text of the block, and ``attributes`` are those of its tag. All passages get
    the place of the block.
    """
    first = _ITEM.match(inside)
    if first is None or _CONTENT.fullmatch(inside, _after_abouts(inside)[0]):
        yield from _passage(inside, place, attributes)
        return
    tag = re.compile(rf"<(/?){first[1]}([ \t][^<>\n]*+)?>", re.IGNORECASE)
    position, attributes = 0, ""
    for match in tag.finditer(inside):
        yield from _passage(inside[position : match.start()], place, attributes)
        position, attributes = match.end(), match[2] or ""
    yield from _passage(inside[position:], place, attributes)


def _after_abouts(text: str) -> tuple[int, str | None]:
    """Return the offset after tags such as ``<title>`` and ``<url>`` at the beginning of a text.

    The second value is the first content of these tags that is not empty. It is ``""`` if all are
    empty, and ``None`` if there are no such tags.
    """
    start, title = 0, None
    while about := _ABOUT.match(text, start):
        title = title or about[2]
        start = about.end()
    return start, title


def _passage(text: str, place: str, attributes: str) -> Iterator[RequestText]:
    """Yield one passage, with an id and a title from its tags; nothing if it has only tags."""
    given = {name.lower(): one or two for name, one, two in _ATTRIBUTE.findall(attributes)}
    start, title = _after_abouts(text)
    if title is not None:
        given.setdefault("title", title)
    content = _CONTENT.fullmatch(text, start)
    body = content[2] if content else text[start:]
    if not body.strip():
        body = text
    if not _TAGS.fullmatch(body):
        yield RequestText(
            text=body.strip(),
            place=place,
            id=next(filter(None, (usable_name(given.get(key)) for key in _IDS)), ""),
            title=next(filter(None, (usable_name(given.get(key)) for key in _TITLES)), None),
        )
