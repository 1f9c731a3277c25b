"""``groundwire models``: lists the models inside the package."""

from collections.abc import Iterator

from groundwire.cli.console import show
from groundwire.cli.options import command, option
from groundwire.engine.models import Manifest, list_models


@command()
def models(*, as_json: bool = option("--json")) -> None:
    """List the embedded models. groundwire doctor verifies that their files are intact.

    Args:
        as_json: Print them as JSON.
    """
    manifests = list_models()
    show(
        [describe(manifest) for manifest in manifests],
        lambda: "\n".join(line for manifest in manifests for line in _lines(manifest)),
        as_json=as_json,
    )


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
    n_files = len(manifest.files)
    files = f"{n_files} file{'' if n_files == 1 else 's'}, {manifest.total_bytes / 1e6:.1f} MB"
    yield f"{manifest.name} {manifest.version}  ({manifest.kind}{base})"
    yield f"  size              {files}"
    yield f"  licence           {manifest.licence}"
    yield f"  revision          {manifest.revision}"
    yield f"  operating points  {points or 'none'}"
