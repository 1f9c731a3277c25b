"""An LLM as a judge, at any endpoint with chat completions: one call for each answer.

Answers and sources are sent to the endpoint, so the judge runs only if the user names it, with a
name that begins with ``judge:``. If a call fails, or the reply does not have the form that the
prompt asks for, the check fails; it never passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import ClassVar
from weakref import finalize

from groundwire.detection.values import Label
from groundwire.engine.scores import ClaimScores
from groundwire.engine.sentence import without_citations
from groundwire.errors import AnswerFailedError
from groundwire.evaluation.adapters.backend import AdapterBackend, AdapterReading
from groundwire.evaluation.adapters.verdicts import (
    RULES,
    CutVerdictError,
    JudgeVerdict,
    MalformedVerdictError,
    max_tokens_for,
    prompt_for,
    read_verdicts,
)
from groundwire.evaluation.language_model import (
    EmptyReplyError,
    EndpointAddress,
    GenerationError,
    LanguageModel,
    body_of,
)
from groundwire.text.segment import Segment
from groundwire.verify.prompts import Prompt

#: Time limit of one attempt of a call, in seconds, and limit on the repetitions of a failed call.
TIMEOUT_S, MAX_RETRIES = 120.0, 2
#: Default number of calls at a time. It may exceed the number of cores: calls mostly wait.
THREADS = 8

#: Limit on the times that a prompt is sent while replies are malformed: the next may be right.
_ATTEMPTS = 2
#: Limit on the average length of a token, in characters. If an endpoint counts so few tokens that
#: their average is longer, it has read only a part of the prompt.
_MOST_CHARS_A_TOKEN = 12

_LABELS = {
    Label.SUPPORTED: (1.0, 0.0, 0.0),
    Label.UNSUPPORTED: (0.0, 1.0, 0.0),
    Label.CONTRADICTED: (0.0, 0.0, 1.0),
}


#: Advice for the user after malformed replies.
_ASK_ANOTHER = "Ask a model that follows such instructions, or turn off its thinking at the server."


class JudgeFailedError(AnswerFailedError):
    """The judge gave no verdict; the message quotes at most single words of the reply."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"The judge gave no verdict: {self.problem}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LlmJudge(AdapterBackend):
    """Backend that asks a language model for a verdict on each claim of an answer.

    The connections are closed when this object is deleted, because some callers never close their
    detector. The revision is a hash of the prompt: the revision of a model at an endpoint is not
    known, and may change under the same name.

    Attributes:
        endpoint: The endpoint that answers.
        model: Name of the model at the endpoint.
    """

    is_incremental: ClassVar[bool] = False

    revision: str = sha256(RULES.encode()).hexdigest()[:12]

    endpoint: LanguageModel
    model: str
    # Empty, or the error after which no further call can succeed, such as a refused key.
    _final: list[GenerationError] = field(default_factory=list)

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
            model: Name of the model at the endpoint.
            url: URL of the endpoint; ``None`` is the URL in the environment, else OpenAI's.
            environ: The environment variables, which hold the key.
            timeout_s: Time limit of each attempt, in seconds.

        Raises:
            EndpointSettingError: If the URL is not valid, if it would send the key unencrypted, or
                if there is no key and the endpoint is on another machine.
            MissingExtraError: If the official client is not installed.
        """
        address = EndpointAddress.of(url, environ, option="judge:MODEL@URL")
        endpoint = LanguageModel(address, timeout_s=timeout_s, max_retries=MAX_RETRIES)
        return cls(endpoint=endpoint, model=model, name=f"judge:{model}@{address.base_url}")

    def read(
        self, reading: AdapterReading, answer: str, segments: Sequence[Segment]
    ) -> list[ClaimScores]:
        """Judge all claims of an answer.

        Raises:
            JudgeFailedError: If the judge gave no verdicts.
        """
        claims = [answer[each.start : each.end] for each in segments]
        prompt = prompt_for(claims, reading.sources, reading.question)
        found = []
        for segment, verdict in zip(segments, self.verdicts(prompt), strict=True):
            place = _place(without_citations(answer, segment), verdict.quote)
            if place is not None:
                place = (segment.start + place[0], segment.start + place[1])
            found.append(reading.scores(answer, segment, _LABELS[verdict.label], place=place))
        return found

    def verdicts(self, prompt: Prompt) -> list[JudgeVerdict]:
        """Ask for the verdicts on all claims of an answer.

        Raises:
            JudgeFailedError: If the call fails, or no reply is well-formed.
        """
        problem, thinks = "", False
        for _ in range(_ATTEMPTS):
            try:
                return read_verdicts(self._ask(prompt, thinks=thinks), prompt.n)
            except MalformedVerdictError as error:
                problem = f"{error}, asked {_ATTEMPTS} times. {_ASK_ANOTHER}"
                # A reply is usually cut because the model thought at length: allow more tokens.
                thinks = isinstance(error, CutVerdictError)
        raise JudgeFailedError(problem)

    def _ask(self, prompt: Prompt, *, thinks: bool) -> str:
        if self._final:
            raise JudgeFailedError(str(self._final[0]))
        body = body_of(
            prompt.messages,
            base_url=self.endpoint.base_url,
            model=self.model,
            temperature=0,
            max_tokens=max_tokens_for(prompt, thinks=thinks),
        )
        try:
            reply = self.endpoint.ask(body)
        except EmptyReplyError as error:
            kind = CutVerdictError if error.is_cut else MalformedVerdictError
            raise kind(str(error).rstrip(".")) from error
        except GenerationError as error:
            if error.is_final:
                self._final.append(error)
            raise JudgeFailedError(str(error)) from error
        n_chars = len("".join(prompt.text.split()))
        if 0 < reply.prompt_tokens < n_chars / _MOST_CHARS_A_TOKEN:
            raise JudgeFailedError(
                f"the endpoint read {reply.prompt_tokens:,} tokens of {n_chars:,} characters, so "
                "it left some out. Raise the length that it reads."
            )
        if reply.finish_reason == "length":
            raise CutVerdictError("its answer was cut off")
        return reply.answer


def _place(claim: str, quote: str) -> tuple[int, int] | None:
    """Find the range of quoted words in a claim; ``None`` unless they occur exactly once."""
    words = quote.strip()
    if not words or claim.count(words) != 1:
        return None
    start = claim.index(words)
    return start, start + len(words)
