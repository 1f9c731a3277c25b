"""``groundwire check --conversation``: checks a request and its response as a gateway would."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundwire.cli.config import read_config
from groundwire.cli.console import ColorChoice, show_colored
from groundwire.cli.detectors import DetectorChoice, Setup
from groundwire.cli.inputs import name_of, read_text, refuse_shared_stdin
from groundwire.cli.options import is_given
from groundwire.cli.settings import with_values
from groundwire.cli.status import exit_status
from groundwire.detection.values import Outcome
from groundwire.errors import InputError

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.pipeline import CheckedResponse


#: Parameter of the command → path of the setting that the parameter overrides.
_SETTINGS = {
    "model": "detector.name",
    "revision": "detector.revision",
    "operating_point": "detector.operating_point",
    "threads": "detector.threads",
    "device": "detector.device",
}


def check_conversation(
    ctx: click.Context,
    choice: DetectorChoice,
    file: Path,
    config: Path | None,
    *,
    as_json: bool,
    color: ColorChoice,
) -> None:
    """Check the answers of the conversation in a file, print the results, and exit.

    Raises:
        InputError: If the file has no valid conversation, or a check was due and there is no answer
            text.
    """
    refuse_shared_stdin([file, config])
    settings = _with_choice(read_config(ctx, config), choice, ctx)
    data = read_json(file, wanted='{"request": {...}, "response": {...}}')

    from groundwire.pipeline.conversation.transcript import divide_transcript
    from groundwire.render.checked import response_to_terminal

    request, response = divide_transcript(data)
    with ctx.ensure_object(Setup).load_pipeline(settings) as pipeline:
        checked = pipeline.check_response(pipeline.open(request), response)
    is_missing = _is_answer_missing(checked)
    if as_json or not is_missing:
        show_colored(checked, response_to_terminal, as_json=as_json, color=color)
    if is_missing:
        raise InputError(
            "A check was due, and the response has no answer text, so nothing was checked. Give "
            "the text that the model wrote, as the content of its message."
        )
    ctx.exit(exit_status([checked.outcome]))


def _with_choice(config: "Config", choice: DetectorChoice, ctx: click.Context) -> "Config":
    """Apply the detector options to a configuration, but only those that the user gave.

    The defaults of options do not override settings of the configuration.
    """
    given = {path: name for name, path in _SETTINGS.items() if is_given(ctx, name)}
    return with_values(config, {path: getattr(choice, name) for path, name in given.items()})


def _is_answer_missing(response: "CheckedResponse") -> bool:
    """Return whether a check was due and all answers are empty.

    An answer with a tool call, a refusal or a skipped part, such as sound, is not empty.
    """
    from groundwire.pipeline import CheckPath
    from groundwire.pipeline.conversation.response import AnswerKind

    return (
        response.context.path in (CheckPath.CHECKED, CheckPath.NO_EVIDENCE)
        and response.outcome is Outcome.SKIPPED
        and all(each.answer.kind is AnswerKind.EMPTY for each in response.answers)
    )


def read_json(file: Path, *, wanted: str) -> object:
    """Read a file as JSON.

    Args:
        file: Path of the file.
        wanted: The content that the file should have, for the error message.

    Raises:
        InputError: If the file is no JSON, or no UTF-8.
        OSError: If the file cannot be opened.
    """
    text = read_text(file)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except (RecursionError, ValueError) as error:  # the nesting is too deep, or a number too long
        problem = str(error)
    raise InputError(f"{name_of(file)} is no JSON: {problem}. It should hold {wanted}.")
