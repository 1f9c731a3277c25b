"""``groundwire verify``: does each claim of an answer follow from what it cites?"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from groundwire.cli.check import refuse_options
from groundwire.cli.config import read_config
from groundwire.cli.console import ColorChoice, color_option, wants_color
from groundwire.cli.evidence import (
    Named,
    read_evidence,
    read_named_files,
    read_named_texts,
    read_trace,
)
from groundwire.cli.inputs import (
    RESULT_FILE,
    TEXT_FILE,
    read_text_option,
    refuse_shared_stdin,
)
from groundwire.cli.setting_options import setting_option, with_values
from groundwire.cli.status import ExitStatus
from groundwire.text.files.writing import to_json

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.config.tree import Verify
    from groundwire.verify.report import VerificationReport
    from groundwire.verify.subject import Subject

_F = TypeVar("_F", bound=Callable[..., Any])
_NO_STEPS = "The trace has no steps, so nothing was verified. Pass a trace with steps."

EPILOG = """\b
Examples:
  groundwire verify --answer "Tokens last for 15 minutes. [S0]" \\
      --span-text S0="Tokens last for 60 minutes."
  groundwire verify --answer-file answer.md --span S0=auth.md --span S1=tokens.md \\
      --require-citations --citations --html report.html
  groundwire verify --trace steps.json --spans evidence.jsonl --json
  OPENAI_API_KEY=... groundwire verify --answer-file answer.md --spans evidence.json \\
      --verifier openai --verifier-model gpt-4o-mini

\b
Exit status:
  0  each claim passed
  1  a claim was flagged, or there were more than --max-claims
  2  the verification, or that of a claim, could not take place, or the command was wrong
"""

#: Setting → its option: metavar, help. Settings that are flags have no metavar.
_OPTIONS: dict[str, tuple[str, str | None, str]] = {
    "verifier": (
        "--verifier",
        "NAME",
        "local (the embedded model; nothing leaves this machine), openai (an endpoint with "
        "logprobs) or service. Both need a key, in OPENAI_API_KEY or in the configuration.  "
        "[default: local]",
    ),
    "model": ("--verifier-model", "MODEL", "The model that an endpoint is asked for."),
    "base_url": ("--base-url", "URL", "Where an endpoint is.  [default: OPENAI_BASE_URL]"),
    "service_url": ("--service-url", "URL", "Where a service is.  [default: BERRY_SERVICE_URL]"),
    "target": (
        "--target",
        "P",
        "The probability that a claim must reach with its evidence, and not without.  "
        "[default: 0.95]",
    ),
    "max_claims": (
        "--max-claims",
        "N",
        "Claims that are verified; more is flagged.  [default: 25]",
    ),
    "require_citations": (
        "--require-citations/--no-require-citations",
        None,
        "Flag a claim that cites nothing.",
    ),
    "context_mode": (
        "--context-mode",
        "MODE",
        "What a claim is read with: cited, all, or auto (all if it cites nothing).  "
        "[default: cited]",
    ),
    "claim_split": ("--claim-split", "WHERE", "Where claims end: sentences or lines."),
    "citation_regex": (
        "--citation-regex",
        "REGEX",
        "What a citation looks like, with a group id, in RE2's syntax.  "
        "[default: [S0], [1], [S0, S1], [S1-S3]]",
    ),
    "rule": (
        "--rule",
        "RULE",
        "signed, or kl: what is required against what was observed, without a sign.  "
        "[default: signed]",
    ),
    "min_log_odds_gain": (
        "--min-log-odds-gain",
        "NATS",
        "What the evidence must add to the log-odds of a claim.  [default: 0]",
    ),
    "units": ("--units", "UNITS", "Of information: bits or nats.  [default: bits]"),
    "placeholder": ("--placeholder", "TEXT", "Stands for evidence that is taken away."),
    "timeout_s": ("--timeout", "SECONDS", "For one call of endpoint or service.  [default: 60]"),
    "temperature": ("--temperature", "X", "Of an endpoint, 0 to 2.  [default: 0]"),
    "top_logprobs": ("--top-logprobs", "N", "Tokens an endpoint is asked for.  [default: 10]"),
    "max_concurrency": ("--max-concurrency", "N", "Calls at a time, 1 to 64.  [default: 8]"),
    "use_cache": (
        "--use-cache/--no-use-cache",
        None,
        "Whether an endpoint is asked an equal question once.  [default: it is]",
    ),
    "group_claims": (
        "--group-claims/--no-group-claims",
        None,
        "Whether claims with the same evidence share a call.  [default: they do]",
    ),
    "max_group_size": ("--max-group-size", "N", "Claims in such a call, 1 to 64.  [default: 8]"),
    "max_group_prompt_chars": (
        "--max-group-prompt-chars",
        "N",
        "Characters in such a call.  [default: 24000]",
    ),
    "include_prompts": (
        "--include-prompts/--no-include-prompts",
        None,
        "Whether --json holds what an endpoint was asked.",
    ),
    "max_prompt_chars": ("--max-prompt-chars", "N", "Of each of these.  [default: 3000]"),
}


def verify_options(command: _F) -> _F:
    """An option for each setting of a verification but its key."""
    for name, (option, metavar, text) in reversed(_OPTIONS.items()):
        how: dict[str, Any] = {"default": None} if metavar is None else {"metavar": metavar}
        command = setting_option(f"verify.{name}", option, name, help=text, **how)(command)
    return command


@click.command(epilog=EPILOG)
@click.option("--answer", metavar="TEXT", help="The answer, with citations such as [S0].")
@click.option("--answer-file", type=TEXT_FILE, metavar="FILE", help="A file with the answer.")
@click.option(
    "--trace",
    type=TEXT_FILE,
    metavar="FILE",
    help='In place of an answer, steps of a plan or a reasoning trace: [{"idx": 0, "claim": "...", '
    '"cites": ["S0"], "confidence": 0.9}], in JSON. confidence is the target of a step.',
)
@click.option(
    "--span",
    callback=read_named_files,
    metavar="ID=FILE",
    multiple=True,
    help="Evidence: the id by which the answer cites it, and its file; can be repeated.",
)
@click.option(
    "--span-text",
    callback=read_named_texts,
    metavar="ID=TEXT",
    multiple=True,
    help="The same with a text; can be repeated.",
)
@click.option(
    "--spans",
    "listed",
    type=TEXT_FILE,
    metavar="FILE",
    help='All evidence in one file: [{"sid": "S0", "text": "..."}], or such an object a line.',
)
@click.option(
    "--citations", is_flag=True, help="Also say what is wrong with the citations of each claim."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--html",
    type=RESULT_FILE,
    metavar="FILE",
    help="Also write the report as a page of its own, with the evidence.",
)
@color_option
@verify_options
@click.option(
    "--config",
    type=TEXT_FILE,
    metavar="FILE",
    help="A configuration, whose section verify holds; environment variables win over it, and "
    "options over both.",
)
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    *,
    answer: str | None,
    answer_file: Path | None,
    trace: Path | None,
    span: tuple[Named, ...],
    span_text: tuple[Named, ...],
    listed: Path | None,
    citations: bool,
    as_json: bool,
    html: Path | None,
    color: ColorChoice,
    config: Path | None,
    **options: Any,  # noqa: ANN401 - of _OPTIONS
) -> None:
    """Verify an answer claim by claim: does each follow from what it cites?

    Each claim is read with the evidence that it cites, and without. It passes if it reaches the
    target with it, and not without; how much the evidence adds is told in bits. Texts and files
    have options of their own; as a FILE, - is standard input.
    """
    if trace is not None:
        others = ("answer", "answer_file", "max_claims", "claim_split")
        refuse_options(ctx, others, "cannot be used with --trace.")
    elif answer is None and answer_file is None:
        raise click.UsageError(
            "There is nothing to verify. Give --answer TEXT or --answer-file FILE, or the steps of "
            "a trace with --trace FILE."
        )
    if listed is None and not span and not span_text:
        raise click.UsageError(
            "There is no evidence. Give --span ID=FILE, --span-text ID=TEXT or --spans FILE."
        )
    files = [Path(each.value) for each in span]
    refuse_shared_stdin([answer_file, trace, listed, config, *files])
    settings = read_settings(ctx, config, {k: v for k, v in options.items() if v is not None})
    job = Job(
        answer=read_text_option(answer, answer_file, "--answer", "--answer-file"),
        steps=None if trace is None else read_trace(trace),
        spans=read_evidence(listed, [*span, *span_text]),
        with_citations=citations,
    )
    report = job.run(settings)
    if html is not None:
        html.write_text(job.page(report), encoding="utf-8")
    show(report, as_json=as_json, color=color)
    ctx.exit(status_of(report))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be verified.

    Attributes:
        answer: An answer, unless there are steps.
        steps: Of a trace.
        spans: The evidence, as it was read.
        with_citations: Whether citations are looked into.
    """

    answer: str | None
    steps: object
    spans: list[object]
    with_citations: bool

    def run(self, settings: "Verify") -> "VerificationReport":
        """Verify it."""
        from groundwire.verify.run import run
        from groundwire.verify.settings import arguments_of

        arguments = arguments_of(settings)
        verifier = arguments.pop("verifier")
        report = run(
            self._subject(), self.spans, arguments, verifier, with_citations=self.with_citations
        )
        if report.error is None and not report.summary["claims_total"]:
            # A program may ask about no steps; whoever reads an exit status takes 0 for a pass.
            return replace(report, error=_NO_STEPS, error_type="no_claims")
        return report

    def page(self, report: "VerificationReport") -> str:
        """The report as a page, with the evidence if it could be read."""
        from groundwire.render.verification_page import report_to_html
        from groundwire.verify.errors import NotVerifiedError
        from groundwire.verify.spans import read_spans

        try:
            return report_to_html(report, read_spans(self.spans))
        except NotVerifiedError:
            return report_to_html(report)

    def _subject(self) -> "Subject":
        from groundwire.verify.subject import AnswerSubject, TraceSubject

        return AnswerSubject(self.answer) if self.steps is None else TraceSubject(self.steps)


def read_settings(ctx: click.Context, file: Path | None, given: Mapping[str, Any]) -> "Verify":
    """The settings in effect: options, else environment variables, else the file."""
    # What the environment has for endpoints counts only for who asks one, however that is said.
    chosen = given.get("verifier")
    environ = os.environ | ({"GROUNDWIRE_VERIFY_VERIFIER": chosen} if chosen else {})
    config = read_config(ctx, file, environ=environ)
    changed = with_values(config, {f"verify.{name}": value for name, value in given.items()})
    for name in ("base_url", "service_url"):
        if given.get(name) not in (None, config.value(f"verify.{name}")) and _has_own_key(config):
            # It was given for another server, which is not to see it.
            where = config.origins["verify.api_key"]
            click.echo(f"warning: the key at {where} is for another server: not used.", err=True)
            return replace(changed.verify, api_key=None)
    return changed.verify


def _has_own_key(config: "Config") -> bool:
    """Whether a file has the key."""
    return (
        config.verify.api_key is not None
        and config.origins["verify.api_key"].source not in os.environ
    )


def show(report: "VerificationReport", *, as_json: bool, color: ColorChoice) -> None:
    """Print a report; why there is none goes to standard error."""
    from groundwire.render.verification import WIDTH, report_to_terminal
    from groundwire.text.screen import visible

    if as_json:
        click.echo(to_json(report.to_dict(), indent=2))
    elif report.error is not None:
        click.echo(f"error: {visible(report.error)}", err=True)
    else:
        colored = wants_color(color)
        width = shutil.get_terminal_size((WIDTH, 0)).columns
        click.echo(report_to_terminal(report, color=colored, width=width), color=colored)


def status_of(report: "VerificationReport") -> ExitStatus:
    """The exit status: that of the worst claim."""
    from groundwire.verify.citations import CitationStatus
    from groundwire.verify.rule import ClaimStatus

    cited = () if report.citations is None else report.citations.findings
    if (
        report.error is not None
        or any(each.status is ClaimStatus.VERIFIER_ERROR for each in report.details)
        or any(each.status is CitationStatus.UNCHECKED for each in cited)
    ):
        return ExitStatus.FAILED
    return ExitStatus.FLAGGED if report.flagged else ExitStatus.PASSED
