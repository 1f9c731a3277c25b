"""The options that several commands of ``groundwire measure`` share."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import NAME, READ_FILE, FilePath, FiniteRange, read_text
from groundwire.cli.options import option
from groundwire.cli.progress import progress
from groundwire.cli.status import ExitStatus
from groundwire.evaluation.loading import DetectorChoice

if TYPE_CHECKING:
    from groundwire.evaluation.language_model import EndpointAddress
    from groundwire.evaluation.measure.generate import Generated, Prompting
    from groundwire.evaluation.measure.questions import AnyQuestion
    from groundwire.evaluation.measure.rates import Prices


class OrNone(click.ParamType):  # type: ignore[type-arg] # not generic in older versions of click
    """Click type of a number with a lower limit, or of ``none`` for the endpoint's default."""

    name = "number"

    def __init__(self, kind: type[float], low: float) -> None:
        self._kind, self._low = kind, low

    def convert(  # noqa: D102  # as click declares it
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        if value == "none":
            return None
        try:
            number = self._kind(value)
        except ValueError:
            number = None
        if number is None or not self._low <= number < 2**53:
            self.fail(f"{value!r} is no number from {self._low:g}, or none.", param, ctx)
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceOptions:
    """The options that say what tokens cost.

    Attributes:
        prices_in: Dollars for a million tokens that are read; can be repeated.
        prices_out: Dollars for a million tokens that are written; can be repeated.
    """

    prices_in: tuple[str, ...] = option("--price-in", "[MODEL=]X")
    prices_out: tuple[str, ...] = option("--price-out", "[MODEL=]X")

    def read(self) -> "Prices":
        """Read the prices of each model."""
        from groundwire.evaluation.measure.rates import Prices

        return Prices.of(self.prices_in, self.prices_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The options that say where questions come from.

    Attributes:
        data: Questions with their sources: JSON Lines, CSV, TSV or Parquet, or a folder of them.
        columns: The column that holds a field, if it has another name; can be repeated.
        limit: Number of questions, drawn at random, the same each time.
    """

    data: Path = option("--data", type=FilePath(exists=True, path_type=Path), required=True)
    columns: tuple[str, ...] = option("--column", "FIELD=COLUMN")
    limit: int | None = option("--limit", "N", click.IntRange(min=1))

    def read(self) -> "Iterator[AnyQuestion]":
        """Read the questions, from the first one on."""
        from groundwire.evaluation.datasets.files import read_questions
        from groundwire.evaluation.datasets.mapping import ColumnMapping
        from groundwire.evaluation.measure.questions import drawn

        return drawn(read_questions(self.data, ColumnMapping.of(self.columns)), self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generating:
    """The options that say how models are asked.

    Attributes:
        models: The model that is asked, as the endpoint calls it; can be repeated.
        base_url: An endpoint that speaks chat completions.  [default: $OPENAI_BASE_URL or OpenAI's]
        api_key_env: The variable of the environment that holds the key.
        no_key: Send no key.
        system: Text of the system message, which comes before the question.
        system_file: A file with the text of the system message.
        concurrency: Most calls at a time.
        retries: How often a call is made again after 429, 5xx, or if it fails or takes too long,
            with longer and longer pauses.
        timeout_s: Seconds that a call may take, from the connection to the last byte.
    """

    models: tuple[str, ...] = option("--model", "NAME", NAME, required=True)
    base_url: str | None = option("--base-url", "URL", NAME)
    api_key_env: str = option("--api-key-env", "NAME", NAME, default="OPENAI_API_KEY")
    no_key: bool = option("--no-key")
    temperature: float | None = option("--temperature", "X|none", OrNone(float, 0), default="0")
    max_tokens: int | None = option("--max-tokens", "N|none", OrNone(int, 1), default="1024")
    seed: int | None = option("--seed", "N|none", OrNone(int, 0), default="none")
    system: str | None = option("--system", "TEXT")
    system_file: Path | None = option("--system-file", type=READ_FILE)
    concurrency: int = option("--concurrency", "N", click.IntRange(1, 256), default=8)
    retries: int = option("--retries", "N", click.IntRange(0, 20), default=5)
    timeout_s: float = option("--timeout", "S", FiniteRange(0, 3600, min_open=True), default=120.0)

    def __post_init__(self) -> None:
        if self.system is not None and self.system_file is not None:
            raise click.UsageError("--system and --system-file exclude each other.")

    def address(self) -> "EndpointAddress":
        """Read the address and key of the endpoint; warn if it is plain HTTP to another machine."""
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
        """Read the models to ask, and the parameters of their calls."""
        from groundwire.evaluation.measure.generate import SYSTEM, Prompting

        system = SYSTEM if self.system is None else self.system
        return Prompting(
            models=tuple(dict.fromkeys(self.models)),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            system=system if self.system_file is None else read_text(self.system_file),
        )

    def to(self, questions: Questions, output: Path, prices: "Prices") -> ExitStatus:
        """Ask for the answers that are missing, and write the table of answers."""
        from groundwire.evaluation.language_model import LanguageModel
        from groundwire.evaluation.measure.generate import generate

        prompting, address = self.prompting(), self.address()
        with (
            LanguageModel(address, timeout_s=self.timeout_s, max_retries=self.retries) as model,
            _told() as tell,
        ):
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


def with_explainer(setup: Setup, choice: DetectorChoice) -> Setup:
    """Return loaders whose detectors are combined with the embedded explainer."""
    from groundwire.evaluation.measure.explained import load_explained

    load_explainer = partial(setup.load_explainer, threads=choice.threads)
    return replace(setup, load=partial(load_explained, setup.load, load_explainer))


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
