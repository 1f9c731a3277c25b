r"""Retrieved context in running text: what stands between two markers of a known kind.

A marker is what templates write around the passages that they fill in:

- tags: ``<context>``, ``<documents>``... up to the tag that closes it. Anthropic's advice for long
  contexts, the default template of Open WebUI and the tutorials of LangChain have them;
- a first and a last line: ``START CONTEXT BLOCK`` and ``END OF CONTEXT BLOCK`` (the template of
  Pinecone and Vercel), ``[BEGIN CONTEXT]`` and ``[END CONTEXT]``;
- a heading and a fence: ``Context information is below.`` and two lines of as many dashes (the
  default of LlamaIndex and of Spring AI), or ``Context:`` before a fenced block;
- LangChain's chat default, ``Use the following pieces of context...`` and a line of dashes: what
  follows is context, to the end of the system message.

An opening marker begins its line, so that a sentence *about* ``<context>`` tags opens none. The
first closing marker counts, whatever stands before it: text within a passage can end its block too
early, and can never stretch it over what follows. A heading alone, ``Context: ...``, is no marker,
since nothing says where it ends.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.pipeline.conversation.content import usable_name

_TAGS = (
    "context|retrieved_context|documents?|retrieved_documents|sources|passages?|excerpts"
    "|search_results?"
)
_HEADING = (
    r"(?:[#*]{1,6}[ ]?)?(?:(?:the[ ]following|retrieved|relevant|provided|reference)[ ])?"
    r"(?:context(?:[ ]information)?|documents|passages|sources|excerpts|search[ ]results)"
    r"(?:[ ](?:is|are))?(?:[ ]given)?(?:[ ]below)?[.:]?\*{0,2}[.:]?"
)
_OPENING = re.compile(
    rf"""^[ \t]*+(?:
      <(?P<tag>{_TAGS})(?P<attributes>[ \t][^<>\n]*+)?>
    | (?P<edge>[\[=\-\#*<]{{0,10}}[ ]?)(?:BEGIN|START)[ ](?:OF[ ])?(?:THE[ ])?
      (?P<what>CONTEXT|DOCUMENTS?|SOURCES|PASSAGES)(?:[ ]BLOCK)?[ ]?[\]=\-\#*>:]{{0,10}}[ \t\r]*$
    | {_HEADING}[ \t\r]*+(?:\n[ \t\r]*+){{0,2}}
      (?:(?P<quotes>\"\"\"|''')
        |(?P<fence>`{{3,80}}+|~{{3,80}}+|-{{3,80}}+|={{3,80}}+|\*{{3,80}}+|_{{3,80}}+)
         (?:(?<=[`~])\w{{1,20}})?[ \t\r]*$)
    )""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_TO_THE_END = re.compile(
    r"\s*Use the following pieces of (?:retrieved )?context [^\n]*\n"
    r"(?:[^\n]+\n){0,2}-{4,80}[ \t\r]*\n"
)
_UNPAIRED = re.compile(rf"</(?:{_TAGS})\s*>", re.IGNORECASE)

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
    """One passage between markers: its text, and the id and title that its tag gives it."""

    text: str
    id: str = ""
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """A text, divided at its markers.

    Attributes:
        outside: What stands outside, without the markers: instructions, the question.
        passages: What stands between, in order.
        n_unpaired: Markers that begin or end a block whose other end is missing.
    """

    outside: str
    passages: tuple[MarkedPassage, ...]
    n_unpaired: int


def divide(text: str, *, is_system: bool) -> Divided:
    """Tell retrieved context from what is said around it, in time linear in the text.

    Args:
        text: What a user or the system says.
        is_system: Whether it is the system, whose text may end with context.
    """
    if is_system and (until := _TO_THE_END.match(text)):
        instruction, context = text[: until.end()].strip(), text[until.end() :]
        return Divided(outside=instruction, passages=tuple(_passages(context, "")), n_unpaired=0)
    outside: list[str] = []
    passages: list[MarkedPassage] = []
    never_closed: set[str] = set()  # closing markers that the rest of the text does not have
    position = search_from = n_unpaired = 0
    while opening := _OPENING.search(text, search_from):
        closing = _find_closing(opening, never_closed)
        if closing is None:
            n_unpaired += 1
            search_from = opening.end()
            continue
        outside.append(text[position : opening.start()].strip())
        inside = text[opening.end() : closing.start()]
        passages += _passages(inside, opening["attributes"] or "")
        position = search_from = closing.end()
    outside.append(text[position:].strip())
    n_unpaired += sum(len(_UNPAIRED.findall(each)) for each in outside)
    return Divided(
        outside="\n".join(filter(None, outside)), passages=tuple(passages), n_unpaired=n_unpaired
    )


def _find_closing(opening: re.Match[str], never_closed: set[str]) -> re.Match[str] | None:
    """The first marker after an opening one that closes it, if there is one."""
    if opening["tag"]:
        pattern = rf"</{opening['tag'].lower()}\s*>"
    elif opening["what"]:
        pattern = rf"^[ \t]*[\[=\-#*<]{{0,10}} ?END (?:OF )?(?:THE )?{opening['what'].upper()}\b.*$"
    elif opening["quotes"]:
        pattern = opening["quotes"]
    else:
        pattern = rf"^[ \t]*{re.escape(opening['fence'])}[ \t\r]*$"
    if pattern in never_closed:
        return None
    closing = re.compile(pattern, re.MULTILINE | re.IGNORECASE).search(
        opening.string, opening.end()
    )
    if closing is None:
        never_closed.add(pattern)
    return closing


def _passages(inside: str, attributes: str) -> Iterator[MarkedPassage]:
    """Divide a block at its items: ``<document>``, ``<source>``... if it begins with one.

    What stands between items is a passage as well: it is within the markers.
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
    """One passage, or none if there is nothing to see; its tags say what it is about."""
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
