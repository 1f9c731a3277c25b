"""Reads a YAML document into parts, each with its line number.

YAML tags do not create Python objects, so a file cannot run code. ``yes`` and ``on`` are read as
texts, as YAML 1.2 says, unless the file states an older version of YAML.
"""

from dataclasses import dataclass
from typing import Any

from groundwire.errors import ConfigError

#: Limit on the parts (values, lists, mappings) of a document. An alias adds all parts it refers to.
#: So without a limit, a few lines with nested aliases could fill the memory.
MAX_PARTS = 100_000

_STRINGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp")


@dataclass(frozen=True, slots=True)
class LinePlace:
    """A place in a file: the name of the file, and the number of the line, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value of a document: a text, a number, true, false or null."""

    value: str | int | float | bool | None
    place: LinePlace


@dataclass(frozen=True, slots=True)
class List:
    """A list in a document."""

    items: "tuple[Part, ...]"
    place: LinePlace


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A key of a mapping, with its value."""

    key: str
    place: LinePlace
    part: "Part"


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A mapping in a document; each key occurs once."""

    entries: tuple[DocumentEntry, ...]
    place: LinePlace


Part = Scalar | List | DocumentTable


def read_document(text: str, name: str) -> DocumentTable:
    """Read a YAML document.

    Args:
        text: The text of the file; an empty text is a mapping without entries.
        name: The name of the file, for messages.

    Raises:
        ConfigError: If the text is not YAML, is not a mapping, or has a part that is refused, such
            as a repeated key.
    """
    empty = DocumentTable((), LinePlace(name, 1))
    if not text:
        return empty
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = LinePlace(name, mark.line + 1) if mark else name
        raise ConfigError(
            [f"{where}: this is no YAML: {error.problem or error.context}."]
        ) from error
    except (YAMLError, ValueError) as error:
        raise ConfigError([f"{name}: this is no YAML: {error}."]) from error
    except RecursionError as error:
        raise ConfigError([f"{name}: it is nested too deeply."]) from error
    if root is None:
        return empty
    part = _Reader(name).read(root, ())
    if not isinstance(part, DocumentTable):
        raise ConfigError([f"{part.place}: a configuration is a mapping of names to values."])
    return part


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._n_parts = 0

    def read(self, node: Any, above: tuple[int, ...]) -> Part:  # noqa: ANN401 - a node of ruamel's
        place = self._place(node)
        self._n_parts += 1
        if id(node) in above:
            raise ConfigError([f"{place}: an alias here stands for what it is part of."])
        if self._n_parts > MAX_PARTS or len(above) > 50:
            raise ConfigError([f"{place}: the file is too large, or nested too deeply."])
        above = (*above, id(node))
        if node.id == "mapping":
            return DocumentTable(tuple(self._entries(node, above)), place)
        if node.id == "sequence":
            return List(tuple(self.read(item, above) for item in node.value), place)
        return Scalar(self._scalar(node, place), place)

    def _entries(self, node: Any, above: tuple[int, ...]) -> list[DocumentEntry]:  # noqa: ANN401
        entries: dict[str, DocumentEntry] = {}
        for key, value in node.value:
            place = self._place(key)
            if key.id != "scalar":
                raise ConfigError([f"{place}: a key is a text, and this is a {key.id}."])
            if key.value in entries:
                first = entries[key.value].place
                raise ConfigError([f"{place}: {key.value!r} stands here again, after {first}."])
            part = self.read(value, above)
            if isinstance(part, Scalar) and part.value is None:
                part = Scalar(None, place)  # an empty value has no line of its own
            entries[key.value] = DocumentEntry(key.value, place, part)
        return list(entries.values())

    def _scalar(self, node: Any, place: LinePlace) -> str | int | float | bool | None:  # noqa: ANN401
        tag, text = str(node.tag), str(node.value)
        if tag in _STRINGS:
            return text
        plain = text.replace("_", "").lower()
        if tag == "tag:yaml.org,2002:bool" and plain not in ("true", "false"):
            raise ConfigError([f"{place}: only YAML 1.1 takes this word. Write true or false."])
        try:
            if tag == "tag:yaml.org,2002:null":
                return None
            if tag == "tag:yaml.org,2002:bool":
                return plain == "true"
            if tag == "tag:yaml.org,2002:int":
                return int(plain, 0) if plain.lstrip("+-")[:2] in ("0x", "0o", "0b") else int(plain)
            if tag == "tag:yaml.org,2002:float":
                return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            return text
        raise ConfigError([f"{place}: the tag {tag!r} has no meaning here."])

    def _place(self, node: Any) -> LinePlace:  # noqa: ANN401
        return LinePlace(self._name, node.start_mark.line + 1)
