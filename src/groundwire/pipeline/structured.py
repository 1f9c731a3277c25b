"""Turns structured answers into statements: one for each leaf (innermost value) that is a claim.

For ``{"built": 1950}`` the detector reads the statement ``built: 1950``. A finding in a statement
is moved to its place in the raw JSON, and gets the JSON Pointer of its leaf.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from groundwire.detection.example import Source
from groundwire.detection.values import Aside, Claim, Detection, Span
from groundwire.explain import Explanation
from groundwire.pipeline import json_leaves
from groundwire.pipeline.checked import Checked
from groundwire.pipeline.conversation.answer_form import AnswerForm, Schema
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.pipeline.json_leaves import Leaf, Path
from groundwire.text.records import Decoded, decode, words_of_key

#: Separates statements, so that no claim has parts of two statements.
_BREAK = "\n\n"
#: If the key of a number has one of these words, the number may be the model's grade for its own
#: answer.
_GRADES = frozenset({"certainty", "confidence", "probability", "relevance", "score"})
#: Keys of values that identify a record.
_IDS = frozenset({"id", "uuid", "guid", "index"})
#: If a key has one of these words, its value may be a label that the model assigns.
_CLASSES = frozenset(
    (
        *("action", "category", "categories", "class", "classification", "decision", "department"),
        *("domain", "emotion", "format", "gender", "genre", "grade", "group", "intent", "keyword"),
        *("keywords", "kind", "label", "labels", "lang", "language", "level", "mode", "mood"),
        *("priority", "rating", "result", "risk", "role", "route", "sentiment", "severity"),
        *("stance", "state", "status", "style", "tag", "tags", "tone", "topic", "topics", "type"),
        *("types", "unit", "units", "urgency", "verdict"),
    )
)
#: Matches the form of labels: one lower-case word, or several joined ones (``refund_request``).
_LABEL = re.compile(r"[a-z]+(?:[_-][a-z]+)*")
#: Characters that names often have, and labels seldom have.
_NAME = re.compile(r"[A-Z0-9]")
#: Values that mean "no" or "nothing", such as "none" under the key "allergies".
_DENIALS = frozenset({"absent", "false", "missing", "n/a", "no", "none", "null", "unknown"})
#: Matches a key that states something: it has a space between words, or three digits in a row, as
#: a year has.
_STATEMENT = re.compile(r"\S\s+\S|[0-9]{3}")
_SEVERAL_WORDS = re.compile(r"\S\s+\S")
_SENTENCE = re.compile(r"(?:\S+\s+){4,}\S+[.!]\s*", re.DOTALL)
#: Matches a value of five or more words that ends like a sentence. The statement for such a value
#: leaves out the keys.
_PROSE = re.compile(r"(?:\S+\s+){4,}\S+[.!?…][\"')\]]*\s*", re.DOTALL)
_DATE = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3][0-9])"
    r"(?:[T ](?P<time>[0-9]{2}:[0-9]{2})(?::[0-9.]+)?(?:Z|[+-][0-9:]+)?)?)?"
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafStatement:
    """A statement made from one leaf (an innermost value) of a JSON document.

    The statement stands in the text that is checked, and its leaf in the raw answer. A document
    that cannot be read as leaves is one statement.

    Attributes:
        start: Offset of the statement in the checked text.
        value_start: Offset of the statement's value in the checked text.
        end: End of the statement and its value in the checked text.
        raw_start: Offset of the leaf, with its key, in the raw answer.
        raw_value: The range of the value in the raw answer, without quotes. If only the key states
            something, this is the range of the whole leaf, with its key.
        raw_end: End of the leaf in the raw answer, after a closing quote.
        pointer: The JSON Pointer of the leaf. If there are several documents, the pointer begins
            with the number of the document, counted from 0.
        decoded: The value without JSON's escapes; ``None`` if the statement has no string.
        is_verbatim: Whether the statement contains the value, unchanged but for JSON's escapes.
            False if the value was rewritten, as dates are, and if only the key states something.
    """

    start: int
    value_start: int
    end: int
    raw_start: int
    raw_value: tuple[int, int]
    raw_end: int
    pointer: str
    decoded: Decoded | None = None
    is_verbatim: bool = True

    def raw_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the raw answer for a range of the statement in the checked text.

        If the range is in the key, or :attr:`is_verbatim` is false, the result is
        :attr:`raw_value`.
        """
        start, end = max(start, self.value_start), min(end, self.end)
        if end <= start or not self.is_verbatim:
            return self.raw_value
        start, end = start - self.value_start, end - self.value_start
        if self.decoded is None:
            return self.raw_value[0] + start, self.raw_value[0] + end
        return self.decoded.origin(start), self.decoded.origin(end)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredText:
    """A structured answer in two forms: as it came, and as the statements that it makes.

    Attributes:
        raw: The answer as it came: its prose, then its JSON documents.
        text: The text that is checked: the prose, then the statements.
        n_prose: The number of characters of prose, with which ``raw`` and ``text`` begin.
        statements: The statements, in reading order.
    """

    raw: str
    text: str
    n_prose: int
    statements: tuple[LeafStatement, ...]

    def of(self, answer: Answer) -> Answer:
        """Return the answer with the kind ``structured``, and with :attr:`raw` as its text."""
        return replace(answer, kind=AnswerKind.STRUCTURED, text=self.raw, n_prose=self.n_prose)

    def place(self, checked: Checked, found: Detection) -> Checked:
        """Move claims, remarks and findings to the raw answer; give each finding its JSON Pointer.

        ``found`` is the detection for the checked text, from which ``checked`` was made.
        """
        claims: list[Claim] = []
        kept: dict[int, str] = {}  # start of a span in the checked text → the span's JSON Pointer
        for claim in found.claims:
            spans: list[Span] = []
            for span in sorted(claim.spans, key=self._is_in_key):
                start, end = self._range(span.start, span.end)
                # A finding in the key, or in a rewritten value, is moved to the whole value. If
                # the value has a finding already, the moved one is left out.
                if all(end <= each.start or each.end <= start for each in spans):
                    spans.append(replace(span, start=start, end=end, text=self.raw[start:end]))
                    statement = self._at(span.start, span.end)
                    kept[span.start] = statement.pointer if statement else ""
            spans.sort(key=lambda each: each.start)
            start, end = self._claim_range(claim)
            text = self.raw[start:end]
            claims.append(replace(claim, start=start, end=end, text=text, spans=tuple(spans)))
        return replace(
            checked,
            detection=replace(
                found,
                answer=self.raw,
                claims=tuple(claims),
                asides=tuple(self._aside(each) for each in found.asides),
            ),
            explanations=self._placed([x for x in checked.explanations if x.start in kept]),
            dropped=self._placed(checked.dropped),
            pointers=tuple(pointer for _, pointer in sorted(kept.items())),
        )

    def _aside(self, aside: Aside) -> Aside:
        start, end = self._range(aside.start, aside.end)
        return replace(aside, start=start, end=end, text=self.raw[start:end])

    def _placed(self, explanations: Sequence[Explanation]) -> tuple[Explanation, ...]:
        """Move explanations to the raw answer: convert their offsets in the checked text."""
        ranges = [self._range(each.start, each.end) for each in explanations]
        pairs = zip(explanations, ranges, strict=True)
        return tuple(replace(each, start=start, end=end) for each, (start, end) in pairs)

    def _at(self, start: int, end: int) -> LeafStatement | None:
        """Return the first statement that a range of the checked text overlaps, or ``None``."""
        place = bisect_right(self.statements, start, key=lambda each: each.end)
        found = self.statements[place : place + 1]
        return found[0] if found and found[0].start < end else None

    def _range(self, start: int, end: int) -> tuple[int, int]:
        statement = self._at(start, end)
        return (start, end) if statement is None else statement.raw_range(start, end)

    def _is_in_key(self, span: Span) -> bool:
        statement = self._at(span.start, span.end)
        return statement is not None and span.end <= statement.value_start

    def _claim_range(self, claim: Claim) -> tuple[int, int]:
        statement = self._at(claim.start, claim.end)
        if statement is None:
            return claim.start, claim.end
        start, end = statement.raw_range(claim.start, claim.end)
        # If a leaf has several claims, the first one includes the leaf's key, and the last one the
        # closing quote of its value.
        start = statement.raw_start if claim.start <= statement.value_start else start
        return start, statement.raw_end if claim.end >= statement.end else end


def read_structured(
    answer: Answer, form: AnswerForm, sources: Sequence[Source] = ()
) -> StructuredText | None:
    """Read the structured data of an answer as statements; ``None`` if the answer has none.

    A document that :func:`.leaves_of` cannot read becomes one statement: its text.

    Args:
        answer: The answer.
        form: The form of the answer that its request asks for.
        sources: The evidence. If the evidence contains a name from a list of choices in the
            schema, all choices in that list are claims, not labels.
    """
    if form.is_json and answer.kind is AnswerKind.TEXT:
        return _read("", [(answer.text, form.schema)], sources)
    calls = [each for each in answer.calls if each.name in form.final_tools]
    if not calls:
        return None
    prose = f"{answer.text}{_BREAK}" if answer.kind is AnswerKind.TEXT else ""
    return _read(prose, [(each.arguments, form.final_tools[each.name]) for each in calls], sources)


def _read(
    prose: str, documents: Sequence[tuple[str, Schema]], sources: Sequence[Source]
) -> StructuredText:
    raw = text = prose
    statements: list[LeafStatement] = []
    is_named = cache(partial(_is_named, sources=sources))  # many leaves have the same choices
    for number, (document, schema) in enumerate(documents):
        raw += "\n" if number else ""
        base, start = len(raw), len(text)
        raw += document
        prefix = f"/{number}" if len(documents) > 1 else ""
        leaves = json_leaves.leaves_of(document)
        if leaves is None:
            text += f"{document}{_BREAK}"
            whole = LeafStatement(
                start=start,
                value_start=start,
                end=start + len(document),
                raw_start=base,
                raw_value=(base, len(raw)),
                raw_end=len(raw),
                pointer=prefix,
            )
            statements.append(whole)
        for leaf in leaves or ():
            if _is_claim(leaf, schema, is_named):
                said, statement = _said(raw, leaf, len(text), base=base, prefix=prefix)
                statements.append(statement)
                text += f"{said}{_BREAK}"
    return StructuredText(
        raw=raw, text=text.removesuffix(_BREAK), n_prose=len(prose), statements=tuple(statements)
    )


def _said(raw: str, leaf: Leaf, start: int, *, base: int, prefix: str) -> tuple[str, LeafStatement]:
    """Return the text of a leaf's statement, and the statement, which begins at ``start``.

    ``base`` is the offset of the document in ``raw``.
    """
    place = leaf.place
    first, end = base + place.value_start, base + place.end
    is_key = leaf.value is None or leaf.value is True or not str(leaf.value).strip()
    is_string = place.kind == "string" and not is_key
    decoded = decode(raw, first, end) if is_string else None
    value = raw[first:end] if decoded is None else decoded.text
    label = " ".join(words_of_key(key) for key in leaf.path if isinstance(key, str))
    label = f"{label}: " if label and not _PROSE.fullmatch(value) else ""
    said = _as_written(value)
    if is_key:
        label, said = "", label.removesuffix(": ")
    value_start = base + place.start if is_key else first + is_string
    statement = LeafStatement(
        start=start,
        value_start=start + len(label),
        end=start + len(label) + len(said),
        raw_start=base + place.start,
        raw_value=(value_start, end - is_string),
        raw_end=end,
        pointer=f"{prefix}{json_leaves.pointer_of(leaf.path)}",
        decoded=decoded,
        is_verbatim=said == value,
    )
    return f"{label}{said}", statement


def _as_written(value: str) -> str:
    """Write an ISO date, and the time after it, as prose does: "5 May 1950"; keep other values.

    Seconds, a time zone and the time 00:00 are left out.
    """
    if (date := _DATE.fullmatch(value)) is None:
        return value
    day = f"{int(date['day'])} " if date["day"] else ""
    time = f", {date['time']}" if date["time"] not in (None, "00:00") else ""
    return f"{day}{_MONTHS[int(date['month']) - 1]} {date['year']}{time}"


def _is_claim(leaf: Leaf, schema: Schema, is_named: Callable[[str], bool]) -> bool:
    """Return whether a leaf is a claim, which evidence could support.

    Most ids, grades and labels are no claims, because the model assigns them itself. ``false`` is
    never a claim. ``true``, ``null`` and blank or empty values are claims only if
    :func:`_stating_key` finds a key. ``is_named`` is :func:`_is_named` for the sources.
    """
    value, key = leaf.value, next((key for key in reversed(leaf.path) if isinstance(key, str)), "")
    words = words_of_key(key).lower().split()
    if value is None or isinstance(value, bool) or not str(value).strip():
        return value is not False and _stating_key(leaf.path, schema, is_true=value is True)
    if " ".join(words) in _IDS and not _SEVERAL_WORDS.search(str(value)):
        return False
    choices = json_leaves.choices_at(schema, leaf.path)
    is_listed = bool(choices) and not any(map(is_named, map(str, choices)))
    if isinstance(value, str):
        # Without a schema to list the choices, a label is recognised by its form and its key.
        is_listed |= not schema and _is_label(value, words)
        if is_listed and value.lower() not in _DENIALS:
            is_listed = not _stating_key(leaf.path, schema)
        return not is_listed
    is_grade = not _GRADES.isdisjoint(words) and (0 <= value <= 1 or "confidence" in words)
    return not is_grade and not is_listed


def _is_label(value: str, key: Sequence[str]) -> bool:
    """Return whether a value looks like a label: lower-case words, joined if they are several.

    A single word is a label only if it is a denial, such as "none", or if its key has a word such
    as "category".
    """
    is_joined = "_" in value or "-" in value
    is_told = is_joined or value in _DENIALS or not _CLASSES.isdisjoint(key)
    return is_told and _LABEL.fullmatch(value) is not None


def _is_named(choice: str, sources: Sequence[Source]) -> bool:
    """Return whether a listed value is a name, such as ``Paris``, that the evidence contains."""
    if len(choice) < 2 or not _NAME.search(choice):
        return False
    if choice.lower() in (*_DENIALS, "yes", "true"):
        return False
    name = re.compile(rf"(?<!\w){re.escape(choice)}(?!\w)")
    return any(name.search(each.text) for each in sources)


def _stating_key(path: Path, schema: Schema, *, is_true: bool = True) -> bool:
    """Return whether a key on the path to a leaf states something. Keys in the schema do not count.

    If ``is_true`` is false, as for an empty value, only a key that is a whole sentence counts.
    """
    states = _STATEMENT.search if is_true else _SENTENCE.fullmatch
    return any(
        isinstance(key, str) and states(key) and not json_leaves.is_declared(schema, path[: i + 1])
        for i, key in enumerate(path)
    )
