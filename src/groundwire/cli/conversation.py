"""``groundwire check --conversation``: a request and its response, through all stages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli.config import read_config
from groundwire.cli.console import ColorChoice, wants_color
from groundwire.cli.detectors import Setup
from groundwire.cli.inputs import read_text, refuse_shared_stdin
from groundwire.cli.status import exit_status
from groundwire.detection.values import FrozenMapping, Outcome
from groundwire.errors import InputError
from groundwire.evaluation.loading import DetectorChoice
from groundwire.text.files.reading import STDIN
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.config import Config, SettingOrigin
    from groundwire.pipeline import CheckedResponse


class NotJsonError(InputError):
    """A file that should be JSON is none."""

    def __init__(self, name: str, problem: str, wanted: str) -> None:
        super().__init__(name, problem, wanted)
        self.name, self.problem, self.wanted = name, problem, wanted

    def __str__(self) -> str:
        return f"{self.name} is no JSON: {self.problem}. It should hold {self.wanted}."


class NoAnswerError(InputError):
    """A check was due, and there was nothing to check."""

    def __str__(self) -> str:
        return (
            "A check was due, and the response has no answer text, so nothing was checked. Give "
            "the text that the model wrote, as the content of its message."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """What the stages are loaded from: a configuration, and options that win over it.

    Attributes:
        choice: What the options say.
        given: Names of the parameters that were given: defaults win over nothing.
        config: The file; ``None``: defaults, and what the environment sets.
    """

    choice: DetectorChoice
    given: frozenset[str]
    config: Path | None

    def read(self, ctx: click.Context) -> "Config":
        """The configuration in effect; one that cannot be used ends the command."""
        config = read_config(ctx, self.config)
        values: dict[str, Any] = {
            path: getattr(self.choice, name)
            for name, path in _SETTINGS.items()
            if name in self.given
        }
        compares = str(values.get("detector.name", config.detector.name)).startswith("similarity")
        if compares and "operating_point" in self.given:
            # The option holds for whichever detector it is; a setting is that of one of them.
            point = values["detector.operating_point"]
            is_name = isinstance(point, str)
            values["similarity.threshold"] = None if is_name else point
            values["detector.operating_point"] = point if is_name else "balanced"
        return replace(
            config,
            detector=replace(config.detector, **_of_section("detector", values)),
            similarity=replace(config.similarity, **_of_section("similarity", values)),
            origins=FrozenMapping({**config.origins, **dict.fromkeys(values, _command_line())}),
        )


#: Parameters of the command → settings.
_SETTINGS = {
    "model": "detector.name",
    "revision": "detector.revision",
    "operating_point": "detector.operating_point",
    "threads": "detector.threads",
    "device": "detector.device",
}


def check_conversation(
    setup: Setup, configured: PipelineOptions, file: Path, *, as_json: bool, color: ColorChoice
) -> None:
    """Check the answers of a file, print what became of them, and exit with its status."""
    refuse_shared_stdin([file, configured.config])
    ctx = click.get_current_context()
    config = configured.read(ctx)
    data = read_json(file, wanted='{"request": {...}, "response": {...}}')

    from groundwire.pipeline.conversation import divide_transcript
    from groundwire.render.checked import response_to_terminal

    request, response = divide_transcript(data)
    with setup.load_pipeline(config) as pipeline:
        checked = pipeline.check_response(pipeline.open(request), response)
    is_missing = _is_answer_missing(checked)
    if as_json:
        click.echo(to_json(checked.to_dict(), indent=2))
    elif not is_missing:
        colored = wants_color(color)
        click.echo(response_to_terminal(checked, color=colored), color=colored)
    if is_missing:
        raise NoAnswerError
    ctx.exit(exit_status([checked.outcome]))


def _is_answer_missing(response: "CheckedResponse") -> bool:
    """Whether a check was due and no answer says anything; tool calls and refusals do."""
    from groundwire.pipeline import CheckPath
    from groundwire.pipeline.conversation import AnswerKind

    return (
        response.context.path in (CheckPath.CHECKED, CheckPath.NO_EVIDENCE)
        and response.outcome is Outcome.SKIPPED
        and all(each.answer.kind is AnswerKind.EMPTY for each in response.answers)
    )


def read_json(file: Path, *, wanted: str) -> object:
    """What a file holds.

    Args:
        file: Its path.
        wanted: What it should hold, for the error.

    Raises:
        NotJsonError: If it is no JSON.
        NotUtf8Error: If it is no UTF-8.
        OSError: If it cannot be read.
    """
    name = "standard input" if file == STDIN else str(file)
    text = read_text(file)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise NotJsonError(name, problem, wanted) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        raise NotJsonError(name, str(error), wanted) from error


def _of_section(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    paths = (path.partition(".") for path in values)
    return {name: values[f"{section}.{name}"] for of, _, name in paths if of == section}


def _command_line() -> "SettingOrigin":
    from groundwire.config import SettingOrigin

    return SettingOrigin(source="the command line")
