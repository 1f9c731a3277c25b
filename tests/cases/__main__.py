"""``python -m tests.cases`` prints how many cases of each class a model passes."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from groundwire import Detector
from tests.cases import pairs, shapes
from tests.cases.case import blind, further, must_pass, report, run, totals, unseen

KINDS = ("claims", "answers")


@click.command()
@click.option(
    "--model",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of a reader; by default the embedded one.",
)
@click.option("--threads", default=1, show_default=True, help="CPU threads to use.")
@click.option(
    "--pairs",
    "with_pairs",
    is_flag=True,
    help="Count the pairs as well: once, of weights or rules that are to ship.",
)
@click.option(
    "--shapes",
    "only_shapes",
    is_flag=True,
    help="Count only parts of answers that claim nothing, or wrong facts in their places.",
)
@click.option(
    "--json",
    "results",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the counts of the pairs to this file; nothing else is run.",
)
@click.option("--verbose", is_flag=True, help="Print the answers of failed cases too.")
def main(
    model: Path | None,
    *,
    threads: int,
    with_pairs: bool,
    only_shapes: bool,
    results: Path | None,
    verbose: bool,
) -> None:
    """Print the pass rate per class, and the failures."""
    with Detector.load(model, threads=threads) as detector:
        info = detector.info
        if only_shapes:
            _print_shapes(detector)
            return
        if results is not None:
            counts = {
                kind: {name: asdict(each) for name, each in _count(detector, kind).items()}
                for kind in KINDS
            }
            written = {"benchmark": "pairs", "detector": info.to_dict(), **counts}
            results.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
            return
        click.echo(f"{info.name} {info.revision}, {info.operating_point} at {info.threshold}\n")
        for title, cases in (
            ("Must pass", must_pass()),
            ("Further cases", further()),
            ("By another hand, looked at when rules were refined", unseen()[::2]),
            ("By another hand, looked at later", unseen()[1::2]),
        ):
            found = [run(detector, case) for case in cases]
            click.echo(f"# {title}\n{report(found, verbose=verbose)}\n")
        # Only the numbers are shown: a case that somebody has read is no longer blind.
        counted = totals(run(detector, case) for case in blind())
        click.echo(f"# By another hand, blind\n{counted}")
        for kind in KINDS if with_pairs else ():
            click.echo(f"\n# Pairs, blind: {kind}")
            for name, each in _count(detector, kind).items():
                click.echo(
                    f"{name}: {each.found} of {each.n} mistakes found, "
                    f"{each.flagged} of {each.n} right answers flagged"
                )


def _print_shapes(detector: Detector) -> None:
    for name in (*shapes.RIGHT_FILES, *shapes.HOSTILE_FILES):
        found = shapes.count(detector, shapes.read(f"{name}.toml"))
        is_right = name in shapes.RIGHT_FILES
        marked, others = ("non-claims", "claims") if is_right else ("wrong facts", "others")
        click.echo(f"# {name}: {found.n_marked} {marked}, {found.n_others} {others}")
        for title, group, is_listed in (
            (f"{marked} flagged", found.flagged, is_right),
            (f"{marked} that fail verification", found.failed, is_right),
            (f"{marked} that verification leaves out", found.marked_left_out, not is_right),
            (f"{others} flagged", found.others_flagged, False),
            (f"{others} that fail verification", found.others_failed, False),
            (f"{others} that verification leaves out", found.left_out, is_right),
        ):
            click.echo(f"{title}: {len(group)}")
            for each in group if is_listed else ():
                click.echo(f"  {each.id} ({each.why}): {each.text!r}")


def _count(detector: Detector, kind: str) -> dict[str, pairs.Counts]:
    return pairs.count(detector, pairs.pairs(kind))


if __name__ == "__main__":
    main()
