"""The configuration: one frozen value with all settings, read once at the start.

:func:`load` reads a file and environment variables. If a value is wrong, it raises
:class:`~groundwire.errors.ConfigError`, which names the place and the possible values.
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
