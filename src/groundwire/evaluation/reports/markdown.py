"""Writes a report as Markdown, for a comment on a pull request.

Text that models or strangers wrote could contain markup, or a mention that notifies somebody. The
punctuation marks of these texts are therefore written as character references. Only a short text in
a cell of a table is written as it is, if it is harmless (:data:`_PLAIN`).
"""

import re
from bisect import bisect_right
from itertools import accumulate

from markupsafe import Markup

from groundwire.evaluation.reports import tables
from groundwire.evaluation.reports.html import sentence
from groundwire.evaluation.reports.kinds import ReportRow
from groundwire.evaluation.reports.summary import Summary
from groundwire.evaluation.reports.words import marked_text
from groundwire.evaluation.table import percent
from groundwire.render.descriptions import describe_detector
from groundwire.render.html import render
from groundwire.text.screen import one_line, visible

#: GitHub's limit on the characters of a comment.
MAX_TEXT = 65_536
#: Limits on what a report shows: the number of wrong rows, of rows of a table, of characters of an
#: answer, and of names of files.
N_ERRORS, MAX_ROWS, MAX_CHARS, MAX_FILES = 10, 30, 1500, 10
#: Limit on the characters, after escaping, of an untrusted text that is shown as code, such as an
#: id or the name of a file.
MAX_CODE = 400

#: Number of characters that are shown at each end of a long part of an answer that nobody marked.
_AROUND = 160

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
#: Matches a text of at most 40 characters that needs no escape in Markdown: letters, digits, spaces
#: and a few punctuation marks.
_PLAIN = re.compile(r"(?:[^\W_]|[ ,:()%+−-]|(?<=\d)\.(?=\d)){0,40}")


#: Separator of the parts of the report. Untrusted texts cannot contain the separator, because their
#: punctuation is escaped.
_PART = "<!-- part -->\n"


def to_markdown(summary: Summary) -> str:
    """Return the report: scores, and the worst rows in folded sections.

    The report has at most :data:`MAX_TEXT` characters. If parts are left out, the report says so.
    """
    text = render(
        "report.md",
        summary=summary,
        scores=summary.scores,
        detector=describe_detector(summary.header.detector),
        sentence=sentence(summary),
        wrong=[each for each in summary.examples if each.kind.is_wrong][:N_ERRORS],
        files=_files([*summary.header.data]),
        part=Markup(_PART),
        tables=tables,
        percent=percent,
        MAX_ROWS=MAX_ROWS,
        code=code,
        cell=_cell,
        answer=_answer,
    )
    *parts, foot = text.split(_PART)
    foot += "\n"
    kept, room, n_left = [], MAX_TEXT - len(foot) - len(_left_out(summary.scores["n"])), 0
    for part in parts:
        if len(part) <= room:
            kept.append(part)
            room -= len(part)
        else:
            n_left += 1
    return "".join([*kept, _left_out(n_left) if n_left else "", foot])


def code(text: str) -> Markup:
    """Return an untrusted text as a ``code`` element, cut to :data:`MAX_CODE` characters."""
    return Markup(f"<code>{_cut(one_line(visible(text)), MAX_CODE)}</code>")


def _files(names: list[str]) -> Markup:
    more = f" and {len(names) - MAX_FILES:,} more" if len(names) > MAX_FILES else ""
    return Markup((", ".join(map(code, names[:MAX_FILES])) or "no file") + more)


def _answer(example: ReportRow) -> Markup:
    words = marked_text(example, width=_AROUND)
    words = words if len(words) <= MAX_CHARS else f"{words[:MAX_CHARS]}…"
    # Line breaks become <br>, because an empty line would end the block of HTML.
    return Markup("<br>".join(map(_escaped, visible(words).splitlines())))


def _left_out(n: int) -> str:
    return (
        f"<sub>Left out: {n:,} more {'part' if n == 1 else 'parts'}, for which a comment has no "
        "room. The HTML report has them.</sub>\n\n"
    )


def _cell(text: str) -> Markup:
    # A plain text needs no escape, so it is not written as code.
    return Markup(text) if _PLAIN.fullmatch(text) else code(text)


def _cut(text: str, n_chars: int) -> str:
    """Escape a text and cut the result to ``n_chars`` characters; "…" follows if it was cut."""
    ends = [*accumulate(len(_escaped(character)) for character in text[: n_chars + 1])]
    n_kept = bisect_right(ends, n_chars)
    return _escaped(text) if n_kept == len(text) else f"{_escaped(text[:n_kept])}…"


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(lambda match: f"&#{ord(match.group())};", text)
