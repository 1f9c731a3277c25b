"""The view of a detection that HTML pages share: marked words beside their evidence."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from groundwire.detection.example import Source
from groundwire.detection.values import Claim, Detection, EvidenceRef, Span
from groundwire.explain import compare
from groundwire.render.markdown import Piece, divide, plain
from groundwire.text.screen import visible

if TYPE_CHECKING:
    from markupsafe import Markup

#: Highest number of sources that a page shows; the page only counts further sources.
MAX_SOURCES = 50
#: Approximate number of characters that are shown before and after a line of evidence.
_CONTEXT_CHARS = 240


class SourcePart(NamedTuple):
    """A part of a source: plain text, evidence, or text that is left out.

    Attributes:
        text: The text; empty if it is left out.
        number: Number of the piece of evidence on the page, from 1; 0 for any other part.
        lights: Numbers of the claims and findings that the evidence belongs to, joined by spaces:
            ``2`` is the second claim, ``f1`` the first finding.
        n_left_out: Number of characters that are left out.
    """

    text: str
    number: int = 0
    lights: str = ""
    n_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A source, as a page shows it beside the answer."""

    id: str
    title: str | None
    parts: tuple[SourcePart, ...]

    @property
    def is_evidence(self) -> bool:
        """Whether a line of this source is shown as evidence."""
        return any(part.number for part in self.parts)


class WhyMarked(NamedTuple):
    """The reason why a span is marked.

    Attributes:
        text: The reason in words; empty if it is not known.
        severity: Severity of the fault, from 0 to 4.
        evidence: The line of evidence that the span was compared with; ``None`` if there is none,
            or if it is not known.
    """

    text: str
    severity: int
    evidence: EvidenceRef | None = None


class Finding(NamedTuple):
    """A marked span, numbered from 1, with its reason and the number of its evidence.

    The number of the evidence is 0 if the reason names no evidence, or the page does not show it.
    """

    number: int
    span: Span
    why: WhyMarked
    evidence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A claim with its evidence and its findings.

    Each line of evidence has its number on the page; 0 if the page does not show it. The evidence
    of a claim with findings is that of its findings.
    """

    number: int
    claim: Claim
    evidence: tuple[tuple[int, EvidenceRef], ...]
    findings: tuple[Finding, ...]

    @property
    def lights(self) -> str:
        """Numbers of the claim and its findings, which a page highlights together: ``2 f1 f2``."""
        return " ".join([str(self.number), *(f"f{each.number}" for each in self.findings)])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """A detection, ready for the template ``answer.html``.

    Attributes:
        detection: The detection.
        answer: The answer as HTML, with marked words.
        statements: The claims of the answer.
        panels: The sources, at most :data:`MAX_SOURCES`; if none were given, the lines of evidence
            that the detection quotes.
        n_left_out: Number of sources that are not shown.
    """

    detection: Detection
    answer: "Markup"
    statements: tuple[Statement, ...]
    panels: tuple[Panel, ...]
    n_left_out: int

    @classmethod
    def of(
        cls,
        detection: Detection,
        sources: Sequence[Source] = (),
        whys: Sequence[WhyMarked] | None = None,
    ) -> "AnswerView":
        """Lay out a detection, beside the sources that the answer was checked with.

        ``whys`` has the reason for each of ``detection.spans``, in order. Without ``whys``, the
        reasons are found by comparing the spans with the sources.
        """
        if whys is None:
            found = compare(detection, sources)
            whys = [WhyMarked(each.text, each.severity, each.evidence) for each in found]
        numbers: dict[_Place, int] = {}
        evidence = _evidence_of(detection, whys)
        panels = tuple(_panels(sources, _lines_of(evidence), numbers))
        return cls(
            detection=detection,
            answer=marked_answer(detection),
            statements=tuple(_statements(detection, whys, evidence, numbers)),
            panels=panels,
            n_left_out=max(0, len(sources) - MAX_SOURCES),
        )


class _Line(NamedTuple):
    """A line of evidence; ``lights`` has the numbers that :attr:`SourcePart.lights` joins."""

    start: int
    end: int
    text: str
    lights: list[str]


_Place = tuple[str, int, int]
#: The lines of evidence of a claim, each with the numbers in :attr:`_Line.lights`.
_Evidence = list[tuple[EvidenceRef, list[str]]]


def _evidence_of(detection: Detection, whys: Sequence[WhyMarked]) -> list[_Evidence]:
    """Return the lines of evidence of each claim; for a claim with findings, those of its findings.

    The evidence of a finding is the line that its reason names, else the lines of its span, else
    those of its claim.
    """
    found: list[_Evidence] = []
    n_spans = 0
    for number, claim in enumerate(detection.claims, 1):
        own: _Evidence = [] if claim.spans else [(ref, [str(number)]) for ref in claim.evidence]
        for span in claim.spans:
            why, n_spans = whys[n_spans], n_spans + 1
            refs = [why.evidence] if why.evidence else span.evidence or claim.evidence
            own += [(ref, [str(number), f"f{n_spans}"]) for ref in refs]
        found.append(own)
    return found


def _lines_of(evidence: Iterable[_Evidence]) -> dict[str, list[_Line]]:
    """Map the id of each source to its lines of evidence, in reading order."""
    found: dict[str, dict[tuple[int, int], _Line]] = {}
    for ref, lights in chain.from_iterable(evidence):
        lines = found.setdefault(ref.source_id, {})
        line = lines.setdefault((ref.start, ref.end), _Line(ref.start, ref.end, ref.text, []))
        line.lights.extend(lights)
    return {id_: sorted(lines.values()) for id_, lines in found.items()}


def _panels(
    sources: Sequence[Source], evidence: Mapping[str, list[_Line]], numbers: dict[_Place, int]
) -> Iterator[Panel]:
    """Yield the panels of up to :data:`MAX_SOURCES` sources, those with evidence first.

    If no sources are given, the panels show only the lines of evidence. The number of each line
    that is shown is stored in ``numbers``.
    """
    for source in sorted(sources, key=lambda source: source.id not in evidence)[:MAX_SOURCES]:
        lines = [line for line in evidence.get(source.id, ()) if line.end <= len(source.text)]
        yield Panel(id=source.id, title=source.title, parts=tuple(_parts(source, lines, numbers)))
    for id_, lines in {} if sources else evidence.items():
        shown: list[SourcePart] = []
        for line in lines:
            number = numbers[id_, line.start, line.end] = len(numbers) + 1
            shown += [SourcePart(line.text, number, _spaced(line.lights)), SourcePart("\n")]
        yield Panel(id=id_, title=None, parts=tuple(shown))


def _parts(source: Source, lines: list[_Line], numbers: dict[_Place, int]) -> Iterator[SourcePart]:
    """Cut a source into parts; store the number of each line of evidence in ``numbers``."""
    text, position = source.text, 0
    for start, group in _joined(lines):
        end = max(line.end for line in group)
        yield from _between(text, position, start, is_first=position == 0)
        number = len(numbers) + 1
        numbers |= {(source.id, line.start, line.end): number for line in group}
        lights = (each for line in group for each in line.lights)
        yield SourcePart(text[start:end], number, _spaced(lights))
        position = end
    yield from _between(text, position, len(text), is_first=position == 0, is_last=True)


def _joined(lines: Iterable[_Line]) -> Iterator[tuple[int, list[_Line]]]:
    """Group lines of evidence that overlap; yield the start and the lines of each group."""
    group: list[_Line] = []
    for line in lines:
        if group and line.start >= max(each.end for each in group):
            yield group[0].start, group
            group = []
        group.append(line)
    if group:
        yield group[0].start, group


def _spaced(lights: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(lights))


def _between(
    text: str, start: int, end: int, *, is_first: bool, is_last: bool = False
) -> Iterator[SourcePart]:
    """Yield the text between two positions, without the parts far from lines of evidence.

    ``is_first``: no line of evidence comes before the text. ``is_last``: none comes after the text.
    If both are true, the beginning of the text is shown, or all of a short text.
    """
    first = start if is_first and not is_last else start + _CONTEXT_CHARS
    last = end if is_last else end - _CONTEXT_CHARS
    if last - first <= _CONTEXT_CHARS:
        yield SourcePart(text[start:end])
        return
    # Cut between words if the text has spaces.
    first = max(text.rfind(" ", start, first), start)
    last = end if is_last else max(text.find(" ", last, end), last)
    yield SourcePart(text[start:first])
    yield SourcePart("", n_left_out=last - first)
    yield SourcePart(text[last:end])


def _statements(
    detection: Detection,
    whys: Sequence[WhyMarked],
    evidence: Sequence[_Evidence],
    numbers: Mapping[_Place, int],
) -> Iterator[Statement]:
    def number_of(ref: EvidenceRef | None) -> int:
        return 0 if ref is None else numbers.get((ref.source_id, ref.start, ref.end), 0)

    n_spans = 0
    for number, (claim, own) in enumerate(zip(detection.claims, evidence, strict=True), 1):
        spans = enumerate(claim.spans, n_spans)
        findings = tuple(
            Finding(at + 1, span, whys[at], number_of(whys[at].evidence)) for at, span in spans
        )
        n_spans += len(findings)
        refs = tuple((number_of(ref), ref) for ref, _ in own)
        yield Statement(number=number, claim=claim, evidence=refs, findings=findings)


class _Stretch(NamedTuple):
    """A stretch of the answer, with its label and the numbers of its claim and span, 0 if none."""

    start: int
    end: int
    claim: int = 0
    span: int = 0
    label: str = ""


def marked_answer(detection: Detection) -> "Markup":
    """Return an answer as HTML: its Markdown, with elements for its claims and its marked words."""
    from markupsafe import Markup, escape

    stretches = list(_stretches(detection))
    written: list[str | tuple[str, _Stretch]] = []
    for part in _laid_out(detection):
        written += [part] if isinstance(part, str) else _fragments(part, stretches)
    last = {each[1].span: at for at, each in enumerate(written) if not isinstance(each, str)}
    begun, markup = {0}, []
    for at, each in enumerate(written):
        if isinstance(each, str):
            markup.append(each)
            continue
        text, (_, _, claim, span, label) = escape(visible(each[0])), each[1]
        if span:
            name = "" if span in begun else Markup(' id="mark-{}"').format(span)
            begun.add(span)
            ref = '<a href="#finding-{0}">{0}<span class="unseen"> {1}</span></a>'
            text += Markup(ref).format(span, label) if last[span] == at else ""
            mark = '<mark class="{}"{} data-lights="f{}">{}</mark>'
            text = Markup(mark).format(label, name, span, text)
        elif claim:
            text = Markup('<span class="claim" data-lights="{}">{}</span>').format(claim, text)
        markup.append(text)
    return Markup("".join(markup))


def find_shown(detection: Detection, words: str, *, nth: int = 1) -> tuple[int, int] | None:
    """Return the range of some words in an answer; ``None`` if they are blank or not found.

    ``words`` are as a page shows them, without Markdown. White space is ignored. ``nth`` is the
    number of the occurrence to find, counted from 1.
    """
    letters = [letter for letter in _letters(detection) if not letter.shown.isspace()]
    text, wanted, found = "".join(each.shown for each in letters), "".join(words.split()), -1
    for _ in range(nth if wanted else 0):
        found = text.find(wanted, found + 1)
        if found < 0:
            return None
    return (letters[found].start, letters[found + len(wanted) - 1].end) if wanted else None


def shown_at(detection: Detection, start: int, end: int) -> str:
    """Return the words in a range of an answer, as a page shows them, without Markdown."""
    said, after = "", start
    for each in _letters(detection):
        if start <= each.start and each.end <= end:
            has_space = any(map(str.isspace, detection.answer[after : each.start]))
            said, after = f"{said}{' ' if has_space else ''}{each.shown}", each.end
    return " ".join(said.split())


def _letters(detection: Detection) -> Iterator[Piece]:
    """Yield the letters of an answer that a page shows, with their places in the answer."""
    for piece in _laid_out(detection):
        if isinstance(piece, Piece):
            is_verbatim = len(piece.shown) == piece.end - piece.start
            for at, letter in enumerate(piece.shown, piece.start):
                place = (at, at + 1) if is_verbatim else (piece.start, piece.end)
                yield Piece(letter, *place)


def _laid_out(detection: Detection) -> list[str | Piece]:
    """Divide the answer into HTML tags and pieces of text by its Markdown.

    If this would hide a marked letter or digit, the answer is one piece of plain text instead.
    """
    answer, parts = detection.answer, divide(detection.answer)
    pieces = [part for part in parts if isinstance(part, Piece)]
    gaps = zip(
        [0, *(p.end for p in pieces)], [*(p.start for p in pieces), len(answer)], strict=True
    )
    hidden = [at for start, end in gaps for at in range(start, end) if answer[at].isalnum()]
    is_shown = not any(span.start <= at < span.end for at in hidden for span in detection.spans)
    return parts if is_shown else plain(answer)


def _stretches(detection: Detection) -> Iterator[_Stretch]:
    """Cut the answer where a claim or a span begins or ends."""
    position = n_spans = 0
    for number, claim in enumerate(detection.claims, 1):
        yield _Stretch(position, claim.start)
        position = claim.start
        for span in claim.spans:
            n_spans += 1
            yield _Stretch(position, span.start, number)
            yield _Stretch(span.start, span.end, number, n_spans, str(span.label))
            position = span.end
        yield _Stretch(position, claim.end, number)
        position = claim.end
    yield _Stretch(position, len(detection.answer))


def _fragments(piece: Piece, stretches: Sequence[_Stretch]) -> Iterator[tuple[str, _Stretch]]:
    """Cut a piece of text where stretches begin or end; yield each part with its stretch."""
    is_verbatim = len(piece.shown) == piece.end - piece.start
    # Index of the first stretch that ends after the start of the piece.
    at = bisect_right(stretches, piece.start, key=itemgetter(1))
    for stretch in islice(stretches, at, None):
        first, last = max(stretch.start, piece.start), min(stretch.end, piece.end)
        if first >= piece.end:
            return
        if not is_verbatim:  # an entity, such as &amp;, or an escape is not cut
            yield piece.shown, stretch
            return
        if first < last:
            yield piece.shown[first - piece.start : last - piece.start], stretch
