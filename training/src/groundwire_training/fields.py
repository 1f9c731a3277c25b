"""Makes short claims about single values of a record or table, right ones and wrong ones.

The sources are JSON records and pipe tables. A claim names the field in plain words ("Wi Fi: free",
"The storage of Team is 100 GB."). A wrong claim has the value of a neighbouring field, row or
column, or "no" in place of "yes".
"""

import ast
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from groundwire.evaluation.datasets.slots import MarkedAnswer
from groundwire_training.corrupt.edits import CONTRADICTED, shuffled
from groundwire_training.sets import LabelledContext

#: The most characters of a value.
_MAX_VALUE = 48
#: The most values of one record to make claims about, and the most items of a list to read.
_CLAIMS, _MOST_ITEMS = 3, 8
#: Keys whose value is the name of a record.
_NAMES = ("name", "title", "id")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|[_-]")
_RULE = re.compile(r"[\s|:-]+")
_YES = ("{owner} has {name}.", "{name}: yes", "Yes, {name} is available.", "It offers {name}.")
_NO = ("{owner} has no {name}.", "{name}: no", "No, {name} is not available.", "It lacks {name}.")
_OPEN = ("{name}: {value}", "The {name} is {value}.", "The {name} of {owner} is {value}.")
_CELLS = (
    "The {name} of {owner} is {value}.",
    "{owner} has {value} as {name}.",
    "{owner}: {name} {value}",
    "For {owner}, the {name} is {value}.",
    "{value} is the {name} of {owner}.",
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record or a cell of a table.

    Attributes:
        owner: The name of the record or row; ``"It"`` if it has none.
        name: The name of the field or column in words.
        value: The text of the value; ``"true"`` or ``"false"`` for yes or no.
        others: Other values, from other rows or sibling fields, to use in wrong claims.
        is_cell: Whether it is a cell of a table.
    """

    owner: str
    name: str
    value: str
    others: tuple[str, ...]
    is_cell: bool


def other_field(record: LabelledContext, rng: random.Random) -> LabelledContext | None:
    """Make a right and a wrong claim about each of a few values of a record's sources.

    Args:
        record: A record of any set; only its sources are read.
        rng: The only source of randomness.

    Returns:
        A record with the same sources and no question, whose answers are the claims. ``None`` if no
        source is a JSON record or a table.
    """
    fields = [field for source in record.sources for field in _fields(source.text)]
    answers: list[MarkedAnswer] = []
    for field in shuffled(fields, rng):
        if len(answers) == 2 * _CLAIMS:
            break
        if field.value in ("true", "false"):
            answers += _yes_or_no(field, rng)
        elif field.others:
            answers += _valued(field, rng)
    if not answers:
        return None
    return replace(record, question=None, answers=tuple(answers), slots=None)


def _yes_or_no(field: Field, rng: random.Random) -> list[MarkedAnswer]:
    at = rng.randrange(len(_YES))
    texts = [forms[at].format(owner=field.owner, name=field.name) for forms in (_YES, _NO)]
    right, wrong = texts if field.value == "true" else texts[::-1]
    right, wrong = (text[0].upper() + text[1:] for text in (right, wrong))
    return [MarkedAnswer(right, ()), MarkedAnswer(wrong, ((0, len(wrong), CONTRADICTED),))]


def _valued(field: Field, rng: random.Random) -> list[MarkedAnswer]:
    forms = _CELLS if field.is_cell else _OPEN
    form = rng.choice(forms if field.owner != "It" else [f for f in forms if "{owner}" not in f])
    answers = []
    for value, is_wrong in ((field.value, False), (rng.choice(field.others), True)):
        start = len(form.partition("{value}")[0].format(owner=field.owner, name=field.name))
        text = form.format(owner=field.owner, name=field.name, value=value)
        if not form.startswith("{"):
            text = text[0].upper() + text[1:]
        spans = ((start, start + len(value), CONTRADICTED),) if is_wrong else ()
        answers.append(MarkedAnswer(text, spans))
    return answers


def _fields(text: str) -> Iterator[Field]:
    data = _parsed(text)
    if isinstance(data, dict):
        yield from _of_record(data, _name_of(data) or "It")
    elif "|" in text:
        yield from _of_table(text)


def _parsed(text: str) -> object:
    if not text.lstrip().startswith("{"):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def _of_record(data: dict[str, Any], owner: str, path: str = "") -> Iterator[Field]:
    leaves = {key: _leaf(value) for key, value in data.items()}
    for key, value in data.items():
        name = _worded(key)
        if isinstance(value, dict):
            yield from _of_record(value, owner, "" if key == "attributes" else name)
        elif isinstance(value, list):
            for each in value[:_MOST_ITEMS]:
                if isinstance(each, dict) and (own := _name_of(each)):
                    yield from _of_record(each, own)
        leaf = leaves[key]
        if leaf is None or key in _NAMES:
            continue
        siblings = {
            other
            for k, other in leaves.items()
            if k != key and other and _shape(other) == _shape(leaf)
        }
        others = () if leaf in ("true", "false") else tuple(sorted(siblings - {leaf}))
        yield Field(owner, f"{path} {name}".strip() if path else name, leaf, others, False)


def _name_of(data: dict[str, Any]) -> str | None:
    names = (data[key] for key in _NAMES if isinstance(data.get(key), str))
    return next((name for name in names if 0 < len(name) <= _MAX_VALUE), None)


def _leaf(value: object) -> str | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str) and 0 < len(value.strip()) <= _MAX_VALUE:
        value = value.strip().removeprefix("u'").strip("'")  # Yelp's records have Python literals
        return value.lower() if value.lower() in ("true", "false") else value
    return None


def _of_table(text: str) -> Iterator[Field]:
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.count("|") > 1 and not _RULE.fullmatch(line)
    ]
    if len(rows) < 3:
        return
    head = rows[0]
    body = [row for row in rows[1:] if len(row) == len(head)]
    for row in body:
        for column in range(1, len(head)):
            value, name = row[column], head[column]
            if not value or value in "-–—" or not name or not row[0] or len(value) > _MAX_VALUE:
                continue
            below = {other[column] for other in body if other[0] != row[0]}
            beside = {cell for cell in row[1:] if cell and _shape(cell) == _shape(value)}
            same = {other[column] for other in body if other[0] == row[0]}
            others = tuple(sorted({v for v in below | beside if v and v not in "-–—"} - same))
            yield Field(row[0], name, value, others, True)


def _worded(key: str) -> str:
    """Write a key in words: "OutdoorSeating" and "outdoor_seating" give "outdoor seating"."""
    return " ".join(_CAMEL.sub(" ", key).split()).lower()


def _shape(value: str) -> str:
    return re.sub(r"[A-Za-z]+", "a", re.sub(r"[\d.,]+", "1", value))[:2]
