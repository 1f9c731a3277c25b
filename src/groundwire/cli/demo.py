"""``groundwire demo``: shows the gateway at work, without a key and without a network."""

import signal
import sys
import threading
from contextlib import ExitStack

import click

from groundwire.cli.console import COLOR, ColorChoice, open_in_browser, wants_color
from groundwire.cli.options import command, option
from groundwire.cli.settings import require_gateway

#: Names of the scenes, in order. They are here, so that --help need not import the gateway.
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
  groundwire demo --only block --curl --keep
"""


@command(epilog=EPILOG)
def demo(
    *,
    pace: int = option("--pace", "N", click.IntRange(1, 1000), default=25),
    names: tuple[str, ...] = option("--only", "SCENE", click.Choice(NAMES)),
    keeps: bool | None = option("--keep/--no-keep"),
    shows_curl: bool = option("--curl"),
    opens: bool = option("--open/--no-open", default=True),
    color: ColorChoice = COLOR,
) -> None:
    """Show a marked answer, and what clients see through the gateway, without key or network.

    Without --only, it first makes a page that shows an answer with marked words beside the sources.
    Then it starts gateways in front of a scripted model, all on this machine, and walks through
    scenes over real HTTP: marks, warnings, refusals, both ways to release a stream, what is
    recorded. On a terminal it ends in the console, where these chats go on. The model's answers are
    scripted, but the verdicts on them are real: the embedded models give them.

    Args:
        pace: Tokens that the scripted model writes per second.
        names: Walk through this scene alone; can be repeated.
        shows_curl: Show each request as a command of curl, and how its gateway is started.
        opens: Whether the page and the console are opened in a browser, if there is one.
        keeps: Whether the gateways and the console go on after the scenes, with live traffic, until
            Ctrl-C. Addresses, the key and a request to try are then printed. By default they go on
            if there is a terminal and --only is not given.
    """
    require_gateway("`groundwire demo`")
    # These imports take time, and --help does not need them.
    from groundwire.gateway.demo.model import scripted_model
    from groundwire.gateway.demo.serving import Gateways
    from groundwire.gateway.demo.traffic import live_traffic
    from groundwire.gateway.demo.walk import Screen, script, write_page

    if not names:
        page = write_page()
        click.echo(f"An answer with its wrong words marked: {page}")
        if opens:
            open_in_browser(page.as_uri())
    chosen = [each for each in script()["scenes"] if not names or each["name"] in names]
    model = scripted_model(script()["answers"], tokens_per_s=pace)
    with ExitStack() as stack:
        gateways = Gateways(stack, model, script()["settings"])
        screen = Screen(gateways, color=wants_color(color), shows_curl=shows_curl)
        for number, scene in enumerate(chosen, 1):
            screen.play(scene, number=number, of=len(chosen))
        if keeps or (keeps is None and not names and sys.stdout.isatty()):
            url, console = gateways.open_console(script()["console"])
            screen.show_running(chosen[-1])
            says = f"\nThe console, with live traffic; nobody has to sign in: {console}"
            click.secho(says, bold=True, color=wants_color(color))
            if opens and not names:
                open_in_browser(console)
            with live_traffic(url):
                wait_until_stopped()
        else:
            click.echo("\n`groundwire demo --keep` ends in the console, with live traffic.")


def wait_until_stopped() -> None:
    """Wait for SIGTERM or Ctrl-C."""
    stopped = threading.Event()
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda *_: stopped.set()) for each in kinds}
    try:
        # On Windows, Ctrl-C does not interrupt a wait without a time limit.
        while not stopped.wait(0.5):
            pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
