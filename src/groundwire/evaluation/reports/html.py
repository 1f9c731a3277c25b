"""A report as one HTML page that stands alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from groundwire.evaluation.datasets.labelled import Known
from groundwire.evaluation.no_verdict import told
from groundwire.evaluation.reports.cards import card, mark_of
from groundwire.evaluation.reports.kinds import Example, Kind
from groundwire.evaluation.reports.markup import element
from groundwire.evaluation.reports.plots import of_bins, of_curve, plot, top_of
from groundwire.evaluation.reports.sheet import page
from groundwire.evaluation.reports.summary import Summary
from groundwire.evaluation.reports.tables import (
    Table,
    bins_table,
    coverage_table,
    failures_table,
    labels_table,
    prevalence_table,
    scores_table,
    tasks_table,
)
from groundwire.evaluation.reports.words import MARK_MEANINGS, Mark
from groundwire.evaluation.table import percent
from groundwire.render import describe_detector


def to_html(summary: Summary) -> str:
    """The report: scores, plots, and the examples that were kept, the worst first."""
    sections = list(_sections(summary))
    links = (element("li", element("a", title, href=f"#{id_}")) for id_, title, _ in sections)
    return page(
        f"Groundwire: evaluation of {summary.header.detector.name}",
        _head(summary),
        element("nav", element("ul", *links), aria_label="Parts of this report"),
        *(_section(*each) for each in sections),
        _foot(summary),
    )


def _sections(summary: Summary) -> Iterator[tuple[str, str, Iterable[Element | None]]]:
    scores = summary.scores
    if scores["example"]:
        yield "scores", "Scores", _scores(summary)
        yield "threshold", "What the threshold trades", _plots(summary)
    if len(scores["tasks"]) > 1:
        yield "tasks", "Tasks", (_table(tasks_table(scores)),)
    if scores["labels"]:
        yield "labels", "Labels", (_table(labels_table(scores)),)
    if scores.get("prevalence"):
        yield "prevalence", "Prevalence", (_table(prevalence_table(scores)),)
    if scores["calibration"]:
        yield "calibration", "Calibration", _calibration(summary)
    yield "coverage", "Coverage and time", _coverage(summary)
    if any(told(scores)):
        yield "failed", "Rows without a verdict", _failures(summary)
    yield "examples", "Examples", _examples(summary)


def _section(id_: str, title: str, content: Iterable[Element | None]) -> Element:
    return element("section", element("h2", title), *content, id=id_)


# The head.


def _head(summary: Summary) -> Element:
    detector = summary.header.detector
    return element(
        "header",
        element("h1", f"Evaluation of {detector.name}"),
        element("p", f"{describe_detector(detector)}, on {_names(summary)}", class_="soft any"),
        element("p", sentence(summary)),
        _tiles(summary),
    )


def sentence(summary: Summary) -> str:
    """What came out, in words."""
    scores = summary.scores
    if not scores["example"]:
        return f"Of {scores['n']:,} rows none could be scored: none was labelled and read."
    n_hallucinated, n_clean = (
        scores["n_hallucinated"],
        max(scores["n_scored"] - scores["n_hallucinated"], 0),
    )
    counts = _counts(scores)
    without = "; ".join(told(scores)) or "each was checked"
    return (
        f"{counts[Kind.TRUE_POSITIVE]:,} of {n_hallucinated:,} hallucinated answers were "
        f"flagged, and {counts[Kind.FALSE_POSITIVE]:,} of {n_clean:,} others. "
        f"Of {scores['n']:,} rows {scores['n_unlabelled']:,} have no label; {without}."
    )


def _counts(scores: Mapping[str, Any]) -> dict[Kind, int]:
    """The four counts that the scores are made of.

    Hallucinated answers without a verdict are among those not flagged, others in none.
    """
    n, n_hallucinated, n_flagged = (
        scores[name] for name in ("n_scored", "n_hallucinated", "n_flagged")
    )
    n_found = round((scores["example"]["recall"] or 0) * n_hallucinated)
    n_wrongly = n_flagged - n_found
    return {
        Kind.TRUE_POSITIVE: n_found,
        Kind.FALSE_NEGATIVE: n_hallucinated - n_found,
        Kind.FALSE_POSITIVE: n_wrongly,
        # If every check failed, no answer is scored.
        Kind.TRUE_NEGATIVE: max(n - n_hallucinated - n_wrongly, 0),
    }


def _tiles(summary: Summary) -> Element | None:
    scores = summary.scores
    example, span = scores["example"], scores["span"]
    if not example:
        return None
    baseline = percent(scores["baseline_flag_all"]["f1"])
    tiles = [
        ("F1 of answers", percent(example["f1"]), f"{baseline} if all are flagged"),
        ("Precision", percent(example["precision"]), "of flagged answers"),
        ("Recall", percent(example["recall"]), "of hallucinated answers"),
        ("False-positive rate", percent(example["fpr"]), "of other answers"),
        ("AUROC", percent(example["auroc"]), "over all thresholds"),
    ]
    if span:
        tiles.append(("F1 of characters", percent(span["f1"]), f"{span['n_answers']:,} answers"))
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", value), element("dd", says))
            for name, value, says in tiles
        ),
        class_="tiles",
    )


# Scores.


def _scores(summary: Summary) -> Iterator[Element | None]:
    yield _moved(summary)
    table, matrix = _table(scores_table(summary)), _matrix(summary)
    if summary.comparison is None:
        yield element("div", table, matrix, class_="side")
    else:  # the table needs all of the width
        yield matrix
        yield table


def _matrix(summary: Summary) -> Element:
    counts, on_page = _counts(summary.scores), {each.kind for each in summary.examples}
    rows = {
        "Hallucinated": (Kind.TRUE_POSITIVE, Kind.FALSE_NEGATIVE),
        "Not hallucinated": (Kind.FALSE_POSITIVE, Kind.TRUE_NEGATIVE),
    }
    heads = ("Flagged", "Not flagged")
    return element(
        "div",
        element("p", "Answers; a number leads to the examples of its kind.", class_="soft"),
        element(
            "table",
            element(
                "thead",
                element("tr", element("td"), *(element("th", each, scope="col") for each in heads)),
            ),
            element(
                "tbody",
                *(
                    element(
                        "tr",
                        element("th", name, scope="row"),
                        *(
                            element("td", _count(kind, counts[kind], is_link=kind in on_page))
                            for kind in kinds
                        ),
                    )
                    for name, kinds in rows.items()
                ),
            ),
            class_="numbers matrix",
        ),
    )


def _count(kind: Kind, n: int, *, is_link: bool) -> Element | str:
    name = f"{n:,} {kind.words}s"
    if not is_link:
        return f"{n:,}"
    return element("a", f"{n:,}", href="#examples", data_show=str(kind), aria_label=name)


def _moved(summary: Summary) -> Element | None:
    comparison = summary.comparison
    if comparison is None:
        return None
    words = (
        f"Since the baseline {comparison.n_newly_wrong:,} rows became wrong and "
        f"{comparison.n_newly_right:,} right."
    )
    if comparison.n_only_now or comparison.n_only_before:
        words += (
            f" {comparison.n_only_now:,} labelled rows are new, and "
            f"{comparison.n_only_before:,} are gone."
        )
    return element("p", words)


def _plots(summary: Summary) -> Iterator[Element]:
    curves = summary.curves
    if curves is None:
        yield element("p", "All answers are of one kind, so that there is nothing to trade.")
        return
    yield element(
        "p",
        "Solid: all thresholds. Dot: the threshold of this run. Dashed: a detector that knows "
        "nothing.",
        class_="soft",
    )
    scores, top = summary.scores["example"], top_of(curves.risk_coverage)
    yield element(
        "div",
        _figure(
            "Precision and recall",
            f"AUPRC {percent(scores['auprc'])} %: of what is flagged, how much is hallucinated.",
            "Recall",
            "Precision",
            of_curve(curves.precision_recall, is_stepped=True),
        ),
        _figure(
            "ROC",
            f"AUROC {percent(scores['auroc'])} %: what finding more costs in false alarms.",
            "False-positive rate",
            "Recall",
            of_curve(curves.roc, is_stepped=False),
        ),
        _figure(
            "Risk and coverage",
            "If only the answers with the least doubt are let through, so many of them are "
            "hallucinated.",
            "Let through",
            "Hallucinated among them",
            of_curve(curves.risk_coverage, is_stepped=False, top=top),
            top=top,
        ),
        class_="plots",
    )


def _figure(
    name: str, says: str, x: str, y: str, content: Sequence[Element], *, top: float = 1.0
) -> Element:
    return element(
        "figure",
        plot(name, says, x, y, *content, top=top),
        element("figcaption", element("strong", name), says),
    )


# Calibration, coverage, failures.


def _calibration(summary: Summary) -> Iterator[Element]:
    found = summary.scores["calibration"]
    yield element(
        "p",
        f"P(answer hallucinated) of {found['n']:,} answers: expected calibration error "
        f"{percent(found['ece'])} %, Brier score {found['brier']:.3f}"
        + (f", skill {percent(found['brier_skill'])} %." if found["brier_skill"] else "."),
    )
    says = (
        "On the dashed line what was said is what was so. Lines: 95 % intervals of Wilson. Bars: "
        "how many answers."
    )
    name = "Reliability"
    yield element(
        "div",
        _figure(name, says, "Said to be hallucinated", "Was so", of_bins(found["bins"])),
        _table(bins_table(summary.scores)),
        class_="side",
    )


def _coverage(summary: Summary) -> Iterator[Element | None]:
    scores = summary.scores
    n = scores["coverage"]["n_incomplete"]
    yield element(
        "p",
        f"{n:,} of {scores['n_answers']:,} labelled answers were not read in full."
        if n
        else "All labelled answers were read in full.",
    )
    table = coverage_table(scores)
    yield _table(table) if table.rows else None
    if latency := scores["latency_ms"]:
        times = ", ".join(f"{name.upper()} {value:,.0f} ms" for name, value in latency.items())
        yield element("p", f"A check took {times}.")


def _failures(summary: Summary) -> Iterator[Element]:
    scores = summary.scores
    n, n_shown = scores["n_failed"], len(scores["failures"])
    words = f"{'; '.join(told(scores))}."
    if n > n_shown:
        words += f" The first {n_shown:,} of {n:,} failed rows are shown."
    yield element("p", words)
    if n:
        yield _table(failures_table(scores), class_="texts")


def _table(table: Table, *, class_: str = "numbers") -> Element:
    heads = (element("th", head, scope="col") for head in table.heads)
    return element(
        "div",
        element("p", table.says, class_="soft") if table.says else None,
        element(
            "div",
            element(
                "table",
                element("thead", element("tr", *heads)),
                element("tbody", *(_row(table, i) for i in range(len(table.rows)))),
                class_=class_,
            ),
            class_="wide",
            tabindex="0",  # so that the keyboard can scroll it
            role="region",
            aria_label=f"Table: {table.heads[0]}",
        ),
    )


def _row(table: Table, i: int) -> Element:
    name, *cells = table.rows[i]
    return element(
        "tr",
        element("th", name, scope="row"),
        *(
            element("td", element("strong", cell) if (i, j) in table.strong else cell)
            for j, cell in enumerate(cells, 1)
        ),
    )


# Examples.


def _examples(summary: Summary) -> Iterator[Element | None]:
    examples = summary.examples
    if not examples:
        yield element("p", "There are no examples on this page.")
        return
    words = "The worst errors come first: wrong verdicts by how far they are from the threshold."
    if summary.n_left_out:
        words += (
            f" {len(examples):,} rows are on this page; {summary.n_left_out:,} are left out, "
            "which are right or less wrong (--examples says how many to show)."
        )
    yield element("p", words)
    has_unknown = any(each.row.known != Known.SPANS for each in examples)
    yield element(
        "ul",
        *(
            element("li", mark_of("words", str(mark)), f" {MARK_MEANINGS[mark]}")
            for mark in Mark
            if mark is not Mark.FLAGGED or has_unknown
        ),
        class_="legend",
        aria_label="Marks",
    )
    yield _filters(examples)
    yield element("p", id="shown", role="status", class_="soft")
    for example in examples:
        yield card(example, summary.comparison)


def _filters(examples: Sequence[Example]) -> Element:
    kinds = {each.kind for each in examples}
    tasks = {each.row.task for each in examples}
    outcomes = {str(each.detection.outcome) for each in examples if each.detection is not None}
    return element(
        "form",
        _select("kind", "Verdict", [(str(kind), kind.words) for kind in Kind if kind in kinds]),
        _select("task", "Task", [(name, name or "(none)") for name in sorted(tasks)]),
        _select("outcome", "Outcome", [(name, name) for name in sorted(outcomes)]),
        element(
            "div",
            element("label", "Words", for_="filter-words"),
            element("input", id="filter-words", name="words", type="search", autocomplete="off"),
        ),
        element("button", "Show all", type="reset"),
        id="filters",
        class_="filters",
        hidden=True,  # until the script runs that makes it work
        aria_label="Filter the examples",
    )


def _select(name: str, title: str, choices: Sequence[tuple[str, str]]) -> Element:
    # A value begins with "=", so that the empty one, which a task may have, is not "all".
    options = (element("option", words, value=f"={value}") for value, words in choices)
    id_ = f"filter-{name}"
    return element(
        "div",
        element("label", title, for_=id_),
        element("select", element("option", "all", value=""), *options, id=id_, name=name),
    )


# The foot.


def _foot(summary: Summary) -> Element:
    header = summary.header
    data = (
        element("li", element("code", f"{name}"), f" SHA-256 {sha256}", class_="any")
        for name, sha256 in header.data.items()
    )
    return element(
        "footer",
        element(
            "p", f"Groundwire {header.version}. Judged by {describe_detector(header.detector)}."
        ),
        element("p", "Made by ", element("code", header.command)) if header.command else None,
        element("ul", *data),
    )


def _names(summary: Summary) -> str:
    return ", ".join(summary.header.data) or "no file"
