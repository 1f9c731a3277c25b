"""Pydantic models of the results of checks. The schemas that agents see are generated from them.

A model has only the fields that an agent needs to know; a result may have more fields.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from groundwire.detection.rules import ConflictKind
from groundwire.detection.values import EvidenceRef, Label, Outcome
from groundwire.mcp.store import SpanOrigin
from groundwire.verify.citations import CitationStatus
from groundwire.verify.rule import ClaimStatus

Origins: TypeAlias = Annotated[
    dict[str, SpanOrigin],
    Field(
        description="Id of a span and where its text comes from: held_file (the server read it), "
        "held_text (added as a text, unchanged since), caller (it came with this call)."
    ),
]


class FailableResult(BaseModel):
    """Base class of results that say in ``error`` why nothing could be checked."""

    error: str = Field("", description="Why nothing was checked; then this is no pass.")
    error_type: str = Field("", description="The kind of error, one word.")


class ClaimResult(BaseModel):
    """The verdict on one claim of an answer, or on one step of a trace."""

    idx: int
    claim: str = Field(description="The claim without its citations.")
    cites: list[str]
    unknown_citations: list[str] = []
    flagged: bool
    status: ClaimStatus
    reasons: list[str] = []
    error: str = ""


class ReportResult(FailableResult):
    """The result of verifying an answer or a trace."""

    flagged: bool = Field(description="True unless every claim passed. Never false after an error.")
    under_budget: bool = Field(description="The same as flagged.")
    details: list[ClaimResult] = Field(description="One entry for each claim, in order.")
    summary: dict[str, Any] = Field(description="Counts, settings and the verifier.")
    span_origins: Origins


class FindingResult(BaseModel):
    """The verdict on the citations of one claim."""

    idx: int
    claim: str
    status: CitationStatus
    cites: list[str]
    fabricated: list[str]
    supported_by: list[str]
    decorative: list[str]


class CitationsResult(FailableResult):
    """The result of checking the citations of an answer."""

    flagged: bool = Field(
        description="True unless the citations of all claims are sound. Never false after an error."
    )
    citations: list[FindingResult] = Field(description="One entry for each claim, in order.")
    summary: dict[str, Any] = Field(description="Counts, and who judged.")
    span_origins: Origins


class MarkedResult(BaseModel):
    """A marked span: words of an answer that its sources do not support."""

    start: int
    end: int
    text: str = Field(description="The words of the answer.")
    label: Literal[Label.UNSUPPORTED, Label.CONTRADICTED]
    severity: int = Field(0, ge=0, le=4)
    conflict: ConflictKind | None = Field(
        None, description="What a rule found plainly wrong; null: the model alone found it."
    )
    probability: float | None = None
    similarity: float | None = None
    why: str = Field(description="Why it is marked.")
    category: str = ""
    subtype: str = ""
    evidence: list[EvidenceRef] = []
    counterpart: EvidenceRef | None = Field(
        None, description="What the evidence says in its place."
    )


class CheckResult(FailableResult):
    """The result of checking an answer against its sources."""

    outcome: Outcome = Field(
        description="grounded is the only pass. partial: not everything was read; unverified: no "
        "evidence; unavailable: the check failed."
    )
    spans: list[MarkedResult] = Field(
        description="What the sources do not support, in reading order."
    )
    meaning: str = Field(description="What the outcome means.")
    probability: float | None = None
    claims: list[dict[str, Any]] = []
    coverage: dict[str, Any] = Field({}, description="How much of evidence and answer was read.")
    detector: dict[str, Any] = {}
    source_origins: Origins = {}
