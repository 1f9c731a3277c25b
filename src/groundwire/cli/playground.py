"""``groundwire playground``: serves a page in which answers can be checked, on this machine."""

import click

from groundwire.cli.console import open_in_browser, say
from groundwire.cli.inputs import NAME, in_url
from groundwire.cli.options import command, option
from groundwire.cli.settings import require_gateway


@command()
def playground(
    *,
    host: str = option("--host", "ADDRESS", NAME, default="127.0.0.1"),
    port: int = option("--port", "N", click.IntRange(0, 65535), default=8070),
    opens: bool = option("--open/--no-open", default=True),
) -> None:
    """Try checks in a browser: paste sources and an answer, and see what is marked.

    The verdict follows while you type. The model runs on this machine, the page asks this server
    alone, and nothing is stored.

    Args:
        host: The address to listen on. The page needs no key, so anybody who can reach this address
            can use it.
        port: The port to listen on; 0: any.
        opens: Whether a browser is opened, if there is one.

    Examples:
        groundwire playground
        groundwire playground --port 0 --no-open

    Exit status:
        0  it was told to stop
        2  it could not start
    """
    require_gateway("`groundwire playground`")
    # These imports take time, and --help does not need them.
    from groundwire.config import parse
    from groundwire.detector import Detector
    from groundwire.gateway.playground.app import Playground
    from groundwire.gateway.server import Server, is_reachable, listen

    environ = {
        "GROUNDWIRE_GATEWAY_HOST": host,
        "GROUNDWIRE_GATEWAY_PORT": str(port),
        "GROUNDWIRE_GATEWAY_SHUTDOWN_S": "2",
    }
    config = parse("", name="playground", environ=environ)
    sockets = listen(config)
    address = f"http://{in_url(host)}:{sockets[0].getsockname()[1]}/"
    is_local = not is_reachable(sockets)
    if not is_local:
        say(f"warning: other machines may reach {address}, and it needs no key.")
    with Detector.load() as detector:
        app = Playground(detector).app(is_local=is_local)
        if opens:
            open_in_browser(address)
        Server(app, config, says=say, address=address).serve_until_told(sockets)
