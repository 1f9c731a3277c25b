"""``groundwire verify``: verifies each claim of an answer against the evidence that it cites."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from groundwire.cli import inputs
from groundwire.cli.config import environ_with, read_config
from groundwire.cli.console import COLOR, ColorChoice, say, show_colored
from groundwire.cli.evidence import Named, NamedType, read_evidence
from groundwire.cli.options import command, given_settings, option
from groundwire.cli.settings import is_of_file, with_values
from groundwire.cli.status import ExitStatus

if TYPE_CHECKING:
    from groundwire.config import Config
    from groundwire.verify.report import VerificationReport


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """The options that override settings of a verification.

    Attributes:
        verifier: local (the embedded model; nothing leaves this machine), openai (an
            endpoint with logprobs) or service. The last two need a key, in OPENAI_API_KEY or in the
            configuration.  [default: local]
        model: The model that an endpoint is asked for.
        base_url: The URL of an endpoint.  [default: OPENAI_BASE_URL]
        service_url: The URL of a service.  [default: BERRY_SERVICE_URL]
        plain_http_host: The host to which plain HTTP is allowed, besides this machine, such as a
            host of the same cluster.
        target: The probability that a claim must reach with its evidence, and must not reach
            without it.  [default: 0.95]
        max_claims: Limit on the claims that are verified; an answer with more is flagged.
            [default: 25]
        require_citations: Flag a claim that cites nothing.
        context_mode: Evidence that a claim is read with: cited, all, or auto (cited, or all if the
            claim cites nothing).  [default: cited]
        claim_split: Parts of the answer that are claims: sentences or lines.
        citation_regex: Pattern of a citation, with a group named id, in RE2's syntax.
            [default: [S0], [1], [S0, S1], [S1-S3]]
        rule: signed (with its evidence, a claim must reach the target, and without it, it must
            not), or kl (the evidence must move the claim's probability by at least the required
            information, up or down).  [default: signed]
        min_log_odds_gain: Smallest rise of a claim's log-odds, in nats, that the evidence must
            cause.  [default: 0]
        units: Units of information in the report: bits or nats.  [default: bits]
        timeout_s: Limit on the seconds of a call to the endpoint or service.  [default: 60]
    """

    verifier: object = option("--verifier", "NAME", setting="verify.verifier")
    model: object = option("--verifier-model", "MODEL", setting="verify.model")
    base_url: object = option("--base-url", "URL", setting="verify.base_url")
    service_url: object = option("--service-url", "URL", setting="verify.service_url")
    plain_http_host: object = option("--plain-http-host", "HOST", setting="verify.plain_http_host")
    target: object = option("--target", "P", setting="verify.target")
    max_claims: object = option("--max-claims", "N", setting="verify.max_claims")
    require_citations: bool | None = option(
        "--require-citations/--no-require-citations", setting="verify.require_citations"
    )
    context_mode: object = option("--context-mode", "MODE", setting="verify.context_mode")
    claim_split: object = option("--claim-split", "WHERE", setting="verify.claim_split")
    citation_regex: object = option("--citation-regex", "REGEX", setting="verify.citation_regex")
    rule: object = option("--rule", "RULE", setting="verify.rule")
    min_log_odds_gain: object = option(
        "--min-log-odds-gain", "NATS", setting="verify.min_log_odds_gain"
    )
    units: object = option("--units", "UNITS", setting="verify.units")
    timeout_s: object = option("--timeout", "SECONDS", setting="verify.timeout_s")


@command()
def verify(
    ctx: click.Context,
    /,
    *,
    answer: str | None = option("--answer", "TEXT"),
    answer_file: Path | None = option("--answer-file", type=inputs.TEXT_FILE),
    span: tuple[Named, ...] = option("--span", "ID=FILE", NamedType(inputs.TEXT_FILE)),
    span_text: tuple[Named, ...] = option("--span-text", "ID=TEXT", NamedType()),
    listed: Path | None = option("--spans", type=inputs.TEXT_FILE),
    citations: bool = option("--citations"),
    as_json: bool = option("--json"),
    html: Path | None = option("--html", type=inputs.RESULT_FILE),
    color: ColorChoice = COLOR,
    given: VerifySettings,
    config: Path | None = option("--config", type=inputs.TEXT_FILE),
) -> None:
    r"""Verify an answer claim by claim: does each follow from what it cites?

    Each claim is read with the evidence that it cites, and without. It passes if its probability
    reaches the target with the evidence, and not without. The report says how much information the
    evidence adds. An option takes either a TEXT or a FILE; the FILE - is standard input.

    Args:
        answer: The answer, with citations such as [S0].
        answer_file: A file with the answer.
        span: Evidence: the id by which the answer cites it, and its file; can be repeated.
        span_text: Evidence as a text: its id, and the text; can be repeated.
        listed: All evidence in one file: [{"sid": "S0", "text": "..."}].
        citations: Also say what is wrong with the citations of each claim.
        as_json: Print the report as JSON.
        html: Also write the report as an HTML page, with the evidence.
        config: A configuration, whose section verify is used; environment variables override
            it, and options override both.

    Examples:
        groundwire verify --answer "Tokens last for 15 minutes. [S0]" \
            --span-text S0="Tokens last for 60 minutes."
        groundwire verify --answer-file answer.md --span S0=auth.md --span S1=tokens.md \
            --require-citations --citations --html report.html
        OPENAI_API_KEY=... groundwire verify --answer-file answer.md --spans evidence.json \
            --verifier openai --verifier-model gpt-4o-mini

    Exit status:
        0  each claim passed
        1  a claim was flagged, or there were more than --max-claims
        2  the answer, a claim or a citation could not be verified, or the command was wrong
    """
    if answer is None and answer_file is None:
        raise click.UsageError(
            "There is nothing to verify. Give --answer TEXT or --answer-file FILE."
        )
    if listed is None and not span and not span_text:
        raise click.UsageError(
            "There is no evidence. Give --span ID=FILE, --span-text ID=TEXT or --spans FILE."
        )
    files = [Path(file) for _, file in span]
    inputs.refuse_shared_stdin([answer_file, listed, config, *files])
    inputs.refuse_replacing(html, [answer_file, listed, config, *files])
    settings = read_settings(ctx, config, given_settings(given)).verify
    from groundwire.render.verification import report_to_terminal
    from groundwire.verify.run import run
    from groundwire.verify.settings import arguments_of
    from groundwire.verify.subject import AnswerSubject

    subject = AnswerSubject(inputs.read_text_option(answer, answer_file, "--answer"))
    spans = read_evidence(listed, [*span, *span_text])
    arguments = arguments_of(settings)
    verifier = arguments.pop("verifier")
    report = run(subject, spans, arguments, verifier, with_citations=citations)
    if html is not None:
        from groundwire.render.verification_page import report_to_html
        from groundwire.verify.spans import read_spans

        shown = () if report.error else read_spans(spans)
        html.write_text(report_to_html(report, shown), encoding="utf-8")
    if report.error is not None and not as_json:
        say(f"error: {report.error}")
    else:
        show_colored(report, report_to_terminal, as_json=as_json, color=color)
    ctx.exit(status_of(report))


def read_settings(ctx: click.Context, file: Path | None, given: Mapping[str, Any]) -> "Config":
    """Return the configuration: options override the environment, which overrides a file.

    If the options send the requests to another server than the file's, an API key of the file is
    not used, and a warning is printed.
    """
    config = read_config(ctx, file, environ=environ_with(given))
    changed = with_values(config, given)
    paths = ("verify.base_url", "verify.service_url")
    used, unused = paths[::-1] if changed.verify.verifier == "service" else paths
    own, wanted = ((each.value(used) or "").rstrip("/") for each in (config, changed))
    is_switched = given.get("verify.verifier") is not None and config.value(unused) is not None
    is_elsewhere = own != wanted or (is_switched and not is_of_file(config, used))
    if is_elsewhere and is_of_file(config, "verify.api_key"):
        # The key was given for another server, and must not be sent to this one.
        where = config.origins["verify.api_key"]
        click.echo(f"warning: the key at {where} is for another server: not used.", err=True)
        return replace(changed, verify=replace(changed.verify, api_key=None))
    return changed


def status_of(report: "VerificationReport") -> ExitStatus:
    """Return the exit status of a report.

    It is ``FAILED`` if the answer, a claim or a citation could not be verified, ``FLAGGED`` if the
    answer is flagged, else ``PASSED``.
    """
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
