"""Writes a report as Markdown, for a comment on a pull request.

Text of models and strangers could contain markup, or a mention that notifies somebody. So it is
written as code, with each punctuation mark as a character reference.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from groundwire.evaluation.reports.html import sentence
from groundwire.evaluation.reports.kinds import MEANINGS, ReportRow
from groundwire.evaluation.reports.summary import Summary
from groundwire.evaluation.reports.tables import (
    ReportTable,
    failures_table,
    labels_table,
    prevalence_table,
    scores_table,
    tasks_table,
)
from groundwire.evaluation.reports.words import marked_text
from groundwire.evaluation.table import percent
from groundwire.render import describe_detector
from groundwire.text.screen import one_line, visible

#: The most characters of a comment on GitHub.
MAX_TEXT = 65_536
#: The most wrong rows, rows of a table, characters of an answer, and names of files that are shown.
N_ERRORS, MAX_ROWS, MAX_CHARS, MAX_FILES = 10, 30, 1500, 10
#: The most characters of any other text of models and strangers, such as an id.
MAX_CODE = 400

#: Number of characters that are kept on each side of a mark in an answer.
_AROUND = 160

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
#: Matches a short text of words and numbers, which needs no escape in Markdown.
_PLAIN = re.compile(r"(?:[^\W_]|[ ,:()%+−-]|(?<=\d)\.(?=\d)){0,40}")


def to_markdown(summary: Summary) -> str:
    """Write the report: scores, and the worst rows in folded sections.

    The report has at most :data:`MAX_TEXT` characters; it says if parts are left out.
    """
    foot = _foot(summary)
    kept, room, n_left = [], MAX_TEXT - len(foot) - len(_left_out(summary.scores["n"])), 0
    for lines in _parts(summary):
        part = "".join(f"{line}\n" for line in lines)
        if len(part) <= room:
            kept.append(part)
            room -= len(part)
        else:
            n_left += 1
    return "".join([*kept, _left_out(n_left) if n_left else "", foot])


def code(text: str) -> str:
    """Write a text as one line of code in Markdown; a text over :data:`MAX_CODE` is cut."""
    return f"<code>{_cut(one_line(visible(text)), MAX_CODE)}</code>"


def _parts(summary: Summary) -> Iterator[Iterable[str]]:
    scores = summary.scores
    yield _head(summary)
    if len(scores["tasks"]) > 1:
        yield _folded(f"{len(scores['tasks'])} tasks", _table(tasks_table(scores)))
    yield _folded("Labels, prevalence, calibration", _more(summary))
    if scores["n_failed"]:
        n = scores["n_failed"]
        title = f"{n:,} failed {'row' if n == 1 else 'rows'}"
        yield _folded(title, _table(failures_table(scores)))
    yield from _errors(summary)


def _head(summary: Summary) -> Iterator[str]:
    scores = summary.scores
    yield f"### Groundwire: {code(describe_detector(summary.header.detector))}"
    yield ""
    yield sentence(summary)
    yield ""
    if scores["example"]:
        yield from _table(scores_table(summary))


def _foot(summary: Summary) -> str:
    names = [*summary.header.data]
    files = ", ".join(map(code, names[:MAX_FILES])) or "no file"
    more = f" and {len(names) - MAX_FILES:,} more" if len(names) > MAX_FILES else ""
    return f"<sub>Groundwire {code(summary.header.version)}, data {files}{more}.</sub>\n"


def _left_out(n: int) -> str:
    return (
        f"<sub>Left out: {n:,} more {'part' if n == 1 else 'parts'}, for which a comment has no "
        "room. The HTML report has them.</sub>\n\n"
    )


def _more(summary: Summary) -> Iterator[str]:
    scores = summary.scores
    if scores["labels"]:
        yield from _table(labels_table(scores))
    if scores.get("prevalence"):
        yield from _table(prevalence_table(scores))
    if found := scores["calibration"]:
        yield (
            f"Expected calibration error {percent(found['ece'])} %, Brier score "
            f"{found['brier']:.3f}, of {found['n']:,} answers."
        )
        yield ""
    if n := scores["coverage"]["n_incomplete"]:
        yield f"{n:,} of {scores['n_answers']:,} labelled answers were not read in full."
        yield ""


def _errors(summary: Summary) -> Iterator[Iterable[str]]:
    wrong = [each for each in summary.examples if each.kind.is_wrong]
    for number, example in enumerate(wrong[:N_ERRORS], 1):
        if number == 1:
            yield ("#### Worst errors" if summary.scores["example"] else "#### To look at", "")
        yield _folded(_title(example), _error(example))


def _title(example: ReportRow) -> str:
    row = example.row
    task = f" {code(row.task)}" if row.task else ""
    return f"<b>{example.kind.words}</b> row {row.row}{task} {code(row.id)}"


def _error(example: ReportRow) -> Iterator[str]:
    row = example.row
    if row.error is not None:
        yield f"{code(row.error['type'])} {code(row.error['message'])}"
    else:
        yield f"{MEANINGS[example.kind].capitalize()}."
    if row.answer:
        words = marked_text(example, width=_AROUND)
        words = words if len(words) <= MAX_CHARS else f"{words[:MAX_CHARS]}…"
        # Line breaks become <br>, because an empty line would end the block of HTML.
        kept = "<br>".join(map(_escaped, visible(words).splitlines()))
        yield ""
        yield f"<pre>{kept}</pre>"
    yield ""


def _table(table: ReportTable) -> Iterator[str]:
    yield _row(table.heads)
    yield _row(["---", *["---:"] * (len(table.heads) - 1)])
    for row in table.rows[:MAX_ROWS]:
        yield _row([_cell(cell) for cell in row])
    if (n := len(table.rows) - MAX_ROWS) > 0:
        yield _row([f"and {n:,} more", *[""] * (len(table.heads) - 1)])
    yield ""
    if table.says:
        yield f"<sub>{table.says}</sub>"
        yield ""


def _cell(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else code(text)


def _row(cells: "tuple[str, ...] | list[str]") -> str:
    return f"| {' | '.join(cells)} |"


def _folded(title: str, lines: Iterator[str]) -> Iterator[str]:
    content = list(lines)
    if not content:
        return
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield from content
    yield "</details>"
    yield ""


def _cut(text: str, n_chars: int) -> str:
    """Escape a text, and cut it so that the escaped text has at most ``n_chars`` characters."""
    ends = [*accumulate(len(_escaped(character)) for character in text[: n_chars + 1])]
    n_kept = bisect_right(ends, n_chars)
    return _escaped(text) if n_kept == len(text) else f"{_escaped(text[:n_kept])}…"


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(lambda match: f"&#{ord(match.group())};", text)
