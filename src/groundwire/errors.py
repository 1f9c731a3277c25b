"""The main exception classes of Groundwire; other modules define more.

::

    GroundwireError
    ├── InputError (ValueError)          an input is invalid
    │   ├── EmptyAnswerError             the answer is empty or only white space
    │   ├── InvalidTextError             a text is not a str, or has lone surrogates
    │   ├── InvalidSourceError           a source is invalid
    │   ├── InvalidConversationError     a chat request or response has an invalid shape
    │   ├── LimitExceededError           an input exceeds the limit of a named setting
    │   └── DatasetError                 a table of answers or questions cannot be read
    ├── SettingError (ValueError)        a setting is invalid or missing
    ├── ConfigError (ValueError)         a configuration is invalid; lists the problems
    ├── ModelError                       a model cannot be used
    │   ├── UnknownModelError            no model has this name
    │   ├── UnpinnedModelError (ValueError)   a hub model has no pinned revision
    │   ├── CorruptModelError            a file cannot be read, or is not the one in the manifest
    │   └── MissingExtraError (ImportError)   an optional dependency is not installed
    ├── GateError (RuntimeError)         the gate could not tell whether an answer needs a check
    └── DetectionError (RuntimeError)    a check failed
        └── UnreadableError              claim or evidence has no words that the model can read
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_KINDS_OF_SOURCE = (
    "A source is a text, a Source, a mapping with its text under text, page_content, content or "
    "snippet, a document of LangChain, LlamaIndex or Haystack, or JSON data (a dict or a list)."
)


class GroundwireError(Exception):
    """Base class of most of Groundwire's own errors."""


class InputError(GroundwireError, ValueError):
    """An input is invalid and was refused."""


class EmptyAnswerError(InputError):
    """The answer is empty or only white space."""

    def __str__(self) -> str:
        return (
            "The answer is empty or only white space, so there is nothing to check. "
            "Pass the text that the model wrote."
        )


class InvalidTextError(InputError):
    """A text is not a ``str``, or has a lone surrogate.

    ``position`` is the index of the surrogate; ``None`` if the text is not a ``str``.
    """

    def __init__(self, where: str, position: int | None, problem: str) -> None:
        super().__init__(where, position, problem)
        self.where, self.position, self.problem = where, position, problem

    def __str__(self) -> str:
        if self.position is None:
            return (
                f"The {self.where} is not valid text: {self.problem}. "
                "Pass a str; decode bytes first, as UTF-8."
            )
        return (
            f"The {self.where} is not valid text: {self.problem} at position {self.position}. "
            "Decode the bytes as UTF-8 with errors='replace', or repair the text, and try again."
        )


class InvalidSourceError(InputError):
    """A source cannot be read, or has the same id as a source with another text.

    ``index`` is the position of the source; ``None`` if the sources as a whole are invalid.
    """

    def __init__(self, index: int | None, problem: str, remedy: str = _KINDS_OF_SOURCE) -> None:
        super().__init__(index, problem, remedy)
        self.index, self.problem, self.remedy = index, problem, remedy

    def __str__(self) -> str:
        which = "The sources" if self.index is None else f"Source {self.index}"
        return f"{which} cannot be read: {self.problem}. {self.remedy}"


class InvalidConversationError(InputError):
    """A chat request or response has an invalid shape.

    ``place`` names the invalid part, such as ``messages[3]``.
    """

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        super().__init__(place, problem, remedy)
        self.place, self.problem, self.remedy = place, problem, remedy

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. {self.remedy}"


class LimitExceededError(InputError):
    """An input is longer than a named setting allows; it was refused, not shortened.

    ``size`` and ``limit`` are lengths: characters of a text, or items of a list.
    """

    def __init__(self, what: str, size: int, limit: int, setting: str) -> None:
        super().__init__(what, size, limit, setting)
        self.what, self.size, self.limit, self.setting = what, size, limit, setting

    def __str__(self) -> str:
        return (
            f"The length of the {self.what} is {self.size:,}, and at most {self.limit:,} is "
            f"allowed. Raise the setting {self.setting!r}, or split the input."
        )


class DatasetError(InputError):
    """A table of answers or questions cannot be read.

    ``line`` is the number of the invalid line, from 1; ``None`` if the problem is not in one line.
    """

    def __init__(
        self,
        path: Path,
        line: int | None,
        problem: str,
        advice: str = "Repair it, or fetch the file again.",
    ) -> None:
        super().__init__(path, line, problem, advice)
        self.path, self.line, self.problem, self.advice = path, line, problem, advice

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.problem}. {self.advice}"


class SettingError(GroundwireError, ValueError):
    """A setting has a value that is not possible, or a required value is missing."""

    def __init__(self, setting: str, value: object, valid: str) -> None:
        super().__init__(setting, value, valid)
        self.setting, self.value, self.valid = setting, value, valid

    def __str__(self) -> str:
        return f"{self.setting} = {self.value!r} is not possible. It must be {self.valid}."


class ConfigError(GroundwireError, ValueError):
    """A configuration cannot be used. ``problems`` has one message for each problem found."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        return "\n".join([f"{len(self.problems)} problems:", *self.problems])


class ModelError(GroundwireError):
    """A model cannot be used."""


class UnknownModelError(ModelError):
    """No model has the requested name."""

    def __init__(self, model: str, known: Sequence[str]) -> None:
        super().__init__(model, known)
        self.model, self.known = model, known

    def __str__(self) -> str:
        return (
            f"There is no model {self.model!r}. Embedded models: {', '.join(self.known)}. "
            "Otherwise pass a local folder, or a hub id with an organisation, "
            "such as KRLabsOrg/lettucedect-base-modernbert-en-v1."
        )


class UnpinnedModelError(ModelError, ValueError):
    """A hub model was requested without a pinned revision."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model

    def __str__(self) -> str:
        return (
            f"{self.model!r} names a model on a hub, and its revision is not pinned: the files of "
            "a branch can change between two runs. Pass revision= with a full commit hash "
            "(40 hexadecimal digits), or a local folder."
        )


class CorruptModelError(ModelError):
    """A model file cannot be read, or its SHA-256 differs from the one in the manifest."""

    def __init__(self, path: Path, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path, self.expected, self.found = path, expected, found

    def __str__(self) -> str:
        return (
            f"{self.path} is not the file its manifest describes: SHA-256 {self.found} instead of "
            f"{self.expected}. Install the package again, or fetch the model again."
        )


class MissingExtraError(ModelError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what, self.extra = what, extra

    def __str__(self) -> str:
        return (
            f"{self.what} needs the {self.extra!r} extra, which is not installed. "
            f"Install it from a checkout of Groundwire: pip install '.[{self.extra}]'"
        )


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Turn an ``ImportError`` in the block into the error that names the extra to install.

    Args:
        what: What needs the packages, such as "Reading Parquet": the subject of the message.
        extra: Name of the extra that installs the packages.

    Raises:
        MissingExtraError: If an import in the block fails.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(what, extra) from error


class GateError(GroundwireError, RuntimeError):
    """The gate, which predicts whether the answer to a prompt needs a check, failed.

    The answer should then be checked.
    """

    def __init__(self, n_chars: int, problem: str) -> None:
        super().__init__(n_chars, problem)
        self.n_chars, self.problem = n_chars, problem

    def __str__(self) -> str:
        return (
            f"The gate failed on a prompt of {self.n_chars:,} characters: "
            f"{self.problem.rstrip('.')}. Check the answer to this prompt."
        )


class DetectionError(GroundwireError, RuntimeError):
    """A check failed, so there is no verdict."""


class UnreadableError(DetectionError):
    """The claim or the evidence has no words that the model can read."""

    def __str__(self) -> str:
        return (
            "The claim or the evidence has no words that the model can read. The embedded model "
            "reads English."
        )
