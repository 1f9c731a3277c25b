"""Reads values and tables of a configuration document, and collects all problems."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from groundwire.config.document import DocumentEntry, DocumentTable, LinePlace, List, Part, Scalar
from groundwire.config.kinds import Kind, KindError, Secret
from groundwire.text.spelling import guess

# Parts of URLs that may have secrets, so messages show ``***`` in place of them. ``_USER`` matches
# user and password, ``_QUERY`` matches query and fragment.
_USER = re.compile(r"//[^\s'\"]*@")
_QUERY = re.compile(r"(//[^\s'\"?#]*[?#])[^\s'\"]+")

#: The value that replaces a secret in messages; it is shown as ``***``.
HIDDEN = Secret("")


@dataclass(slots=True)
class Problems:
    """The errors and warnings about a configuration, collected while it is read.

    ``places`` has the line of each signal, decision, tenant and upstream that was read, by a name
    such as ``signals.keywords.urgent``.
    """

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    places: dict[str, LinePlace] = field(default_factory=dict)

    def add(self, place: object, text: str) -> None:
        """Add an error at a place."""
        self.errors.append(f"{place}: {text}")

    def unknown(self, place: object, word: str, known: Iterable[str], *, where: str) -> None:
        """Add an error about an unknown name, with the names that are known."""
        self.add(place, describe_unknown(f"{word!r} in {where}", word, list(known)))

    def is_new(self, section: str, name: str, place: LinePlace) -> bool:
        """Return whether a name is new in its section; if so, keep its place, else add an error."""
        before = self.places.setdefault(f"{section}.{name}", place)
        if before is not place:
            self.add(place, f"the name {name!r} is taken, at {before}.")
        return before is place

    def wrong(self, place: object, name: str, raw: object, error: KindError) -> None:
        """Add an error about a wrong value, with the possible values."""
        self.add(place, describe_wrong(name, raw, error))


def describe_unknown(what: str, word: str, known: Collection[str]) -> str:
    """Return the message about an unknown name: a similar name, if any, and all known names."""
    near = guess(word, known)
    meant = f"; did you mean {near!r}?" if near else "."
    return f"there is no {what}{meant} Known: {', '.join(known)}."


def describe_wrong(name: str, raw: object, error: KindError) -> str:
    """Return the message about a wrong value: a similar valid value, if any, and what is valid."""
    return f"{name} = {describe_refused(raw, error)}"


def describe_refused(raw: object, error: KindError) -> str:
    """Return the message about a wrong value, without the name of the setting."""
    meant = f"; did you mean {error.guess!r}?" if error.guess else "."
    return f"{_short(raw)} is not possible{meant} It must be {error.legal}."


@dataclass(frozen=True, slots=True)
class TableField:
    """A field that a table (a mapping) of a configuration file can have.

    Attributes:
        name: Groundwire's name of the field.
        kind: The type of the field's value; ``None`` if the value is not read here, but returned
            as a :data:`.document.Part`.
        aliases: Other names of the field, such as HaluGate's.
        is_required: Whether the table must have the field.
    """

    name: str
    kind: Kind | None = None
    aliases: tuple[str, ...] = ()
    is_required: bool = False


def plain(part: Part) -> object:
    """Return a part of a document as plain data, without places."""
    if isinstance(part, Scalar):
        return part.value
    if isinstance(part, List):
        return [plain(item) for item in part.items]
    return {entry.key: plain(entry.part) for entry in part.entries}


def read_fields(
    part: Part, fields: Iterable[TableField], *, where: str, problems: Problems
) -> dict[str, Any] | None:
    """Read the fields of a table.

    Returns:
        The values by Groundwire's names of the fields; fields that are not given are left out.
        ``None`` if there is an error, such as an unknown field or a required field that is missing;
        all errors are added to ``problems``.
    """
    fields = list(fields)
    n_before = len(problems.errors)
    values: dict[str, Any] = {}
    places: dict[str, tuple[LinePlace, str]] = {}
    for entry in entries_of(part, where=where, problems=problems):
        match = next((f for f in fields if entry.key in (f.name, *f.aliases)), None)
        if match is None:
            known = [name for each in fields for name in (each.name, *each.aliases)]
            problems.unknown(entry.place, entry.key, known, where=where)
            continue
        value: Any = entry.part
        if match.kind is not None:
            raw, value = plain(entry.part), None
            try:
                value = match.kind.read(raw)
            except KindError as error:
                shown = HIDDEN if match.kind.is_secret else raw
                problems.wrong(entry.part.place, f"{where}: {entry.key}", shown, error)
        if match.name in places and values[match.name] != value:
            place, key = places[match.name]
            problems.add(entry.place, conflict(entry.key, key, place))
        values[match.name] = value
        places[match.name] = entry.place, entry.key
    for each in fields:
        if each.is_required and each.name not in values:
            problems.add(part.place, f"{where} has no {each.name!r}, and needs one.")
    return values if len(problems.errors) == n_before else None


def entries_of(part: Part, *, where: str, problems: Problems) -> tuple[DocumentEntry, ...]:
    """Return the entries of a table; if the part is no table, add an error that names ``where``."""
    if isinstance(part, DocumentTable):
        return part.entries
    problems.add(part.place, f"{where} is a mapping of names to values, and this is none.")
    return ()


def items_of(part: Part, *, where: str, problems: Problems) -> tuple[Part, ...]:
    """Return the items of a list; none for ``null``.

    If the part is neither a list nor ``null``, add an error that names ``where``.
    """
    if isinstance(part, List):
        return part.items
    if not (isinstance(part, Scalar) and part.value is None):
        problems.add(part.place, f"{where} is a list, and this is none.")
    return ()


def conflict(name: str, other: str, place: object) -> str:
    """Return the message that two names of one setting give it different values."""
    return f"{name!r} sets the same as {other!r} at {place}, to another value. Keep one of them."


def _short(raw: object) -> str:
    text = _QUERY.sub(r"\1***", _USER.sub("//***@", repr(raw)))
    return text if len(text) <= 80 else f"{text[:77]}..."
