"""An LLM as a judge, at any endpoint with chat completions: one call for an answer.

Answer and sources leave this machine, so nothing but the name ``judge:`` chooses it. A call that
fails, or an answer that is not exactly what was asked for, is a failed check and never a pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import urlsplit
from weakref import finalize

from groundwire.config.kinds import KindError, is_loopback
from groundwire.config.tree import SETTINGS
from groundwire.detection import Label, Score
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import without_citations
from groundwire.errors import AnswerFailedError, ModelError, SettingError
from groundwire.evaluation.adapters.reading import AdapterReading
from groundwire.evaluation.adapters.tables import Tables
from groundwire.evaluation.adapters.verdicts import (
    RULES,
    CutVerdictError,
    MalformedVerdictError,
    Verdict,
    max_tokens_for,
    prompt_for,
    read_verdicts,
)
from groundwire.example import Source
from groundwire.segment import Segment
from groundwire.verify.endpoint import OPENAI_URL, Endpoint, EndpointError
from groundwire.verify.prompts import Prompt
from groundwire.verify.verifier import FailureKind

KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
#: How long one attempt of a call may take.
TIMEOUT_S = 120.0
#: Calls that are made at a time if nobody says otherwise: waiting takes no processor.
THREADS = 8

#: An answer that is not as asked for is asked for once more: servers are not deterministic.
_ATTEMPTS = 2
#: No tokenizer has longer words on the whole: what counts fewer tokens than this read less.
_MOST_CHARS_A_TOKEN = 12

_LABELS = {
    Label.SUPPORTED: (1.0, 0.0, 0.0),
    Label.UNSUPPORTED: (0.0, 1.0, 0.0),
    Label.CONTRADICTED: (0.0, 0.0, 1.0),
}


#: Of an answer that is not as asked for.
_ASK_ANOTHER = "Ask a model that follows such instructions, or turn off its thinking at the server."


class JudgeFailedError(AnswerFailedError):
    """The judge gave no verdict on an answer; quotes nothing that was sent or received."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"The judge gave no verdict: {self.problem}"


class MissingJudgeKeyError(ModelError):
    """The judge is on another machine, and there is no key for it."""

    def __str__(self) -> str:
        return f"There is no key for the judge. Set {KEY_VARIABLE}; any text does if it wants none."


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LlmJudge:
    """Asks a model for a verdict on each sentence of an answer.

    Its connections are closed with it, for not everyone who holds a detector closes it.

    Attributes:
        name: ``judge:MODEL@URL``.
    """

    endpoint: Endpoint
    model: str
    tables: Tables
    name: str
    operating_points: Mapping[str, float] = field(default_factory=lambda: {"balanced": 0.5})
    score: Score = field(default=Score.PROBABILITY, init=False)
    answers: None = field(default=None, init=False)  # a verdict is no probability
    # Once a key or a model is refused, no other call can succeed.
    _final: list[EndpointError] = field(default_factory=list)

    def __post_init__(self) -> None:
        finalize(self, self.endpoint.close)

    @classmethod
    def open_at(
        cls,
        model: str,
        url: str | None,
        environ: Mapping[str, str],
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> "LlmJudge":
        """Prepare to ask an endpoint; nothing is sent yet.

        Args:
            model: The model's name there.
            url: Where it is; ``None`` is that of the environment, else OpenAI.
            environ: Has the key.
            timeout_s: Of each attempt.

        Raises:
            SettingError: If the URL is none, or would send the key in the open.
            MissingJudgeKeyError: If there is no key, and the endpoint is not on this machine.
            MissingExtraError: If the official client is not installed.
        """
        base_url = _url(url or environ.get(URL_VARIABLE, "").strip() or OPENAI_URL)
        key = environ.get(KEY_VARIABLE, "").strip()
        if key and not (key.isascii() and key.isprintable()):
            raise SettingError(KEY_VARIABLE, "***", "printable ASCII")
        if not key and not is_loopback(base_url):
            raise MissingJudgeKeyError
        endpoint = Endpoint(base_url=base_url, api_key=key or "none", timeout_s=timeout_s)
        return cls(endpoint, model, Tables.load(), f"judge:{model}@{base_url}")

    @property
    def revision(self) -> str:
        """Of what it is asked; nobody can say what a name at an endpoint stands for tomorrow."""
        return sha256(RULES.encode()).hexdigest()[:12]

    @property
    def work(self) -> dict[str, int]:
        """Nothing is counted."""
        return {}

    def open(
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> "JudgeReading":
        """Keep what is to be sent."""
        del threshold, tenant
        return JudgeReading(self, sources, question)

    def close(self) -> None:
        """Close its connections."""
        self.endpoint.close()

    def verdicts(self, prompt: Prompt) -> list[Verdict]:
        """Ask for the verdicts on all claims of an answer.

        Raises:
            JudgeFailedError: If there are none.
        """
        problem, thinks = "", False
        for _ in range(_ATTEMPTS):
            try:
                return read_verdicts(self._ask(prompt, thinks=thinks), prompt.n)
            except MalformedVerdictError as error:
                problem = f"{error}, asked {_ATTEMPTS} times. {_ASK_ANOTHER}"
                # Most that are cut off are thoughts; with as much room it would be cut again.
                thinks = isinstance(error, CutVerdictError)
        raise JudgeFailedError(problem)

    def _ask(self, prompt: Prompt, *, thinks: bool) -> str:
        if self._final:
            raise JudgeFailedError(_told(self._final[0]))
        try:
            reply = self.endpoint.say(
                prompt,
                model=self.model,
                temperature=0,
                max_tokens=max_tokens_for(prompt, thinks=thinks),
            )
        except EndpointError as error:
            if error.is_final:
                self._final.append(error)
            raise JudgeFailedError(_told(error)) from error
        n_chars = len("".join(prompt.text.split()))
        if 0 < reply.prompt_tokens < n_chars / _MOST_CHARS_A_TOKEN:
            raise JudgeFailedError(
                f"the endpoint read {reply.prompt_tokens:,} tokens of {n_chars:,} characters, so "
                "it left some out. Raise the length that it reads."
            )
        if reply.is_cut:
            raise CutVerdictError("its answer was cut off")
        return reply.text


class JudgeReading(AdapterReading):
    """One answer, judged when it is complete."""

    is_incremental = False

    def __init__(self, judge: LlmJudge, sources: Sequence[Source], question: str | None) -> None:
        super().__init__(judge.tables, sources)
        self._judge, self._sources, self._question = judge, sources, question

    def read(self, answer: str, segments: Sequence[Segment]) -> list[ClaimScores]:
        """Judge all claims.

        Raises:
            JudgeFailedError: If there is no verdict on any of them.
        """
        claims = [answer[each.start : each.end] for each in segments]
        prompt = prompt_for(claims, self._sources, self._question)
        verdicts = self._judge.verdicts(prompt)
        return [
            self._claim(answer, segment, verdict)
            for segment, verdict in zip(segments, verdicts, strict=True)
        ]

    def _claim(self, answer: str, segment: Segment, verdict: Verdict) -> ClaimScores:
        place = _place(without_citations(answer, segment), verdict.quote)
        start, end = place if place is not None else (0, segment.end - segment.start)
        range_ = (segment.start + start, segment.start + end)
        return self._judged(answer, segment, [range_], [_LABELS[verdict.label]])


def _place(claim: str, quote: str) -> tuple[int, int] | None:
    """Where quoted words stand in a claim; ``None`` if they do not, or more than once."""
    words = quote.strip()
    if not words or claim.count(words) != 1:
        return None
    start = claim.index(words)
    return start, start + len(words)


def _url(url: str) -> str:
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        # It stands in results and messages.
        raise SettingError("judge", "***", f"a URL without key or query; keys go in {KEY_VARIABLE}")
    try:
        return str(SETTINGS["verify.base_url"].kind.read(url)).rstrip("/")
    except KindError as error:
        valid = "a URL with https://, or with http:// on this machine"
        raise SettingError("judge", url, valid) from error


_TOLD = {
    FailureKind.AUTHENTICATION: f"the endpoint refuses the key. See {KEY_VARIABLE}.",
    FailureKind.NOT_FOUND: "the endpoint has no such model or path. See judge:MODEL@URL.",
    FailureKind.TIMEOUT: "the endpoint did not answer in time.",
    FailureKind.RATE_LIMITED: "the endpoint takes no more calls for now. Lower --threads.",
    FailureKind.REFUSED: "the endpoint refuses the request; perhaps it is too long for the model.",
}


def _told(error: EndpointError) -> str:
    return _TOLD.get(error.kind) or f"{error.problem[:1].lower()}{error.problem[1:]}"
