"""The configuration: one frozen tree, read once and handed down.

:func:`load` reads a file and the environment; what cannot be read is a
:class:`~groundwire.errors.ConfigError` with the file, the line, and what is possible.
"""

from groundwire.config.names import Format
from groundwire.config.read import Config, SettingOrigin, load, parse
from groundwire.config.tenants import overrides_from_metadata, read_overrides

__all__ = [
    "Config",
    "Format",
    "SettingOrigin",
    "load",
    "overrides_from_metadata",
    "parse",
    "read_overrides",
]
