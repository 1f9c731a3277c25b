"""A detection as one HTML page that stands alone."""

import base64
import hashlib
from html import escape
from string import Template

from groundwire.detection import Coverage, Detection, EvidenceRef, Span
from groundwire.render.descriptions import (
    REASONS,
    describe_coverage,
    describe_detector,
    describe_reasons,
    describe_score,
    explain_outcome,
    pieces,
    unchecked,
)
from groundwire.render.screen import visible

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
        question=_section("Question", f'<div class="text">{_escaped(question)}</div>')
        if question
        else "",
        answer=_answer(detection),
        spans=_spans(detection.spans),
        unchecked=_unchecked_claims(detection),
        coverage=_coverage(detection.coverage),
        detector=_escaped(describe_detector(detection.detector)),
        timings=_timings(detection),
    )


def _escaped(text: str) -> str:
    return escape(visible(text))


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _answer(detection: Detection) -> str:
    written, number = [], 0
    for text, span in pieces(detection.answer, detection.spans):
        if span is None:
            written.append(_escaped(text))
            continue
        number += 1
        label = escape(str(span.label))
        written.append(
            f'<mark class="{label}" id="mark-{number}">{_escaped(text)}'
            f'<a href="#span-{number}"> {number} {label}</a></mark>'
        )
    return "".join(written)


def _spans(spans: tuple[Span, ...]) -> str:
    if not spans:
        return ""
    rows = "".join(
        f'<tr id="span-{number}"><td><a href="#mark-{number}">{number}</a></td>'
        f"<td>{_escaped(span.text)}</td><td>{escape(str(span.label))}</td>"
        f"<td>{describe_score(span)}</td><td>{span.severity} of 4</td>"
        f"<td>{span.start}-{span.end}</td>"
        f"<td>{''.join(map(_evidence, span.evidence)) or 'none'}</td></tr>"
        for number, span in enumerate(spans, 1)
    )
    names = ("No.", "Words", "Label", "Score", "Severity", "Characters", "Held against")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    return _section(
        "Words without support",
        '<div class="wide"><table><caption>Probability is that of being unsupported: 1 is worst. '
        "Similarity is that to the nearest source: 1 is best."
        f"</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>",
    )


def _evidence(reference: EvidenceRef) -> str:
    return (
        f"<figure><figcaption><bdi>{_escaped(reference.source_id)}</bdi>, characters "
        f'{reference.start}-{reference.end}</figcaption><blockquote class="text" dir="auto">'
        f"{_escaped(reference.text)}</blockquote></figure>"
    )


def _unchecked_claims(detection: Detection) -> str:
    items = "".join(
        f"<li>{_escaped(claim.text)} "
        f"<em>({escape(REASONS[claim.reason]) if claim.reason else 'no reason given'})</em></li>"
        for claim in unchecked(detection)
    )
    return _section("Not checked", f"<ul>{items}</ul>") if items else ""


def _coverage(coverage: Coverage) -> str:
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in describe_reasons(coverage))
    line = escape(describe_coverage(coverage))
    return f"<p>{line}</p>" + (f"<ul>{reasons}</ul>" if reasons else "")


def _timings(detection: Detection) -> str:
    if not detection.timings_ms:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_escaped(stage)}</th><td>{ms:.1f} ms</td></tr>'
        for stage, ms in detection.timings_ms.items()
    )
    return _section("Time by stage", f"<table><tbody>{rows}</tbody></table>")
