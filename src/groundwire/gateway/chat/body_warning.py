"""Writes the warning that the action ``body`` adds to an answer.

The wording follows HaluGate, the hallucination check of vLLM's Semantic Router.
"""

from collections.abc import Sequence

from groundwire.detection.values import Label, Outcome
from groundwire.explain import Explanation
from groundwire.explain.wording import quote
from groundwire.pipeline import Checked
from groundwire.policy.policy import Action

#: Limit on the characters of a warning, from its start to the end of the last finding that it
#: quotes. Findings beyond the limit are only counted. The first finding is always quoted.
MAX_CHARS = 4000

_PLEASE = "Please verify the information independently."
_HALLUCINATED = "[Hallucination Warning] This response may contain unsupported claims"
_TEXTS = {
    Outcome.UNVERIFIED: (
        "[Unverified Response] This response contains factual claims that could not be verified "
        "due to missing context."
    ),
    Outcome.PARTIAL: (
        "[Partially Checked Response] Parts of this response, or of the sources it was checked "
        f"against, could not be read. {_PLEASE}"
    ),
    Outcome.UNAVAILABLE: (f"[Unchecked Response] The check of this response failed. {_PLEASE}"),
}
_NLI = {
    Label.SUPPORTED: "ENTAILMENT",
    Label.UNSUPPORTED: "NEUTRAL",
    Label.CONTRADICTED: "CONTRADICTION",
}
_SEVERITIES = ("low", "low-medium", "medium", "high", "critical")


def warning_text(checked: Checked) -> str | None:
    """Return the warning for an answer, without a blank line before or after it.

    The result is ``None`` if the action of the answer is not ``body``, or its outcome needs no
    warning. If the policy includes details, a warning about hallucination quotes the spans, with
    their explanations if there are any. Such a warning also states a confidence: the highest
    probability of a span. Without any probability, no confidence is stated.
    """
    if checked.action is not Action.BODY:
        return None
    if checked.outcome is not Outcome.HALLUCINATED:
        return _TEXTS.get(checked.outcome)
    if not checked.context.policy.include_details or checked.detection is None:
        return f"{_HALLUCINATED}. {_PLEASE}"
    spans = checked.detection.spans
    probabilities = [span.probability for span in spans if span.probability is not None]
    sureness = f" (confidence: {_percent(max(probabilities))})" if probabilities else ""
    lead = f"{_HALLUCINATED}{sureness}."
    if checked.explanations:
        # There is one explanation for each span, in the order of the spans.
        pairs = list(zip(spans, checked.explanations, strict=True))
        details = [
            f"[{number}] {quote(span.text)} {_analysis(explanation)}"
            for number, (span, explanation) in enumerate(pairs, 1)
        ]
        return _joined(f"{lead} Detailed analysis: ", details, separator=" ")
    quoted = [quote(span.text) for span in spans]
    return f"{_joined(f'{lead} Unsupported spans: ', quoted, separator=', ')}."


def _analysis(explanation: Explanation) -> str:
    said = "UNKNOWN"  # no NLI model judged the span: the label is the detector's
    if explanation.entailment is not None:
        confidence = _percent(explanation.entailment.of(explanation.label))
        said = f"{_NLI[explanation.label]}, confidence: {confidence}"
    severity = _SEVERITIES[explanation.severity]
    return f"(NLI: {said}, severity: {severity}) - {explanation.text}"


def _joined(lead: str, parts: Sequence[str], *, separator: str) -> str:
    """Join ``lead`` with as many parts as ``MAX_CHARS`` allows, at least one; count the rest."""
    n, size = 0, len(lead)
    while n < len(parts) and (n == 0 or size + len(parts[n]) <= MAX_CHARS):
        size += len(parts[n]) + len(separator)
        n += 1
    more = f" (and {len(parts) - n} more)" if n < len(parts) else ""
    return lead + separator.join(parts[:n]) + more


def _percent(probability: float) -> str:
    return f"{100 * probability:.0f}%"
