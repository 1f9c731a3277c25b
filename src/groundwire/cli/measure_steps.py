"""The steps of ``groundwire measure``, each with what its options come to."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import read_text
from groundwire.cli.progress import progress
from groundwire.cli.status import ExitStatus
from groundwire.files.reading import count_lines
from groundwire.files.writing import other_data
from groundwire.loading import Choice, ExplainerChoice

if TYPE_CHECKING:
    from groundwire.evaluation.workflow.aggregate import Prices
    from groundwire.evaluation.workflow.generate import Generated, Prompting
    from groundwire.evaluation.workflow.hub import HubTable
    from groundwire.evaluation.workflow.model import Address
    from groundwire.evaluation.workflow.questions import AnyQuestion
    from groundwire.evaluation.workflow.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Where questions come from: the options of ``load``."""

    data: Path | None
    dataset: str | None
    config: str | None
    split: str
    dataset_revision: str | None
    columns: tuple[str, ...]
    limit: int | None

    def __post_init__(self) -> None:
        if (self.data is None) == (self.dataset is None):
            raise click.UsageError("Give questions with --data, or a hub's with --dataset.")
        if self.data is not None and (self.config or self.dataset_revision):
            raise click.UsageError("--config and --dataset-revision concern --dataset.")

    def to(self, output: Path, *, is_kept: bool) -> ExitStatus:
        """Load them into a file.

        Args:
            output: The file.
            is_kept: Whether a file of the same questions stays as it is.
        """
        from groundwire.evaluation.workflow.questions import is_whole, load
        from groundwire.evaluation.workflow.stage import Stage, change, is_begun

        data, rows = self._data()
        settings: dict[str, Any] = {"columns": sorted(self.columns), "limit": self.limit}
        if self.dataset is not None:
            table = self._table()
            settings["dataset"] = table.settings
            # There the names say what belongs to which part.
            settings |= {"files": [*data]} if table.is_folder else {}
        stage = Stage(step="load", data=data, settings=settings, command=_command())
        if is_kept and is_begun(output) and is_whole(output):
            if not data:
                stage = _of_the_same_data(output, stage)
            if not change(output, stage):
                click.echo(f"questions: as they were loaded into {output}", err=True)
                return ExitStatus.PASSED
        done = load(rows, output, stage)
        more = f", {done.n_failed:,} of them cannot be read: {done.first_problem}"
        click.echo(f"questions: {done.n:,}{more if done.n_failed else ''}", err=True)
        if done.n_failed == done.n:
            return ExitStatus.FAILED
        return ExitStatus.FLAGGED if done.n_failed else ExitStatus.PASSED

    def _data(self) -> "tuple[Mapping[str, str], Iterator[AnyQuestion]]":
        """What tells the data from others, and its rows."""
        from groundwire.evaluation.datasets.files import read_questions
        from groundwire.evaluation.datasets.lines import fingerprints
        from groundwire.evaluation.datasets.mapping import ColumnMapping
        from groundwire.evaluation.workflow.hub import hashes_of, read_hub
        from groundwire.evaluation.workflow.questions import drawn

        mapping = ColumnMapping.of(self.columns)
        if self.data is not None:
            rows = drawn(read_questions(self.data, mapping), self.limit)
            return fingerprints(self.data), rows
        table = self._table()
        hashes = hashes_of(table)
        if (commit := hashes.get(table.name)) is not None and not table.is_folder:
            table = table.at(commit)  # the one that is written down, whatever comes meanwhile
        return hashes, read_hub(table, mapping)

    def _table(self) -> "HubTable":
        from groundwire.evaluation.workflow.hub import HubTable

        assert self.dataset is not None
        return HubTable(
            name=self.dataset,
            config=self.config,
            split=self.split,
            revision=self.dataset_revision,
            limit=self.limit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Generating:
    """How models are asked: the options of ``generate``."""

    models: tuple[str, ...]
    base_url: str | None
    api_key_env: str
    no_key: bool
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    system: str | None
    system_file: Path | None
    concurrency: int
    retries: int
    timeout_s: float
    cache: Path | None
    no_cache: bool
    retry_failed: bool

    def __post_init__(self) -> None:
        if self.cache is not None and self.no_cache:
            raise click.UsageError("--cache and --no-cache exclude each other: give one of them.")
        if self.system is not None and self.system_file is not None:
            raise click.UsageError("--system and --system-file exclude each other.")

    def address(self) -> "Address":
        """Where the models are."""
        from groundwire.evaluation.workflow.model import Address

        variable = None if self.no_key else self.api_key_env
        address = Address.of(self.base_url, os.environ, variable=variable)
        if address.is_plain:
            click.echo(
                "warning: --base-url is plain HTTP to another machine: questions and sources "
                "travel unencrypted.",
                err=True,
            )
        return address

    def prompting(self) -> "Prompting":
        """How they are asked."""
        from groundwire.evaluation.workflow.generate import SYSTEM, Prompting

        system = SYSTEM if self.system is None else self.system
        return Prompting(
            models=self.models,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            system=system if self.system_file is None else read_text(self.system_file),
        )

    def to(
        self, questions: Path, output: Path, prices: "Prices", *, force: bool, is_renewed: bool
    ) -> ExitStatus:
        """Ask what has no answer yet.

        Args:
            questions: What ``load`` wrote.
            output: The file of answers.
            prices: Of tokens.
            force: Whether what is there goes.
            is_renewed: Whether answers to other questions go.
        """
        from groundwire.evaluation.workflow import questions as loaded
        from groundwire.evaluation.workflow.generate import generate
        from groundwire.evaluation.workflow.kept import Kept
        from groundwire.evaluation.workflow.model import LanguageModel
        from groundwire.evaluation.workflow.stage import Stage, hash_of

        address, prompting = self.address(), self.prompting()
        stage = Stage(
            step="generate",
            data={questions.name: hash_of(questions)},
            settings=prompting.settings(address.base_url),
            command=_command(),
        )
        if is_renewed and not force:
            force = _is_renewed(
                output, stage, "What was asked before is kept, and not asked again."
            )
        n_wanted = _n_rows(questions, len(self.models), n_others=2)
        with ExitStack() as stack:
            kept = None
            if not self.no_cache:
                cache = self.cache or output.with_name("replies.sqlite")
                kept = stack.enter_context(Kept(cache))
            model = LanguageModel(address, timeout_s=self.timeout_s, max_retries=self.retries)
            stack.enter_context(model)
            tell = stack.enter_context(_told(n_wanted))
            done = generate(
                loaded.read(questions),
                model,
                prompting,
                output=output,
                stage=stage,
                kept=kept,
                concurrency=self.concurrency,
                replace=force,
                retry_failed=self.retry_failed,
                on_row=tell,
            )
        _tell_generated(done, prices)
        if done.n_failed == done.n:
            return ExitStatus.FAILED
        return ExitStatus.FLAGGED if done.n_failed else ExitStatus.PASSED


def detect(
    setup: Setup,
    choice: Choice,
    answers: Path,
    output: Path,
    columns: tuple[str, ...],
    *,
    force: bool,
    is_renewed: bool,
) -> ExitStatus:
    """Judge what has no verdict yet."""
    from groundwire.evaluation.datasets.lines import fingerprints
    from groundwire.evaluation.datasets.mapping import ColumnMapping
    from groundwire.evaluation.judged import Header, read_header
    from groundwire.evaluation.running import run as judge
    from groundwire.evaluation.workflow.answers import read_answers
    from groundwire.evaluation.workflow.stage import is_begun

    detector = setup.load(choice)
    header = Header(detector=detector.info, data=fingerprints(answers), command=_command())
    if is_renewed and not force and is_begun(output):
        before = read_header(output)
        is_other = before.detector != header.detector
        force = is_other or bool(other_data(before.data, header.data))
        if force:
            click.echo("verdicts: of other answers or another detector; made anew", err=True)
    rows = read_answers(answers, ColumnMapping.of(columns))
    with _told(_n_rows(answers, 1)) as tell:
        done = judge(detector, rows, output=output, header=header, replace=force, on_row=tell)
    click.echo(f"verdicts: {done.n_rows:,}, {done.n_new:,} of them new", err=True)
    return ExitStatus.PASSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifying:
    """What says how bad findings are: the options of ``classify``."""

    explainer: str | None
    explainer_revision: str | None
    keep_entailed: bool
    threads: int | None
    device: str

    def choice(self) -> ExplainerChoice:
        """Which explainer is meant."""
        return ExplainerChoice(
            model=self.explainer,
            revision=self.explainer_revision,
            drops_entailed=not self.keep_entailed,
            device=self.device if self.explainer else "cpu",
            threads=self.threads,
        )

    def to(
        self,
        setup: Setup,
        results: Path,
        answers: Path,
        output: Path,
        columns: tuple[str, ...],
        *,
        force: bool,
        is_renewed: bool,
    ) -> ExitStatus:
        """Classify what is not classified yet."""
        from groundwire.evaluation.datasets.mapping import ColumnMapping
        from groundwire.evaluation.judged import read_header
        from groundwire.evaluation.workflow.answers import read_answers
        from groundwire.evaluation.workflow.classify import classify, explainer_settings
        from groundwire.evaluation.workflow.stage import Stage, hash_of

        explainer = setup.load_explainer(self.choice())
        stage = Stage(
            step="classify",
            data={results.name: hash_of(results)},
            settings={
                "detector": read_header(results).detector.to_dict(),
                "explainer": explainer_settings(explainer, keeps_entailed=self.keep_entailed),
            },
            command=_command(),
        )
        if is_renewed and not force:
            force = _is_renewed(output, stage)
        rows = read_answers(answers, ColumnMapping.of(columns))
        with _told(_n_rows(results, 1)) as tell:
            n = classify(
                results,
                rows,
                explainer,
                output=output,
                stage=stage,
                replace=force,
                on_row=tell,
            )
        click.echo(f"classified: {n:,}", err=True)
        return ExitStatus.PASSED


def _of_the_same_data(output: Path, stage: "Stage") -> "Stage":
    """A stage of the data that a file was made of, for nobody can say what the newest is."""
    from groundwire.evaluation.workflow.stage import read_stage

    click.echo(
        "warning: the hub does not say which commit is the newest: what was loaded before is taken "
        "for it.",
        err=True,
    )
    return replace(stage, data=read_stage(output, stage.step).data)


def _is_renewed(output: Path, stage: "Stage", more: str = "") -> bool:
    from groundwire.evaluation.workflow.stage import change

    problem = change(output, stage)
    if problem:
        click.echo(f"{output.name}: {problem}; made anew. {more}".rstrip(), err=True)
    return bool(problem)


def _n_rows(path: Path, times: int, *, n_others: int = 1) -> Callable[[], int | None]:
    def count() -> int | None:
        n = count_lines(path) if path.is_file() else None
        return None if n is None else max(0, n - n_others) * times

    return count


@contextmanager
def _told(count: Callable[[], int | None]) -> Iterator[Callable[[int], None]]:
    n_new = 0
    with progress(count, is_interactive=sys.stderr.isatty()) as report:

        def tell(n_done: int) -> None:
            nonlocal n_new
            n_new += 1
            report(n_done, n_new)

        yield tell


def _tell_generated(done: "Generated", prices: "Prices") -> None:
    parts = [f"answers: {done.n:,}, {done.n_new:,} of them new"]
    parts += [f"{done.n_mended:,} in place of failures"] if done.n_mended else []
    parts += [f"{done.n_failed:,} without an answer"] if done.n_failed else []
    parts += [f"{done.n_cut:,} cut for their length"] if done.n_cut else []
    from groundwire.evaluation.workflow.table import shortened

    short = shortened(done.tokens)
    for model, (n_read, n_written) in done.tokens.items():
        cost = prices.cost(model, n_read, n_written)
        dollars = "" if cost is None else f", ${cost:.4f}"
        parts.append(f"{short[model]} {n_read:,} tokens in, {n_written:,} out{dollars}")
    click.echo("; ".join(parts), err=True)


def _command() -> str:
    return shlex.join(["groundwire", *sys.argv[1:]])
