"""What an agent sent, read: unknown names and what exceeds a bound are refused, with the reason.

Settings of a verification are not read here: the library says in its report what is wrong with one.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from groundwire.detection.example import require_text
from groundwire.errors import InputError, InvalidTextError

#: Bounds of what one call may hold; the schemas tell them.
MAX_ANSWER_CHARS = 200_000
MAX_QUESTION_CHARS = 20_000
MAX_SPANS = 1_000
MAX_STEPS = 1_000
MAX_CLAIMS = 500
MAX_TIMEOUT_S = 600
MAX_PATTERN_CHARS = 200
MAX_PROMPT_CHARS = 5_000

_SHOWN = 60


class CallError(InputError):
    """A tool cannot do what it was asked for; the agent is told why."""


class Arguments:
    """The arguments of one call, by name."""

    def __init__(self, values: Mapping[str, Any], known: Collection[str]) -> None:
        """Take them.

        Raises:
            CallError: If one of them is none of the tool's.
        """
        self._values = values
        if unknown := [name for name in values if name not in known]:
            shown = ", ".join(repr(name[:_SHOWN]) for name in unknown[:5])
            raise CallError(
                f"Unknown arguments: {shown}. This tool takes {', '.join(known)}. What judges, and "
                "where it is, was chosen when the server was started."
            )

    def given(self, name: str) -> Any:  # noqa: ANN401 - as the agent sent it
        """An argument as it was sent; ``None`` if it was not."""
        return self._values.get(name)

    def text(self, name: str, *, max_chars: int) -> str:
        """A text with something in it."""
        text = self.optional_text(name, max_chars=max_chars)
        if text is None or not text.strip():
            raise CallError(f"{name} is missing or empty. It must be a text.")
        return text

    def optional_text(self, name: str, *, max_chars: int) -> str | None:
        """A text, or ``None`` if there is none."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise CallError(f"{name} is a {type(value).__name__}. It must be a text.")
        if len(value) > max_chars:
            raise too_much(name, len(value), max_chars, "characters")
        try:
            require_text(value, name)
        except InvalidTextError as error:
            raise CallError(str(error)) from error
        return value

    def whole(self, name: str, low: int, high: int, *, default: int | None = None) -> int:
        """A whole number in a range."""
        value = integral(self._values.get(name, default))
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            shown = repr(value)[:_SHOWN]
            raise CallError(
                f"{name} = {shown} is not possible. It must be a whole number from {low:,} to "
                f"{high:,}."
            )
        return value

    def flag(self, name: str) -> bool:
        """True or false; false if it was not sent."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise CallError(f"{name} must be true or false.")
        return value

    def items(self, name: str, *, most: int) -> Any:  # noqa: ANN401 - perhaps no list
        """A list as it was sent, perhaps within a text; what is no list is for others to refuse.

        Some clients write lists and objects as JSON in a text.
        """
        value = self._values.get(name)
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return value
        steps = value.get("steps") if isinstance(value, Mapping) else value
        if isinstance(steps, list) and len(steps) > most:
            raise too_much(name, len(steps), most, "items")
        return value

    def names(self, name: str, *, most: int) -> list[str] | None:
        """A list of texts; ``None`` if it was not sent."""
        value = self.items(name, most=most)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise CallError(f"{name} must be a list of ids, such as ['S0', 'S1'].")
        return value

    def check_length(self, name: str, most: int) -> None:
        """Refuse a text that is too long; anything else is for others to refuse."""
        value = self._values.get(name)
        if isinstance(value, str) and len(value) > most:
            raise too_much(name, len(value), most, "characters")

    def check_number(self, name: str, most: float) -> None:
        """Refuse a number that is too large; anything else is for others to refuse."""
        value = self._values.get(name)
        try:
            is_over = value is not None and float(value) > most
        except (TypeError, ValueError, OverflowError):
            return
        if is_over:
            raise CallError(f"{name} is over {most:,}, which is the most that is allowed.")


def integral(value: object) -> object:
    """A whole number, if JSON has written it as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def too_much(name: str, size: int, most: int, unit: str) -> CallError:
    """More than one call may hold."""
    return CallError(
        f"{name} has {size:,} {unit} and at most {most:,} are allowed. Send less in one call."
    )
