"""``python -m tests.golden``: write the golden files anew; look at ``git diff`` afterwards."""

import click

from tests.golden import detections, schemas, statuses, transcripts
from tests.golden.golden import write

PARTS = {
    "detections": detections.build,
    "schemas": schemas.build,
    "statuses": statuses.build,
    "transcripts": transcripts.build,
}


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(sorted(PARTS)))
def main(parts: tuple[str, ...]) -> None:
    """Write the golden files of some PARTS, or of all."""
    for part in parts or PARTS:
        for name, data in PARTS[part]():
            click.echo(write(name, data))


if __name__ == "__main__":
    main()
