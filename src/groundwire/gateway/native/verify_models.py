"""The Pydantic model of requests for verifications.

Settings that a request leaves out are those of the configuration (``verify.*``). A request cannot
choose the backend, its address or its key.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from groundwire.gateway.http.openapi import ApiModel

#: Highest number of spans (pieces of evidence) in a request, and highest ``max_claims`` that a
#: request may set. Both limit the work of the verifier.
MAX_SPANS, MAX_CLAIMS = 200, 200
_MAX_PATTERN_CHARS, _MAX_PLACEHOLDER_CHARS = 1_000, 200

# Values that can have many forms are validated by Groundwire's library, whose errors are more
# helpful than Pydantic's.
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
_ContextMode = Literal["cited", "all", "auto", "cite", "citations", "cites", "full"]
Spans = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "items": _SPAN, "minItems": 1, "maxItems": MAX_SPANS}),
    Field(description="The evidence."),
]


class VerifyRequest(ApiModel, extra="forbid", strict=True):
    """An answer that cites its evidence. A setting that is `null` has the configured value.

    Attributes:
        answer: The answer, with citations such as `[S0]`.
        max_claims: Limit on the claims that are verified; if there are more, `flagged` is true.
        claim_split: Whether claims end with sentences or with lines.
        default_target: The probability that a claim must reach with its evidence, and must not
            reach without it.
        require_citations: Whether a claim needs a citation to pass.
        context_mode: The evidence of a claim. cited: the spans that the claim cites; all: all
            spans; auto: the cited spans, or all if the claim cites none. The other values are
            aliases.
        citation_regex: The pattern of a citation, with a group `id`, in RE2's syntax.
        rule: The rule that decides whether a claim passes. signed: the claim must reach the target
            with its evidence, and not without. kl: the evidence must move the claim's probability
            by at least the required information, up or down.
        min_log_odds_gain: The gain that the evidence must add to the log-odds of a claim, in nats.
        units: The units of information.
        placeholder: The text in place of evidence when a claim is read without it.
        include_prompts: Whether the report includes the prompts that were sent to an endpoint.
        citations: Whether the report says what is wrong with the citations of each claim.
    """

    answer: str
    spans: Spans
    max_claims: int | None = Field(None, ge=1, le=MAX_CLAIMS)
    claim_split: Literal["sentences", "lines"] | None = None
    default_target: float | None = Field(None, gt=0, lt=1)
    require_citations: bool | None = None
    context_mode: _ContextMode | None = None
    citation_regex: str | None = Field(None, max_length=_MAX_PATTERN_CHARS)
    rule: Literal["signed", "kl"] | None = None
    min_log_odds_gain: float | None = Field(None, ge=0)
    units: Literal["bits", "nats"] | None = None
    placeholder: str | None = Field(None, max_length=_MAX_PLACEHOLDER_CHARS)
    include_prompts: bool | None = None
    citations: bool = False

    def settings(self) -> dict[str, Any]:
        """Return the settings that the request has chosen, as arguments of the library."""
        return self.model_dump(exclude={"answer", "spans", "citations"}, exclude_none=True)
