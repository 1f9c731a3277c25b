"""``groundwire models``: lists and verifies the models inside the package."""

from collections.abc import Iterator

import click

from groundwire.cli.console import show
from groundwire.cli.options import argument, command, commands, option
from groundwire.cli.status import ExitStatus
from groundwire.engine.models import Manifest, find_model, list_models
from groundwire.engine.models import verify as verify_files
from groundwire.errors import CorruptModelError
from groundwire.text.files.writing import to_json


@commands(invoke_without_command=True)
def models(ctx: click.Context, /, *, as_json: bool = option("--json")) -> None:
    """List the embedded models, or verify that their files are intact.

    Args:
        as_json: Print them as JSON.

    Examples:
        groundwire models
        groundwire models verify
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json)
    elif as_json:
        raise click.UsageError(f"Write --json after {ctx.invoked_subcommand}.")


@command("list", under=models)
def list_(*, as_json: bool = option("--json")) -> None:
    """List the embedded models.

    Args:
        as_json: Print them as JSON.
    """
    manifests = list_models()
    show(
        [describe(manifest) for manifest in manifests],
        lambda _: "\n".join(line for manifest in manifests for line in _lines(manifest)),
        as_json=as_json,
    )


@command(under=models)
def verify(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...] = argument("[NAME]..."),
    as_json: bool = option("--json"),
) -> None:
    """Hash the files of the models and compare them with their manifests.

    Without a NAME all models are verified. Exit status 2 if a file differs or is missing.

    Args:
        as_json: Print the findings as JSON.
    """
    manifests = [find_model(name) for name in names] or list_models()
    problems = {manifest.name: _problem(manifest) for manifest in manifests}
    if as_json:
        findings = [
            {"name": name, "ok": problem is None, "problem": problem}
            for name, problem in problems.items()
        ]
        click.echo(to_json(findings, indent=2))
    else:
        for manifest in manifests:
            problem = problems[manifest.name]
            found = f"error: {manifest.name}: {problem}"
            fine = f"{manifest.name}: {_files(manifest)} as the manifest says"
            click.echo(found if problem else fine, err=bool(problem))
    if not manifests:
        click.echo("error: no model is installed; install the package again.", err=True)
    if not manifests or any(problems.values()):
        ctx.exit(ExitStatus.FAILED)


def describe(manifest: Manifest) -> dict[str, object]:
    """Return the entry of a model in the output of ``models --json``."""
    return {
        "name": manifest.name,
        "version": manifest.version,
        "revision": manifest.revision,
        "kind": manifest.kind,
        "licence": manifest.licence,
        "base": manifest.base,
        "labels": list(manifest.labels),
        "operating_points": dict(manifest.operating_points),
        "bytes": manifest.total_bytes,
        "folder": str(manifest.folder),
    }


def _lines(manifest: Manifest) -> Iterator[str]:
    points = ", ".join(f"{name} {value:g}" for name, value in manifest.operating_points.items())
    base = f", from {manifest.base}" if manifest.base else ""
    yield f"{manifest.name} {manifest.version}  ({manifest.kind}{base})"
    yield f"  size              {_files(manifest)}"
    yield f"  licence           {manifest.licence}"
    yield f"  revision          {manifest.revision}"
    yield f"  operating points  {points or 'none'}"


def _files(manifest: Manifest) -> str:
    n_files = len(manifest.files)
    return f"{n_files} file{'' if n_files == 1 else 's'}, {manifest.total_bytes / 1e6:.1f} MB"


def _problem(manifest: Manifest) -> str | None:
    try:
        verify_files(manifest)
    except CorruptModelError as error:
        return str(error)
    return None
