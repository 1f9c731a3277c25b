"""Pydantic models of requests and responses: they validate bodies and generate OpenAPI schemas."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema

from groundwire.gateway.http.openapi import ApiModel
from groundwire.gateway.native.route import SHAPES

#: Limit on the characters of a hypothesis, which is a single statement.
MAX_HYPOTHESIS_CHARS = 10_000
#: Limit on the characters of a premise, which may be as long as a book.
MAX_PREMISE_CHARS = 1_000_000

# Values that can have many forms are validated by Groundwire's library, whose errors are more
# helpful than Pydantic's.
_SOURCE: list[dict[str, Any]] = [
    {"type": "string", "description": "A text."},
    {
        "type": "object",
        "description": "A text (or page_content, or content) with an id and a title, or JSON data.",
        "properties": {
            "text": {"type": "string"},
            "id": {"type": ["string", "number", "null"]},
            "title": {"type": ["string", "null"]},
        },
    },
]
_DATA = {"type": "array", "description": "Any JSON data.", "items": {}}


def _sources(value: object) -> object:
    if not isinstance(value, list | dict | str):
        raise ValueError("it should be a list of sources, or one: a text or an object")
    return value


Sources = Annotated[
    Any,
    AfterValidator(_sources),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"anyOf": [*_SOURCE, _DATA]}}, *_SOURCE]}),
    Field(description="What the answer may rest on: texts, or JSON data. Without any, `[]`."),
]
OperatingPoint = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["precision", "balanced", "recall"]},
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                {"type": "null"},
            ]
        }
    ),
    Field(description="The threshold, by name or as a number; else that of the configuration."),
]
_CHAT = {"type": "object", "additionalProperties": True}


class CheckRequest(ApiModel, extra="forbid"):
    """An answer, and the sources that it may rest on.

    Attributes:
        question: The question. It helps to find evidence, and is not evidence itself.
        answer: The text to check.
    """

    sources: Sources
    question: str | None = None
    answer: str
    operating_point: OperatingPoint = None


class ConversationRequest(ApiModel, extra="forbid"):
    """A chat request and its response, checked through all stages of the gateway.

    Attributes:
        request: The body of a chat completions request, metadata included.
        response: The body of its chat completion.
    """

    request: Annotated[Any, WithJsonSchema(_CHAT)]
    response: Annotated[Any, WithJsonSchema(_CHAT)]


class TranscriptRequest(ApiModel, extra="allow"):
    """A chat request whose last message is the assistant's answer.

    Attributes:
        messages: The messages, of which the last is the answer to check.
    """

    messages: Annotated[list[Any], WithJsonSchema({"type": "array", "items": _CHAT, "minItems": 1})]


def shape_of(data: object) -> str:
    """Return which of :data:`SHAPES` the body of a request has.

    A body of unknown form counts as an answer with sources, the first shape.
    """
    if isinstance(data, dict) and "answer" not in data:
        if "request" in data or "response" in data:
            return SHAPES[1]
        if "messages" in data:
            return SHAPES[2]
    return SHAPES[0]


AnyCheck = Annotated[
    Annotated[CheckRequest, Tag(SHAPES[0])]
    | Annotated[ConversationRequest, Tag(SHAPES[1])]
    | Annotated[TranscriptRequest, Tag(SHAPES[2])],
    Discriminator(shape_of),
]


class BatchRequest(ApiModel):
    """Many answers to check.

    Attributes:
        examples: At most 10,000 bodies as for `/v1/check`, each with an optional `id`. `context`
            and `source` are other names of `sources`.
    """

    examples: list[Any]
    operating_point: OperatingPoint = None


class FactCheckOptions(ApiModel):
    """Options of the classification of a prompt; unknown options are ignored.

    Attributes:
        confidence_threshold: The threshold to use in place of gate.threshold; 0 and null mean
            gate.threshold.
    """

    confidence_threshold: float | None = Field(None, ge=0, le=1)


class FactCheckRequest(ApiModel):
    """A prompt to classify.

    Attributes:
        text: The text that the user wrote, without sources.
    """

    text: str
    options: FactCheckOptions | None = None


class FactCheckResponse(ApiModel):
    """Whether the answer to a prompt calls for a check.

    Attributes:
        confidence: The probability that the label is right; 0 if the gate is off.
    """

    needs_fact_check: bool
    confidence: float = Field(ge=0, le=1)
    label: Literal["needs_fact_check", "no_fact_check_needed", "fact_check_disabled"]
    processing_time_ms: int = Field(ge=0)


class NliRequest(ApiModel):
    """Two texts, one of which may follow from the other.

    Attributes:
        premise: The evidence. If it has more than 4,000 characters, only the lines that have most
            in common with the hypothesis are read; `premise_read` says which.
        hypothesis: The claim.
    """

    premise: str = Field(max_length=MAX_PREMISE_CHARS)
    hypothesis: str = Field(max_length=MAX_HYPOTHESIS_CHARS)


class Stretch(ApiModel):
    """A range of characters, counted in Unicode code points; `end` is the first one after it."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)


class NliResponse(ApiModel):
    """Whether the hypothesis follows from the premise: three probabilities that sum to 1.

    Attributes:
        label: The likeliest class.
        confidence: The probability of the likeliest class.
        premise_chars: The number of characters of the premise.
        premise_read: The parts of the premise that were read.
    """

    label: Literal["ENTAILMENT", "NEUTRAL", "CONTRADICTION"]
    confidence: float = Field(ge=0, le=1)
    entailment_prob: float = Field(ge=0, le=1)
    neutral_prob: float = Field(ge=0, le=1)
    contradiction_prob: float = Field(ge=0, le=1)
    processing_time_ms: int = Field(ge=0)
    premise_chars: int = Field(ge=0)
    premise_read: list[Stretch]


class RowError(ApiModel):
    """The reason why a row could not be checked.

    Attributes:
        message: What happened, in words and with numbers.
        type: The kind of error, in OpenAI's words.
        param: The field of the request that the error is about.
        code: What happened, as a code for programs.
        next_step: What to do about the error.
    """

    message: str
    type: str
    param: str | None = None
    code: str
    next_step: str | None = None


class ErrorBody(RowError):  # noqa: N818 - the class is not an exception
    """The description of an error.

    Attributes:
        trace_id: The id of the request, as in the header X-Trace-ID.
    """

    trace_id: str


class ErrorResponse(ApiModel):
    """The envelope of every error."""

    error: ErrorBody


class BatchRow(ApiModel, extra="allow"):
    """The result of a row: a result as `/v1/check` returns it, or an error.

    Attributes:
        row: The number of the row, from 1.
        id: The id that the row had in the request.
        outcome: The outcome, if the row was checked.
        error: The error, if the row was not checked.
    """

    row: int = Field(ge=1)
    id: str | float | None = None
    outcome: str | None = None
    error: RowError | None = None


class BatchSummary(ApiModel):
    """The number of rows, of errors, and of each outcome."""

    rows: int
    errors: int
    outcomes: dict[str, int]


class BatchResponse(ApiModel):
    """The results in the order of the rows, and a summary."""

    results: list[BatchRow]
    summary: BatchSummary
