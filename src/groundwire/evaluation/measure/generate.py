"""Puts questions to language models and writes a table of answers.

Each reply is saved at once in a file beside the table, so that a run that continues after an
interruption asks only for the missing replies.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeAlias

from groundwire.errors import GroundwireError
from groundwire.evaluation.datasets.asked import AskedQuestion
from groundwire.evaluation.datasets.files import FailedRow
from groundwire.evaluation.datasets.mapping import COLUMNS
from groundwire.evaluation.language_model import GenerationError, ModelReply
from groundwire.evaluation.measure.questions import AnyQuestion
from groundwire.text.files.writing import replacing, to_json

#: The default system prompt.
SYSTEM = (
    "Answer the question from the sources alone. If they do not say it, say that they do not. "
    "Answer in a few sentences, without a preamble."
)
#: Number of consecutive failed calls that ends a run.
MAX_IN_A_ROW = 20
#: Length of the queue of calls, as a multiple of the number of concurrent calls.
_AHEAD = 4
#: Usual names of the columns that hold the fields of an answer. A further column of the questions
#: with such a name is not copied to the table of answers, where it would be read as the field.
_RESERVED = frozenset(chain.from_iterable(COLUMNS.values()))


class StoppedError(GroundwireError):
    """A run ended early: further calls would fail too, or too many calls in a row have failed."""

    def __init__(self, n: int, problem: str) -> None:
        calls = "The last call failed" if n == 1 else f"The last {n} calls failed"
        super().__init__(f"{calls}: {problem} The same command goes on from here.")


class Asks(Protocol):
    """An object that answers requests, such as a language model at an endpoint.

    Attributes:
        base_url: URL of the endpoint.
    """

    base_url: str

    def ask(self, body: Mapping[str, Any]) -> ModelReply:
        """Answer a request, or raise a :class:`GenerationError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """Models, prompt and options of the requests.

    Attributes:
        models: Names of the models at the endpoint.
        temperature: Sampling temperature; ``None`` for the endpoint's default.
        max_tokens: Limit on the tokens of an answer; ``None`` for the endpoint's default.
        seed: Seed of the sampling; ``None`` for the endpoint's default.
        system: The system prompt; empty for none.
    """

    models: tuple[str, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    system: str = SYSTEM

    def body(self, question: AskedQuestion, model: str) -> dict[str, Any]:
        """Build the body of the request that puts a question to a model.

        Options that are ``None`` are left out: some models refuse requests that have these options.
        """
        system = [{"role": "system", "content": self.system}] if self.system else []
        messages = [*system, {"role": "user", "content": user_message(question)}]
        limits = {"max_tokens": self.max_tokens, "seed": self.seed}
        options = {"temperature": self.temperature, **limits}
        given = {name: value for name, value in options.items() if value is not None}
        return {"model": model, "messages": messages, **given}


def user_message(question: AskedQuestion) -> str:
    """Return the user's message: the sources with their numbers, then the question.

    >>> from groundwire.detection.example import Source
    >>> found = (Source(text="It opened in 1889.", title="Towers"),)
    >>> asked = AskedQuestion(id="1", task="", context_id="", text="When?", sources=found)
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
    """Counts of the answers of a run.

    Attributes:
        n: Number of rows of the table of answers.
        n_asked: Number of answers that this run received; all other answers were saved before.
        n_failed: Number of rows without an answer.
        first_problem: Reason why the first row without an answer has none; empty if all rows have
            an answer.
        n_cut: Number of answers that were cut off at the limit of tokens.
        tokens: Model → number of tokens read, and number of tokens written.
    """

    n: int = 0
    n_asked: int = 0
    n_failed: int = 0
    first_problem: str = ""
    n_cut: int = 0
    tokens: dict[str, list[int]] = field(default_factory=dict)

    def add(self, model: str, reply: "_Found") -> None:
        """Count a row of the table of answers."""
        self.n += 1
        used = self.tokens.setdefault(model, [0, 0])
        if not isinstance(reply, ModelReply):
            self.n_failed += 1
            self.first_problem = self.first_problem or _problem(reply)
            return
        self.n_cut += reply.finish_reason == "length"
        used[0] += reply.prompt_tokens
        used[1] += reply.completion_tokens


def replies_path(output: Path) -> Path:
    """Return the path of the file of replies, which is beside the table of answers."""
    return output.with_name(f"{output.stem}.replies")


#: A question, and the name of the model to ask.
_Wanted: TypeAlias = tuple[AnyQuestion, str]
#: A reply, or the reason why there is none.
_Found: TypeAlias = ModelReply | GenerationError | FailedRow


def generate(
    questions: Iterable[AnyQuestion],
    asks: Asks,
    prompting: Prompting,
    *,
    output: Path,
    concurrency: int = 8,
    on_row: Callable[[int], None] = lambda _: None,
) -> Generated:
    """Ask each model each question that it has not answered yet, and write the table of answers.

    The table is JSON Lines in the order of the questions. The table is written only if the run
    reaches its end; each reply is saved at once, in the file that :func:`replies_path` names.

    ``concurrency`` is the highest number of calls at a time. ``on_row`` is called after each row
    with the number of rows done.

    Raises:
        StoppedError: If a call fails and further calls would fail too
            (``GenerationError.is_final``), or if :data:`MAX_IN_A_ROW` calls in a row fail.
    """
    asker, done, n_failed = _Asker(asks, prompting, replies_path(output)), Generated(), 0
    wanted = ((question, model) for question in questions for model in prompting.models)
    is_named = len(prompting.models) > 1
    try:
        with replacing(output) as stream:
            for (question, model), reply in _in_order(wanted, asker.ask, concurrency):
                if isinstance(reply, GenerationError):
                    n_failed += 1
                    if reply.is_final or n_failed >= MAX_IN_A_ROW:
                        raise StoppedError(1 if reply.is_final else n_failed, str(reply))
                elif isinstance(reply, ModelReply):
                    n_failed = 0
                done.add(model, reply)
                stream.write(to_json(_row(question, model, reply, is_named=is_named)) + "\n")
                on_row(done.n)
    finally:
        asker.close()
    done.n_asked = asker.n_new
    return done


class _Asker:
    """A caller of language models that saves each reply in a file; threads may share it.

    Replies are saved under a hash of the request. A request that has a saved reply is not made
    again. After a failure because of which further calls would fail too
    (``GenerationError.is_final``), no new request is begun. API keys are not saved.

    Attributes:
        n_new: Number of replies that this run received; replies of earlier runs do not count.
    """

    def __init__(self, asks: Asks, prompting: Prompting, path: Path) -> None:
        self.n_new = 0
        self._asks, self._prompting = asks, prompting
        self._final: GenerationError | None = None
        self._replies: dict[str, ModelReply] = {}
        self._lock = Lock()
        self._stream = path.open("a+b")
        self._stream.seek(0)
        line = b"\n"
        for line in self._stream:
            try:
                row = json.loads(line)
                key = row.pop("request")
                self._replies[key] = ModelReply(**row)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        if not line.endswith(b"\n"):
            self._stream.write(b"\n")

    def close(self) -> None:
        self._stream.close()

    def ask(self, wanted: _Wanted) -> _Found:
        question, model = wanted
        if isinstance(question, FailedRow):
            return question
        url = self._asks.base_url
        body = self._prompting.body(question.question, model)
        key = sha256(json.dumps([url, body], sort_keys=True).encode()).hexdigest()
        if (found := self._replies.get(key) or self._final) is not None:
            return found
        try:
            reply = self._asks.ask(body)
        except GenerationError as error:
            if error.is_final:
                self._final = error
            return error
        with self._lock:
            self.n_new += 1
            self._replies[key] = reply
            self._stream.write(to_json({"request": key, **asdict(reply)}).encode() + b"\n")
            self._stream.flush()
        return reply


def _in_order(
    items: Iterable[_Wanted], work: Callable[[_Wanted], _Found], concurrency: int
) -> Iterator[tuple[_Wanted, _Found]]:
    """Yield each item with its reply, in order; make at most ``concurrency`` calls at a time."""
    ahead: deque[tuple[_Wanted, Future[_Found]]] = deque()
    left = iter(items)
    with ThreadPoolExecutor(concurrency, thread_name_prefix="groundwire-generate") as pool:
        try:
            while True:
                for each in islice(left, concurrency * _AHEAD - len(ahead)):
                    ahead.append((each, pool.submit(work, each)))
                if not ahead:
                    return
                item, future = ahead.popleft()
                yield item, future.result()
        finally:
            # If the caller stopped early, queued calls must not be made.
            pool.shutdown(wait=False, cancel_futures=True)


def _row(question: AnyQuestion, model: str, reply: _Found, *, is_named: bool) -> dict[str, Any]:
    """Make a row of the table of answers; without an answer, the row has the error instead."""
    if isinstance(question, FailedRow):
        id_, known = question.id, {}
    else:
        asked = question.question
        id_ = asked.id
        known = {name: text for name, text in asked.columns.items() if name not in _RESERVED} | {
            "task": asked.task,
            "context_id": asked.context_id,
            "question": asked.text,
            "sources": [
                {"id": each.id, "text": each.text}
                | ({} if each.title is None else {"title": each.title})
                for each in asked.sources
            ],
        }
    own = {"id": f"{id_}@{model}" if is_named else id_, "question_id": id_, "model": model}
    if isinstance(reply, ModelReply):
        return known | own | asdict(reply)
    return known | own | {"answer": None, "error": _problem(reply)}


def _problem(reply: GenerationError | FailedRow) -> str:
    return reply.message if isinstance(reply, FailedRow) else str(reply)
