"""``groundwire models``: lists the models inside the package."""

from collections.abc import Iterator

import click

from groundwire.cli.options import command
from groundwire.engine.models import Manifest, list_models


@command()
def models() -> None:
    """List the embedded models. groundwire doctor verifies that their files are intact."""
    for manifest in list_models():
        for line in _lines(manifest):
            click.echo(line)


def _lines(manifest: Manifest) -> Iterator[str]:
    points = ", ".join(f"{name} {value:g}" for name, value in manifest.operating_points.items())
    base = f", from {manifest.base}" if manifest.base else ""
    n_files = len(manifest.files)
    files = f"{n_files} file{'' if n_files == 1 else 's'}, {manifest.total_bytes / 1e6:.1f} MB"
    yield f"{manifest.name} {manifest.version}  ({manifest.kind}{base})"
    yield f"  size              {files}"
    yield f"  licence           {manifest.licence}"
    yield f"  revision          {manifest.revision}"
    yield f"  operating points  {points or 'none'}"
