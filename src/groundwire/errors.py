"""Everything Groundwire raises, in one family.

::

    GroundwireError
    ├── InputError (ValueError)          what was given cannot be checked
    │   ├── EmptyAnswerError
    │   ├── InvalidTextError             lone surrogates, anything but a str
    │   ├── InvalidSourceError           a source of a kind we cannot read, two with one id
    │   ├── InvalidConversationError     a request or a response of an LLM that is none
    │   ├── LimitExceededError           more than a named setting allows
    │   └── DatasetError                 a file of labelled answers is not as described
    ├── SettingError (ValueError)        a setting outside its range
    ├── ConfigError (ValueError)         a configuration that cannot be used, with all that is wrong
    ├── ModelError                       the model cannot be used
    │   ├── UnknownModelError
    │   ├── UnpinnedModelError (ValueError)   a hub model without a revision
    │   ├── CorruptModelError            a file does not have the hash its manifest names
    │   └── MissingExtraError (ImportError)
    ├── GateError (RuntimeError)         whether a check is due could not be told: check
    └── DetectionError (RuntimeError)    a check was due and failed
        ├── UnreadableError              the model cannot read what was given
        └── AnswerFailedError            nothing of an answer could be judged, and why

Each message says what happened, with the numbers, and what to do next.
"""

from collections.abc import Sequence
from pathlib import Path

_KINDS_OF_SOURCE = (
    "A source is a text, a Source, a mapping with the keys text, id and title, "
    "or JSON data (a dict or a list)."
)


class GroundwireError(Exception):
    """Base of everything Groundwire raises on purpose."""


class InputError(GroundwireError, ValueError):
    """What was given cannot be checked as it is."""


class EmptyAnswerError(InputError):
    """There is no answer text to check."""

    def __str__(self) -> str:
        return (
            "The answer is empty or only white space, so there is nothing to check. "
            "Pass the text that the model wrote."
        )


class InvalidTextError(InputError):
    """A text is no ``str`` (then without position), or holds half a surrogate pair."""

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
    """A source is of a kind that cannot be read, or has an id that names another text.

    Without index it is about the sources as a whole.
    """

    def __init__(self, index: int | None, problem: str, remedy: str = _KINDS_OF_SOURCE) -> None:
        super().__init__(index, problem, remedy)
        self.index, self.problem, self.remedy = index, problem, remedy

    def __str__(self) -> str:
        which = "The sources" if self.index is None else f"Source {self.index}"
        return f"{which} cannot be read: {self.problem}. {self.remedy}"


class InvalidConversationError(InputError):
    """A chat request, or the response to one, does not have the shape of one.

    ``place`` says where, as a path: ``messages[3]``.
    """

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        super().__init__(place, problem, remedy)
        self.place, self.problem, self.remedy = place, problem, remedy

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. {self.remedy}"


class LimitExceededError(InputError):
    """Something is larger than a named setting allows; nothing was cut silently."""

    def __init__(self, what: str, size: int, limit: int, setting: str) -> None:
        super().__init__(what, size, limit, setting)
        self.what, self.size, self.limit, self.setting = what, size, limit, setting

    def __str__(self) -> str:
        return (
            f"The {self.what} has {self.size:,} and at most {self.limit:,} are allowed. "
            f"Raise the setting {self.setting!r}, or split the input."
        )


class DatasetError(InputError):
    """A file of labelled answers is not as its format is described; ``line`` counts from 1."""

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
    """A setting has a value outside its range."""

    def __init__(self, setting: str, value: object, valid: str) -> None:
        super().__init__(setting, value, valid)
        self.setting, self.value, self.valid = setting, value, valid

    def __str__(self) -> str:
        return f"{self.setting} = {self.value!r} is not possible. It must be {self.valid}."


class ConfigError(GroundwireError, ValueError):
    """A configuration cannot be used. Each problem says where it stands and what is possible."""

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
    """No model has this name, and no folder either."""

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
    """A hub model was asked for without saying which revision of it."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model

    def __str__(self) -> str:
        return (
            f"{self.model!r} names a model on a hub, and its revision is not pinned: what a branch "
            "holds can change between two runs. Pass revision= with a full commit hash "
            "(40 hexadecimal digits), or a local folder."
        )


class CorruptModelError(ModelError):
    """A model file does not have the content its manifest names."""

    def __init__(self, path: Path, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path, self.expected, self.found = path, expected, found

    def __str__(self) -> str:
        return (
            f"{self.path} is not the file its manifest describes: SHA-256 {self.found} instead of "
            f"{self.expected}. Install the package again, or fetch the model again."
        )


class MissingExtraError(ModelError, ImportError):
    """An optional part of Groundwire is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what, self.extra = what, extra

    def __str__(self) -> str:
        return (
            f"{self.what} needs the {self.extra!r} extra, which is not installed. "
            f"Install it: pip install 'groundwire[{self.extra}]'"
        )


class GateError(GroundwireError, RuntimeError):
    """The gate failed on a prompt, which says nothing about it: check the answer."""

    def __init__(self, n_chars: int, problem: str) -> None:
        super().__init__(n_chars, problem)
        self.n_chars, self.problem = n_chars, problem

    def __str__(self) -> str:
        return (
            f"The gate failed on a prompt of {self.n_chars:,} characters: {self.problem}. "
            "Treat the prompt as one whose answer is to be checked."
        )


class DetectionError(GroundwireError, RuntimeError):
    """A check was due and failed; it is never to be read as a pass."""


class UnreadableError(DetectionError):
    """The model has no words for the claim, or for any of the evidence."""

    def __str__(self) -> str:
        return (
            "There is no claim, or no evidence, that the model can read. It takes words in a "
            "language that the model was made for: English for the embedded one."
        )


class AnswerFailedError(DetectionError):
    """Nothing of an answer could be judged; says why, where a reason of its claims could not.

    A reading raises it to end the check: any other error leaves claims that are not checked.
    """
