"""What a setting may be: how its value is read, written, and described.

A kind takes a value as it stands in YAML, or as the text of an environment variable.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import inf, isfinite
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

#: Of YAML 1.1, which the files of other products are written in.
TRUE = ("true", "yes", "on", "y")
FALSE = ("false", "no", "off", "n")

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_WHOLE = 2**53  # what JSON holds
_DEVICE = re.compile(r"cpu|cuda:\d{1,3}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NO_URL = re.compile(r"[^\x21-\x7e]")


class KindError(ValueError):
    """A value is not of its kind.

    ``legal`` describes what is; ``guess`` is the legal value that was perhaps meant.
    """

    def __init__(self, legal: str, guess: str = "") -> None:
        super().__init__(legal, guess)
        self.legal, self.guess = legal, guess


class SettingKind(Protocol):
    """What a setting may be."""

    @property
    def legal(self) -> str:
        """What is possible, to follow "must be"."""
        ...

    def read(self, raw: object) -> Any:  # noqa: ANN401 - each kind has its own
        """The value.

        Raises:
            KindError: If it is not of this kind.
        """
        ...

    def write(self, value: Any) -> object:  # noqa: ANN401
        """The value as plain data that :meth:`read` takes."""
        ...


class Secret:
    """A text that is shown as ``***`` wherever it is printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return "***"


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false, as YAML 1.1 spells it."""

    legal: str = "true or false (also yes, no, on, off)"

    def read(self, raw: object) -> bool:  # noqa: D102 - as Kind says
        text = raw.strip().lower() if isinstance(raw, str) else raw
        if isinstance(text, bool):
            return text
        if text in TRUE:
            return True
        if text in FALSE:
            return False
        raise KindError(self.legal)

    def write(self, value: bool) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number in a range; whole, if ``is_whole``."""

    low: float = -inf
    high: float = inf
    is_low_open: bool = False
    is_high_open: bool = False
    is_whole: bool = False
    unit: str = ""

    @property
    def legal(self) -> str:  # noqa: D102
        what = f"a {'whole ' if self.is_whole else ''}number"
        if self.unit:
            what += f" of {self.unit}"
        low = f"{'above' if self.is_low_open else 'from'} {self.low:g}"
        high = f"{'below' if self.is_high_open else 'to'} {self.high:g}"
        if self.high < inf:
            return f"{what}, {low} {high}"
        if self.low == -inf:
            return what
        return f"{what}, {low if self.is_low_open else f'{self.low:g} or more'}"

    def read(self, raw: object) -> float:  # noqa: D102
        try:
            number = self._number(raw)
        except (ValueError, OverflowError):
            raise KindError(self.legal) from None
        too_low = number <= self.low if self.is_low_open else number < self.low
        too_high = number >= self.high if self.is_high_open else number > self.high
        if too_low or too_high or not isfinite(number):
            raise KindError(self.legal)
        return number

    def _number(self, raw: object) -> float:
        """Raises ValueError or OverflowError if it is none."""
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            raise ValueError(raw)
        if not self.is_whole:
            return float(raw)
        if isinstance(raw, float):
            raise ValueError(raw)
        number = int(raw)
        if abs(number) > _MAX_WHOLE:
            raise OverflowError(number)
        return number

    def write(self, value: float) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words, whatever their case; others may stand for them."""

    values: Sequence[str]
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def legal(self) -> str:  # noqa: D102
        also = f" (also {', '.join(self.aliases)})" if self.aliases else ""
        return f"one of {', '.join(self.values)}{also}"

    def read(self, raw: object) -> Any:  # noqa: ANN401, D102
        words = {value.lower(): value for value in self.values}
        words |= {alias.lower(): words[value.lower()] for alias, value in self.aliases.items()}
        text = raw.strip().lower() if isinstance(raw, str) else ""
        if text not in words:
            raise KindError(self.legal, guess(text, words))
        return words[text]

    def write(self, value: str) -> object:  # noqa: D102
        return str(value)


@dataclass(frozen=True, slots=True)
class Words:
    """Some of the words there are, with commas between or as a list; one stands for none."""

    values: Sequence[str]
    nothing: str = "none"

    @property
    def legal(self) -> str:  # noqa: D102
        return f"{self.nothing}, or some of {', '.join(self.values)} with commas between"

    def read(self, raw: object) -> str:  # noqa: D102
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise KindError(self.legal)
        words = [part.strip().lower() for part in parts]
        if words == [self.nothing]:
            return self.nothing
        if wrong := [word for word in words if word not in self.values]:
            raise KindError(self.legal, guess(wrong[0], self.values))
        if not words:
            raise KindError(self.legal)
        return ",".join(value for value in self.values if value in words)

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not blank."""

    legal: str = "a text"

    def read(self, raw: object) -> str:  # noqa: D102
        if not isinstance(raw, str) or not raw.strip():
            raise KindError(self.legal)
        return raw

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class SecretText:
    """A text that is never shown."""

    legal: str = "a text (it is shown as ***)"

    def read(self, raw: object) -> Secret:  # noqa: D102
        # What a shown configuration holds in its place must not become the key.
        if not isinstance(raw, str) or not raw.strip() or raw == "***":
            raise KindError("a text, and not the *** it is shown as")
        return Secret(raw)

    def write(self, value: Secret) -> object:  # noqa: D102
        return repr(value)


@dataclass(frozen=True, slots=True)
class Device:
    """Where a model runs."""

    legal: str = "cpu or cuda:N"

    def read(self, raw: object) -> str:  # noqa: D102
        if not isinstance(raw, str) or not _DEVICE.fullmatch(raw):
            raise KindError(self.legal)
        return raw

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class Url:
    """Where a service is; without encryption on this machine only."""

    legal: str = "a URL with https://, or with http:// on this machine"

    def read(self, raw: object) -> str:  # noqa: D102
        try:
            url = urlsplit(raw if isinstance(raw, str) else "")
            host = url.hostname
        except ValueError:
            raise KindError(self.legal) from None
        is_safe = url.scheme == "https" or (url.scheme == "http" and is_loopback(str(raw)))
        if not host or not is_safe or re.search(r"\s", str(raw)):
            raise KindError(self.legal)
        return str(raw)

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an upstream is, on this machine, in the local network or elsewhere.

    A key in it would be shown wherever the URL is.
    """

    legal: str = (
        "a URL with http:// or https:// and without user, password, query and fragment, "
        "such as https://api.openai.com/v1"
    )

    def read(self, raw: object) -> str:  # noqa: D102
        try:
            url = urlsplit(raw if isinstance(raw, str) else "")
            host, _ = url.hostname, url.port  # a port that is none raises
        except ValueError:
            raise KindError(self.legal) from None
        more = url.username or url.password or url.query or url.fragment
        if not host or url.scheme not in ("http", "https") or more or _NO_URL.search(str(raw)):
            raise KindError(self.legal)
        return str(raw)

    def write(self, value: str) -> object:  # noqa: D102
        return value


#: What a URL of PostgreSQL may have after a question mark: libpq's words, none of them a secret.
STORE_PARAMETERS = (
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_min_protocol_version"),
    *("application_name", "search_path", "target_session_attrs"),
)


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """Where a database is. It may hold a password, which is shown as ``***``."""

    legal: str = "postgresql://user:password@host/database, or sqlite:///path/of/a/file"

    def read(self, raw: object) -> Secret:  # noqa: D102
        try:
            url = urlsplit(raw if isinstance(raw, str) else "")
            host, _ = url.hostname, url.port  # a port that is none raises
        except ValueError:
            raise KindError(self.legal) from None
        path = url.path.strip("/")
        if url.scheme == "sqlite":
            # What is in memory alone ends with the process, and none but it sees it.
            is_right = not url.netloc and not url.query and path not in ("", ":memory:")
        else:
            is_known = url.scheme in ("postgresql", "postgres")
            is_right = is_known and bool(host and path) and url.password != "***"
        if not is_right or url.fragment or _NO_URL.search(str(raw)):
            raise KindError(self.legal)
        if not {name for name, _ in parse_qsl(url.query, True)} <= set(STORE_PARAMETERS):
            known = ", ".join(STORE_PARAMETERS)
            raise KindError(f"{self.legal}; of parameters it takes {known}")
        return Secret(str(raw))

    def write(self, value: Secret) -> object:  # noqa: D102
        url = urlsplit(value.reveal())
        if url.password is None:
            return value.reveal()
        _, _, place = url.netloc.rpartition("@")
        return url._replace(netloc=f"{url.username or ''}:***@{place}").geturl()


@dataclass(frozen=True, slots=True)
class Name:
    """A name that stands in logs, metrics and headers as it is."""

    legal: str = "a name of up to 64 letters, digits, dots, dashes and underscores"

    def read(self, raw: object) -> str:  # noqa: D102
        if not isinstance(raw, str) or not _NAME.fullmatch(raw):
            raise KindError(self.legal)
        return raw

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class DetectorName:
    """A detector that a tenant may have. Which there are, depends on ``detector.name``."""

    legal: str = (
        "one of reader, similarity, similarity:neural, similarity:hash, or what detector.name says"
    )

    def read(self, raw: object) -> str:  # noqa: D102
        if not isinstance(raw, str) or not raw.strip() or not raw.isprintable():
            raise KindError(self.legal)
        return raw

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression of Python's that has a group ``id``."""

    legal: str = "a regular expression with a group named id, such as \\[(?P<id>S\\d+)\\]"

    def read(self, raw: object) -> str:  # noqa: D102
        try:
            groups = re.compile(raw).groupindex if isinstance(raw, str) else {}
        except (re.error, OverflowError) as error:
            raise KindError(f"{self.legal}: {error}") from None
        except RecursionError:
            raise KindError(f"{self.legal}: it is nested too deeply") from None
        if "id" not in groups:
            raise KindError(self.legal)
        return str(raw)

    def write(self, value: str) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class OneOf:
    """Of the first kind that takes it."""

    kinds: tuple[SettingKind, ...]

    @property
    def legal(self) -> str:  # noqa: D102
        return ", or ".join(kind.legal for kind in self.kinds)

    def read(self, raw: object) -> Any:  # noqa: ANN401, D102
        guessed = ""
        for kind in self.kinds:
            try:
                return kind.read(raw)
            except KindError as error:
                guessed = guessed or error.guess
        raise KindError(self.legal, guessed)

    def write(self, value: object) -> object:  # noqa: D102
        return value


@dataclass(frozen=True, slots=True)
class Optional:
    """Of a kind, or nothing: ``null``, also as a text, which is all a variable can hold.

    So a text of that name is no value: it could not be read back.
    """

    kind: SettingKind

    @property
    def legal(self) -> str:  # noqa: D102
        return f"{self.kind.legal}, or null"

    def read(self, raw: object) -> Any:  # noqa: ANN401, D102
        if raw is None or _is_null(raw):
            return None
        try:
            return self.kind.read(raw)
        except KindError as error:
            raise KindError(f"{error.legal}, or null", error.guess) from None

    def write(self, value: object) -> object:  # noqa: D102
        written = None if value is None else self.kind.write(value)
        if _is_null(written):
            raise KindError(f"{self.legal}; {written!r} reads as nothing")
        return written


def _is_null(raw: object) -> bool:
    return isinstance(raw, str) and raw.strip().lower() in ("null", "~")


def is_loopback(url: str) -> bool:
    """Whether a URL is of this machine, as far as its host's name says."""
    return urlsplit(url).hostname in _LOOPBACK


def is_secret(kind: SettingKind | None) -> bool:
    """Whether values of a kind are never shown, wrong ones included."""
    inner = getattr(kind, "kind", None)
    return isinstance(kind, SecretText | StoreUrl) or (inner is not None and is_secret(inner))


def guess(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """The known word that was perhaps meant; empty if none is close."""
    close = get_close_matches(word.lower(), [each.lower() for each in known], n=1, cutoff=0.6)
    return next((each for each in known if close and each.lower() == close[0]), "")
