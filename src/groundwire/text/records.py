"""Parses data with exact offsets: JSON, JSON Lines, and Python's form of both.

The parsers of the standard library do not fit. ``json`` does not report offsets, ``ast`` does but
is not made for hostile input, and both recurse. Data in prompts is also seldom strict:
``str(dict)``, a trailing comma, a raw line break in a string. One token pattern and one stack
suffice, in time linear in the text however deep it nests.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

_TOKEN = re.compile(
    r"""\s*+(?:
      (?P<open>[\[{(])
    | (?P<close>[\]})])
    | (?P<comma>,)
    | (?P<colon>:)
    | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+" | '[^'\\]*+(?:\\.[^'\\]*+)*+')
    | (?P<atom>(?: [-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+
                 | [-+]?(?:Infinity|inf|NaN|nan) | null|None|true|True|false|False )(?![\w.]))
    )""",
    re.VERBOSE | re.DOTALL,
)
_CLOSER = {"[": "]", "{": "}", "(": ")"}
_EXPECTED = {
    "top": {"open"},
    "key": {"string", "atom", "close"},
    "colon": {"colon"},
    "value": {"open", "string", "atom"},
    "item": {"open", "string", "atom", "close"},
    "next": {"comma", "close"},
}

_ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?:u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|x(?P<x>[0-9a-fA-F]{2}))"
    r"|(?P<one>.))",
    re.DOTALL,
)
# The escapes of JSON and of Python. They never disagree about one that either of them writes, so
# the kind of quotes does not matter.
_ONE = dict(zip("nrtbfav/\"'\\", "\n\r\t\b\f\a\v/\"'\\", strict=True))
_SPACE = re.compile(r"\s*+")
_QUOTE = re.compile(r"\s*+[\"']")
_SURROGATE = re.compile("[\ud800-\udfff]")

_IDENTIFIER = re.compile(r"[\w.\-]+")
# Between "Take" and "Out", or "HTTP" and "Server"; "iPhone" stays whole, and so does "WiFi", which
# answers write as one word.
_CAMEL = re.compile(r"(?<=[a-z])(?<!\b[a-z])(?=[A-Z])(?<!Wi(?=Fi))|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[.\-](?=[^\W\d_])")

#: Keys kept of a path, and characters of each but a leaf's own. Deep nesting would otherwise repeat
#: the whole path at every leaf, and cost quadratic time and memory.
_MAX_KEYS = 6
_MAX_KEY_CHARS = 60
#: Text with deeper nesting is not read as data: each open container takes a few hundred bytes.
_MAX_NESTING = 200_000


# A NamedTuple, since large data has many leaves and a frozen dataclass takes three times as long.
class DataField(NamedTuple):
    """A leaf of the data: a string, another scalar, or an empty container.

    Attributes:
        start: Start of its key in the text, or of the value if it stands in a list.
        end: End of the value, closing quote included.
        value_start: Start of the value, opening quote included.
        kind: ``string``, ``atom`` (number, boolean, null) or ``empty`` (container).
        keys: The keys that lead to it, decoded, the nearest six; its own key is the last.
        has_key: Whether it has a key of its own, and does not stand in a list.
        owner: Number of the object that it belongs to. What stands under ``metadata`` belongs
            to the object around that.
        document: Number of the object or list at the top level, from 0; of JSON Lines, the line.
        listing: Number of the list that it was found in, from 1: a list at the top level, or
            one directly under an object there. 0 if none.
        item: Number of the item of that list that it belongs to, unique in the text; 0 if none.
        is_item: Whether it is such an item itself.
    """

    start: int
    end: int
    value_start: int
    kind: Literal["string", "atom", "empty"]
    keys: tuple[str, ...]
    has_key: bool
    owner: int
    document: int
    listing: int
    item: int
    is_item: bool


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a string literal, with the place in the source of each character.

    Attributes:
        text: The decoded text, without lone surrogates.
    """

    text: str
    _positions: list[int] = field(repr=False)  # in the decoded text, ascending
    _origins: list[int] = field(repr=False)  # where in the source these were written

    def origin(self, position: int) -> int:
        """Offset in the source of the character at ``position``, or of the end of the last one."""
        i = bisect_right(self._positions, position) - 1
        return self._origins[i] + position - self._positions[i]


def decode(text: str, start: int, end: int) -> Decoded:
    """Decode the string literal ``text[start:end]``, quotes included.

    An unknown escape is left as it is, as in Python.
    """
    parts: list[str] = []
    positions, origins = [0], [start + 1]
    length, last = 0, start + 1
    if "\\" in text[start:end]:
        for found in _ESCAPE.finditer(text, start + 1, end - 1):
            character = _unescape(found)
            parts += (text[last : found.start()], character)
            length += found.start() - last
            positions += (length, length + len(character))
            origins += (found.start(), found.end())
            length, last = length + len(character), found.end()
    parts.append(text[last : end - 1])
    return Decoded(without_surrogates("".join(parts)), positions, origins)


def _unescape(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "one":
        return _ONE.get(found["one"], found.group())
    if kind == "low":
        high, low = int(found["high"], 16), int(found["low"], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    code = int(found["u"] or found["U"] or found["x"], 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def one_line(text: str) -> str:
    """Collapse white space, and replace lone surrogates."""
    return without_surrogates(" ".join(text.split()))


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which are not valid text, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def words_of_key(key: str) -> str:
    """Write a key as words: ``RestaurantsTakeOut`` as ``Restaurants Take Out``."""
    if _IDENTIFIER.fullmatch(key):
        key = _CAMEL.sub(" ", _BETWEEN_LETTERS.sub(" ", key))
    return one_line(key.replace("_", " "))


def fields_of(text: str) -> list[DataField] | None:
    """Read a text that is data as a whole.

    Args:
        text: Any text. Data is one object or list, or several on lines of their own.

    Returns:
        The leaves in reading order, or ``None`` if any part of the text is not data.
    """
    scan = _Scan(text)
    start, end = len(text) - len(text.lstrip().removeprefix("\ufeff")), len(text.rstrip())
    position = start
    try:
        while position < end:
            if position > start and "\n" not in text[position : _after_space(text, position)]:
                return None
            position = scan.document(position, end)
    except _NotDataError:
        return None
    return scan.fields or None


def fields_at(text: str, start: int) -> tuple[list[DataField], int]:
    """Read the one object or list that begins at a place in a text.

    Returns:
        Its leaves and its end; or no leaves, and how far the text was read to see that it is no
        data.
    """
    scan = _Scan(text)
    try:
        end = scan.document(start, len(text))
    except _NotDataError as error:
        return [], error.position
    return scan.fields, end


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


class _NotDataError(Exception):
    """The text is no data; ``position`` is how far it was read."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


@dataclass(slots=True)
class _Frame:
    """A container that has not been closed yet."""

    closer: str
    start: int  # of its key, or of itself
    value_start: int
    keys: tuple[str, ...]  # that lead to it
    has_key: bool
    owner: int
    listing: int
    item: int
    is_item: bool
    lists: int = 0  # its own number if its elements are items, else 0
    is_used: bool = False  # whether it has elements
    key: str | None = None  # read, and waiting for its value
    key_start: int = 0


class _Scan:
    """A pass over a text, token by token, with a stack of open containers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.fields: list[DataField] = []
        self.stack: list[_Frame] = []
        self.expected = "top"
        self.n_owners = self.n_items = self.n_listings = 0
        self.n_documents = 0

    def document(self, position: int, end: int) -> int:
        """Read one object or list, and return where it ends."""
        while found := _TOKEN.match(self.text, position, end):
            kind = found.lastgroup or ""
            if kind not in _EXPECTED[self.expected]:
                break
            start, position = found.span(kind)
            match kind:
                case "open":
                    self._open(start)
                case "close":
                    self._close(start, position)
                    if not self.stack:
                        return position
                case "comma":
                    self.expected = "key" if self.stack[-1].closer == "}" else "item"
                case "colon":
                    self.expected = "value"
                case _ if self.expected == "key":
                    self._key(kind, start, position)
                case _:
                    self._leaf("string" if kind == "string" else "atom", start, position)
        # The end of an unclosed string was searched for in all of the remaining text.
        is_open = _QUOTE.match(self.text, position, end) is not None
        raise _NotDataError(end if is_open else position)

    def _key(self, kind: str, start: int, end: int) -> None:
        frame = self.stack[-1]
        is_string = kind == "string"
        frame.key = decode(self.text, start, end).text if is_string else self.text[start:end]
        frame.key_start = start
        self.expected = "colon"

    def _leaf(self, kind: Literal["string", "atom"], start: int, end: int) -> None:
        parent = self.stack[-1]
        self._add(kind, self._child(parent, start), end, owner=parent.owner)
        self.expected = "next"

    def _open(self, start: int) -> None:
        opener = self.text[start]
        if len(self.stack) == _MAX_NESTING:
            raise _NotDataError(start)
        if self.stack:
            frame = self._child(self.stack[-1], start)
        elif opener == "(":
            raise _NotDataError(start)  # prose in parentheses
        else:
            frame = _Frame("", start, start, (), False, 0, 0, 0, False)
        frame.closer = _CLOSER[opener]
        if frame.has_key and len(frame.keys[-1]) > _MAX_KEY_CHARS:
            frame.keys = (*frame.keys[:-1], frame.keys[-1][:_MAX_KEY_CHARS])
        if opener == "{":
            if not (frame.has_key and frame.keys[-1].lower() in {"metadata", "meta"}):
                self.n_owners += 1
                frame.owner = self.n_owners
        elif not self.stack or (len(self.stack) == 1 and self.stack[0].closer == "}"):
            self.n_listings += 1
            frame.lists = self.n_listings
        self.stack.append(frame)
        self.expected = "key" if opener == "{" else "item"

    def _close(self, start: int, end: int) -> None:
        frame = self.stack.pop()
        if self.text[start] != frame.closer:
            raise _NotDataError(end)
        if not frame.is_used:
            self._add("empty", frame, end, owner=self.stack[-1].owner if self.stack else 0)
        if not self.stack:
            self.n_documents += 1
        self.expected = "next" if self.stack else "top"

    def _child(self, parent: _Frame, start: int) -> _Frame:
        """Make the frame of the next element of a container."""
        parent.is_used = True
        has_key = parent.key is not None
        keys = parent.keys
        if parent.key is not None:
            keys = (*keys[1 - _MAX_KEYS :], parent.key)
        frame = _Frame(
            "",
            parent.key_start if has_key else start,
            start,
            keys,
            has_key,
            parent.owner,
            parent.listing,
            parent.item,
            False,
        )
        if parent.lists:
            self.n_items += 1
            frame.listing, frame.item, frame.is_item = parent.lists, self.n_items, True
        parent.key = None
        return frame

    def _add(
        self, kind: Literal["string", "atom", "empty"], frame: _Frame, end: int, *, owner: int
    ) -> None:
        self.fields.append(
            DataField(
                start=frame.start,
                end=end,
                value_start=frame.value_start,
                kind=kind,
                keys=frame.keys,
                has_key=frame.has_key,
                owner=owner,
                document=self.n_documents,
                listing=frame.listing,
                item=frame.item,
                is_item=frame.is_item,
            )
        )
