"""``groundwire demo``: the gateway at work, without key and without network."""

import signal
import threading
from contextlib import ExitStack
from time import perf_counter

import click

from groundwire.cli.console import COLOR, ColorChoice, wants_color
from groundwire.cli.options import option, with_options
from groundwire.cli.serve import require_gateway
from groundwire.cli.status import ExitStatus
from groundwire.text.files.writing import to_json

#: The scenes, in order. They stand here so that --help imports no gateway.
NAMES = (
    *("not-factual", "unverified", "evidence", "stream-marks", "body", "sources", "block"),
    *("sentence", "unchecked", "record", "deferred", "deferred-block"),
)

EPILOG = f"""\b
Scenes:
  {", ".join(NAMES[:7])},
  {", ".join(NAMES[7:])}

\b
Examples:
  groundwire demo
  groundwire demo --only sentence --only deferred --pace 10
  groundwire demo --only block --keep

\b
Exit status:
  0  what came back is what must come back, in every scene
  1  it is not; the scenes are named
  2  the demo could not start, or the command was wrong
"""


@click.command(epilog=EPILOG)
@click.pass_context
@with_options
def demo(
    ctx: click.Context,
    /,
    *,
    pace: int = option("--pace", "N", click.IntRange(1, 1000), default=25),
    names: tuple[str, ...] = option("--only", "SCENE", click.Choice(NAMES)),
    keeps: bool = option("--keep"),
    as_json: bool = option("--json"),
    color: ColorChoice = COLOR,
) -> None:
    """Show what a client sees through the gateway. It needs no key and no network.

    Starts gateways before a scripted model, all on this machine, and walks through scenes over real
    HTTP: marks, warnings, refusals, both ways to release a stream, what is recorded. The model's
    answers are scripted and the verdicts are not: they are those of the embedded models, and each
    scene is checked.

    Args:
        pace: Tokens that the scripted model writes in a second.
        names: Walk through this scene alone; can be repeated.
        keeps: Go on serving after the walk, and print addresses, the key and a request to try.
        as_json: Print what came back as JSON, at the end.
    """
    require_gateway()
    # All of this is heavy, and --help needs none of it.
    from groundwire.gateway.demo.model import ScriptedModel
    from groundwire.gateway.demo.screen import Screen
    from groundwire.gateway.demo.serving import Gateways
    from groundwire.gateway.demo.walk import Played, play, report, scenes, script

    chosen = [each for each in scenes() if not names or each.name in names]
    screen = None if as_json else Screen(color=wants_color(color))
    start, model = perf_counter(), ScriptedModel(script()["answers"], tokens_per_s=pace)
    walked: list[Played] = []
    with ExitStack() as stack:
        gateways = Gateways(stack, model, script()["settings"])
        for number, scene in enumerate(chosen, 1):
            is_new = not walked or walked[-1].scene.setting != scene.setting
            gateway = gateways.get(scene.setting)
            if screen and is_new:
                screen.gateway(gateway, gateways)
            if screen:
                screen.scene(scene, model, number=number, of=len(chosen))
            on_arrival = screen.arrival if screen else lambda *_: None
            walked.append(play(scene, gateway, model, key=gateways.key, on_arrival=on_arrival))
            if screen:
                screen.ended(walked[-1])
        seconds, n_ok = perf_counter() - start, sum(each.is_ok for each in walked)
        if screen:
            screen.summary(n_ok=n_ok, of=len(walked), seconds=seconds)
        else:
            click.echo(to_json(report(walked, gateways, seconds=seconds), indent=2))
        if keeps:
            if screen:
                screen.kept(gateways, chosen[-1])
            wait_until_told()
    failed = [each.scene.name for each in walked if not each.is_ok]
    if failed:
        click.echo(f"These scenes are not as they must be: {', '.join(failed)}.", err=True)
    ctx.exit(ExitStatus.FLAGGED if failed else ExitStatus.PASSED)


def wait_until_told() -> None:
    """Wait for SIGTERM or Ctrl-C."""
    told = threading.Event()
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda *_: told.set()) for each in kinds}
    try:
        # On Windows a wait without an end hears no Ctrl-C.
        while not told.wait(0.5):
            pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
