"""What the detector is worth on labelled answers, with the numbers to judge that.

``python -m groundwire.evaluation.report --data FILE [--limit N] [--model DIR] [--json OUT]`` checks
every answer at the default operating point and prints scores per task and of all. FILE holds rows
of RAGTruth or slot-annotated answers, gzipped or not, or is the folder of RAGTruth's release.
"""

import hashlib
import random
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Any

import click

from groundwire import Detector, __version__
from groundwire.cli import FailedError
from groundwire.cli.console import to_json
from groundwire.cli.detectors import AnyDetector
from groundwire.cli.progress import progress
from groundwire.detection import DetectorInfo
from groundwire.errors import DatasetError, GroundwireError
from groundwire.evaluation.datasets.labelled import LabelledAnswer
from groundwire.evaluation.datasets.ragtruth import read_ragtruth, read_release
from groundwire.evaluation.datasets.rows import read_rows
from groundwire.evaluation.datasets.slots import read_slots
from groundwire.evaluation.intervals import Interval
from groundwire.evaluation.runner import Judged, judge
from groundwire.evaluation.scores import Scores, score_by_task

_RESAMPLES, _SEED = 2000, 0


def read_answers(path: Path, *, split: str = "test") -> list[LabelledAnswer]:
    """Read labelled answers of any of the formats, which their first row tells.

    Args:
        path: A file of rows, or the folder of RAGTruth's release.
        split: Of the release, ``train`` or ``test``.

    Raises:
        DatasetError: If the file is not as its format is described.
    """
    if path.is_dir():
        return list(read_release(path, split=split))
    first = next(read_rows(path)).data
    if "domain" in first:
        return list(read_slots(path))
    if "spans" in first:
        return list(read_ragtruth(path))
    problem = "rows have neither 'spans' (RAGTruth) nor a 'domain' (slot-annotated answers)"
    raise DatasetError(path, 1, problem)


def sample(answers: Sequence[LabelledAnswer], n: int | None) -> list[LabelledAnswer]:
    """Draw so many answers, the same each time, in their order: files are sorted by task."""
    if n is None or n >= len(answers):
        return list(answers)
    return [answers[i] for i in sorted(random.Random(_SEED).sample(range(len(answers)), n))]


def run(detector: AnyDetector, answers: Sequence[LabelledAnswer], path: Path) -> list[Judged]:
    """Judge answers, with a line on standard error now and then."""
    judged = []
    with progress(path, is_interactive=False) as tell:
        for n, answer in enumerate(judge(detector, answers), 1):
            judged.append(answer)
            tell(n, n)
    return judged


# Rendering.

_COLUMNS = (
    "task",
    "n",
    "halluc.",
    "precision",
    "recall",
    "F1 (95 %)",
    "flag all",
    "AUROC (95 %)",
    "FPR",
    "char. F1 (95 %)",
    "as LettuceDetect",
    "claims passed",
    "not fully checked",
)


def table(scores: Iterable[Scores]) -> str:
    """Scores as a table for people, in per cent."""
    rows = [_COLUMNS, *map(_cells, scores)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _cells(scores: Scores) -> tuple[str, ...]:
    answers = scores.answers
    return (
        scores.name,
        f"{answers.n:,}",
        f"{answers.n_hallucinated:,}",
        _percent(answers.precision),
        _percent(answers.recall),
        _with_interval(scores.f1),
        _percent(answers.flag_all_f1),
        _with_interval(scores.auroc),
        _percent(answers.false_positive_rate),
        _with_interval(scores.character_f1),
        _percent(scores.pairs.f1),
        _percent(scores.passed_claims.value),
        f"{scores.n_incomplete:,}",
    )


def _percent(value: float) -> str:
    return "-" if isnan(value) else f"{100 * value:.1f}"


def _with_interval(interval: Interval) -> str:
    low, high = _percent(interval.low), _percent(interval.high)
    return f"{_percent(interval.value)} ({low} to {high})"


def to_data(
    detector: DetectorInfo, path: Path, scores: Iterable[Scores], judged: Iterable[Judged]
) -> dict[str, Any]:
    """The report as JSON data: scores, each answer, and what it takes to make them again."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {
        "groundwire": __version__,
        "command": shlex.join(["python", "-m", "groundwire.evaluation.report", *sys.argv[1:]]),
        "data": {file.name: _sha256(file) for file in files if file.is_file()},
        "detector": detector.to_dict(),
        "bootstrap": {"unit": "context", "n_resamples": _RESAMPLES, "seed": _SEED},
        "scores": [group.to_dict() for group in scores],
        "answers": [asdict(answer) for answer in judged],
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help="Rows of RAGTruth or slot-annotated answers, gzipped or not; or a folder with RAGTruth's "
    "response.jsonl and source_info.jsonl.",
)
@click.option("--split", default="test", show_default=True, help="Part of RAGTruth's release.")
@click.option("--limit", type=click.IntRange(min=1), help="So many answers, drawn at random.")
@click.option("--good-only", is_flag=True, help="Leave out truncated answers and wrong refusals.")
@click.option(
    "--model",
    help="similarity, similarity:hash, a folder or a hub id; by default the embedded reader.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Answers checked at a time.")
@click.option(
    "--json", "output", type=click.Path(dir_okay=False, path_type=Path), help="Also write JSON."
)
def main(
    *,
    data: Path,
    split: str,
    limit: int | None,
    good_only: bool,
    model: str | None,
    threads: int | None,
    output: Path | None,
) -> None:
    """Check labelled answers and print what the detector's verdicts are worth."""
    try:
        answers = read_answers(data, split=split)
        kept = [answer for answer in answers if answer.quality == "good" or not good_only]
        chosen = sample(kept, limit)
        if not chosen:
            raise DatasetError(data, None, "none of its answers is of good quality")
        click.echo(f"{len(chosen):,} of {len(answers):,} answers", err=True)
        with Detector.load(model, threads=threads) as detector:
            judged = run(detector, chosen, data)
            info = detector.info
    except GroundwireError as error:
        raise FailedError(str(error)) from error
    scores = score_by_task(judged, n_resamples=_RESAMPLES, seed=_SEED)
    click.echo(f"{info.name} {info.revision}, {info.operating_point} ({info.threshold})")
    click.echo(table(scores))
    for answer in judged:
        if answer.error:
            click.echo(f"not checked: {answer.id}: {answer.error}", err=True)
    if output:
        report = to_data(info, data, scores, judged)
        output.write_text(to_json(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
