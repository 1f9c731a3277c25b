"""Keys and URLs of verifiers, from a call or else from the environment."""

from collections.abc import Mapping

from groundwire.config.kinds import KindError, Secret
from groundwire.config.tree import SETTINGS, Verify
from groundwire.verify.errors import NotVerifiedError, invalid_argument

KEY_VARIABLE = "OPENAI_API_KEY"


def wanted_key(settings: Verify, environ: Mapping[str, str]) -> str:
    """Read the key of an endpoint or a service.

    Raises:
        NotVerifiedError: If there is none, or it cannot stand in an HTTP header.
    """
    own = settings.api_key
    key = (own.reveal() if isinstance(own, Secret) else environ.get(KEY_VARIABLE, "")).strip()
    if not key:
        raise NotVerifiedError(
            "missing_api_key",
            f"There is no API key. Set {KEY_VARIABLE}, or pass api_key; any text does for a server "
            'that wants none. verifier="local" needs no key.',
        )
    if not (key.isascii() and key.isprintable()):
        raise invalid_argument(f"{KEY_VARIABLE} = *** is not possible. It must be printable ASCII.")
    return key


def wanted_url(given: str | None, environ: Mapping[str, str], variable: str) -> str | None:
    """Read the URL that was given, or else that of the environment; ``None`` if there is none.

    Raises:
        NotVerifiedError: If it is plain HTTP to another machine, or not a URL.
    """
    url = given or environ.get(variable, "").strip()
    if not url:
        return None
    try:
        return str(SETTINGS["verify.base_url"].kind.read(url)).rstrip("/")
    except KindError as error:
        raise invalid_argument(
            f"{variable} is not possible: it must be a URL with https://, or with http:// on this "
            "machine, for answer, evidence and key would travel unencrypted."
        ) from error
