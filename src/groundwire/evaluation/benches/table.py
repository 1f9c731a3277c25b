"""Text table of a detector's result on a benchmark, beside published scores."""

from collections.abc import Iterator, Mapping, Sequence

from groundwire.evaluation.benches.metric import BenchScore
from groundwire.evaluation.benches.registry import BENCHES
from groundwire.evaluation.benches.result import BenchResult, Scores
from groundwire.evaluation.table import aligned, percent
from groundwire.evaluation.table import to_text as scores_to_text
from groundwire.text.screen import one_line


def to_text(result: BenchResult, *, wall_s: float | None = None) -> str:
    """Lay out the result of a benchmark as text: all scores, then a table beside published ones."""
    return "\n".join(_lines(result, wall_s))


def listed() -> str:
    """List all benchmarks: name, metric, splits, licence and address."""
    lines = []
    for bench in BENCHES.values():
        lines += [
            f"{bench.name:<11} {bench.title}: {bench.metrics[0].name}; {', '.join(bench.splits)}",
            f"{'':<11} hallucinated: {bench.hallucinated}",
            f"{'':<11} {bench.licence}. {bench.citation}",
            f"{'':<11} {'from the hub, or ' if bench.hub else ''}{bench.url}",
        ]
    return "\n".join(lines)


def _lines(result: BenchResult, wall_s: float | None) -> Iterator[str]:
    bench, data = result.bench, result.evaluation
    yield f"{bench.title}, {result.split}: hallucinated if {bench.hallucinated}"
    yield f"{bench.citation}; {bench.licence}"
    if result.commit:
        yield f"commit {result.commit}"
    for name, digest in data.header.data.items():
        yield f"{digest}  {one_line(name)}"
    yield ""
    yield scores_to_text(data.to_dict(wall_s=wall_s))
    yield ""
    yield from _table(result)
    yield ""
    yield from _verdict(result)


def _table(result: BenchResult) -> Iterator[str]:
    bench = result.bench
    names = [metric.name for metric in bench.metrics]
    notes: list[str] = []
    rows = [["system", *names, "source"]]
    detector = result.evaluation.header.detector
    ours, run = one_line(detector.name), f"this run at {detector.threshold:g}"
    rows.append([f"> {ours}", *_ours(result.scores, names), f"{run}, with 95 % intervals"])
    rows += [[f"> {name}", *_ours(scores, names), run] for name, scores in result.variants.items()]
    rows.append(["flag everything", *_plain(result.flag_all, names), "this run"])
    for each in bench.published:
        mark = _noted(notes, each.get("note", ""))
        cells = [_printed(each["scores"].get(name)) for name in names]
        rows.append([each["system"] + mark, *cells, each["source"]])
    yield from aligned(rows, left=(0, len(names) + 1))
    yield from (f"[{number}] {note}" for number, note in enumerate(notes, 1))
    if not bench.published:
        yield "No results of other systems are on record here."


def _ours(scores: Scores, names: Sequence[str]) -> list[str]:
    return [_with_ends(scores.get(name)) for name in names]


def _plain(scores: Mapping[str, BenchScore | None], names: Sequence[str]) -> list[str]:
    found = [scores.get(name) for name in names]
    return ["-" if each is None else percent(each.value) for each in found]


def _with_ends(score: BenchScore | None) -> str:
    if score is None or score.value is None:
        return "-"
    return f"{percent(score.value)} ({percent(score.low)} to {percent(score.high)})"


def _printed(value: float | None) -> str:
    """Format a published score with one decimal, or with two if it was published with two."""
    if value is None:
        return "-"
    return f"{value:.1f}" if round(value, 1) == value else f"{value:.2f}"


def _noted(notes: list[str], note: str) -> str:
    """Add a note to the footnotes, and return its mark, such as " [1]"; equal notes share one."""
    if not note:
        return ""
    if note not in notes:
        notes.append(note)
    return f" [{notes.index(note) + 1}]"


def _verdict(result: BenchResult) -> Iterator[str]:
    if result.is_comparable:
        yield f"These are the answers of the benchmark, by their number ({result.check.source})."
        return
    yield "Not to be held against the numbers of others:"
    yield from (f"  - {difference}" for difference in result.differences)
