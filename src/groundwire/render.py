"""Views of a detection for people: a terminal, plain text, and one HTML page.

Answers, sources and their ids come from models and strangers. Whatever could move the cursor,
recolour the screen, turn the reading direction or vanish is written out visibly, and in HTML
everything is escaped.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import groupby
from string import Template

from groundwire.detection import (
    Claim,
    Coverage,
    Detection,
    DetectorInfo,
    EvidenceRef,
    Label,
    Outcome,
    Reason,
    Span,
)

#: Longest piece of evidence quoted in a terminal, in characters.
QUOTE_CHARS = 160

_OUTCOMES = {
    Outcome.GROUNDED: "the sources support all of the answer",
    Outcome.HALLUCINATED: "the sources do not support the marked words",
    Outcome.PARTIAL: "nothing unsupported was found, but not everything was read: see the coverage",
    Outcome.UNVERIFIED: "there was no evidence to hold the answer against: give a source",
    Outcome.SKIPPED: "the question calls for no check",
    Outcome.UNAVAILABLE: "a check was due and failed: do not take this for a pass",
}

_REASONS = {
    Reason.NO_EVIDENCE: "there was no evidence",
    Reason.LANGUAGE: "written in a script that the detector cannot read",
    Reason.DROPPED_LONG: "a source was over the length limit",
    Reason.DROPPED_OVER_CAP: "there were more sources than the limit allows",
    Reason.ANSWER_OVER_LIMIT: "the answer was over the length limit",
    Reason.QUESTION_SHORTENED: "only the beginning and the end of the question were read",
    Reason.DETECTOR_FAILED: "the detector failed",
}

_LABEL_STYLES = {Label.UNSUPPORTED: "1;4;33", Label.CONTRADICTED: "1;4;31"}
_OUTCOME_STYLES = {
    Outcome.GROUNDED: "1;32",
    Outcome.HALLUCINATED: "1;31",
    Outcome.PARTIAL: "1;33",
    Outcome.UNVERIFIED: "1;33",
    Outcome.SKIPPED: "1",
    Outcome.UNAVAILABLE: "1;31",
}
_DIM = "2"
_Paint = Callable[[str, str], str]

# Controls but tab and newline; marks that turn the direction, end a line or show nothing; halves
# of surrogate pairs. The joiners U+200C and U+200D stay: emoji and several scripts need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_MARKERS = re.compile("[⟦⟧]")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\S+")


def visible(text: str) -> str:
    r"""Write out every character that would act on the screen instead of showing on it.

    Controls become their pictures, the rest their escapes; tab and newline stay.

    >>> visible("\x1b[2J and \u202e")
    '␛[2J and \\u202e'
    """
    return _UNSAFE.sub(_write_out, text.replace("\r\n", "\n"))


def excerpt(text: str, *, around: str, width: int = QUOTE_CHARS) -> str:
    """The stretch of a text, on one line, that has the most words in common with ``around``.

    Args:
        text: What to quote from.
        around: The words that matter.
        width: Longest stretch, in characters; ``…`` stands outside it for what was left out.
    """
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    wanted = {
        word.casefold() for word in _WORD.findall(around) if len(word) > 3 or not word.isalpha()
    }
    start, end = _best_window(flat, wanted, width)
    return f"{'…' if start else ''}{flat[start:end]}{'…' if end < len(flat) else ''}"


def to_text(detection: Detection) -> str:
    """Plain text: unsupported words stand in ``⟦`` and ``⟧``, for pipes, logs and mails."""
    return to_terminal(detection, color=False)


def to_terminal(detection: Detection, *, color: bool) -> str:
    """The report of ``groundwire check``: the answer, its spans, the outcome, the coverage.

    Lines of the answer and quotes are indented and the report's own lines are not, so that no
    answer can imitate the report.

    Args:
        detection: What was found.
        color: Highlight with ANSI colours; otherwise with markers.
    """
    paint = _paint if color else _plain
    lines = [
        *_indented(_mark_words(detection, color=color)),
        "",
        *(
            line
            for _, spans in groupby(detection.spans, key=lambda span: span.evidence)
            for line in _span_lines(tuple(spans), paint)
        ),
        *map(_unchecked_line, _unchecked(detection)),
    ]
    if lines[-1]:
        lines.append("")
    lines += [
        f"outcome   {paint(str(detection.outcome), _OUTCOME_STYLES[detection.outcome])}: "
        f"{explain_outcome(detection)}",
        f"coverage  {describe_coverage(detection.coverage)}",
        *(f"          {reason}" for reason in describe_reasons(detection.coverage)),
        paint(f"detector  {describe_detector(detection.detector)}", _DIM),
    ]
    return "\n".join(lines)


def to_html(detection: Detection, *, question: str | None = None) -> str:
    """One page that stands alone: no scripts, nothing loaded, light and dark.

    Args:
        detection: What was found.
        question: What was asked; the page shows it above the answer.
    """
    return _PAGE.substitute(
        policy=escape(f"default-src 'none'; style-src '{_STYLE_HASH}'; base-uri 'none'"),
        style=_STYLE,
        outcome=escape(str(detection.outcome)),
        explanation=escape(explain_outcome(detection).capitalize()),
        question=_html_section("Question", f'<div class="text">{_html(question)}</div>')
        if question
        else "",
        answer=_html_answer(detection),
        spans=_html_spans(detection.spans),
        unchecked=_html_unchecked(detection),
        coverage=_html_coverage(detection.coverage),
        detector=_html(describe_detector(detection.detector)),
        timings=_html_timings(detection),
    )


def explain_outcome(detection: Detection) -> str:
    """What the outcome means, in half a sentence."""
    return _OUTCOMES[detection.outcome]


def describe_coverage(coverage: Coverage) -> str:
    """How much was read, in one line."""
    answer = f"{percent(coverage.read_chars, coverage.answer_chars)} of the answer read"
    if not coverage.offered_chars:
        return f"no evidence; {answer}"
    return (
        f"{percent(coverage.indexed_chars, coverage.offered_chars)} of the evidence indexed, "
        f"{percent(coverage.attended_chars, coverage.offered_chars)} read with the answer "
        f"({coverage.offered_chars:,} characters); {answer}"
    )


def describe_reasons(coverage: Coverage) -> list[str]:
    """What was left out, how often and why, one line each."""
    return [
        f"{reason} ({count:,}): {_REASONS[reason]}"
        for reason, count in sorted(coverage.reasons.items())
    ]


def describe_detector(detector: DetectorInfo) -> str:
    """What judged, and where its threshold lay."""
    return _one_line(
        f"{detector.name} {detector.revision[:12]}, "
        f"{detector.operating_point} (threshold {detector.threshold:g})"
    )


def percent(part: int, whole: int) -> str:
    """A share for people. Only all of it is 100 %, only nothing is 0 %.

    >>> percent(9_999, 10_000), percent(1, 10_000), percent(2, 3)
    ('99%', '<1%', '66%')
    """
    if part >= whole:
        return "100%"
    return f"{100 * part // whole}%" if part == 0 or 100 * part >= whole else "<1%"


def _pieces(answer: str, spans: Iterable[Span]) -> Iterator[tuple[str, Span | None]]:
    position = 0
    for span in spans:
        yield answer[position : span.start], None
        yield answer[span.start : span.end], span
        position = span.end
    yield answer[position:], None


def _write_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _plain(text: str, style: str) -> str:
    del style
    return text


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip(" ") for line in text.split("\n")]


def _mark_words(detection: Detection, *, color: bool) -> str:
    written = []
    for text, span in _pieces(detection.answer, detection.spans):
        if color and span:
            # Line by line, so that the indent between two lines is not painted.
            style = _LABEL_STYLES.get(span.label, "1;4")
            written.append("\n".join(_paint(line, style) for line in visible(text).split("\n")))
        elif color:
            written.append(visible(text))
        else:
            # Brackets of the answer's own would pass for ours.
            inner = _MARKERS.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(text))
            written.append(f"⟦{inner}⟧" if span else inner)
    return "".join(written)


def _unchecked(detection: Detection) -> Iterator[Claim]:
    # Without evidence no claim is checked, and the outcome says so once for all.
    for claim in detection.claims:
        if claim.label is Label.UNCHECKED and claim.reason is not Reason.NO_EVIDENCE:
            yield claim


def _span_lines(spans: tuple[Span, ...], paint: _Paint) -> Iterator[str]:
    for span in spans:
        label = paint(f"{span.label:<12}", _LABEL_STYLES.get(span.label, "1"))
        yield (
            f"{label} {span.start}-{span.end}  probability {span.probability:.2f}  "
            f'severity {span.severity}  "{_one_line(span.text)}"'
        )
    words = " ".join(span.text for span in spans)
    for reference in spans[0].evidence:
        quote = _one_line(excerpt(reference.text, around=words))
        yield paint(f'  against {_place(reference)}: "{quote}"', _DIM)
    if not spans[0].evidence:
        yield paint("  against no evidence", _DIM)


def _unchecked_line(claim: Claim) -> str:
    reason = f"{_REASONS[claim.reason]}  " if claim.reason else ""
    text = _one_line(excerpt(claim.text, around=""))
    return f'unchecked    {claim.start}-{claim.end}  {reason}"{text}"'


def _place(reference: EvidenceRef) -> str:
    return f"{_one_line(reference.source_id)} {reference.start}-{reference.end}"


def _best_window(text: str, wanted: set[str], width: int) -> tuple[int, int]:
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    hits = [
        any(word.casefold() in wanted for word in _WORD.findall(text[start:end]))
        for start, end in tokens
    ]
    best, first, found = (-1, 0, width), 0, 0
    for last, (_, end) in enumerate(tokens):
        found += hits[last]
        while first <= last and end - tokens[first][0] > width:
            found -= hits[first]
            first += 1
        # A window may start anywhere before its first hit; the earliest start reads best.
        if first <= last and found > best[0]:
            best = (found, tokens[first][0], end)
    _, start, _ = best
    ends = [end for begin, end in tokens if begin >= start and end - start <= width]
    return (start, ends[-1]) if ends else (0, width)


def _html(text: str) -> str:
    return escape(visible(text))


def _html_section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _html_answer(detection: Detection) -> str:
    written, number = [], 0
    for text, span in _pieces(detection.answer, detection.spans):
        if span is None:
            written.append(_html(text))
            continue
        number += 1
        label = escape(str(span.label))
        written.append(
            f'<mark class="{label}" id="mark-{number}">{_html(text)}'
            f'<a href="#span-{number}"> {number} {label}</a></mark>'
        )
    return "".join(written)


def _html_spans(spans: tuple[Span, ...]) -> str:
    if not spans:
        return ""
    rows = "".join(
        f'<tr id="span-{number}"><td><a href="#mark-{number}">{number}</a></td>'
        f"<td>{_html(span.text)}</td><td>{escape(str(span.label))}</td>"
        f"<td>{span.probability:.2f}</td><td>{span.severity} of 4</td>"
        f"<td>{span.start}-{span.end}</td>"
        f"<td>{''.join(map(_html_evidence, span.evidence)) or 'none'}</td></tr>"
        for number, span in enumerate(spans, 1)
    )
    names = ("No.", "Words", "Label", "Probability", "Severity", "Characters", "Held against")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    return _html_section(
        "Words without support",
        '<div class="wide"><table><caption>Probability is that of being unsupported: 1 is worst.'
        f"</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>",
    )


def _html_evidence(reference: EvidenceRef) -> str:
    return (
        f"<figure><figcaption><bdi>{_html(reference.source_id)}</bdi>, characters "
        f'{reference.start}-{reference.end}</figcaption><blockquote class="text" dir="auto">'
        f"{_html(reference.text)}</blockquote></figure>"
    )


def _html_unchecked(detection: Detection) -> str:
    items = "".join(
        f"<li>{_html(claim.text)} "
        f"<em>({escape(_REASONS[claim.reason]) if claim.reason else 'no reason given'})</em></li>"
        for claim in _unchecked(detection)
    )
    return _html_section("Not checked", f"<ul>{items}</ul>") if items else ""


def _html_coverage(coverage: Coverage) -> str:
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in describe_reasons(coverage))
    line = escape(describe_coverage(coverage))
    return f"<p>{line}</p>" + (f"<ul>{reasons}</ul>" if reasons else "")


def _html_timings(detection: Detection) -> str:
    if not detection.timings_ms:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_html(stage)}</th><td>{ms:.1f} ms</td></tr>'
        for stage, ms in detection.timings_ms.items()
    )
    return _html_section("Time by stage", f"<table><tbody>{rows}</tbody></table>")


_STYLE = """
:root { color-scheme: light dark; --line: #8a8a8a; --soft: #5a5a5a;
  --unsupported: #ffe9a8; --contradicted: #ffc9c9; --ink: #1b1b1b; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --line: #777777; --soft: #b5b5b5;
  --unsupported: #5c4700; --contradicted: #742222; --ink: #f1f1f1; --paper: #161616; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
a { color: inherit; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.answer { border-left: 3px solid var(--line); padding-left: 1rem; font-size: 1.1rem; }
mark { background: var(--unsupported); color: inherit; padding: 0.1em 0;
  text-decoration: underline; }
mark.contradicted { background: var(--contradicted); text-decoration: underline double; }
mark a { font-size: 0.7em; vertical-align: super; user-select: none; text-decoration: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
caption { text-align: left; color: var(--soft); }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.8rem 0.4rem 0;
  border-bottom: 1px solid var(--line); }
tr:target, mark:target { outline: 2px solid currentColor; }
figure { margin: 0 0 0.6rem; } blockquote { margin: 0; } figcaption { color: var(--soft); }
footer { margin-top: 2rem; color: var(--soft); }
"""
# The policy names the one style sheet by its hash, so that no text can smuggle in another.
_STYLE_HASH = "sha256-" + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Groundwire: $outcome</title>
<style>$style</style>
</head>
<body>
<main>
<h1>Groundwire: $outcome</h1>
<p>$explanation.</p>
$question
<section><h2>Answer</h2><div class="text answer" dir="auto">$answer</div></section>
$spans
$unchecked
<section><h2>Coverage</h2>$coverage</section>
$timings
<footer>Judged by $detector.</footer>
</main>
</body>
</html>
""")
