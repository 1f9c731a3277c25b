"""Parses JSON, JSON Lines and Python literals (``str(dict)``) with exact offsets.

The parsers of the standard library do not fit. ``json`` does not report offsets. ``ast`` does, but
it is not made for hostile input. Both recurse, so they fail on deep nesting. This parser also
accepts trailing commas and raw line breaks in strings, and its time is linear in the text.
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
# The one-character escapes of JSON and of Python. One table serves for JSON and Python, because no
# escape has one meaning in JSON and another in Python.
_ONE = dict(zip("nrtbfav/\"'\\", "\n\r\t\b\f\a\v/\"'\\", strict=True))
_NEXT_LINE = re.compile(r"[^\S\n]*+\n")
_QUOTE = re.compile(r"\s*+[\"']")
_SURROGATE = re.compile("[\ud800-\udfff]")

_IDENTIFIER = re.compile(r"[\w.\-]+")
# Where a key in camel case is cut into words: between "Take" and "Out", or "HTTP" and "Server".
# "iPhone" and "WiFi" are not cut, because answers write them as one word.
_CAMEL = re.compile(r"(?<=[a-z])(?<!\b[a-z])(?=[A-Z])(?<!Wi(?=Fi))|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[.\-](?=[^\W\d_])")

#: Highest number of keys in the path of a leaf. A leaf is a value that contains no other values.
#: Its path is the keys that lead to the leaf. The limit keeps memory linear in the text.
_MAX_KEYS = 6
#: Highest number of characters that are kept of the key of an object or list. Without the limit, a
#: long key would be repeated for every leaf of the object or list.
_MAX_KEY_CHARS = 60
#: Greatest depth of nesting in data. Each open container takes a few hundred bytes of memory.
_MAX_NESTING = 200_000


# A NamedTuple, because large data has many leaves and a frozen dataclass takes three times as long
# to create.
class DataField(NamedTuple):
    """A leaf of the data: a string, another scalar, or an empty container.

    Attributes:
        start: Offset of the leaf's key in the text, or of its value if it has no key.
        end: Offset after the value, closing quote included.
        value_start: Offset of the value, opening quote included.
        kind: ``string``, ``atom`` (number, boolean, null) or ``empty`` (empty container).
        keys: The keys that lead to the leaf, decoded, outermost first, at most the last six. If
            the leaf has a key of its own, that key is the last. Keys of objects and lists are cut
            to 60 characters.
        has_key: Whether the leaf has a key of its own; an element of a list has none.
        owner: Number of the object that the leaf belongs to, or 0 outside of objects. An object
            with the key ``metadata`` or ``meta`` has no number: its own leaves belong to the object
            around it.
        document: Number of the object or list at the top level that holds the leaf, from 0. In
            JSON Lines, each line is such an object or list.
        listing: Number of the list that holds the leaf, from 1; 0 outside of numbered lists. Only
            lists at the top level and directly under an object at the top level are numbered.
        item: Number of the element that holds the leaf in the list ``listing``, unique in the text;
            0 if ``listing`` is 0.
        is_item: Whether the leaf is itself an element of the list ``listing``.
    """

    start: int
    end: int
    value_start: int
    kind: Literal["string", "atom", "empty"]
    keys: tuple[str, ...] = ()
    has_key: bool = False
    owner: int = 0
    document: int = 0
    listing: int = 0
    item: int = 0
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a string literal, with the place in the source of each character.

    Attributes:
        text: The decoded text, without lone surrogates.
    """

    text: str
    # Offsets at which an escape, or text without escapes, begins: in the decoded text, ascending,
    # and in the source.
    _positions: list[int] = field(repr=False)
    _origins: list[int] = field(repr=False)

    def origin(self, position: int) -> int:
        """Convert an offset in the decoded text to the offset in the source."""
        i = bisect_right(self._positions, position) - 1
        return self._origins[i] + position - self._positions[i]


def decode(text: str, start: int, end: int) -> Decoded:
    """Decode a string literal, ``text[start:end]`` with its quotes; unknown escapes stay."""
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
    """Return a text on one line, with single spaces, and U+FFFD in place of lone surrogates."""
    return without_surrogates(" ".join(text.split()))


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which are not valid text, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def words_of_key(key: str) -> str:
    """Return a key as words: ``Restaurants Take Out`` for ``RestaurantsTakeOut``."""
    if _IDENTIFIER.fullmatch(key):
        key = _CAMEL.sub(" ", _BETWEEN_LETTERS.sub(" ", key))
    return one_line(key.replace("_", " "))


def fields_of(text: str) -> list[DataField] | None:
    """Read the leaves of a text that consists of data: objects or lists, each on lines of its own.

    Returns:
        The leaves in reading order, or ``None`` if the text is empty or any part is not data.
    """
    scan = _Scan(text)
    start, end = len(text) - len(text.lstrip().removeprefix("\ufeff")), len(text.rstrip())
    position = start
    try:
        while position < end:
            if position > start and not _NEXT_LINE.match(text, position):
                return None
            position = scan.document(position, end)
    except _NotDataError:
        return None
    return scan.fields or None


def fields_at(text: str, start: int) -> tuple[list[DataField], int]:
    """Read the one object or list that begins at the offset ``start`` of a text.

    Returns:
        The leaves of the object or list, and the offset after it. If the text at ``start`` is not
        data, there are no leaves, and the offset is the one up to which the text was read.
    """
    scan = _Scan(text)
    try:
        end = scan.document(start, len(text))
    except _NotDataError as error:
        return [], error.position
    return scan.fields, end


class _NotDataError(Exception):
    """A text is not data; ``position`` is the offset up to which the text was read."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


@dataclass(slots=True)
class _Frame:
    """A container that has not been closed yet.

    Attributes:
        field: The leaf for the container, added to the leaves only if the container is empty. The
            leaves of the elements take their outer keys from this leaf, and their ``listing`` and
            ``item`` unless the container is a numbered list.
        closer: The bracket that closes the container.
        owner: Number of the object that the container's elements belong to.
        number: Number of this list if it is numbered (see :attr:`DataField.listing`), else 0.
        is_used: Whether an element has been found in the container.
        key: The key whose value has not been read yet; ``None`` if there is none.
        key_start: Offset of the last key.
    """

    field: DataField
    closer: str
    owner: int
    number: int = 0
    is_used: bool = False
    key: str | None = None
    key_start: int = 0


class _Scan:
    """Parses data token by token, with a stack of open containers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.fields: list[DataField] = []
        self.stack: list[_Frame] = []
        self.expected = "top"
        self.n_owners = self.n_items = self.n_listings = self.n_documents = 0

    def document(self, position: int, end: int) -> int:
        """Read one object or list, add its leaves to ``fields``, and return the offset after it.

        Raises:
            _NotDataError: If no valid object or list begins at ``position``, or it is nested too
                deeply.
        """
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
                    leaf = self._child("string" if kind == "string" else "atom", start, position)
                    self.fields.append(leaf)
                    self.expected = "next"
        # If a string begins here, all of the remaining text may have been searched for the closing
        # quote. So all of this text counts as read.
        is_open = _QUOTE.match(self.text, position, end) is not None
        raise _NotDataError(end if is_open else position)

    def _key(self, kind: str, start: int, end: int) -> None:
        frame = self.stack[-1]
        is_string = kind == "string"
        frame.key = decode(self.text, start, end).text if is_string else self.text[start:end]
        frame.key_start = start
        self.expected = "colon"

    def _open(self, start: int) -> None:
        opener = self.text[start]
        if len(self.stack) == _MAX_NESTING or (opener == "(" and not self.stack):
            raise _NotDataError(start)  # too deep, or prose in parentheses
        field = self._child("empty", start, start)
        if field.has_key and len(field.keys[-1]) > _MAX_KEY_CHARS:
            field = field._replace(keys=(*field.keys[:-1], field.keys[-1][:_MAX_KEY_CHARS]))
        frame = _Frame(field, _CLOSER[opener], field.owner)
        if opener == "{":
            if not (field.has_key and field.keys[-1].lower() in {"metadata", "meta"}):
                self.n_owners += 1
                frame.owner = self.n_owners
        elif not self.stack or (len(self.stack) == 1 and self.stack[0].closer == "}"):
            self.n_listings += 1
            frame.number = self.n_listings
        self.stack.append(frame)
        self.expected = "key" if opener == "{" else "item"

    def _close(self, start: int, end: int) -> None:
        frame = self.stack.pop()
        if self.text[start] != frame.closer:
            raise _NotDataError(end)
        if not frame.is_used:
            self.fields.append(frame.field._replace(end=end))
        self.n_documents += not self.stack
        self.expected = "next" if self.stack else "top"

    def _child(self, kind: Literal["string", "atom", "empty"], start: int, end: int) -> DataField:
        """Make the leaf for a value: the next element of the open container, or a new document."""
        if not self.stack:
            return DataField(start, end, start, kind, document=self.n_documents)
        parent = self.stack[-1]
        key, parent.key, parent.is_used = parent.key, None, True
        keys, listing, item = parent.field.keys, parent.field.listing, parent.field.item
        if parent.number:
            self.n_items += 1
            listing, item = parent.number, self.n_items
        return DataField(
            start=start if key is None else parent.key_start,
            end=end,
            value_start=start,
            kind=kind,
            keys=keys if key is None else (*keys[1 - _MAX_KEYS :], key),
            has_key=key is not None,
            owner=parent.owner,
            document=self.n_documents,
            listing=listing,
            item=item,
            is_item=bool(parent.number),
        )
