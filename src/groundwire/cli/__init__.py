"""The command line. Its list of commands is shown without importing their modules."""

import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from groundwire import __version__
from groundwire.cli.options import SuggestingGroup
from groundwire.cli.status import ExitStatus
from groundwire.errors import GroundwireError
from groundwire.text.screen import visible

#: Name of a command → its line in the list of commands. The lines are here, so that
#: ``groundwire --help`` need not import the commands.
COMMANDS = {
    "check": "Check an answer, or a file of answers.",
    "explain": "Say why words of an answer are marked.",
    "playground": "Try checks in a browser, on this machine.",
    "verify": "Verify an answer claim by claim against what it cites.",
    "serve": "Stand before a language model, and check its answers.",
    "keys": "Make, list and revoke keys for the gateway.",
    "accounts": "Say who may sign in to the console.",
    "labels": "Print the labels that reviewers gave to answers.",
    "demo": "Show the gateway at work; no key, no network.",
    "evaluate": "Score a detector on labelled answers.",
    "measure": "Measure how often language models hallucinate.",
    "bench": "Score a detector on a benchmark by its name.",
    "tune": "Choose a threshold by labelled answers.",
    "regress": "Fail if scores fell against a baseline.",
    "report": "Make a page, Markdown or JUnit of results.",
    "mcp": "Serve agents: verify answers, hold evidence.",
    "gate": "Say which prompts call for a check.",
    "train": "Train the reader, an encoder, the explainer or the gate.",
    "audit": "Verify the audit trail.",
    "store": "Bring the database up to date.",
    "config": "Check a configuration, or show what is in effect.",
    "doctor": "Say what works here and what is missing.",
}

EXAMPLES = """\b
Examples:
  groundwire check --source-file facts.txt --answer "Paris has 9 million inhabitants."
  groundwire check --batch answers.jsonl --output results.jsonl
  groundwire serve --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY
  groundwire demo
  groundwire doctor
"""


class FailedError(click.ClickException):
    """A failure that is shown to the user as a message without a traceback; exit status 2."""

    exit_code = ExitStatus.FAILED

    def show(self, file: Any = None) -> None:  # noqa: ANN401  # the type that click declares
        """Print ``error: message`` on standard error."""
        # The message may quote untrusted names and paths.
        click.echo(f"error: {visible(self.format_message())}", file=file, err=True)


class Commands(SuggestingGroup):
    """The group of all commands; it imports commands by name, and shows failures as messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return [*COMMANDS]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it; ``None`` if there is no command of this name.

        Raises:
            FailedError: If the command is ``train``, and the package groundwire-training, which has
                this command, is not installed.
        """
        if cmd_name not in COMMANDS:
            return None
        package = "groundwire_training.cli" if cmd_name == "train" else f"groundwire.cli.{cmd_name}"
        try:
            module = import_module(package)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] != "groundwire_training":
                raise
            raise FailedError(
                "groundwire train is in a package of its own, groundwire-training, which is not "
                "installed. Install it from a checkout: pip install '.[train]' ./training"
            ) from error
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  # the type that click declares
    ) -> click.Context:
        """Parse the command line; show failures as messages, even a failure to print the help."""
        with _showing_failures():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # the type that click declares
        """Run the command; show its failures as messages."""
        with _showing_failures():
            return super().invoke(ctx)


@contextmanager
def _showing_failures() -> Iterator[None]:
    """Turn expected errors in the ``with`` block into an exit status and a message.

    A broken pipe gets an exit status, but no message.
    """
    try:
        yield
    except GroundwireError as error:
        raise FailedError(str(error)) from error
    except BrokenPipeError as error:
        # The program that reads the output, such as head, has ended: drop the rest of the output.
        _detach_output()
        raise click.exceptions.Exit(ExitStatus.BROKEN_PIPE) from error
    except OSError as error:
        _detach_output()  # the output itself may have failed, as on a full disk
        problem = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename else ""
        raise FailedError(f"{where}{problem}") from error
    except KeyboardInterrupt as error:
        click.echo("Interrupted.", err=True)
        raise click.exceptions.Exit(ExitStatus.INTERRUPTED) from error


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(__version__, prog_name="groundwire", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Check whether an LLM's answer is supported by its sources, and mark what is not."""
    from groundwire.cli.detectors import Setup  # imported here, so that --help need not import it

    ctx.ensure_object(Setup)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its status."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # open until exit
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  # open until exit
    if sys.stdout is None:
        # Without this check, results would be lost silently. The next file that is opened would get
        # descriptor 1, and libraries that write to this descriptor would write into the file.
        click.echo("error: standard output is closed. Send it to a file or /dev/null.", err=True)
        sys.exit(ExitStatus.FAILED)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # If the output's encoding lacks a character such as ⟦, its escape is printed instead.
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    with suppress(OSError):  # writing to standard error may fail, as on a full disk
        try:
            cli.main(args, prog_name="groundwire")
        except Exception:  # noqa: BLE001  # Python would exit with 1, which means "hallucinated"
            traceback.print_exc()
            click.echo(
                "error: this is a bug in groundwire; please report the lines above.", err=True
            )
    _detach_output()
    sys.exit(ExitStatus.FAILED)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"warning: {message}", err=True)


def _detach_output() -> None:
    """Drop output that cannot be written; otherwise Python fails again when it flushes at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
