"""``groundwire report``: makes a page, Markdown or JUnit from a file of results."""

from pathlib import Path

import click

from groundwire.cli.console import write_text
from groundwire.cli.inputs import READ_FILE, RESULT_FILE, refuse_replacing
from groundwire.cli.options import argument, command, option
from groundwire.text.files.writing import replacing


@command()
def report(
    *,
    results: Path = argument(type=READ_FILE),
    html: Path | None = option("--html", type=RESULT_FILE),
    markdown: Path | None = option("--markdown", type=RESULT_FILE),
    junit: Path | None = option("--junit", type=RESULT_FILE),
    n_examples: int = option("--examples", "N", click.IntRange(min=0), default=300),
) -> None:
    """Make reports of a file of results.

    Args:
        html: Write an HTML page that needs no other files: tables, plots, and the worst examples
            with filters.
        markdown: Write Markdown for a pull request: tables, and the worst errors folded.
        junit: Write a JUnit file with a test for each row: a wrong verdict is a failure, a failed
            row an error. If no row has a label, flagged answers are failures.
        n_examples: Number of rows that the page shows, the worst errors first.

    Examples:
        groundwire report results.jsonl --html report.html
        groundwire report results.jsonl --markdown comment.md --junit junit.xml

    RESULTS is what groundwire evaluate --output or groundwire check --batch wrote. Nothing is
    judged again. Without --html, --markdown and --junit, the Markdown goes to standard output. A
    report that exists is replaced.

    Exit status:
        0  the reports are written, whatever they say; groundwire regress fails on bad scores
        2  a report could not be written, or the command was wrong
    """
    outputs = html, markdown, junit
    for number, output in enumerate(outputs):
        refuse_replacing(output, [results, *outputs[:number]])
    from groundwire.evaluation.reports.html import to_html
    from groundwire.evaluation.reports.junit import write_junit
    from groundwire.evaluation.reports.markdown import to_markdown
    from groundwire.evaluation.reports.summary import summarize

    summary = summarize(results, n_examples=n_examples)
    if html is not None:
        write_text(html, to_html(summary))
    if markdown is not None:
        write_text(markdown, to_markdown(summary))
    if junit is not None:
        with replacing(junit) as stream:
            write_junit(summary, results, stream)
    if html is markdown is junit is None:
        click.echo(to_markdown(summary), nl=False)
