"""The shapes of requests and responses: what is validated at the wire, and stands in OpenAPI."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from groundwire.gateway.native.route import SHAPES

#: Of a hypothesis: it is one statement.
MAX_HYPOTHESIS_CHARS = 10_000
#: Of a premise: a book.
MAX_PREMISE_CHARS = 1_000_000

# What the library reads in many forms is described here and left to it: its errors say more.
Sources = Annotated[
    list[Any],
    WithJsonSchema(
        {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "string", "description": "A text."},
                    {
                        "type": "object",
                        "description": "A text with an id and a title, or any JSON data.",
                        "properties": {
                            "text": {"type": "string"},
                            "id": {"type": ["string", "number", "null"]},
                            "title": {"type": ["string", "null"]},
                        },
                    },
                    {"type": "array", "description": "Any JSON data.", "items": {}},
                ]
            },
        }
    ),
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


class CheckRequest(BaseModel):
    """An answer, and what it may rest on."""

    model_config = ConfigDict(extra="forbid")

    sources: Sources
    question: str | None = Field(
        None, description="What was asked. It helps to find evidence, and is none."
    )
    answer: str = Field(description="The text to check.")
    operating_point: OperatingPoint = None


class ConversationRequest(BaseModel):
    """A chat request and its response, checked through all stages of the gateway."""

    model_config = ConfigDict(extra="forbid")

    request: Annotated[
        Any,
        WithJsonSchema(_CHAT),
        Field(description="The body of a chat completions request, metadata included."),
    ]
    response: Annotated[
        Any, WithJsonSchema(_CHAT), Field(description="The body of its chat completion.")
    ]


class TranscriptRequest(BaseModel):
    """A chat request whose last message is the assistant's answer."""

    model_config = ConfigDict(extra="allow")

    messages: Annotated[
        list[Any],
        WithJsonSchema({"type": "array", "items": _CHAT, "minItems": 1}),
        Field(description="The last one is the answer to check."),
    ]


def shape_of(data: object) -> str:
    """Which shape a body has; what has none is taken for an answer with sources."""
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


class BatchRequest(BaseModel):
    """Many answers to check."""

    examples: list[Any] = Field(
        description="What `/v1/check` takes, each perhaps with an `id`. `context` and `source` "
        "are other names of `sources`."
    )
    operating_point: OperatingPoint = None


class FactCheckOptions(BaseModel):
    """How a prompt is classified; other options are ignored."""

    confidence_threshold: float | None = Field(
        None, ge=0, le=1, description="In place of gate.threshold; 0 and null leave it."
    )


class FactCheckRequest(BaseModel):
    """A prompt to classify."""

    text: str = Field(description="What the user wrote, without sources.")
    options: FactCheckOptions | None = None


class FactCheckResponse(BaseModel):
    """Whether the answer to a prompt calls for a check."""

    needs_fact_check: bool
    confidence: float = Field(ge=0, le=1, description="P(this is right); 0 if the gate is off.")
    label: Literal["needs_fact_check", "no_fact_check_needed", "fact_check_disabled"]
    processing_time_ms: int = Field(ge=0)


class NliRequest(BaseModel):
    """Two texts, one of which may follow from the other."""

    premise: str = Field(
        max_length=MAX_PREMISE_CHARS,
        description="The evidence. Of more than 4,000 characters, the lines are read that have "
        "most in common with the hypothesis; `premise_read` says which.",
    )
    hypothesis: str = Field(max_length=MAX_HYPOTHESIS_CHARS, description="The claim.")


class Stretch(BaseModel):
    """A range of characters, in Unicode code points."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)


class NliResponse(BaseModel):
    """What the premise says of the hypothesis: three probabilities that sum to 1."""

    label: Literal["ENTAILMENT", "NEUTRAL", "CONTRADICTION"] = Field(description="The likeliest.")
    confidence: float = Field(ge=0, le=1, description="Its probability.")
    entailment_prob: float = Field(ge=0, le=1)
    neutral_prob: float = Field(ge=0, le=1)
    contradiction_prob: float = Field(ge=0, le=1)
    processing_time_ms: int = Field(ge=0)
    premise_chars: int = Field(ge=0, description="Characters of the premise.")
    premise_read: list[Stretch] = Field(description="What was read of it.")


#: The request of the proxied chat endpoint: OpenAI's.
CHAT_BODY = {
    **_CHAT,
    "description": "OpenAI's request. Fields that are not named here go to the upstream as well.",
    "required": ["messages"],
    "properties": {
        "model": {"type": "string"},
        "messages": {"type": "array", "items": {"type": "object"}},
        "stream": {"type": "boolean"},
        "metadata": {
            **_CHAT,
            "properties": {
                "grounding.sources": {
                    "description": "What the answer may rest on. Without it, tool results of the "
                    "conversation, else retrieved context in its messages.",
                    "type": "array",
                    "items": {"type": "string"},
                }
            },
        },
    },
}


class ErrorBody(BaseModel):
    """What went wrong."""

    message: str = Field(description="What happened, with the numbers.")
    type: str = Field(description="The kind of error, in OpenAI's words.")
    param: str | None = Field(None, description="The field that it is about.")
    code: str | None = Field(description="What happened, for machines.")
    trace_id: str = Field(description="As in the header X-Trace-ID.")
    next_step: str | None = Field(None, description="What to do about it.")


class ErrorResponse(BaseModel):
    """The envelope of every error."""

    error: ErrorBody


class RowError(BaseModel):
    """Why a row could not be checked."""

    message: str
    type: str
    param: str | None = None
    code: str
    next_step: str | None = None


class BatchRow(BaseModel):
    """What became of a row: a result as `/v1/check` gives it, or an error."""

    model_config = ConfigDict(extra="allow")

    row: int = Field(ge=1, description="Its place, from 1; or its line.")
    id: str | float | None = Field(None, description="What the row calls itself.")
    outcome: str | None = Field(None, description="Of a row that was checked.")
    error: RowError | None = Field(None, description="Of a row that was not.")


class BatchSummary(BaseModel):
    """How many rows there were, and what became of them."""

    rows: int
    errors: int
    outcomes: dict[str, int]


class BatchResponse(BaseModel):
    """The results in the order of the rows."""

    results: list[BatchRow]
    summary: BatchSummary
