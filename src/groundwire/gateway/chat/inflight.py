"""The answers of a streamed response while they arrive: what each says, and who judges it."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from groundwire.gateway.chat.chunks import DeltaPart, UnreadableChunkError
from groundwire.gateway.chat.judging import AnswerJudge
from groundwire.pipeline import Checked
from groundwire.pipeline.conversation import Answer, AnswerKind, answer_of

#: Answers that a response may have; OpenAI's limit of ``n``.
MAX_ANSWERS = 128


@dataclass(slots=True)
class AnswerInFlight:
    """One answer.

    Attributes:
        index: Its number.
        judge: Who checks it.
        max_chars: Characters that are checked; what comes after is told, and not checked.
        checked: What became of it, once that is known.
        n_chars: Characters of its text so far.
        is_finished: Whether the upstream has said that it is complete.
    """

    index: int
    judge: AnswerJudge
    max_chars: int
    checked: Checked | None = None
    n_chars: int = 0
    is_finished: bool = False
    _text: list[str] = field(default_factory=list)
    _refusal: str = ""
    _calls_tools: bool = False
    _n_skipped: int = 0
    _is_over_limit: bool = False

    @property
    def is_over_limit(self) -> bool:
        """Whether some of its text was not checked, for there is too much of it."""
        return self._is_over_limit

    def take(self, part: DeltaPart) -> None:
        """Take what a chunk says of it."""
        room = self.max_chars - self.n_chars
        self.n_chars += len(part.text)
        if len(part.text) > room:
            self._is_over_limit = True
        kept = part.text[: max(0, room)]
        self._text.append(kept)
        self.judge.feed(kept)
        self._refusal += part.refusal
        self._calls_tools |= part.calls_tools
        self._n_skipped += part.n_skipped
        self.is_finished |= part.finish is not None

    def lose(self, n: int) -> None:
        """So many events could not be read, which may be parts of this answer."""
        self._n_skipped += n

    @property
    def answer(self) -> Answer:
        """What it is so far."""
        return answer_of(
            self.index,
            text="".join(self._text),
            refusal=self._refusal,
            has_calls=self._calls_tools,
            n_skipped=self._n_skipped + self._is_over_limit,
        )

    async def finish(self) -> Checked:
        """Check the rest; harmless when done twice."""
        if self.checked is None:
            self.checked = await self.judge.finish(self.answer)
        return self.checked


class AnswersInFlight:
    """All answers of a response. Who judges the first is there from the start, and reads ahead."""

    def __init__(self, judge: Callable[[int], AnswerJudge], *, max_chars: int) -> None:
        """Begin.

        Args:
            judge: Makes who judges an answer, by its number.
            max_chars: Of each answer, as in :class:`AnswerInFlight`.
        """
        self._judge, self._max_chars = judge, max_chars
        self._ready = {0: judge(0)}
        self._n_lost = 0
        self._known: dict[int, AnswerInFlight] = {}

    def __iter__(self) -> Iterator[AnswerInFlight]:
        return iter(tuple(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, index: int) -> AnswerInFlight:
        """An answer by its number, new if nothing was said of it before.

        Raises:
            UnreadableChunkError: If there are too many.
        """
        if index not in self._known:
            if len(self._known) >= MAX_ANSWERS:
                raise UnreadableChunkError(f"it is about more than {MAX_ANSWERS} answers")
            judge = self._ready.pop(index) if index in self._ready else self._judge(index)
            self._known[index] = AnswerInFlight(index, judge, self._max_chars)
            self._known[index].lose(self._n_lost)
        return self._known[index]

    def lose(self) -> None:
        """An event could not be read: it may be about any answer, also about one still to come."""
        for answer in self:
            answer.lose(1)
        self._n_lost += 1
        if not self._known:
            _ = self[0]  # there is one, even if no event of it can be read

    @property
    def checked(self) -> tuple[Checked, ...]:
        """What is known of those that were checked, in the order of their numbers."""
        known = sorted(self._known.items())
        return tuple(answer.checked for _, answer in known if answer.checked is not None)

    async def check(self, answers: Sequence[Answer]) -> tuple[Checked, ...]:
        """Check answers that are complete, in their order, whatever their numbers."""
        judges = [
            self._ready[i] if i in self._ready else self._judge(i) for i in range(len(answers))
        ]
        self._ready.update(enumerate(judges))  # so that they are closed with the others
        for judge, answer in zip(judges, answers, strict=True):
            judge.feed(answer.text if answer.kind is AnswerKind.TEXT else "")
        pairs = zip(judges, answers, strict=True)
        return tuple(await asyncio.gather(*(judge.finish(answer) for judge, answer in pairs)))

    async def finish(self) -> tuple[Checked, ...]:
        """Check what is left of all of them."""
        await asyncio.gather(*(answer.finish() for answer in self))
        return self.checked

    def close(self) -> None:
        """Give up all checks that are not over."""
        for judge in (*self._ready.values(), *(answer.judge for answer in self)):
            judge.close()
