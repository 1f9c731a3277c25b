"""The second step: the answers of one or several language models, in the order of the questions.

Answers are written in order and kept as they come: a run that is cut short asks nothing twice.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.asked import Question
from groundwire.evaluation.datasets.files import FailedRow
from groundwire.evaluation.workflow.kept import Kept, key_of
from groundwire.evaluation.workflow.mending import Mending
from groundwire.evaluation.workflow.model import GenerationError, Reply, body_of
from groundwire.evaluation.workflow.questions import AnyQuestion, sources_to_rows
from groundwire.evaluation.workflow.stage import (
    Stage,
    StageError,
    append,
    count_done,
    fingerprint_of,
    read_rows,
)

_T = TypeVar("_T")
_R = TypeVar("_R")

#: What the model is told unless something else is said.
SYSTEM = (
    "Answer the question from the sources alone. If they do not say it, say that they do not. "
    "Answer in a few sentences, without a preamble."
)
#: So many failures one after the other end a run: the endpoint is down, or wants something else.
MAX_IN_A_ROW = 20
#: Calls that are asked ahead of the first that is not answered, for each that runs at a time.
_AHEAD = 4


class StoppedError(GroundwireError):
    """Nothing but failures: the run ends, and the rows that failed last are not written."""

    def __init__(self, n: int, problem: str) -> None:
        super().__init__(n, problem)
        self.n, self.problem = n, problem

    def __str__(self) -> str:
        calls = "The last call failed" if self.n == 1 else f"The last {self.n} calls failed"
        return f"{calls}: {self.problem} The same command goes on from here."


class Asks(Protocol):
    """What answers a request; a language model at an endpoint is one."""

    base_url: str

    def ask(self, body: Mapping[str, Any]) -> Reply:
        """Answer, or raise a :class:`GenerationError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """How the models are asked.

    Attributes:
        models: Their names at the endpoint.
        temperature: Of the draws; ``None`` leaves it to the endpoint, as for the next two.
        max_tokens: That an answer may have.
        seed: Of the draws.
        system: What the model is told before the question; empty for nothing.
    """

    models: tuple[str, ...]
    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    seed: int | None = None
    system: str = SYSTEM

    def settings(self, base_url: str) -> dict[str, Any]:
        """What the answers depend on."""
        return {**asdict(self), "models": list(self.models), "base_url": base_url}

    def messages(self, question: Question) -> list[dict[str, str]]:
        """What a model is sent about a question."""
        user = user_message(question)
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": user}]

    def body(self, question: Question, model: str, base_url: str) -> dict[str, Any]:
        """The whole request."""
        return body_of(
            self.messages(question),
            base_url=base_url,
            model=model,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
        )


def user_message(question: Question) -> str:
    """The sources with their numbers, then the question.

    >>> from groundwire.example import Source
    >>> found = (Source(text="It opened in 1889.", title="Towers"),)
    >>> asked = Question(id="1", task="", context_id="", text="When?", sources=found)
    >>> print(user_message(asked))
    Sources:
    <BLANKLINE>
    [1] Towers
    It opened in 1889.
    <BLANKLINE>
    Question: When?
    """
    if not question.sources:
        return f"Question: {question.text}"
    texts = (
        f"[{i}] {each.title}\n{each.text}" if each.title else f"[{i}] {each.text}"
        for i, each in enumerate(question.sources, 1)
    )
    return "\n\n".join(["Sources:", *texts, f"Question: {question.text}"])


@dataclass(slots=True)
class Generated:
    """What one call did, and what all answers of the file come to.

    Attributes:
        n: Rows of the file.
        n_new: Those that this call added.
        n_mended: Those that had no answer before this call and have one now.
        n_failed: Those without an answer.
        n_cut: Answers that were cut for their length.
        tokens: Model → tokens read, tokens written.
    """

    n: int = 0
    n_new: int = 0
    n_mended: int = 0
    n_failed: int = 0
    n_cut: int = 0
    tokens: dict[str, list[int]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a row of the file."""
        self.n += 1
        self.n_failed += row["answer"] is None
        self.n_cut += row["finish_reason"] == "length"
        used = self.tokens.setdefault(str(row["model"]), [0, 0])
        used[0] += int(row["prompt_tokens"])
        used[1] += int(row["completion_tokens"])


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question for one model."""

    row: int
    question: AnyQuestion
    model: str
    is_named: bool  # whether the model is part of the id


def generate(
    questions: Iterable[AnyQuestion],
    asks: Asks,
    prompting: Prompting,
    *,
    output: Path,
    stage: Stage,
    kept: Kept | None = None,
    concurrency: int = 8,
    replace: bool = False,
    retry_failed: bool = False,
    on_row: Callable[[int], None] = lambda _: None,
) -> Generated:
    """Ask all that has no answer yet.

    Args:
        questions: All of them, from the first.
        asks: Who is asked.
        prompting: How.
        output: The file of answers; it is made, or continued.
        stage: Its first line.
        kept: Where replies are kept; ``None`` keeps none.
        concurrency: Calls at a time.
        replace: Whether what is in the file goes.
        retry_failed: Whether rows that have no answer are asked again; the others stay.
        on_row: Told how many rows are done.

    Raises:
        StoppedError: If nothing but failures comes.
        StageError: If the file belongs to another run.
    """
    n_done = 0 if replace else count_done(output, stage)
    asker, done = _Asker(asks, prompting, kept), Generated()
    wanted = _wanted(questions, prompting.models)
    mending = Mending(output, stage)
    if not n_done:
        mending.drop()
    else:
        done.n_mended = mending.end()  # those that a call before paid for and did not bring in
        failed = (each for row, each in _with_questions(output, wanted) if row["answer"] is None)
        if retry_failed:
            asked = (each for each in failed if not isinstance(each.question, FailedRow))
            done.n_mended += mending.mend(_answered(asked, asker, concurrency), on_row)
        else:
            deque(failed, maxlen=0)  # the questions that are there are passed over
        for _, row in read_rows(output, "generate"):
            done.add(row)
    for row in append(output, stage, _answered(wanted, asker, concurrency), replace=replace):
        done.add(row)
        done.n_new += 1
        on_row(done.n)
    return done


def _with_questions(
    path: Path, wanted: Iterator[_Wanted]
) -> Iterator[tuple[Mapping[str, Any], _Wanted]]:
    """The rows of a file with what they were made of.

    Raises:
        StageError: If a row is of something else.
    """
    for _, row in read_rows(path, "generate"):
        if (each := next(wanted, None)) is None:
            raise StageError(path, None, "it has more rows than there are questions")
        _require_of(path, row, each)
        yield row, each


def _wanted(questions: Iterable[AnyQuestion], models: Sequence[str]) -> Iterator[_Wanted]:
    """Each question for each model: what has the same sources stays together."""
    row = 0
    for question in questions:
        for model in models:
            row += 1
            yield _Wanted(row, question, model, len(models) > 1)


class _Asker:
    """Asks, unless the answer is kept."""

    def __init__(self, asks: Asks, prompting: Prompting, kept: Kept | None) -> None:
        self._asks, self._prompting, self._kept = asks, prompting, kept
        self._final: GenerationError | None = None

    def ask(self, wanted: _Wanted) -> Reply | GenerationError | FailedRow:
        question = wanted.question
        if isinstance(question, FailedRow):
            return question
        url = self._asks.base_url
        body = self._prompting.body(question.question, wanted.model, url)
        key = key_of(url, body)
        if self._kept is not None and (found := self._kept.get(key)) is not None:
            return found
        if self._final is not None:
            return self._final
        try:
            reply = self._asks.ask(body)
        except GenerationError as error:
            if error.is_final:
                self._final = error
            return error
        if self._kept is not None:
            self._kept.put(key, reply)
        return reply


def _answered(
    wanted: Iterable[_Wanted], asker: _Asker, concurrency: int
) -> Iterator[dict[str, Any]]:
    """A row for each; failures at the end of a run that is given up are not among them."""
    failed: list[dict[str, Any]] = []
    for each, reply in _in_order(wanted, lambda each: (each, asker.ask(each)), concurrency):
        row = _row(each, reply)
        if isinstance(reply, GenerationError):
            failed.append(row)
            if reply.is_final or len(failed) >= MAX_IN_A_ROW:
                raise StoppedError(len(failed), str(reply))
        elif failed and isinstance(reply, FailedRow):
            failed.append(row)  # a question that could not be read says nothing of the endpoint
        else:
            yield from failed
            failed.clear()
            yield row
    yield from failed


def _in_order(items: Iterable[_T], work: Callable[[_T], _R], concurrency: int) -> Iterator[_R]:
    """What comes of each, in their order; only so many are under way, or done and waiting."""
    ahead: deque[Future[_R]] = deque()
    left = iter(items)
    with ThreadPoolExecutor(concurrency, thread_name_prefix="groundwire-generate") as pool:
        try:
            while True:
                for each in islice(left, concurrency * _AHEAD - len(ahead)):
                    ahead.append(pool.submit(work, each))
                if not ahead:
                    return
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # if it was given up


def _row(wanted: _Wanted, reply: Reply | GenerationError | FailedRow) -> dict[str, Any]:
    question = wanted.question
    row: dict[str, Any] = {"row": wanted.row, "model": wanted.model}
    if isinstance(question, FailedRow):
        row |= {"id": question.id, "question_id": question.id, "task": "", "context_id": ""}
        row |= {"question": None, "sources": [], "columns": {}}
    else:
        asked = question.question
        row |= {
            "id": f"{asked.id}@{wanted.model}" if wanted.is_named else asked.id,
            "question_id": asked.id,
            "task": asked.task,
            "context_id": asked.context_id,
            "question": asked.text,
            "sources": sources_to_rows(asked.sources),
            "columns": dict(asked.columns),
        }
    nothing = Reply(answer="", finish_reason="", prompt_tokens=0, completion_tokens=0, seconds=0.0)
    got = (reply if isinstance(reply, Reply) else nothing).to_dict()
    error = None
    if isinstance(reply, FailedRow):
        error = {"type": reply.kind, "message": reply.message}
    elif isinstance(reply, GenerationError):
        error = {"type": "GenerationError", "message": str(reply)}
    row |= got | {"answer": None if error else got["answer"], "error": error}
    return row | {"sha256": fingerprint_of([question.sha256, wanted.model, row["answer"]])}


def _require_of(path: Path, row: Mapping[str, Any], wanted: _Wanted) -> None:
    """A row must be of the question and the model that it would be made of again."""
    question = wanted.question
    id_ = question.id if isinstance(question, FailedRow) else question.question.id
    if (row.get("question_id"), row.get("model")) != (id_, wanted.model):
        raise StageError(path, wanted.row + 1, "it is not of the question that stands there")
