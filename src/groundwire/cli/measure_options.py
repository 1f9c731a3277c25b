"""The options of ``groundwire measure generate``, and setups whose detectors have an explainer."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import NAME, FilePath, FiniteRange
from groundwire.cli.options import option
from groundwire.cli.progress import progress
from groundwire.cli.status import ExitStatus

if TYPE_CHECKING:
    from groundwire.evaluation.language_model import EndpointAddress
    from groundwire.evaluation.measure.generate import Generated
    from groundwire.evaluation.measure.questions import AnyQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The options that say where questions come from.

    Attributes:
        data: Questions with their sources: JSON Lines, CSV, TSV or Parquet, or a folder of them.
        columns: The column that holds a field, if the column has none of the field's usual names;
            can be repeated.
        limit: Limit on the number of questions, which are drawn at random, the same each time.
    """

    data: Path = option("--data", type=FilePath(exists=True, path_type=Path), required=True)
    columns: tuple[str, ...] = option("--column", "FIELD=COLUMN")
    limit: int | None = option("--limit", "N", click.IntRange(min=1))

    def read(self) -> "Iterator[AnyQuestion]":
        """Read the questions; with a limit, draw at most that many of them."""
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
        api_key_env: The environment variable that holds the key.
        no_key: Send no key.
        temperature: Sampling temperature.  [default: the endpoint's]
        max_tokens: Limit on the tokens of an answer.  [default: the endpoint's]
        seed: Seed of the sampling.  [default: the endpoint's]
        system: Text of the system message, which comes before the question.  [default: an
            instruction to answer from the sources alone]
        concurrency: Largest number of calls at a time.
        retries: How many times a call is made again if it fails, takes too long or gets the status
            429 or 5xx, with longer and longer pauses.
        timeout_s: Seconds that a call may take, from the connection to the last byte.
    """

    models: tuple[str, ...] = option("--model", "NAME", NAME, required=True)
    base_url: str | None = option("--base-url", "URL", NAME)
    api_key_env: str = option("--api-key-env", "NAME", NAME, default="OPENAI_API_KEY")
    no_key: bool = option("--no-key")
    temperature: float | None = option("--temperature", "X", FiniteRange(0, 10))
    max_tokens: int | None = option("--max-tokens", "N", click.IntRange(min=1))
    seed: int | None = option("--seed", "N", click.IntRange(0, 2**53 - 1))
    system: str | None = option("--system", "TEXT")
    concurrency: int = option("--concurrency", "N", click.IntRange(1, 256), default=8)
    retries: int = option("--retries", "N", click.IntRange(0, 20), default=5)
    timeout_s: float = option("--timeout", "S", FiniteRange(0, 3600, min_open=True), default=120.0)

    def address(self) -> "EndpointAddress":
        """Read the address and key of the endpoint; warn of plain HTTP to another machine."""
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

    def to(self, questions: Questions, output: Path) -> ExitStatus:
        """Ask for the answers that are missing, write the table of answers, and print counts.

        Returns:
            ``FAILED`` if no row has an answer, ``FLAGGED`` if some have none, else ``PASSED``.
        """
        from groundwire.evaluation.language_model import LanguageModel
        from groundwire.evaluation.measure.generate import SYSTEM, Prompting, generate

        prompting = Prompting(
            models=tuple(dict.fromkeys(self.models)),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            system=SYSTEM if self.system is None else self.system,
        )
        address = self.address()
        with (
            LanguageModel(address, timeout_s=self.timeout_s, max_retries=self.retries) as model,
            progress(lambda: None, is_interactive=sys.stderr.isatty()) as report,
        ):
            done = generate(
                questions.read(),
                model,
                prompting,
                output=output,
                concurrency=self.concurrency,
                on_row=report,
            )
        _tell_generated(done)
        if done.n_failed == done.n:
            return ExitStatus.FAILED
        return ExitStatus.FLAGGED if done.n_failed else ExitStatus.PASSED


def with_explainer(setup: Setup) -> Setup:
    """Return a setup that adds the explainer of ``setup`` to each detector that it loads."""
    from groundwire.evaluation.measure.explained import ExplainedDetector

    def load(choice: DetectorChoice) -> ExplainedDetector:
        detector = setup.load(choice)
        explainer = setup.load_explainer(threads=choice.threads)
        return ExplainedDetector(detector=detector, explainer=explainer)

    return replace(setup, load=load)


def _tell_generated(done: "Generated") -> None:
    parts = [f"answers: {done.n:,}, {done.n_asked:,} of them new"]
    if done.n_failed:
        parts.append(f"{done.n_failed:,} without one, the first for: {done.first_problem}")
    parts += [f"{done.n_cut:,} cut for their length"] if done.n_cut else []
    for model, (n_read, n_written) in done.tokens.items():
        parts.append(f"{model} {n_read:,} tokens in, {n_written:,} out")
    click.echo("; ".join(parts), err=True)
