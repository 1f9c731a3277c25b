"""Pydantic models of the arguments of tools. The schemas that agents see are generated from them.

The models of spans, steps and sources are only for the schemas. Their values are parsed by
``groundwire.verify`` and ``groundwire.detection``, which accept more forms.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    SkipValidation,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from groundwire.config.tree import SETTINGS
from groundwire.text.spelling import did_you_mean
from groundwire.verify.errors import NotVerifiedError
from groundwire.verify.settings import DEFAULT_MODEL, RENAMED

# Limits on the arguments of a call: the characters of texts and ids, and the items of lists.
MAX_ANSWER_CHARS = 200_000
MAX_QUESTION_CHARS = 20_000
MAX_SPANS = 1_000
MAX_STEPS = 1_000
MAX_ID_CHARS = 100

#: Name of a setting that an agent may choose for the verification of a trace → this server's limits
#: on its value, as keys of JSON Schema. An agent cannot choose the verifier or its address.
OF_TRACES: Mapping[str, Mapping[str, int]] = {
    "verifier_model": {"maxLength": 200},
    "default_target": {},
    "require_citations": {},
    "context_mode": {},
    "timeout_s": {"maximum": 600},
    "citation_regex": {"maxLength": 200},
    "units": {},
    "min_log_odds_gain": {},
    "include_prompts": {},
    "max_prompt_chars": {"maximum": 5_000},
}
OF_ANSWERS: Mapping[str, Mapping[str, int]] = {
    **OF_TRACES,
    "max_claims": {"maximum": 500},
    "claim_split": {},
}
OF_CITATIONS = {
    name: OF_ANSWERS[name]
    for name in ("verifier_model", "max_claims", "timeout_s", "claim_split", "citation_regex")
}

_SHOWN_CHARS = 60


class CallError(NotVerifiedError):
    """Raised if a tool cannot do what a call asks for; the message is for the agent."""

    def __init__(self, message: str, error_type: str = "invalid_argument") -> None:
        super().__init__(error_type, message)


def _from_json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a list or an object that a client has sent as a JSON text; keep any other value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _steps_of(value: Any) -> Any:  # noqa: ANN401
    return value.get("steps") if isinstance(value, Mapping) else value


def _listed(value: Any) -> Any:  # noqa: ANN401
    return [value] if isinstance(value, str | Mapping) else value


def _integral(value: Any) -> Any:  # noqa: ANN401
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty")
    return value


_FromJson = BeforeValidator(_from_json)
#: A whole number, which clients may send as 3.0.
Whole: TypeAlias = Annotated[int, BeforeValidator(_integral)]
#: A text that is not blank.
Written: TypeAlias = Annotated[str, AfterValidator(_not_blank)]


class PassedSpan(BaseModel):
    """A text that comes with a call as evidence, and the id by which it is cited."""

    sid: str | None = Field(None, description="Its id, as the answer cites it: S0.")
    text: str = Field(description="The text, verbatim.")


class PassedSource(BaseModel):
    """A source that comes with a call to check an answer without citations."""

    text: str
    id: str | None = None
    title: str | None = None


class PassedStep(BaseModel):
    """One step of a plan or reasoning trace, with the spans that it cites."""

    idx: int | None = Field(None, description="Its number.")
    claim: str = Field(description="What the step states.")
    cites: list[str] | None = Field(None, description="Ids of the spans it rests on.")
    confidence: float | None = Field(
        None, gt=0, lt=1, description="The probability that this step has to reach."
    )


AnswerText: TypeAlias = Annotated[
    str,
    Field(
        max_length=MAX_ANSWER_CHARS,
        description="The answer as written, with citations such as [S0] after what they support.",
    ),
]


class ToolInput(BaseModel, extra="forbid", strict=True):
    """Base class for the arguments of a tool; unknown arguments are refused."""


class HandleInput(ToolInput):
    """Arguments of a tool that uses held evidence, which the server stores.

    For connections without a session, they include a handle, which names the evidence.
    """

    evidence: str | None = Field(
        None,
        max_length=MAX_ID_CHARS,
        description="The handle that add_span returned, if it did: then this connection has no "
        "session.",
    )


class EvidenceInput(HandleInput):
    """Arguments that choose which held spans are the evidence of a check."""

    span_ids: Annotated[list[str] | None, _FromJson] = Field(
        None, max_length=MAX_SPANS, description="Ids of held spans that are the evidence: S0, S1."
    )
    use_held_spans: bool = Field(
        False,
        description="Whether all held spans are the evidence. Better than a copy of them in the "
        "call.",
    )


class SpansInput(EvidenceInput):
    """Arguments that give a verification its evidence; :func:`with_settings` adds settings."""

    spans: Annotated[
        list[SkipValidation[str | PassedSpan]] | None, BeforeValidator(_listed), _FromJson
    ] = Field(
        None,
        max_length=MAX_SPANS,
        description="Evidence that comes with this call; it is taken as you write it.",
    )

    def settings(self) -> dict[str, Any]:
        """Return the settings that the agent sent, by name."""
        return self.model_dump(include=OF_ANSWERS.keys() & self.model_fields_set)


class DetectInput(SpansInput):
    """Arguments to verify an answer that cites its evidence."""

    answer: AnswerText


class AuditInput(SpansInput):
    """Arguments to verify the steps of a trace, which cite their evidence."""

    steps: Annotated[list[SkipValidation[PassedStep]], BeforeValidator(_steps_of), _FromJson] = (
        Field(max_length=MAX_STEPS, description="The steps of the plan or reasoning trace.")
    )


class CheckInput(EvidenceInput):
    """Arguments to check an answer without citations against its sources."""

    answer: Written = Field(max_length=MAX_ANSWER_CHARS, description="The answer to check.")
    sources: Annotated[
        list[SkipValidation[str | PassedSource]] | None, BeforeValidator(_listed), _FromJson
    ] = Field(
        None,
        max_length=MAX_SPANS,
        description="What the answer may rest on: retrieved passages, tool results, documents.",
    )
    question: str | None = Field(None, max_length=MAX_QUESTION_CHARS, description="What was asked.")


A = TypeVar("A", bound=ToolInput)


def with_settings(
    model: type[A], settings: Mapping[str, Mapping[str, int]], usual: Mapping[str, Any]
) -> type[A]:
    """Make a subclass of ``model``, with an argument for each setting that an agent may choose.

    The subclass checks the value of a setting only against this server's limits. The verification
    itself parses the value.

    Args:
        model: The model of the other arguments.
        settings: Name of a setting of a verification → this server's limits on its value, as keys
            of JSON Schema.
        usual: Default values of the settings. If the model is :data:`DEFAULT_MODEL`, the argument
            for the model gets the default ``None``.
    """
    fields: dict[str, Any] = {}
    for name, bounds in settings.items():
        own = SETTINGS[f"verify.{RENAMED.get(name, name)}"]
        schema = {**own.kind.schema(has_aliases=True), **bounds}
        check = AfterValidator(partial(_within, bounds))
        default = None if usual[name] == DEFAULT_MODEL else usual[name]
        fields[name] = (
            Annotated[Any, check, WithJsonSchema(schema)],
            Field(default, description=own.text),
        )
    return create_model(model.__name__, __base__=model, **fields)


def _within(bounds: Mapping[str, int], value: Any) -> Any:  # noqa: ANN401
    most = bounds.get("maxLength")
    if most is not None and isinstance(value, str) and len(value) > most:
        raise ValueError(f"it has {len(value):,} characters, and at most {most:,} are allowed")
    most = bounds.get("maximum")
    if most is not None and isinstance(value, int | float) and value > most:
        raise ValueError(f"it is over {most:,}, which is the most that is allowed")
    return value


def parse(model: type[A], values: Mapping[str, Any], known: Mapping[str, object]) -> A:
    """Parse the arguments of a call; an argument that is ``null`` is treated as left out.

    ``values`` are as the agent sent them; ``known`` has the names that the tool takes.

    Raises:
        CallError: If an argument is unknown, missing or has an invalid value.
    """
    if unknown := [name for name in values if name not in known]:
        shown = ", ".join(repr(name[:_SHOWN_CHARS]) for name in unknown[:5])
        raise CallError(
            f"Unknown arguments: {shown}.{did_you_mean(unknown[0][:_SHOWN_CHARS], known)} "
            f"This tool takes {', '.join(known)}. Who verifies, and "
            "where, was chosen when the server was started."
        )
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        name, problem = str(first["loc"][0]), first["msg"].removeprefix("Value error, ")
        is_kind_wrong = name in ("answer", "spans", "steps") and "too_long" not in first["type"]
        is_missing = first["type"] == "missing"
        raise CallError(
            f"{name} is missing."
            if is_missing
            else f"{name} is not possible: {problem[:1].lower()}{problem[1:]}.",
            f"malformed_{name}" if is_kind_wrong else "invalid_argument",
        ) from None
