"""The signals of a request, which decisions can depend on.

A signal is a statement about a request, such as that its prompt has a word or is in a language. The
statement is true, false, or unknown, for example after an error. A condition of a decision names a
signal, such as ``keyword:urgent``. The rules of a configuration define signals; the gate's answer,
common domains, languages and kinds of findings are built in. :class:`Signals` has the rules, and
the embedder that some rules need. :meth:`Signals.open` returns the signals of one request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire.detection.values import Detection, Label, Outcome, Reason
from groundwire.policy.ternary_logic import Truth, any_of, negate
from groundwire.text.keywords import folded, has_pattern, has_word
from groundwire.text.language import identify
from groundwire.text.prompt_excerpt import both_ends

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A function that returns the embeddings of texts, one row each.
Embedder = Callable[[Sequence[str]], "NDArray[np.floating]"]

NEEDED, NOT_NEEDED = "needs_fact_check", "no_fact_check_needed"
#: The domain of prompts that are in no other domain.
GENERAL = "general"
#: Lowest cosine, between the embeddings of a prompt and of a domain's description, at which the
#: prompt counts as in the domain, for rules without a threshold. ``benchmarks/domains.py`` chose it
#: for the embedded encoder.
DOMAIN_THRESHOLD = 0.18

#: Built-in domains and their descriptions.
DOMAINS = {
    GENERAL: "",
    "biology": "Living things: cells, genetics, evolution, plants, animals, ecology.",
    "business": "Companies and trade: management, marketing, accounting, sales, strategy.",
    "chemistry": "Substances and reactions: elements, molecules, acids, compounds, laboratories.",
    "computer science": "Computers: programming, algorithms, software, data structures, networks.",
    "economics": "Economies: prices, markets, inflation, unemployment, trade, monetary policy.",
    "engineering": "Building and machines: mechanics, electronics, materials, construction.",
    "health": "Medicine and health: diseases, symptoms, drugs, treatment, nutrition.",
    "history": "The past: wars, rulers, dates, civilisations, historical events and people.",
    "law": "Law: contracts, courts, rights, crimes, statutes, regulation, legal advice.",
    "math": "Mathematics: equations, proofs, algebra, geometry, calculus, probability.",
    "philosophy": "Philosophy: ethics, logic, knowledge, meaning, arguments of philosophers.",
    "physics": "Physics: forces, energy, motion, light, particles, quantum mechanics.",
    "psychology": "The mind: behaviour, emotion, memory, personality, therapy, development.",
}


class SignalError(ValueError):
    """Raised if a signal cannot be computed; the message says why, and never quotes a prompt."""


class SignalType(StrEnum):
    """The kinds of signal that a condition can name."""

    FACT_CHECK = "fact_check"
    KEYWORD = "keyword"
    DOMAIN = "domain"
    EMBEDDING = "embedding"
    LANGUAGE = "language"
    HALLUCINATION = "hallucination"


class Operator(StrEnum):
    """Operators that combine or negate words or conditions."""

    AND = "AND"
    OR = "OR"
    NOT = "NOT"


class Aggregation(StrEnum):
    """Ways to combine the similarities of a prompt to several examples."""

    MAX = "max"
    MEAN = "mean"


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """A condition of a decision. It holds if the signal with this type and name holds."""

    type: SignalType
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordRule:
    """Words and regular expressions to look for in the prompt.

    Attributes:
        words: Words or phrases. They are found as whole words; in scripts without spaces between
            words, they are found anywhere. The spaces in a phrase must be the same in the prompt.
        patterns: Regular expressions in RE2's syntax, found anywhere.
        operator: The signal holds with ``OR`` if at least one of the words and patterns is found,
            with ``AND`` if all are, with ``NOT`` if none is.
        is_case_sensitive: Whether upper and lower case differ.
    """

    name: str
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    operator: Operator = Operator.OR
    is_case_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainRule:
    """A field of knowledge, described in words.

    The signal holds if the cosine between the embeddings of prompt and description reaches the
    threshold.
    """

    name: str
    description: str = ""
    threshold: float = DOMAIN_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRule:
    """Example phrases that the prompt is compared with.

    The signal holds if the cosines between the embeddings of prompt and examples reach the
    threshold. ``aggregation`` says whether the highest or the mean of the cosines counts.
    """

    name: str
    examples: tuple[str, ...]
    threshold: float = 0.7
    aggregation: Aggregation = Aggregation.MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRule:
    """Languages, as ISO 639-1 codes; the signal holds if the prompt is in one of them."""

    name: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HallucinationRule:
    """A kind of finding; the signal holds if the check of the answer found one of this kind.

    Attributes:
        label: Label that the finding must have; ``None``: any label.
        min_severity: Lowest severity that the finding may have, 0 to 4.
    """

    name: str
    label: Label | None = None
    min_severity: int = 0


#: Built-in rules about findings. Conditions can name them even if the configuration does not define
#: them.
FINDINGS = (
    HallucinationRule(name="detected"),
    HallucinationRule(name="unsupported", label=Label.UNSUPPORTED),
    HallucinationRule(name="contradicted", label=Label.CONTRADICTED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRules:
    """The rules of all signals of a configuration.

    Attributes:
        domains: Rules of the domains that the configuration describes or a decision names. The
            domain ``general`` is not among them: it holds if no other domain does.
        fact_check: The configuration's names and descriptions of the two results of the gate:
            the prompt needs a fact check, or does not. Names and descriptions have no effect.
    """

    keywords: tuple[KeywordRule, ...] = ()
    domains: tuple[DomainRule, ...] = ()
    embeddings: tuple[EmbeddingRule, ...] = ()
    languages: tuple[LanguageRule, ...] = ()
    hallucination: tuple[HallucinationRule, ...] = ()
    fact_check: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRequest:
    """The input of all signals of a request.

    Attributes:
        needs_fact_check: The gate's answer. If the gate gave none, ``True`` if the request bypasses
            the gate, else ``None``.
        detection: The result of the check; ``None`` as long as there is no response.
    """

    prompt: str
    needs_fact_check: bool | None = None
    detection: Detection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The value of a signal for one request.

    Attributes:
        truth: Whether the signal holds: true, false or unknown.
        reason: Why it is unknown whether the signal holds; empty if it is known.
    """

    truth: Truth
    reason: str = ""


_Rule = TypeVar("_Rule", KeywordRule, EmbeddingRule, LanguageRule, HallucinationRule, DomainRule)


class Signals:
    """The signals of a configuration; any number of requests and threads may share them."""

    def __init__(self, rules: SignalRules, *, embed: Embedder | None = None) -> None:
        """Make the signals of a configuration; nothing is computed yet.

        Without ``embed``, all signals that need embeddings are unknown.
        """
        self.rules, self._embed = rules, embed
        #: Like :meth:`embed`, but with a cache; for the texts of the configuration, which are the
        #: same for all requests.
        self.embed_rule = cache(self.embed)

    def open(self, request: SignalRequest) -> "SignalValues":
        """Return the signals of one request; no signal is computed yet."""
        return SignalValues(self, request)

    def embed(self, texts: Sequence[str]) -> "NDArray[np.floating]":
        """Return embeddings of texts, as unit vectors, shape ``(n_texts, dimension)``.

        Raises:
            SignalError: If there is no embedder, or an embedding is zero or not finite.
        """
        import numpy as np

        if self._embed is None:
            raise SignalError("there is no embedder")
        rows = np.asarray(self._embed(texts), dtype=np.float64)
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
        if not np.isfinite(rows).all() or not lengths.all():
            raise SignalError("an embedding is zero or not finite")
        unit: NDArray[np.floating] = rows / lengths
        return unit


@dataclass(frozen=True, slots=True, eq=False)
class SignalValues:
    """The signals of one request; each is computed when it is first needed, and then kept."""

    _signals: Signals
    _request: SignalRequest
    _observed: dict[Condition, Observation] = field(default_factory=dict)
    # Name → value that several signals need, such as the prompt's embedding. If a value could not
    # be computed, the error is kept in place of the value.
    _made: dict[str, Any] = field(default_factory=dict)

    def after(self, detection: Detection) -> "SignalValues":
        """Return the signals of the request after the check of its answer.

        Values that were computed already are kept, except those of signals about findings.
        """
        observed = {
            condition: observation
            for condition, observation in self._observed.items()
            if condition.type is not SignalType.HALLUCINATION
        }
        return SignalValues(
            self._signals, replace(self._request, detection=detection), observed, self._made
        )

    def read(self, condition: Condition) -> Observation:
        """Find out whether a condition holds; after an error, the result is unknown.

        An error does not make the condition false, because a check might then be left out.
        """
        if condition not in self._observed:
            try:
                self._observed[condition] = _READERS[condition.type](self, condition.name)
            except Exception as error:  # noqa: BLE001 - any signal may fail, see above
                # Reasons appear in logs and headers. Only the message of a SignalError is safe
                # there: messages of other errors may quote the prompt.
                reason = str(error) if isinstance(error, SignalError) else type(error).__name__
                self._observed[condition] = Observation(truth=Truth.UNKNOWN, reason=reason)
        return self._observed[condition]

    def _fact_check(self, name: str) -> Observation:
        needed = self._request.needs_fact_check
        if needed is None:
            raise SignalError("the gate gave no answer")
        if name not in (NEEDED, NOT_NEEDED):
            raise SignalError(f"{name!r} is not a decision of the gate")
        return Observation(truth=Truth.of(needed == (name == NEEDED)))

    def _keyword(self, name: str) -> Observation:
        rule, prompt = _find(self._signals.rules.keywords, name), self._request.prompt
        case = {"is_case_sensitive": rule.is_case_sensitive}
        folded_prompt = self._prepare(f"prompt, {case}", lambda: folded(prompt, **case))
        # These are generators, so that the search ends once the result is known.
        found = chain(
            (has_word(folded_prompt, folded(word, **case)) for word in rule.words),
            (has_pattern(prompt, pattern, **case) for pattern in rule.patterns),
        )
        is_found = all(found) if rule.operator is Operator.AND else any(found)
        return Observation(truth=Truth.of(is_found != (rule.operator is Operator.NOT)))

    def _domain(self, name: str) -> Observation:
        domains = self._signals.rules.domains
        if name == GENERAL:
            others = [Condition(SignalType.DOMAIN, domain.name) for domain in domains]
            truth = negate(any_of(self.read(other).truth for other in others))
            unknown = (self.read(other).reason for other in others)
            reason = next(filter(None, unknown), "") if truth is Truth.UNKNOWN else ""
            return Observation(truth=truth, reason=reason)
        rule = _find(domains, name)
        return self._like((rule.description,), rule.threshold, Aggregation.MAX)

    def _embedding(self, name: str) -> Observation:
        rule = _find(self._signals.rules.embeddings, name)
        return self._like(rule.examples, rule.threshold, rule.aggregation)

    def _language(self, name: str) -> Observation:
        rule = _find(self._signals.rules.languages, name)
        code = self._prepare("language", lambda: identify(self._request.prompt))
        if code is None:
            raise SignalError("the prompt's language is not recognised")
        return Observation(truth=Truth.of(code in rule.codes))

    def _hallucination(self, name: str) -> Observation:
        rule = _find((*self._signals.rules.hallucination, *FINDINGS), name)
        detection = self._request.detection
        if detection is None:
            raise SignalError("there is no response yet")
        if any(
            rule.label in (None, span.label) and span.severity >= rule.min_severity
            for span in detection.spans
        ):
            return Observation(truth=Truth.TRUE)
        # Text that was not checked may have a finding of this kind, so the signal may be unknown.
        outcome = detection.outcome
        failed = any(claim.reason is Reason.DETECTOR_FAILED for claim in detection.claims)
        is_whole = detection.coverage.is_complete and not failed
        is_clean = outcome in {Outcome.GROUNDED, Outcome.SKIPPED}
        if is_clean or (outcome is Outcome.HALLUCINATED and is_whole):
            return Observation(truth=Truth.FALSE)
        raise SignalError(f"not all was checked ({outcome})")

    def _like(
        self, texts: tuple[str, ...], threshold: float, aggregation: Aggregation
    ) -> Observation:
        prompt = self._prepare(
            "embedding", lambda: self._signals.embed([both_ends(self._request.prompt)])[0]
        )
        cosines = self._signals.embed_rule(texts) @ prompt
        value = float(cosines.max() if aggregation is Aggregation.MAX else cosines.mean())
        return Observation(truth=Truth.of(value >= threshold))

    def _prepare(self, what: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - `make` decides
        """Return the value that ``make`` computes for several signals; it is computed only once.

        If ``make`` raises an error, the error is kept, and raised again for each signal.
        """
        if what not in self._made:
            try:
                self._made[what] = make()
            except Exception as error:  # noqa: BLE001 - any error is raised again below
                self._made[what] = error
        if isinstance(self._made[what], Exception):
            raise self._made[what]
        return self._made[what]


_READERS: dict[SignalType, Callable[[SignalValues, str], Observation]] = {
    SignalType.FACT_CHECK: SignalValues._fact_check,
    SignalType.KEYWORD: SignalValues._keyword,
    SignalType.DOMAIN: SignalValues._domain,
    SignalType.EMBEDDING: SignalValues._embedding,
    SignalType.LANGUAGE: SignalValues._language,
    SignalType.HALLUCINATION: SignalValues._hallucination,
}


def _find(rules: Sequence[_Rule], name: str) -> _Rule:
    for rule in rules:
        if rule.name == name:
            return rule
    raise SignalError(f"there is no rule {name!r}")
