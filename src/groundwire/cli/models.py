"""``groundwire models``: the models inside the package."""

import click

from groundwire.cli.status import ExitStatus
from groundwire.engine.models import Manifest, find_model, list_models
from groundwire.engine.models import verify as verify_files
from groundwire.errors import CorruptModelError
from groundwire.text.files.writing import to_json


@click.group(
    invoke_without_command=True,
    epilog="\b\nExamples:\n  groundwire models\n  groundwire models verify",
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_context
def models(ctx: click.Context, *, as_json: bool) -> None:
    """List the embedded models, or verify that their files are intact."""
    if ctx.invoked_subcommand is None:
        _list(as_json=as_json)
    elif as_json:
        raise click.UsageError(f"Write --json after {ctx.invoked_subcommand}.")


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_(*, as_json: bool) -> None:
    """List the embedded models."""
    _list(as_json=as_json)


@models.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def verify(ctx: click.Context, *, names: tuple[str, ...], as_json: bool) -> None:
    """Hash the files of the models and compare them with their manifests.

    Without a NAME all models are verified. Exit status 2 if a file differs or is missing.
    """
    manifests = [find_model(name) for name in names] or list_models()
    problems = {manifest.name: _problem(manifest) for manifest in manifests}
    if as_json:
        findings = [
            {"name": name, "ok": problem is None, "problem": problem}
            for name, problem in problems.items()
        ]
        click.echo(to_json(findings, indent=2))
    for manifest in manifests if not as_json else ():
        if problem := problems[manifest.name]:
            click.echo(f"error: {manifest.name}: {problem}", err=True)
        else:
            click.echo(f"{manifest.name}: {_files(manifest)} as the manifest says")
    if not manifests:
        click.echo("error: no model is installed; install the package again.", err=True)
    if not manifests or any(problems.values()):
        ctx.exit(ExitStatus.FAILED)


def describe(manifest: Manifest) -> dict[str, object]:
    """What ``models --json`` says about one model."""
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


def _list(*, as_json: bool) -> None:
    manifests = list_models()
    if as_json:
        click.echo(to_json([describe(manifest) for manifest in manifests], indent=2))
        return
    for manifest in manifests:
        points = ", ".join(f"{name} {value:g}" for name, value in manifest.operating_points.items())
        base = f", from {manifest.base}" if manifest.base else ""
        click.echo(f"{manifest.name} {manifest.version}  ({manifest.kind}{base})")
        click.echo(f"  size              {_files(manifest)}")
        click.echo(f"  licence           {manifest.licence}")
        click.echo(f"  revision          {manifest.revision}")
        click.echo(f"  operating points  {points or 'none'}")


def _files(manifest: Manifest) -> str:
    n_files = len(manifest.files)
    return f"{n_files} file{'' if n_files == 1 else 's'}, {manifest.total_bytes / 1e6:.1f} MB"


def _problem(manifest: Manifest) -> str | None:
    try:
        verify_files(manifest)
    except CorruptModelError as error:
        return str(error)
    return None
