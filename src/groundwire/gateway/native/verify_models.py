"""The shapes of requests for verifications: which knobs there are, and what they may be.

What a request leaves out is as the configuration has it (``verify.*``). Nothing here names a
backend, an address or a key.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

#: Spans, claims and steps of one request at most: each claim is read once or twice, and with its
#: citations looked into with every span.
MAX_SPANS, MAX_CLAIMS, MAX_STEPS = 200, 200, 200
_MAX_PATTERN_CHARS, _MAX_PLACEHOLDER_CHARS = 1_000, 200

# What the library reads in many forms is described here and left to it: its errors say more.
_SPAN = {
    "type": "object",
    "description": "A text and the id by which it is cited.",
    "properties": {
        "sid": {"type": ["string", "integer"], "description": "`id` will do. Else `s1`, `s2`..."},
        "id": {"type": ["string", "integer"]},
        "text": {"type": "string", "description": "`snippet` will do."},
        "snippet": {"type": "string"},
    },
}
_STEP = {
    "type": "object",
    "required": ["claim"],
    "properties": {
        "idx": {"type": "integer", "description": "Its number; else its place."},
        "claim": {"type": "string"},
        "cites": {"type": "array", "items": {"type": ["string", "integer"]}},
        "confidence": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "description": "The probability that it must reach; else `default_target`.",
        },
    },
}
Spans = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "items": _SPAN, "minItems": 1, "maxItems": MAX_SPANS}),
    Field(description="The evidence."),
]
Steps = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "items": _STEP, "maxItems": MAX_STEPS}),
    Field(description="The steps of a plan or a reasoning trace."),
]


class Knobs(BaseModel):
    """What may be chosen, of answers and traces alike; `null` is the configuration's."""

    model_config = ConfigDict(extra="forbid", strict=True)

    default_target: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="The probability that a claim must reach with its evidence, and not without.",
    )
    require_citations: bool | None = Field(
        None, description="Whether a claim that cites nothing is flagged for that."
    )
    context_mode: Literal["cited", "all", "auto", "cite", "citations", "cites", "full"] | None = (
        Field(
            None,
            description="What a claim is read with: what it cites, all spans, or auto: all if it "
            "cites nothing. The others are names of these.",
        )
    )
    citation_regex: str | None = Field(
        None,
        max_length=_MAX_PATTERN_CHARS,
        description="What a citation looks like, with a group `id`, in RE2's syntax.",
    )
    rule: Literal["signed", "kl"] | None = Field(
        None, description="kl compares information without a sign."
    )
    min_log_odds_gain: float | None = Field(
        None, ge=0, description="What the evidence must add to the log-odds of a claim, in nats."
    )
    units: Literal["bits", "nats"] | None = Field(None, description="Of information.")
    placeholder: str | None = Field(
        None,
        max_length=_MAX_PLACEHOLDER_CHARS,
        description="Stands for evidence that is taken away.",
    )
    include_prompts: bool | None = Field(
        None, description="Whether the report holds what an endpoint was asked."
    )
    citations: bool = Field(
        False, description="Whether to tell what is wrong with the citations of each claim."
    )

    def knobs(self) -> dict[str, Any]:
        """What was chosen, as arguments of the library."""
        return self.model_dump(exclude={"citations", *_SUBJECTS}, exclude_none=True)


_SUBJECTS = ("answer", "steps", "spans")


class VerifyRequest(Knobs):
    """An answer that cites its evidence."""

    answer: str = Field(description="The answer, with citations such as `[S0]`.")
    spans: Spans
    max_claims: int | None = Field(
        None, ge=1, le=MAX_CLAIMS, description="Claims that are verified; more flags the report."
    )
    claim_split: Literal["sentences", "lines"] | None = Field(None, description="Where claims end.")


class TraceRequest(Knobs):
    """Steps that cite their evidence."""

    steps: Steps
    spans: Spans
