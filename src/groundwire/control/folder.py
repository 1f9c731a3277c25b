"""Where the gateway keeps what outlives it."""

from pathlib import Path

import click

from groundwire.config import Config


def data_folder(config: Config) -> Path:
    """``gateway.data_dir``, else the user's application folder. It may not exist yet."""
    if config.gateway.data_dir is not None:
        return Path(config.gateway.data_dir).expanduser()
    return Path(click.get_app_dir("groundwire"))
