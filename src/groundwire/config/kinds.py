"""The types of settings: annotations for pydantic, with descriptions of the possible values.

Settings are plain frozen dataclasses; the annotations of their fields say which values are
possible. Pydantic is slow to import, and so is imported only when it is needed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from groundwire.text.spelling import guess

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_MAX_WHOLE = 2**53  # larger whole numbers are not exact in all readers of JSON
_NO_URL = re.compile(r"[^\x21-\x7e]")
_NULLS = ("null", "~")

#: Additional keys in JSON Schemas, from which messages are made. :meth:`Kind.schema` removes them,
#: except from the schema of a list's items.
_PRIVATE = ("legal", "aliases")


class KindError(ValueError):
    """Raised if a value of a setting is wrong.

    Attributes:
        legal: Description of the possible values, which follows the words "must be".
        guess: The possible value that is closest to the wrong one; empty if none is close.
    """

    def __init__(self, legal: str, guess: str = "") -> None:
        super().__init__(legal, guess)
        self.legal, self.guess = legal, guess


class Secret:
    """A secret text. It is printed as ``***``, or as another text without the secret part."""

    __slots__ = ("_shown", "_text")

    def __init__(self, text: str, *, shown: str = "***") -> None:
        self._text, self._shown = text, shown

    def reveal(self) -> str:
        """Return the secret text."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return self._shown


class Kind:
    """The type of a setting, which reads and checks the setting's values."""

    def __init__(self, type_: Any) -> None:  # noqa: ANN401 - any annotation
        self.type = type_

    @cached_property
    def _adapter(self) -> "TypeAdapter[Any]":
        from pydantic import TypeAdapter

        return TypeAdapter(self.type)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return self._adapter.json_schema()

    @property
    def _branches(self) -> list[dict[str, Any]]:
        return list(self._schema.get("anyOf", [self._schema]))

    @property
    def legal(self) -> str:
        """Description of the possible values, which follows the words "must be"."""
        return _legal(self._schema)

    @property
    def is_secret(self) -> bool:
        """Whether the values are secret, so that not even wrong ones are shown in errors."""
        return any("writeOnly" in each.get("items", each) for each in self._branches)

    @property
    def is_optional(self) -> bool:
        """Whether a setting of this type may be ``null``."""
        return {"type": "null"} in self._branches

    def schema(self, *, has_aliases: bool = False) -> dict[str, Any]:
        """Return the JSON Schema of the possible values, without ``null``.

        Args:
            has_aliases: Whether other names of a value, such as ``reject`` for ``block``, are valid
                too.
        """
        branches = [
            {name: value for name, value in each.items() if name not in _PRIVATE}
            | (
                {"enum": [*each["enum"], *each["aliases"]]}
                if has_aliases and "enum" in each
                else {}
            )
            for each in self._branches
            if each != {"type": "null"}
        ]
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def read(self, raw: object) -> Any:  # noqa: ANN401 - the type depends on the kind
        """Read a value; the texts ``null`` and ``~`` mean ``None`` where ``None`` is valid.

        Raises:
            KindError: If the value is wrong.
        """
        from pydantic import ValidationError

        if isinstance(raw, str) and raw.strip().lower() in _NULLS and self.is_optional:
            return None
        try:
            # Pydantic would read True as 1, so a truth value is refused where none is valid.
            if isinstance(raw, bool) and {"type": "boolean"} not in self._branches:
                raise KindError(self.legal)
            return self._adapter.validate_python(raw)
        except UnicodeEncodeError:  # pydantic cannot read lone surrogates
            raise KindError(self.legal) from None
        except ValidationError as error:
            causes = [each.get("ctx", {}).get("error") for each in error.errors()]
            own = next((each for each in causes if isinstance(each, KindError)), None)
            legal = f"{own.legal}{', or null' * self.is_optional}" if own else self.legal
            raise KindError(legal, own.guess if own else self._guess(raw)) from None

    def _guess(self, raw: object) -> str:
        branches = [each for each in self._branches if "enum" in each]
        known = [word for each in branches for word in (*each["enum"], *each["aliases"])]
        return guess(raw.strip(), known) if isinstance(raw, str) else ""


def written(value: object) -> Any:  # noqa: ANN401 - plain data
    """Return the value of a setting as plain data, with secrets hidden.

    :meth:`Kind.read` accepts the data, unless a secret is hidden in it.
    """
    if isinstance(value, Secret):
        return repr(value)
    if isinstance(value, tuple):
        return [written(each) for each in value]
    return str(value) if isinstance(value, str) else value


def _legal(schema: Mapping[str, Any]) -> str:
    if "legal" in schema:
        return str(schema["legal"])
    if "anyOf" in schema:
        return ", or ".join(_legal(each) for each in schema["anyOf"])
    if schema["type"] == "array":
        return f"a list, each item {_legal(schema['items'])}"
    return {"boolean": "true or false (also yes, no, on, off)", "null": "null"}[schema["type"]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Number:
    """An annotation of ``int`` or ``float``: the bounds of a number, and its unit."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    unit: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401
        from pydantic_core import core_schema

        bounds: dict[str, Any] = {"ge": self.ge, "gt": self.gt, "le": self.le, "lt": self.lt}
        if source is int:
            return core_schema.int_schema(**bounds | {"le": self.le or _MAX_WHOLE})
        return core_schema.float_schema(**bounds, allow_inf_nan=False)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:  # noqa: ANN401
        schema: dict[str, Any] = handler(core)
        if self.le is None:
            schema.pop("maximum", None)  # this is _MAX_WHOLE, not a bound of the setting
        return {**schema, "legal": self._legal(is_whole=schema["type"] == "integer")}

    def _legal(self, *, is_whole: bool) -> str:
        what = f"a {'whole ' * is_whole}number" + (f" of {self.unit}" if self.unit else "")
        high = "" if self.le is None else f" to {self.le:g}"
        high = high if self.lt is None else f" below {self.lt:g}"
        if self.gt is not None:
            return f"{what}, above {self.gt:g}{high}"
        if self.ge is not None:
            return f"{what}, from {self.ge:g}{high}" if high else f"{what}, {self.ge:g} or more"
        return what


@dataclass(frozen=True, eq=False)
class Read:
    """An annotation of a setting, with the function that reads its values.

    Attributes:
        read: Function that takes plain data and returns the value, or raises ``ValueError``.
        legal: Description of the possible values.
        schema: Keys of the JSON Schema besides ``type: string``.
    """

    read: Callable[[Any], Any]
    legal: str
    schema: Mapping[str, Any] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"type": "string", **self.schema, "legal": self.legal}


@dataclass(frozen=True, eq=False)
class OneOrMore:
    """An annotation of a tuple of one or more items; a single item need not be in a list.

    With a separator, several items can be given as one text, as in an environment variable.
    """

    separator: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self._as_list, handler(source))

    def _as_list(self, raw: object) -> list[object]:
        if self.separator and isinstance(raw, str):
            return [item.strip() for item in raw.split(self.separator)]
        items = raw if isinstance(raw, list) else [raw]
        if not items:
            raise ValueError(raw)
        return items


def one_of(values: Sequence[str], aliases: Mapping[str, str] | None = None) -> Read:
    """Return the type of a value that is one of the given words, in upper or lower case.

    Args:
        values: The words.
        aliases: Other name → the word with the same meaning.
    """
    aliases = aliases or {}
    words = {value.lower(): value for value in values}
    words |= {alias.lower(): words[value.lower()] for alias, value in aliases.items()}

    def read(raw: object) -> str:
        text = raw.strip().lower() if isinstance(raw, str) else ""
        if text not in words:
            raise ValueError(raw)
        return words[text]

    also = f" (also {', '.join(aliases)})" if aliases else ""
    schema = {"enum": [str(each) for each in values], "aliases": list(aliases)}
    return Read(read, f"one of {', '.join(values)}{also}", schema)


def some_of(values: Sequence[str]) -> Read:
    """Return the type of a value that names one or more of the given words, separated by commas.

    The words may also be given as a list. ``none`` means no word; an empty value is refused.
    """
    legal = f"none, or some of {', '.join(values)} with commas between"

    def read(raw: Any) -> str:  # noqa: ANN401
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise KindError(legal)
        words = [part.strip().lower() for part in parts]
        if words == ["none"]:
            return "none"
        if not words or not set(words) <= set(values):
            near = next((guess(word, values) for word in words if word not in values), "")
            raise KindError(legal, near)
        return ",".join(value for value in values if value in words)

    return Read(read, legal)


def matching(pattern: str, legal: str) -> Read:
    """Return the type of a setting whose text must match a regular expression as a whole."""
    whole = re.compile(pattern)

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not whole.fullmatch(raw):
            raise ValueError(raw)
        return raw

    return Read(read, legal)


def secret(inner: Read) -> Read:
    """Return the type of a secret text; ``***`` is refused, because secrets are printed so."""

    def read(raw: object) -> Secret:
        if raw == "***":
            raise KindError(f"{inner.legal}, and not the *** it is shown as")
        return Secret(inner.read(raw))

    return Read(read, f"{inner.legal} (shown as ***)", {"writeOnly": True})


def _read_url(raw: object) -> str:
    url = urlsplit(raw if isinstance(raw, str) else "")
    if not url.hostname or url.scheme not in ("https", "http") or re.search(r"\s", str(raw)):
        raise ValueError(raw)
    return str(raw)


def _read_endpoint(raw: object) -> str:
    url = urlsplit(raw if isinstance(raw, str) else "")
    _ = url.port  # raises an error if the port is not valid
    # A URL with a user, password, query or fragment is refused: a key in one of these would be
    # shown wherever the URL is shown.
    more = url.username or url.password or url.query or url.fragment
    if not url.hostname or url.scheme not in ("http", "https") or more or _NO_URL.search(str(raw)):
        raise ValueError(raw)
    return str(raw)


def _read_issuer(raw: object) -> str:
    url = _read_endpoint(raw)
    if not is_encrypted(url, plain_host=None):
        raise ValueError(raw)
    return url


_STORE_URL = "postgresql://user:password@host/database, or sqlite:///path/of/a/file"

#: The parameters that a PostgreSQL URL may have; none of them has a secret as its value.
STORE_PARAMETERS = (
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_min_protocol_version"),
    *("application_name", "search_path", "target_session_attrs"),
)


def _read_store_url(raw: object) -> Secret:
    url = urlsplit(raw if isinstance(raw, str) else "")
    _ = url.port  # raises an error if the port is not valid
    path = url.path.strip("/")
    if url.scheme == "sqlite":
        # A database in memory is refused: it would be lost when the process ends.
        is_right = not url.netloc and not url.query and path not in ("", ":memory:")
    else:
        is_known = url.scheme in ("postgresql", "postgres")
        is_right = is_known and bool(url.hostname and path) and url.password != "***"
    if not is_right or url.fragment or _NO_URL.search(str(raw)):
        raise ValueError(raw)
    if not {name for name, _ in parse_qsl(url.query, True)} <= set(STORE_PARAMETERS):
        raise KindError(f"{_STORE_URL}; of parameters it takes {', '.join(STORE_PARAMETERS)}")
    if url.password is None:
        return Secret(str(raw), shown=str(raw))
    place = url.netloc.rpartition("@")[2]
    shown = url._replace(netloc=f"{url.username or ''}:***@{place}").geturl()
    return Secret(str(raw), shown=shown)


def _read_pattern(raw: object) -> str:
    try:
        groups = re.compile(raw).groupindex if isinstance(raw, str) else {}
    except (re.error, OverflowError) as error:
        raise KindError(f"{_PATTERN}: {error}") from None
    except RecursionError:
        raise KindError(f"{_PATTERN}: it is nested too deeply") from None
    if "id" not in groups:
        raise ValueError(raw)
    return str(raw)


_PATTERN = "a regular expression with a group named id, such as \\[(?P<id>S\\d+)\\]"
_TEXT = matching(r"(?s).*\S.*", "a text")

Whole = Annotated[int, Number()]
Text = Annotated[str, _TEXT]
Texts = Annotated[tuple[Text, ...], OneOrMore()]
Listed = Annotated[tuple[Text, ...], OneOrMore(",")]
SecretText = Annotated[Secret, secret(_TEXT)]
Device = Annotated[str, matching(r"cpu|cuda:\d{1,3}", "cpu or cuda:N")]
Name = Annotated[
    str,
    matching(
        r"[A-Za-z0-9._-]{1,64}", "a name of up to 64 letters, digits, dots, dashes and underscores"
    ),
]
Pattern = Annotated[str, Read(_read_pattern, _PATTERN)]
ENCRYPTED = "a URL with https://, or with http:// on this machine or on verify.plain_http_host"
Url = Annotated[str, Read(_read_url, ENCRYPTED)]
Issuer = Annotated[
    str,
    Read(
        _read_issuer,
        "a URL with https://, or with http:// on this machine, and without user, password, query "
        "and fragment, such as https://login.example.com/realms/acme",
    ),
]
Endpoint = Annotated[
    str,
    Read(
        _read_endpoint,
        "a URL with http:// or https:// and without user, password, query and fragment, "
        "such as https://api.openai.com/v1",
    ),
]
StoreUrl = Annotated[Secret, Read(_read_store_url, _STORE_URL, {"writeOnly": True})]


def is_encrypted(url: str, *, plain_host: str | None) -> bool:
    """Return whether it is safe to send secrets to a URL.

    HTTPS is safe, and so is plain HTTP to this machine or to ``plain_host``.
    """
    parts = urlsplit(url)
    is_allowed = plain_host is not None and parts.hostname == plain_host.lower()
    return parts.scheme == "https" or is_allowed or is_loopback(url)


def is_loopback(url: str) -> bool:
    """Return whether the host of a URL can only mean this machine."""
    return is_loopback_host(urlsplit(url).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Return whether a host name or address can only mean this machine.

    >>> is_loopback_host("[::1]"), is_loopback_host("localhost.example.com")
    (True, False)
    """
    name = host.strip().rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
