"""The signals of a request, which decisions can depend on.

A configuration defines each signal by a rule; a condition of a decision names a signal, such as
``keyword:urgent``. :class:`Signals` holds the rules.
:meth:`Signals.open` returns the signals of one request; each is computed when it is first asked
for, and at most once. A signal that fails is unknown, never false.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from groundwire.detection.values import Detection, Label, Outcome, Reason
from groundwire.policy.ternary_logic import Truth
from groundwire.text.keywords import folded, has_word

NEEDED, NOT_NEEDED = "needs_fact_check", "no_fact_check_needed"
#: The one built-in domain: every prompt is in it. HaluGate's documented configuration names it.
GENERAL = "general"


class SignalError(ValueError):
    """Raised if a signal cannot be computed; the message says why, and never quotes a prompt."""


class SignalType(StrEnum):
    """The kinds of signal that a condition can name."""

    FACT_CHECK = "fact_check"
    KEYWORD = "keyword"
    DOMAIN = "domain"
    HALLUCINATION = "hallucination"


class Operator(StrEnum):
    """Operators that combine several words or conditions."""

    AND = "AND"
    OR = "OR"
    NOT = "NOT"


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """A condition of a decision. It holds if the signal with this type and name holds."""

    type: SignalType
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordRule:
    """Words to look for in the prompt.

    Attributes:
        name: Name of the signal in conditions.
        words: Words or phrases, found as whole words; a phrase must occur as it is written here.
        operator: The signal holds with ``OR`` if at least one of the words is found, with ``AND``
            if all are, with ``NOT`` if none is.
        is_case_sensitive: Whether upper and lower case differ.
    """

    name: str
    words: tuple[str, ...]
    operator: Operator = Operator.OR
    is_case_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HallucinationRule:
    """A kind of finding; the signal holds if the check has such a finding.

    Attributes:
        name: Name of the signal in conditions.
        label: Label of the finding; ``None``: any label.
        min_severity: Least severity of the finding, 0 to 4.
    """

    name: str
    label: Label | None = None
    min_severity: int = 0


#: Built-in rules about findings: conditions can name them even if the configuration does not.
FINDINGS = (
    HallucinationRule(name="detected"),
    HallucinationRule(name="unsupported", label=Label.UNSUPPORTED),
    HallucinationRule(name="contradicted", label=Label.CONTRADICTED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRules:
    """The rules of all signals of a configuration.

    Attributes:
        keywords: Words to look for.
        hallucination: Kinds of findings.
        fact_check: Names and descriptions of the gate's two answers; they have no effect.
    """

    keywords: tuple[KeywordRule, ...] = ()
    hallucination: tuple[HallucinationRule, ...] = ()
    fact_check: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRequest:
    """The input of all signals of a request.

    Attributes:
        prompt: The user's prompt.
        needs_fact_check: The decision of the gate; ``None`` if it failed or did not run.
        detection: The result of the check; ``None`` as long as there is no response.
    """

    prompt: str
    needs_fact_check: bool | None = None
    detection: Detection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The value of a signal for one request.

    Attributes:
        truth: Whether the signal holds.
        reason: Why it is unknown whether the signal holds; else empty.
    """

    truth: Truth
    reason: str = ""


_Rule = TypeVar("_Rule", KeywordRule, HallucinationRule)


class Signals:
    """The signals of a configuration; any number of requests and threads may share them."""

    def __init__(self, rules: SignalRules) -> None:
        self.rules = rules

    def open(self, request: SignalRequest) -> "SignalValues":
        """Return the signals of one request; no signal is computed yet."""
        return SignalValues(self, request)


class SignalValues:
    """The signals of one request; each is computed when it is first asked for, and then kept."""

    def __init__(self, signals: Signals, request: SignalRequest) -> None:
        self._signals, self._request = signals, request
        self._observed: dict[Condition, Observation] = {}
        # The prompt as keywords are compared with it, by whether case counts.
        self._folded: dict[bool, str] = {}
        #: Counts of evaluated conditions, by type.
        self.work: Counter[str] = Counter()

    def after(self, detection: Detection) -> "SignalValues":
        """Return the signals of the request after the check of its answer.

        Values that were computed already are kept, except those of signals about findings.
        """
        later = SignalValues(self._signals, replace(self._request, detection=detection))
        later._folded = self._folded
        later._observed = {
            condition: observation
            for condition, observation in self._observed.items()
            if condition.type is not SignalType.HALLUCINATION
        }
        return later

    @property
    def observed(self) -> dict[Condition, Observation]:
        """The signals that have been computed so far, and their values."""
        return dict(self._observed)

    def read(self, condition: Condition) -> Observation:
        """Return whether a condition holds; if an error occurs, this is unknown.

        If an error made a condition false, a failure could cause a check to be left out.
        """
        if condition not in self._observed:
            self.work[condition.type] += 1
            try:
                self._observed[condition] = _READERS[condition.type](self, condition.name)
            except SignalError as error:
                self._observed[condition] = Observation(truth=Truth.UNKNOWN, reason=str(error))
            except Exception as error:  # noqa: BLE001 - any signal may fail, see above
                # The message may quote the prompt, and reasons appear in logs and headers.
                reason = type(error).__name__
                self._observed[condition] = Observation(truth=Truth.UNKNOWN, reason=reason)
        return self._observed[condition]

    def _fact_check(self, name: str) -> Observation:
        needed = self._request.needs_fact_check
        if needed is None:
            return Observation(truth=Truth.UNKNOWN, reason="the gate gave no answer")
        if name not in (NEEDED, NOT_NEEDED):
            raise SignalError(f"{name!r} is not a decision of the gate")
        return Observation(truth=Truth.of(needed == (name == NEEDED)))

    def _keyword(self, name: str) -> Observation:
        rule = _find(self._signals.rules.keywords, name)
        is_case_sensitive = rule.is_case_sensitive
        if is_case_sensitive not in self._folded:
            prompt = folded(self._request.prompt, is_case_sensitive=is_case_sensitive)
            self._folded[is_case_sensitive] = prompt
        prompt = self._folded[is_case_sensitive]
        words = (folded(word, is_case_sensitive=is_case_sensitive) for word in rule.words)
        found = (has_word(prompt, word) for word in words)
        if rule.operator is Operator.AND:
            return Observation(truth=Truth.of(all(found)))
        is_there = any(found)
        return Observation(truth=Truth.of(is_there == (rule.operator is Operator.OR)))

    def _domain(self, name: str) -> Observation:
        if name != GENERAL:
            raise SignalError(f"there is no rule {name!r}")
        return Observation(truth=Truth.TRUE)

    def _hallucination(self, name: str) -> Observation:
        rule = _find((*self._signals.rules.hallucination, *FINDINGS), name)
        detection = self._request.detection
        if detection is None:
            return Observation(truth=Truth.UNKNOWN, reason="there is no response yet")
        if any(
            rule.label in (None, span.label) and span.severity >= rule.min_severity
            for span in detection.spans
        ):
            return Observation(truth=Truth.TRUE)
        # Text that was not checked may have such a finding.
        failed = any(claim.reason is Reason.DETECTOR_FAILED for claim in detection.claims)
        is_read = detection.outcome in {Outcome.GROUNDED, Outcome.SKIPPED} or (
            detection.outcome is Outcome.HALLUCINATED
            and detection.coverage.is_complete
            and not failed
        )
        if is_read:
            return Observation(truth=Truth.FALSE)
        return Observation(truth=Truth.UNKNOWN, reason=f"not all was checked ({detection.outcome})")


_READERS: dict[SignalType, Callable[[SignalValues, str], Observation]] = {
    SignalType.FACT_CHECK: SignalValues._fact_check,
    SignalType.KEYWORD: SignalValues._keyword,
    SignalType.DOMAIN: SignalValues._domain,
    SignalType.HALLUCINATION: SignalValues._hallucination,
}


def _find(rules: Sequence[_Rule], name: str) -> _Rule:
    for rule in rules:
        if rule.name == name:
            return rule
    raise SignalError(f"there is no rule {name!r}")
