"""An answer that is checked while it arrives, against the context of its request."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from groundwire.detection.example import Source
from groundwire.detection.source_limits import account_for
from groundwire.detection.values import Claim, Detection, Reason
from groundwire.pipeline.checked import Checked
from groundwire.pipeline.conversation import Answer, AnswerForm, AnswerKind
from groundwire.pipeline.structured import StructuredText, read_structured
from groundwire.stream import Snapshot, Stream

log = logging.getLogger(__name__)

#: A word that may go on: "tow", or "1," of "1,234".
_LAST_WORD = re.compile(r"(?:\w[\w.,'’:/-]*)?(?:\w|\d[.,])\Z")
_MAX_WORD = 64
#: Where a claim may end: the detector waits for the next character to know.
_CLAIM_END = re.compile(r"[.!?;:|\n…。！？；：؟۔।։][^\w.!?]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of the detector: a detection, a failure, or nothing if it was not asked.

    Attributes:
        detection: The detection.
        failure: The class name of the error.
        structured: The structured answer whose text the detection is about, or ``None``.
    """

    detection: Detection | None = None
    failure: str | None = None
    structured: StructuredText | None = None

    @classmethod
    def failed(cls, error: Exception) -> Self:
        """A check that was due and failed."""
        # The message may quote the answer, which has no place in a log.
        log.warning("An answer could not be checked: %s", type(error).__name__)
        return cls(failure=type(error).__name__)


Conclude: TypeAlias = Callable[[Answer, CheckResult], Checked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The result so far for an answer that is still being written.

    Attributes:
        checked: The result as if the answer ended at :attr:`judged_to`, without findings that may
            still be taken back. Before the first claim is judged it is ``skipped``, with the reason
            ``empty``.
        judged_to: The number of characters that are judged, from the beginning; 0 before the first
            claim is. Text in no claim, such as list markers, counts with the claim after it.
        clear_to: The number of characters that may be shown: those before the first finding that
            may still be taken back; if the action is to block, those before the first claim that
            asks for it. It never decreases, unless the check fails.
    """

    checked: Checked
    judged_to: int
    clear_to: int


class Flow:
    """An answer being checked while it arrives; not to be shared between threads.

    A check that fails raises nothing: the outcome is then ``unavailable``.
    """

    def __init__(
        self,
        stream: Stream | None,
        conclude: Conclude,
        *,
        found: CheckResult,
        form: AnswerForm | None = None,
        sources: Sequence[Source] = (),
    ) -> None:
        """Begin; :meth:`groundwire.Pipeline.stream` is the way.

        Args:
            stream: The detector's stream; ``None`` if nothing is checked, or it failed to open.
            conclude: Makes the result, at the end and for reviews.
            found: The result before the first word: nothing, or that the stream failed to open.
            form: The form of the answer: JSON is judged when it is complete.
            sources: The evidence.
        """
        self._stream, self._conclude, self._found = stream, conclude, found
        self._form, self._sources = form or AnswerForm(), sources
        self._pieces: list[str] = []
        self._last_word = ""  # not judged until it is complete: the answer may break off in it
        self._before = ""  # the end of the text before it
        self._checked: Checked | None = None
        self._clear_to = 0
        self._is_closed = False

    def feed(self, delta: str) -> list[Claim]:
        """Take the next piece of text.

        Returns:
            The claims that it completes, as the detector judges them: an explainer may still drop
            their spans. No claims if nothing is checked, or the check has failed.

        Raises:
            RuntimeError: If the answer is finished.
        """
        if self._checked is not None:
            raise RuntimeError("The answer is finished. Open another stream for another answer.")
        self._pieces.append(delta)
        if self._stream is None or self._form.is_json:
            return []
        text = self._last_word + delta
        end = _start_of_last_word(text)
        if _CLAIM_END.search((self._before + text[:end])[-_MAX_WORD:]):
            end = len(text)  # a claim before it may be complete
        self._before, self._last_word = (self._before + text[:end])[-_MAX_WORD:], text[end:]
        try:
            return self._stream.feed(text[:end]) if end else []
        except Exception as error:  # noqa: BLE001 - whatever went wrong, it was not checked
            self._fail(error)
            return []

    def finish(self, answer: Answer | None = None) -> Checked:
        """Say that the answer is complete.

        Args:
            answer: The answer, if it is more than a text. Its text is replaced by the text that
                was fed.

        Returns:
            The same, exactly, as :meth:`groundwire.Pipeline.check` of the whole answer.
        """
        if self._checked is None:
            text = self._text
            if answer is None:
                answer = read_answer(text)
            elif answer.kind is AnswerKind.TEXT or text.strip():
                # The user reads what was fed, whatever else the answer is said to be.
                answer = replace(answer, kind=AnswerKind.TEXT, text=text)
            structured = read_structured(answer, self._form, self._sources)
            if structured is not None:
                answer = structured.of(answer)
            if self._stream is not None and answer.has_statements:
                try:
                    self._found = self._finish(self._stream, structured, answer)
                except Exception as error:  # noqa: BLE001 - as above
                    self._fail(error)
            self.close()
            self._checked = self._conclude(answer, self._found)
        return self._checked

    def _finish(
        self, stream: Stream, structured: StructuredText | None, answer: Answer
    ) -> CheckResult:
        if structured is not None and not structured.statements:
            return CheckResult()
        text = answer.text if structured is None else structured.text
        is_within_word = answer.is_cut and _start_of_last_word(answer.text) < len(answer.text)
        end = _start_of_last_word(text) if is_within_word else len(text)
        is_alone = len(stream.text) > end or not text[:end].strip()
        stream.feed(text[len(stream.text) : len(text) if is_alone else end])
        detection = stream.finish()
        if end < len(text):
            detection = account_for(_without_last(detection, text, end), {Reason.CUT_OFF: 1})
        return CheckResult(detection=detection, structured=structured)

    def review(self) -> Review:
        """The result so far. Reviewing changes nothing that follows.

        Findings that are explained now are not explained again at the end. Where nothing is
        checked, all of the text is clear. If the check has failed, the outcome is ``unavailable``
        and nothing is judged.
        """
        if self._checked is not None:
            return self._review(self._checked, 0 if self._found.failure else len(self._text))
        found = self._found
        if self._stream is not None and not self._form.is_json:
            try:
                return self._review_part(self._stream.snapshot())
            except Exception as error:  # noqa: BLE001 - whatever went wrong, it was not checked
                found = self._failed(error)
        if found.failure:
            answer = Answer(index=0, kind=AnswerKind.TEXT, text=self._text)
            return Review(checked=self._conclude(answer, found), judged_to=0, clear_to=0)
        if self._form.is_json and self._stream is not None:
            return Review(checked=self._conclude(read_answer(""), found), judged_to=0, clear_to=0)
        return self._review(self._conclude(read_answer(self._text), found), len(self._text))

    def _review_part(self, snapshot: Snapshot) -> Review:
        if not snapshot.detection.claims:
            # Without a claim the outcome would be partial, and most likely more text comes.
            return Review(
                checked=self._conclude(read_answer(""), CheckResult()), judged_to=0, clear_to=0
            )
        text = self._text[: snapshot.judged_to]
        answer = Answer(index=0, kind=AnswerKind.TEXT, text=text)
        checked = self._conclude(answer, CheckResult(detection=snapshot.detection))
        return self._review(checked, snapshot.judged_to, clear_to=snapshot.clear_to)

    def _review(self, checked: Checked, judged_to: int, *, clear_to: int | None = None) -> Review:
        found = judged_to if clear_to is None else clear_to
        self._clear_to = max(self._clear_to, min(found, checked.n_clear))
        return Review(checked=checked, judged_to=judged_to, clear_to=min(self._clear_to, judged_to))

    def close(self) -> None:
        """Stop reading ahead; harmless when done twice, and from another thread.

        A check that is under way then ends as a failed one, and is not logged.
        """
        self._is_closed = True
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def _fail(self, error: Exception) -> None:
        self._found = self._failed(error)
        self.close()
        self._stream = None

    def _failed(self, error: Exception) -> CheckResult:
        # It was closed on purpose, so its failure is not worth a log line.
        return (
            CheckResult(failure=type(error).__name__)
            if self._is_closed
            else CheckResult.failed(error)
        )


def _without_last(detection: Detection, text: str, end: int) -> Detection:
    """The detection of a text without the claim that its last word is alone, if there is one."""
    claims = tuple(claim for claim in detection.claims if claim.start < end)
    is_same = len(claims) == len(detection.claims)
    probability = detection.probability if is_same else None
    return replace(detection, answer=text, claims=claims, probability=probability)


def _start_of_last_word(text: str) -> int:
    """Where the word begins with which a text ends, or the end of the text: it may go on."""
    first = max(0, len(text) - _MAX_WORD)
    found = _LAST_WORD.search(text, first)
    return len(text) if found is None else found.start()


def read_answer(text: str) -> Answer:
    """An answer that is a text and nothing else."""
    kind = AnswerKind.TEXT if text.strip() else AnswerKind.EMPTY
    return Answer(index=0, kind=kind, text=text)
