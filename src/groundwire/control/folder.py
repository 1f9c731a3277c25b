"""The data folder of the gateway."""

from pathlib import Path

import click

from groundwire.config import Config


def data_folder(config: Config) -> Path:
    """Return ``gateway.data_dir``, or else the user's application folder; it may not exist yet."""
    if config.gateway.data_dir is not None:
        return Path(config.gateway.data_dir).expanduser()
    return Path(click.get_app_dir("groundwire"))
