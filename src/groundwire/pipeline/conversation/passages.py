"""Divides a block of evidence in a prompt into passages, one for each document in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.pipeline.conversation.content import usable_name

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
_IDS, _TITLES = ("id", "index"), ("title", "name", "source", "filename", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPassage:
    """One passage of a block: its text, with the id and the title from its tags."""

    text: str
    id: str = ""
    title: str | None = None


def passages_of(inside: str, attributes: str) -> Iterator[MarkedPassage]:
    """Divide a block into its items, such as ``<document>`` or ``<source>``.

    A block that does not begin with an item is one passage. Text between items is a passage too,
    because it is within the marks of the block.

    Args:
        inside: The text of the block.
        attributes: The attributes of the block's own tag.
    """
    first = _ITEM.match(inside)
    if first is None:
        yield from _passage(inside, attributes)
        return
    tag = re.compile(rf"<(/?){first[1]}([ \t][^<>\n]*+)?>", re.IGNORECASE)
    position, attributes = 0, ""
    for match in tag.finditer(inside):
        yield from _passage(inside[position : match.start()], attributes)
        position, attributes = match.end(), match[2] or ""
    yield from _passage(inside[position:], attributes)


def _passage(text: str, attributes: str) -> Iterator[MarkedPassage]:
    """Yield one passage, with an id and a title from its tags; nothing if the text is blank."""
    given = {name.lower(): one or two for name, one, two in _ATTRIBUTE.findall(attributes)}
    start = 0
    while about := _ABOUT.match(text, start):
        given.setdefault("title", about[2])
        start = about.end()
    content = _CONTENT.fullmatch(text, start)
    body = content[2] if content else text[start:]
    if not body.strip():
        body = text
    if body.strip():
        yield MarkedPassage(
            text=body.strip(),
            id=next(filter(None, (usable_name(given.get(key)) for key in _IDS)), ""),
            title=next(filter(None, (usable_name(given.get(key)) for key in _TITLES)), None),
        )
