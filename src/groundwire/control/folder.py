"""Finds the gateway's data folder, the default folder of the database and the audit log."""

from pathlib import Path

import click

from groundwire.config import Config


def data_folder(config: Config) -> Path:
    """Return the folder ``gateway.data_dir``, or if it is not set, the user's Groundwire folder.

    The returned folder may not exist yet.
    """
    if config.gateway.data_dir is not None:
        return Path(config.gateway.data_dir).expanduser()
    return Path(click.get_app_dir("groundwire"))
