"""Options of ``groundwire measure`` that several of its commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from groundwire.cli.inputs import READ_FILE, FilePath, FiniteRange, refuse_empty

_F = TypeVar("_F", bound=Callable[..., Any])
_N = TypeVar("_N", int, float)

DATA = FilePath(exists=True, path_type=Path)


def _options(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    def decorated(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


column_option = click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Which column holds a field, if it has another name; can be repeated.",
)
by_option = click.option(
    "--by",
    metavar="COLUMN",
    help="Tell the values of this column of the data apart as well.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")

question_options = _options(
    click.option(
        "--data",
        type=DATA,
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
    column_option,
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
        help="How often a call is made again after 429, 5xx, or if it fails or takes too long, "
        "with longer and longer pauses.",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        type=FiniteRange(0, 3600, min_open=True),
        default=120.0,
        show_default=True,
        metavar="S",
        help="Seconds that a call may take, from the connection to the last byte.",
    ),
)

explainer_options = _options(
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
