"""``groundwire measure``: how often a language model hallucinates on questions of one's own."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundwire.cli.check import detector_options
from groundwire.cli.data_options import DataOptions
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import READ_RESULTS, RESULT_FILE, read_text
from groundwire.cli.labelled import Labelled, judged_file, labelled_options
from groundwire.cli.measure_options import (
    by_option,
    explainer_options,
    generate_options,
    json_option,
    price_options,
    question_options,
)
from groundwire.cli.progress import progress
from groundwire.cli.results import ResultsExistError
from groundwire.cli.status import ExitStatus
from groundwire.evaluation.loading import DetectorChoice, ExplainerChoice
from groundwire.text.files.writing import replacing, to_json

if TYPE_CHECKING:
    from groundwire.evaluation.language_model import EndpointAddress
    from groundwire.evaluation.measure.generate import Generated, Prompting
    from groundwire.evaluation.measure.questions import AnyQuestion
    from groundwire.evaluation.measure.rates import Prices

_T = TypeVar("_T")

EPILOG = """\b
Examples:
  groundwire measure run --data questions.jsonl --model gpt-4o-mini --model gpt-4o --out measured
  groundwire measure run --data questions.csv --column question=q --column sources=passage \\
      --base-url http://localhost:8000/v1 --model my-model --out measured
  groundwire measure compare before/results.jsonl after/results.jsonl

\b
A question has sources (or context), perhaps an id, a task (or category) and a context_id. The key
is that of OPENAI_API_KEY. run does both steps in a folder: generate, then evaluate. The same
command goes on where it was interrupted: what a model has answered is not asked again.

\b
Exit status of generate, evaluate and run:
  0  all rows were read, answered and judged
  1  some rows failed: they are told, and in no rate
  2  nothing was measured, or the command was wrong
"""


@click.group(epilog=EPILOG)
def measure() -> None:
    """Measure how often language models hallucinate on questions of your own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The options that say where questions come from."""

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

    def read(self) -> "Iterator[AnyQuestion]":
        """Read them from the first."""
        from groundwire.evaluation.datasets.files import read_questions
        from groundwire.evaluation.datasets.mapping import ColumnMapping
        from groundwire.evaluation.measure.hub import HubTable, read_hub
        from groundwire.evaluation.measure.questions import drawn

        mapping = ColumnMapping.of(self.columns)
        if self.data is not None:
            return drawn(read_questions(self.data, mapping), self.limit)
        assert self.dataset is not None
        table = HubTable(
            name=self.dataset,
            config=self.config,
            split=self.split,
            revision=self.dataset_revision,
            limit=self.limit,
        )
        return read_hub(table, mapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generating:
    """The options that say how models are asked."""

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

    def __post_init__(self) -> None:
        if self.system is not None and self.system_file is not None:
            raise click.UsageError("--system and --system-file exclude each other.")

    def address(self) -> "EndpointAddress":
        """Read where the models are."""
        from groundwire.evaluation.language_model import EndpointAddress

        variable = None if self.no_key else self.api_key_env
        address = EndpointAddress.of(self.base_url, os.environ, variable=variable)
        if address.is_plain:
            click.echo(
                "warning: --base-url is plain HTTP to another machine: questions and sources "
                "travel unencrypted.",
                err=True,
            )
        return address

    def prompting(self) -> "Prompting":
        """Read how they are asked."""
        from groundwire.evaluation.measure.generate import SYSTEM, Prompting

        system = SYSTEM if self.system is None else self.system
        return Prompting(
            models=self.models,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            system=system if self.system_file is None else read_text(self.system_file),
        )

    def to(self, questions: Questions, output: Path, prices: "Prices") -> ExitStatus:
        """Ask what has no answer yet, and write the table of answers."""
        from groundwire.evaluation.measure.generate import generate

        prompting, address = self.prompting(), self.address()
        with self._model(address) as model, _told() as tell:
            done = generate(
                questions.read(),
                model,
                prompting,
                output=output,
                concurrency=self.concurrency,
                on_row=tell,
            )
        _tell_generated(done, prices)
        if done.n_failed == done.n:
            return ExitStatus.FAILED
        return ExitStatus.FLAGGED if done.n_failed else ExitStatus.PASSED

    def _model(self, address: "EndpointAddress") -> Any:  # noqa: ANN401  # it is imported when it is needed
        from groundwire.evaluation.language_model import LanguageModel

        return LanguageModel(address, timeout_s=self.timeout_s, max_retries=self.retries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explaining:
    """The options of the explainer."""

    explainer: str | None
    explainer_revision: str | None
    keep_entailed: bool

    def setup(self, setup: Setup, choice: DetectorChoice) -> Setup:
        """Make what loads detectors load them with the explainer."""
        from groundwire.evaluation.measure.explained import LoadExplained

        wanted = ExplainerChoice(
            model=self.explainer,
            revision=self.explainer_revision,
            drops_entailed=not self.keep_entailed,
            device=choice.device if self.explainer else "cpu",
            threads=choice.threads,
        )
        load = LoadExplained(
            load=setup.load,
            load_explainer=partial(setup.load_explainer, wanted),
            keeps_entailed=self.keep_entailed,
        )
        return replace(setup, load=load)


@measure.command("generate")
@question_options
@generate_options
@price_options
@click.option(
    "--output",
    type=RESULT_FILE,
    required=True,
    metavar="FILE",
    help="The table of answers, as JSON Lines. Replies are kept beside it as they come, in a file "
    "that ends in .replies: the same command asks only what has no answer.",
)
@click.option("--force", is_flag=True, help="Replace an --output that this command did not write.")
@click.pass_context
def generate_command(
    ctx: click.Context,
    /,
    *,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    output: Path,
    force: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Ask one or several language models, at any endpoint that speaks chat completions.

    Answers are written in the order of the questions, those without one with their error. Keys are
    read from the environment and go nowhere but to the endpoint.
    """
    from groundwire.evaluation.measure.generate import replies_path

    questions, generating = _of(Questions, options), _of(Generating, options)
    _require_apart(output, questions.data)
    if output.suffix not in (".jsonl", ".ndjson", ".json"):
        raise click.UsageError("--output is JSON Lines: give it a name that ends in .jsonl.")
    if output.exists() and not replies_path(output).exists() and not force:
        raise ResultsExistError(output)
    ctx.exit(generating.to(questions, output, _prices(prices_in, prices_out)))


@measure.command("evaluate")
@labelled_options
@detector_options
@explainer_options
@by_option
@price_options
@json_option
@click.option("--markdown", type=RESULT_FILE, metavar="FILE", help="Write the table as Markdown.")
@click.pass_context
def evaluate_command(
    ctx: click.Context,
    /,
    *,
    labelled: Labelled,
    choice: DetectorChoice,
    by: str | None,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    as_json: bool,
    markdown: Path | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Judge answers and count: rates with intervals, severities, by model and category.

    --data is what generate wrote, or any table of answers with their sources; a column model tells
    models apart. What --output keeps is read by groundwire report, too.
    """
    from groundwire.evaluation.measure.rates import rates

    prices = _prices(prices_in, prices_out)
    if markdown is not None:
        _require_apart(markdown, labelled.data, labelled.results)
    setup = _of(Explaining, options).setup(ctx.ensure_object(Setup), choice)
    with judged_file(ctx, choice, labelled, setup) as path:
        found = rates(path, by=by, prices=prices)
    if markdown is not None:
        _write_markdown(markdown, found)
    _show(found, as_json=as_json)
    ctx.exit(_status(found))


@measure.command("compare")
@click.argument("files", nargs=-1, required=True, type=READ_RESULTS)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="The two models, first and second, where a file has several.",
)
@json_option
def compare_command(*, files: tuple[Path, ...], models: tuple[str, ...], as_json: bool) -> None:
    """Compare two models on the same questions: the difference, and whether it is chance.

    FILES is one --output of evaluate, with both models, or two, the first and the second.
    """
    if len(files) > 2:
        raise click.UsageError("Give one file with two models, or two files.")
    if len(models) not in (0, 2):
        raise click.UsageError("Name both models with --model, or none.")
    from groundwire.evaluation.measure.compare import compare
    from groundwire.evaluation.measure.table import compared_to_text

    first, second = models or (None, None)
    found = compare(files[0], files[-1], first=first, second=second)
    click.echo(to_json(found, indent=2) if as_json else compared_to_text(found))


@measure.command("run")
@question_options
@generate_options
@price_options
@detector_options
@explainer_options
@by_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Where all files go.",
)
@json_option
@click.pass_context
def run_command(
    ctx: click.Context,
    /,
    *,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    by: str | None,
    out: Path,
    as_json: bool,
    choice: DetectorChoice,
    **options: Any,  # noqa: ANN401
) -> None:
    """Generate answers and evaluate them in a folder: from questions to a report.

    What a model has answered is not asked again; all answers are judged anew.
    """
    questions, generating = _of(Questions, options), _of(Generating, options)
    prices = _prices(prices_in, prices_out)
    answers, results = out / "answers.jsonl", out / "results.jsonl"
    _require_apart(answers, questions.data)
    out.mkdir(parents=True, exist_ok=True)
    if generating.to(questions, answers, prices) is ExitStatus.FAILED:
        ctx.exit(ExitStatus.FAILED)
    setup = _of(Explaining, options).setup(ctx.ensure_object(Setup), choice)
    _judge(ctx, choice, setup, answers, results)
    from groundwire.evaluation.measure.rates import rates

    found = rates(results, by=by, prices=prices)
    with replacing(out / "report.json") as stream:
        stream.write(to_json(found, indent=2) + "\n")
    _write_markdown(out / "report.md", found)
    _show(found, as_json=as_json)
    ctx.exit(_status(found))


def _judge(
    ctx: click.Context, choice: DetectorChoice, setup: Setup, answers: Path, results: Path
) -> None:
    """Judge all answers; results of an earlier run are replaced."""
    rows = DataOptions(
        columns=(),
        label_means="hallucinated",
        format="table",
        tasks=(),
        limit=None,
        engine="local",
        workers=None,
    )
    labelled = Labelled(
        data=answers,
        results=None,
        rows=rows,
        output=results,
        resume=False,
        retry_failed=False,
        force=True,
    )
    with judged_file(ctx, choice, labelled, setup):
        return


def _of(kind: type[_T], options: Mapping[str, Any]) -> _T:
    """Make the options of one kind of those of a command."""
    return kind(**{each.name: options[each.name] for each in fields(kind)})  # type: ignore[arg-type] # each is a dataclass


def _require_apart(output: Path, *inputs: Path | None) -> None:
    """Refuse an output that is an input, or among the files of one."""
    for path in inputs:
        if path is not None and output.resolve() in (path.resolve(), path.resolve() / output.name):
            raise click.UsageError("The output is an input, or in its folder: name another.")


def _prices(read: tuple[str, ...], written: tuple[str, ...]) -> "Prices":
    from groundwire.evaluation.measure.rates import Prices

    return Prices.of(read, written)


def _write_markdown(path: Path, found: Mapping[str, Any]) -> None:
    from groundwire.evaluation.measure.table import to_markdown

    with replacing(path) as stream:
        stream.write(to_markdown(found))


def _show(found: Mapping[str, Any], *, as_json: bool) -> None:
    from groundwire.evaluation.measure.table import to_text

    click.echo(to_json(found, indent=2) if as_json else to_text(found))


def _status(found: Mapping[str, Any]) -> ExitStatus:
    if not found["n_verdicts"]:
        return ExitStatus.FAILED
    outcomes = found["outcomes"]
    is_whole = not outcomes["failed"] and not outcomes["unavailable"]
    return ExitStatus.PASSED if is_whole else ExitStatus.FLAGGED


@contextmanager
def _told() -> Iterator[Callable[[int], None]]:
    with progress(lambda: None, is_interactive=sys.stderr.isatty()) as report:
        yield lambda n: report(n, n)


def _tell_generated(done: "Generated", prices: "Prices") -> None:
    parts = [f"answers: {done.n:,}, {done.n_asked:,} of them new"]
    if done.n_failed:
        parts.append(f"{done.n_failed:,} without one, the first for: {done.first_problem}")
    parts += [f"{done.n_cut:,} cut for their length"] if done.n_cut else []
    for model, (n_read, n_written) in done.tokens.items():
        cost = prices.cost(model, n_read, n_written)
        dollars = "" if cost is None else f", ${cost:.4f}"
        parts.append(f"{model} {n_read:,} tokens in, {n_written:,} out{dollars}")
    click.echo("; ".join(parts), err=True)
