"""``groundwire report``: a file of results as a page, as Markdown or as JUnit."""

from collections.abc import Mapping
from pathlib import Path

import click

from groundwire.cli.inputs import READ_RESULTS, RESULT_FILE
from groundwire.text.files.writing import replacing

EPILOG = """\b
Examples:
  groundwire report results.jsonl --html report.html
  groundwire report results.jsonl --baseline main.jsonl --markdown comment.md --junit junit.xml

\b
RESULTS is what groundwire evaluate --output wrote. Nothing is judged again. Without --html,
--markdown and --junit, the Markdown goes to standard output. A report that exists is replaced.

\b
Exit status:
  0  the reports are written, whatever they say: groundwire regress is what fails
  2  they could not be, or the command was wrong
"""


@click.command(epilog=EPILOG)
@click.argument("results", type=READ_RESULTS)
@click.option(
    "--html",
    type=RESULT_FILE,
    metavar="FILE",
    help="One page that stands alone: tables, plots, and the worst examples with filters.",
)
@click.option(
    "--markdown",
    type=RESULT_FILE,
    metavar="FILE",
    help="For a pull request: tables, and the worst errors folded.",
)
@click.option(
    "--junit",
    type=RESULT_FILE,
    metavar="FILE",
    help="A test for each row: a wrong verdict is a failure, a failed row an error. With "
    "--baseline, what was wrong before is skipped.",
)
@click.option(
    "--baseline",
    type=READ_RESULTS,
    metavar="FILE",
    help="Results to hold these against, on the same rows: changes with their intervals.",
)
@click.option(
    "--examples",
    "n_examples",
    type=click.IntRange(min=0),
    default=300,
    show_default=True,
    metavar="N",
    help="How many rows the page shows, the worst errors first.",
)
def report(
    *,
    results: Path,
    html: Path | None,
    markdown: Path | None,
    junit: Path | None,
    baseline: Path | None,
    n_examples: int,
) -> None:
    """Make reports of a file of results."""
    outputs = {"--html": html, "--markdown": markdown, "--junit": junit}
    _refuse_shared({"RESULTS": results, "--baseline": baseline} | outputs)
    from groundwire.evaluation.reports.html import to_html
    from groundwire.evaluation.reports.junit import write_junit
    from groundwire.evaluation.reports.markdown import to_markdown
    from groundwire.evaluation.reports.summary import summarize

    summary = summarize(results, n_examples=n_examples, baseline=baseline)
    if html is not None:
        with replacing(html) as stream:
            stream.write(to_html(summary))
    if markdown is not None:
        with replacing(markdown) as stream:
            stream.write(to_markdown(summary))
    if junit is not None:
        with replacing(junit) as stream:
            write_junit(summary, results, stream)
    if html is markdown is junit is None:
        click.echo(to_markdown(summary), nl=False)


def _refuse_shared(paths: Mapping[str, Path | None]) -> None:
    """One file cannot be read and replaced, or be two reports."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), name)
        if other != name and not {name, other} == {"RESULTS", "--baseline"}:
            raise click.UsageError(f"{other} and {name} are the same file, {path}: name another.")
