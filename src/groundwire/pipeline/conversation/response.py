"""A response → its answers, one a choice, each with what kind of answer it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from groundwire.errors import InvalidConversationError


class AnswerKind(StrEnum):
    """What a choice holds. Only a text says something that sources could support."""

    TEXT = "text"
    REFUSAL = "refusal"
    TOOL_CALLS = "tool_calls"  # and no text: the answer is still to come
    EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One choice of a response.

    Attributes:
        index: The number that the response gives the choice, else its position.
        kind: What it holds.
        text: What the user reads, of a ``text`` or a ``refusal``; else empty.
        n_skipped: Parts of it that hold no text (sound, images, what nobody has defined): what
            they say is not checked.
    """

    index: int
    kind: AnswerKind
    text: str = ""
    n_skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the content of a message, or a piece of it, says.

    Attributes:
        text: What the user reads as the answer.
        refusal: What the user reads as a refusal.
        n_skipped: Parts that hold neither.
    """

    text: str
    refusal: str
    n_skipped: int

    @classmethod
    def of(cls, content: object) -> "Said":
        """Read the content of a message, or of the delta of one: a text, parts, or nothing."""
        text = refusal = ""
        n_skipped = 0
        # Nothing between parts: a text with citations comes in parts that continue each other.
        for part in content if isinstance(content, (list, tuple)) else [content]:
            match part:
                case str(said) | {"type": "text" | "output_text", "text": str(said)}:
                    text += said
                case {"type": "refusal", "refusal": str(said)}:
                    refusal += said
                case None:
                    pass
                case _:
                    n_skipped += 1
        return cls(text=text, refusal=refusal, n_skipped=n_skipped)


def read_response(body: object) -> tuple[Answer, ...]:
    """Read the answers of a chat completion.

    Args:
        body: The body of the response, as :func:`json.loads` gives it.

    Returns:
        One answer a choice, in order; none if there are no choices.

    Raises:
        InvalidConversationError: If it is no chat completion: no object, without a list of choices,
            with a choice or a message that is no object.
    """
    remedy = 'A completion is an object such as {"choices": [{"message": {"content": "..."}}]}.'
    if not isinstance(body, Mapping):
        raise InvalidConversationError("the response", _its_type(body), remedy)
    choices = body.get("choices")
    if not isinstance(choices, (list, tuple)):
        problem = _its_type(choices) if "choices" in body else "it is missing"
        raise InvalidConversationError("choices", problem, remedy)
    answers = []
    for i, choice in enumerate(choices):
        if not isinstance(choice, Mapping):
            raise InvalidConversationError(f"choices[{i}]", _its_type(choice), remedy)
        message = choice.get("message")
        if not isinstance(message, Mapping):
            raise InvalidConversationError(f"choices[{i}].message", _its_type(message), remedy)
        index = choice.get("index")
        answers.append(_read_message(message, index if type(index) is int else i))
    return tuple(answers)


def _read_message(message: Mapping[str, object], index: int) -> Answer:
    """Read one message. Text comes first: what can be checked is, whatever stands beside it."""
    said = Said.of(message.get("content"))
    refusal = message.get("refusal")
    return answer_of(
        index,
        text=said.text,
        refusal=(refusal if isinstance(refusal, str) else "") + said.refusal,
        has_calls=bool(message.get("tool_calls") or message.get("function_call")),
        n_skipped=said.n_skipped + bool(message.get("audio")),
    )


def answer_of(index: int, *, text: str, refusal: str, has_calls: bool, n_skipped: int) -> Answer:
    """The answer that holds these."""
    if text.strip():
        return Answer(index=index, kind=AnswerKind.TEXT, text=text, n_skipped=n_skipped)
    if refusal.strip():
        return Answer(index=index, kind=AnswerKind.REFUSAL, text=refusal, n_skipped=n_skipped)
    kind = AnswerKind.TOOL_CALLS if has_calls else AnswerKind.EMPTY
    return Answer(index=index, kind=kind, n_skipped=n_skipped)


def _its_type(value: object) -> str:
    return f"its type is {type(value).__name__}"
