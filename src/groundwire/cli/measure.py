"""``groundwire measure``: how often a language model hallucinates on questions of one's own."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundwire.cli.check import detector_options
from groundwire.cli.console import to_json
from groundwire.cli.detectors import Choice, ExplainerChoice, Setup
from groundwire.cli.inputs import READ_FILE, RESULT_FILE, FilePath, read_text, refuse_empty
from groundwire.cli.progress import count_lines, progress
from groundwire.cli.results import ResultsExistError, replacing
from groundwire.cli.status import ExitStatus

if TYPE_CHECKING:
    from groundwire.evaluation.workflow.aggregate import Prices
    from groundwire.evaluation.workflow.generate import Generated, Prompting
    from groundwire.evaluation.workflow.model import Address

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")
_N = TypeVar("_N", int, float)

_DATA = FilePath(exists=True, path_type=Path)

EPILOG = """\b
Examples:
  groundwire measure run --data questions.jsonl --model gpt-4o-mini --model gpt-4o --out measured
  groundwire measure run --data questions.csv --column question=q --column sources=passage \\
      --base-url http://localhost:8000/v1 --model my-model --out measured
  groundwire measure compare before/classified.jsonl after/classified.jsonl

\b
A question has sources (or context), perhaps an id, a task (or category) and a context_id. The key
is that of OPENAI_API_KEY. run does all steps in a folder, and goes on where it was cut short.

\b
Exit status of load, generate, aggregate and run:
  0  all rows were read, answered and judged
  1  some rows failed: they are told, and in no rate
  2  nothing was measured, or the command was wrong
"""


@click.group(epilog=EPILOG)
def measure() -> None:
    """Measure how often language models hallucinate on questions of your own."""


# Options that several commands have.


def _options(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    def decorated(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


_column = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Which column holds a field, if it has another name; can be repeated.",
)
_output = click.option(
    "--output", type=RESULT_FILE, required=True, metavar="FILE", help="What is written."
)
_force = click.option("--force", is_flag=True, help="Replace an --output that exists.")
_resume = click.option("--resume", is_flag=True, help="Continue an --output that was cut short.")
_json = click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")

load_options = _options(
    click.option(
        "--data",
        type=_DATA,
        metavar="FILE",
        help="Questions with their sources: JSON Lines, CSV, TSV or Parquet, or a folder of them.",
    ),
    click.option(
        "--dataset",
        callback=refuse_empty,
        metavar="NAME",
        help="A Hugging Face dataset in place of --data: TriviaQA (rc), Natural Questions, "
        "HotpotQA, SQuAD, or any with columns that --column names.",
    ),
    click.option("--config", callback=refuse_empty, metavar="NAME", help="Its configuration."),
    click.option("--split", default="validation", show_default=True, help="Its part."),
    click.option("--dataset-revision", callback=refuse_empty, metavar="COMMIT", help="Its commit."),
    _column,
    click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="So many questions, drawn at random, the same each time.",
    ),
)

price_options = _options(
    click.option(
        "--price-in",
        "prices_in",
        multiple=True,
        metavar="[MODEL=]X",
        help="Dollars for a million tokens that are read; can be repeated.",
    ),
    click.option(
        "--price-out",
        "prices_out",
        multiple=True,
        metavar="[MODEL=]X",
        help="Dollars for a million tokens that are written; can be repeated.",
    ),
)


def _number_or_none(
    kind: type[_N], low: float
) -> Callable[[click.Context, click.Parameter, str], _N | None]:
    """Reads a number, or ``none`` to leave it to the endpoint."""

    def read(ctx: click.Context, param: click.Parameter, value: str) -> _N | None:
        if value == "none":
            return None
        try:
            number = kind(value)
        except ValueError:
            number = None
        if number is None or not low <= number < 2**53:
            raise click.BadParameter(f"{value!r} is no number from {low:g}, or none.", ctx, param)
        return number

    return read


generate_options = _options(
    click.option(
        "--model",
        "models",
        multiple=True,
        required=True,
        callback=lambda ctx, param, values: tuple(
            refuse_empty(ctx, param, each) for each in dict.fromkeys(values)
        ),
        metavar="NAME",
        help="The model that is asked, as the endpoint calls it; can be repeated.",
    ),
    click.option(
        "--base-url",
        callback=refuse_empty,
        metavar="URL",
        help="An endpoint that speaks chat completions.  [default: $OPENAI_BASE_URL or OpenAI's]",
    ),
    click.option(
        "--api-key-env",
        default="OPENAI_API_KEY",
        show_default=True,
        callback=refuse_empty,
        metavar="NAME",
        help="The variable of the environment that holds the key.",
    ),
    click.option("--no-key", is_flag=True, help="Send no key."),
    click.option(
        "--temperature",
        callback=_number_or_none(float, 0),
        default="0",
        show_default=True,
        metavar="X|none",
    ),
    click.option(
        "--max-tokens",
        callback=_number_or_none(int, 1),
        default="1024",
        show_default=True,
        metavar="N|none",
    ),
    click.option(
        "--seed",
        callback=_number_or_none(int, 0),
        default="none",
        show_default=True,
        metavar="N|none",
    ),
    click.option("--system", metavar="TEXT", help="What the model is told before the question."),
    click.option("--system-file", type=READ_FILE, metavar="FILE", help="The same from a file."),
    click.option(
        "--concurrency",
        type=click.IntRange(1, 256),
        default=8,
        show_default=True,
        metavar="N",
        help="Calls at a time.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(0, 20),
        default=5,
        show_default=True,
        metavar="N",
        help="How often a call is made again after 429, 5xx or a connection that fails, with "
        "longer and longer pauses.",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(0, 3600, min_open=True),
        default=120.0,
        show_default=True,
        metavar="S",
        help="Seconds that a call may take.",
    ),
    click.option(
        "--cache",
        type=RESULT_FILE,
        metavar="FILE",
        help="Where replies are kept, so that no call is made twice.  [default: replies.sqlite "
        "beside the answers]",
    ),
    click.option("--no-cache", is_flag=True, help="Keep no replies."),
    click.option(
        "--retry-failed", is_flag=True, help="Ask again what has no answer from an earlier run."
    ),
)

classify_options = _options(
    click.option(
        "--explainer",
        callback=refuse_empty,
        metavar="NAME_OR_PATH",
        help="What says how bad a finding is: a folder, or the id of an NLI model on the hub.  "
        "[default: the embedded sentence head]",
    ),
    click.option(
        "--explainer-revision",
        callback=refuse_empty,
        metavar="COMMIT",
        help="The commit of that model.",
    ),
    click.option(
        "--keep-entailed", is_flag=True, help="Drop nothing that follows from the evidence."
    ),
)


# What the options of a step come to.


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
        from groundwire.evaluation.datasets.files import fingerprints, read_questions
        from groundwire.evaluation.datasets.mapping import ColumnMapping
        from groundwire.evaluation.workflow.hub import HubTable, read_hub
        from groundwire.evaluation.workflow.questions import drawn, is_whole, load
        from groundwire.evaluation.workflow.stage import Stage, change, is_begun

        mapping = ColumnMapping.of(self.columns)
        settings: dict[str, Any] = {"columns": sorted(self.columns), "limit": self.limit}
        if self.data is not None:
            hashes = fingerprints(self.data)
            rows = drawn(read_questions(self.data, mapping), self.limit)
        else:
            assert self.dataset is not None
            table = HubTable(
                name=self.dataset,
                config=self.config,
                split=self.split,
                revision=self.dataset_revision,
                limit=self.limit,
            )
            hashes, rows = {}, read_hub(table, mapping)
            settings["dataset"] = table.settings
        stage = Stage(step="load", data=hashes, settings=settings, command=_command())
        if is_kept and is_begun(output) and is_whole(output) and not change(output, stage):
            return ExitStatus.PASSED
        done = load(rows, output, stage)
        more = f", {done.n_failed:,} of them cannot be read: {done.first_problem}"
        click.echo(f"questions: {done.n:,}{more if done.n_failed else ''}", err=True)
        if done.n_failed == done.n:
            return ExitStatus.FAILED
        return ExitStatus.FLAGGED if done.n_failed else ExitStatus.PASSED


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


def _detect(
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
    from groundwire.evaluation.datasets.files import fingerprints
    from groundwire.evaluation.datasets.mapping import ColumnMapping
    from groundwire.evaluation.judged import Header, read_header
    from groundwire.evaluation.running import run as judge
    from groundwire.evaluation.workflow.answers import read_answers
    from groundwire.evaluation.workflow.stage import is_begun

    detector = setup.load(choice)
    header = Header(detector=detector.info, data=fingerprints(answers), command=_command())
    if is_renewed and not force and is_begun(output):
        before = read_header(output)
        force = (before.detector, before.data) != (header.detector, header.data)
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
        from groundwire.evaluation.workflow.classify import classify
        from groundwire.evaluation.workflow.stage import Stage, hash_of

        explainer = {
            "name": self.explainer or "reader",
            "revision": self.explainer_revision,
            "keeps_entailed": self.keep_entailed,
        }
        stage = Stage(
            step="classify",
            data={results.name: hash_of(results)},
            settings={
                "detector": read_header(results).detector.to_dict(),
                "explainer": explainer,
            },
            command=_command(),
        )
        if is_renewed and not force:
            force = _is_renewed(output, stage)
        choice = ExplainerChoice(
            model=self.explainer,
            revision=self.explainer_revision,
            drops_entailed=not self.keep_entailed,
            device=self.device if self.explainer else "cpu",
            threads=self.threads,
        )
        rows = read_answers(answers, ColumnMapping.of(columns))
        with _told(_n_rows(results, 1)) as tell:
            n = classify(
                results,
                rows,
                setup.load_explainer(choice),
                output=output,
                stage=stage,
                replace=force,
                on_row=tell,
            )
        click.echo(f"classified: {n:,}", err=True)
        return ExitStatus.PASSED


# The commands.


@measure.command("load")
@load_options
@_output
@_force
@click.pass_context
def load_command(ctx: click.Context, /, *, output: Path, force: bool, **load: Any) -> None:  # noqa: ANN401
    """Read questions with their sources, from a table or a hub."""
    _require_free(output, resume=False, force=force)
    _require_apart(output, data=load["data"])
    ctx.exit(Loading(**load).to(output, is_kept=False))


@measure.command("generate")
@click.option("--questions", type=READ_FILE, required=True, metavar="FILE", help="What load wrote.")
@generate_options
@price_options
@_output
@_resume
@_force
@click.pass_context
def generate_command(
    ctx: click.Context,
    /,
    *,
    questions: Path,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    output: Path,
    resume: bool,
    force: bool,
    **generate: Any,  # noqa: ANN401
) -> None:
    """Ask one or several language models, at any endpoint that speaks chat completions.

    Answers are written in the order of the questions, those without one with their error. Keys are
    read from the environment and go nowhere but to the endpoint.
    """
    options = Generating(**generate)
    _require_free(output, resume=resume or options.retry_failed, force=force)
    _require_apart(output, questions=questions)
    prices = _prices(prices_in, prices_out)
    ctx.exit(options.to(questions, output, prices, force=force, is_renewed=False))


@measure.command("detect")
@click.option(
    "--answers",
    type=_DATA,
    required=True,
    metavar="FILE",
    help="What generate wrote, or a table of answers that are there already, with their sources.",
)
@_column
@_output
@_resume
@_force
@detector_options
@click.pass_context
def detect_command(
    ctx: click.Context,
    /,
    *,
    answers: Path,
    columns: tuple[str, ...],
    output: Path,
    resume: bool,
    force: bool,
    **choice: Any,  # noqa: ANN401
) -> None:
    """Judge answers; the file is one that groundwire report reads, too."""
    _require_free(output, resume=resume, force=force)
    _require_apart(output, answers=answers)
    setup = ctx.ensure_object(Setup)
    _detect(setup, Choice(**choice), answers, output, columns, force=force, is_renewed=False)


@measure.command("classify")
@click.option("--results", type=READ_FILE, required=True, metavar="FILE", help="What detect wrote.")
@click.option(
    "--answers", type=_DATA, required=True, metavar="FILE", help="The answers that it judged."
)
@_column
@classify_options
@_output
@_resume
@_force
@click.option("--threads", type=click.IntRange(1, 256), metavar="N", help="CPU threads to use.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda:N.")
@click.pass_context
def classify_command(
    ctx: click.Context,
    /,
    *,
    results: Path,
    answers: Path,
    columns: tuple[str, ...],
    output: Path,
    resume: bool,
    force: bool,
    **classify: Any,  # noqa: ANN401
) -> None:
    """Say how bad each finding is: label, category and severity, from 0 to 4."""
    _require_free(output, resume=resume, force=force)
    _require_apart(output, results=results, answers=answers)
    setup = ctx.ensure_object(Setup)
    Classifying(**classify).to(
        setup, results, answers, output, columns, force=force, is_renewed=False
    )


@measure.command("aggregate")
@click.argument("classified", type=READ_FILE)
@click.option("--by", metavar="COLUMN", help="Tell the values of this column apart as well.")
@price_options
@_json
@click.option("--markdown", type=RESULT_FILE, metavar="FILE", help="Write the table as Markdown.")
@click.pass_context
def aggregate_command(
    ctx: click.Context,
    /,
    *,
    classified: Path,
    by: str | None,
    prices_in: tuple[str, ...],
    prices_out: tuple[str, ...],
    as_json: bool,
    markdown: Path | None,
) -> None:
    """Count: rates with intervals, contradictions, severities, by model and category."""
    if markdown is not None:
        _require_apart(markdown, classified=classified)
    from groundwire.evaluation.workflow.aggregate import aggregate
    from groundwire.evaluation.workflow.table import to_markdown

    found = aggregate(classified, by=by, prices=_prices(prices_in, prices_out))
    if markdown is not None:
        with replacing(markdown) as stream:
            stream.write(to_markdown(found))
    _show(found, as_json=as_json)
    ctx.exit(_status(found))


@measure.command("compare")
@click.argument("files", nargs=-1, required=True, type=READ_FILE)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="The two models, first and second, where a file has several.",
)
@_json
def compare_command(*, files: tuple[Path, ...], models: tuple[str, ...], as_json: bool) -> None:
    """Compare two models on the same questions: the difference, and whether it is chance.

    FILES is one file that classify wrote, with both models, or two, the first and the second.
    """
    if len(files) > 2:
        raise click.UsageError("Give one file with two models, or two files.")
    if len(models) not in (0, 2):
        raise click.UsageError("Name both models with --model, or none.")
    from groundwire.evaluation.workflow.compare import compare
    from groundwire.evaluation.workflow.table import compared_to_text

    first, second = models or (None, None)
    found = compare(files[0], files[-1], first=first, second=second).to_dict()
    click.echo(to_json(found, indent=2) if as_json else compared_to_text(found))


@measure.command("run")
@load_options
@generate_options
@price_options
@detector_options
@classify_options
@click.option("--by", metavar="COLUMN", help="Tell the values of this column apart as well.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Where all files go; what is there and still holds is not made again.",
)
@_json
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
    **options: Any,  # noqa: ANN401
) -> None:
    """Do all steps in a folder: from questions to a report.

    Cut short, the same command goes on. A step whose input or options changed is made anew; what a
    model has answered before is kept, and not paid for again.
    """
    loading, generating = _of(Loading, options), _of(Generating, options)
    choice, classifying = _of(Choice, options), _of(Classifying, options)
    if loading.data is not None and loading.data.resolve() == out.resolve():
        raise click.UsageError("--out is the folder of --data: name one elsewhere.")
    prices, setup = _prices(prices_in, prices_out), ctx.ensure_object(Setup)
    generating.address()  # what cannot work is refused before anything is written
    out.mkdir(parents=True, exist_ok=True)
    questions, answers = out / "questions.jsonl", out / "answers.jsonl"
    results, classified = out / "results.jsonl", out / "classified.jsonl"
    loading.to(questions, is_kept=True)
    generating.to(questions, answers, prices, force=False, is_renewed=True)
    _detect(setup, choice, answers, results, (), force=False, is_renewed=True)
    classifying.to(setup, results, answers, classified, (), force=False, is_renewed=True)
    from groundwire.evaluation.workflow.aggregate import aggregate
    from groundwire.evaluation.workflow.table import to_markdown

    found = aggregate(classified, by=by, prices=prices)
    for name, text in (
        ("report.json", to_json(found, indent=2) + "\n"),
        ("report.md", to_markdown(found)),
    ):
        with replacing(out / name) as stream:
            stream.write(text)
    _show(found, as_json=as_json)
    ctx.exit(_status(found))


# Parts.


def _of(kind: type[_T], options: Mapping[str, Any]) -> _T:
    """The options of a step among those of all; what is no option keeps its default."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined] # each is a dataclass
    return kind(**{name: options[name] for name in names if name in options})


def _require_free(output: Path, *, resume: bool, force: bool) -> None:
    if resume and force:
        raise click.UsageError("--resume continues the output and --force replaces it: choose.")
    if output.exists() and not resume and not force:
        raise ResultsExistError(output)


def _require_apart(output: Path, **inputs: Path | None) -> None:
    """An output is no input, and not among the files of one."""
    for name, path in inputs.items():
        if path is not None and output.resolve() in (path.resolve(), path.resolve() / output.name):
            raise click.UsageError(f"--output is --{name}, or in its folder: name another.")


def _is_renewed(output: Path, stage: Any, more: str = "") -> bool:  # noqa: ANN401
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
    parts += [f"{done.n_failed:,} without an answer"] if done.n_failed else []
    parts += [f"{done.n_cut:,} cut for their length"] if done.n_cut else []
    for model, (n_read, n_written) in done.tokens.items():
        cost = prices.cost(model, n_read, n_written)
        dollars = "" if cost is None else f", ${cost:.4f}"
        parts.append(f"{model[:40]} {n_read:,} tokens in, {n_written:,} out{dollars}")
    from groundwire.render.screen import one_line

    click.echo("; ".join(map(one_line, parts)), err=True)


def _prices(read: tuple[str, ...], written: tuple[str, ...]) -> "Prices":
    from groundwire.evaluation.workflow.aggregate import Prices

    return Prices.of(read, written)


def _show(found: Mapping[str, Any], *, as_json: bool) -> None:
    from groundwire.evaluation.workflow.table import to_text

    click.echo(to_json(found, indent=2) if as_json else to_text(found))


def _status(found: Mapping[str, Any]) -> ExitStatus:
    if not found["n_verdicts"]:
        return ExitStatus.FAILED
    outcomes = found["outcomes"]
    is_whole = not outcomes["failed"] and not outcomes["unavailable"]
    return ExitStatus.PASSED if is_whole else ExitStatus.FLAGGED


def _command() -> str:
    return shlex.join(["groundwire", *sys.argv[1:]])
