"""Checks an answer while it arrives, against the context of its request."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from groundwire.detection.source_limits import account_for
from groundwire.detection.values import Claim, Detection, Reason
from groundwire.pipeline.checked import Checked
from groundwire.pipeline.conversation.request import Conversation
from groundwire.pipeline.conversation.response import Answer, AnswerKind
from groundwire.pipeline.structured import StructuredText, read_structured
from groundwire.stream import Snapshot, Stream

log = logging.getLogger(__name__)

#: Matches a word at the end of a text. More text may complete the word: "tow" may become "tower",
#: "1," may become "1,234", and "1887-" may become "1887-1889".
_LAST_WORD = re.compile(r"(?:\w[\w.,'’:/-]*)?(?:\w|\d[.,:]|\w['’/-])\Z")
#: Only this many characters at the end of the text are searched for the last word and for the end
#: of a claim.
_MAX_WORD = 64
#: Matches the end of a text at which a claim may end. Only the next word shows whether the claim
#: does end.
_CLAIM_END = re.compile(r"[.!?;:|\n…。！？；：؟۔।։][^\w.!?]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorResult:
    """The result of the detector: a detection, a failure, or neither if nothing was judged.

    Attributes:
        detection: The detection, or ``None``.
        failure: The class name of the error because of which the check failed, or another word for
            the reason; ``None`` if the check did not fail.
        structured: The structured answer from whose text the detection was made, or ``None``.
        is_whole: Whether the whole answer was judged, not only its beginning.
    """

    detection: Detection | None = None
    failure: str | None = None
    structured: StructuredText | None = None
    is_whole: bool = True

    @classmethod
    def failed(cls, error: Exception) -> Self:
        """Return the result of a check that failed, and log the class of the error."""
        # The error's message may quote the answer, so only the name of its class is logged.
        log.warning("An answer could not be checked: %s", type(error).__name__)
        return cls(failure=type(error).__name__)


#: A function that makes the checked answer from an answer and the detector's result.
Conclude: TypeAlias = Callable[[Answer, DetectorResult], Checked]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The result so far for an answer that is still being written.

    Attributes:
        checked: The result as if the answer ended at :attr:`judged_to`; after a failure, the result
            for all of its text. Findings are left out while fewer word pieces of the answer are
            flagged than the detector's setting ``min_pieces`` demands.
        judged_to: The number of characters, from the beginning, that are judged. It is 0 until the
            first claim is judged, until a JSON answer is finished, and after a failure. If nothing
            is checked, all characters count.
        clear_to: The number of characters, from the beginning, that may be shown to the user. It
            may be less than ``judged_to`` if findings are left out or the action is ``block``. It
            never decreases, unless the check fails.
    """

    checked: Checked
    judged_to: int
    clear_to: int


class Flow:
    """Checks one answer while it arrives.

    Threads must not share a flow, but any thread may call :meth:`close`.

    If the check fails, no error is raised: the outcome of an answer with statements is then
    ``unavailable``.
    """

    def __init__(
        self,
        stream: Stream | None,
        conclude: Conclude,
        *,
        found: DetectorResult,
        conversation: Conversation,
    ) -> None:
        """Begin to check an answer; callers use :meth:`groundwire.Pipeline.stream` instead.

        Args:
            stream: The detector's stream; ``None`` if nothing is checked, or no stream could be
                opened.
            conclude: Makes the checked answer, at the end and for reviews.
            found: The result before the answer begins. It is empty, or has the error because of
                which the request could not be read or the stream could not be opened.
            conversation: The evidence, and the form of the answer.
        """
        self._stream, self._conclude, self._found = stream, conclude, found
        self._form, self._sources = conversation.form, conversation.sources
        self._pieces: list[str] = []
        # The last word is judged only when it is complete: the answer may break off within it.
        self._last_word = ""
        self._before = ""  # the end of the text before the last word
        self._checked: Checked | None = None
        self._clear_to = 0
        self._is_closed = False

    def feed(self, delta: str) -> list[Claim]:
        """Take the next piece of the answer's text.

        Returns:
            The claims that the piece completes, as the detector judges them; the explainer may
            still drop their spans. The list is empty if nothing is checked, the check has failed,
            the answer is JSON, or the detector judges all claims at the end.

        Raises:
            RuntimeError: If the answer is finished.
        """
        if self._checked is not None:
            raise RuntimeError("The answer is finished. Open another stream for another answer.")
        self._pieces.append(delta)
        if self._stream is None or self._form.is_json:
            return []
        try:
            ready = self._ready(delta)
            return self._stream.feed(ready) if ready else []
        except Exception as error:  # noqa: BLE001 - after any error, the answer is unchecked
            self._fail(error)
            return []

    def _ready(self, delta: str) -> str:
        """Take a piece of the answer; return the text that can be judged, up to the last word.

        The last word waits for the next piece, because more text may complete it. It does not wait
        if it may show that the claim before it is complete.
        """
        text = self._last_word + delta
        end = _start_of_last_word(text)
        if _CLAIM_END.search((self._before + text[:end])[-_MAX_WORD:]):
            end = len(text)
        self._before, self._last_word = (self._before + text[:end])[-_MAX_WORD:], text[end:]
        return text[:end]

    def finish(self, answer: Answer | None = None, *, rest: str = "") -> Checked:
        """End the answer, and return its result.

        Args:
            answer: The answer, if it has more than a text, such as tool calls. Its text is replaced
                by the text that was fed, unless the fed text is blank and the answer's kind is not
                ``text``.
            rest: The last piece of the text, which counts as fed. It is judged together with the
                text that was fed and is not yet judged, as in :meth:`.Stream.finish`.

        Returns:
            The final result, as :meth:`groundwire.Pipeline.check` returns it for the whole answer.
        """
        if self._checked is None:
            self._pieces.append(rest)
            text = self._text
            if answer is None:
                answer = read_answer(text)
            elif answer.kind is AnswerKind.TEXT or text.strip():
                # The user reads the text that was fed, even if ``answer`` has another kind.
                answer = replace(answer, kind=AnswerKind.TEXT, text=text)
            structured = read_structured(answer, self._form, self._sources)
            if structured is not None:
                answer = structured.of(answer)
            if self._stream is not None and answer.has_statements:
                try:
                    ready = "" if self._form.is_json else self._ready(rest)
                    self._found = self._finish(self._stream, structured, answer, ready)
                except Exception as error:  # noqa: BLE001 - the answer counts as unchecked
                    self._fail(error)
            self.close()
            self._checked = self._conclude(answer, self._found)
        return self._checked

    def _finish(
        self, stream: Stream, structured: StructuredText | None, answer: Answer, ready: str
    ) -> DetectorResult:
        if structured is not None and not structured.statements:
            return DetectorResult()
        text = answer.text if structured is None else structured.text
        is_within_word = answer.is_cut and _start_of_last_word(answer.text) < len(answer.text)
        end = _start_of_last_word(text) if is_within_word else len(text)
        is_alone = len(stream.text + ready) > end or not text[:end].strip()
        detection = stream.finish(text[len(stream.text) : len(text) if is_alone else end])
        if end < len(text):
            detection = account_for(_without_last(detection, text, end), {Reason.CUT_OFF: 1})
        return DetectorResult(detection=detection, structured=structured)

    def review(self) -> Review:
        """Return the result so far; the check goes on as before.

        Findings that are explained for a review are not explained again at the end. After
        :meth:`finish`, the review has the final result.
        """
        if self._checked is not None:
            return self._review(self._checked, 0 if self._found.failure else len(self._text))
        found, text = self._found, self._text
        if self._stream is not None and not self._form.is_json:
            try:
                return self._review_part(self._stream.snapshot())
            except Exception as error:  # noqa: BLE001 - after any error, the answer is unchecked
                found = self._failed(error)
        if found.failure:
            answer = Answer(index=0, kind=AnswerKind.TEXT, text=text)
            return self._review(self._conclude(answer, found), 0)
        if self._form.is_json and self._stream is not None:
            text = ""
        return self._review(self._conclude(read_answer(text), found), len(text))

    def _review_part(self, snapshot: Snapshot) -> Review:
        if not snapshot.detection.claims:
            # No claim was judged yet, and more text follows: any outcome would be misleading.
            return self._review(self._conclude(read_answer(""), DetectorResult()), 0)
        answer = read_answer(self._text[: snapshot.judged_to])
        found = DetectorResult(detection=snapshot.detection, is_whole=False)
        checked = self._conclude(answer, found)
        return self._review(checked, snapshot.judged_to, clear_to=snapshot.clear_to)

    def _review(self, checked: Checked, judged_to: int, *, clear_to: int | None = None) -> Review:
        found = judged_to if clear_to is None else clear_to
        self._clear_to = max(self._clear_to, min(found, checked.n_clear))
        return Review(checked=checked, judged_to=judged_to, clear_to=min(self._clear_to, judged_to))

    def close(self) -> None:
        """Stop the check, and the reading of sources in the background.

        This method may be called twice, and from another thread. If the check is still running, it
        fails, without an entry in the log.
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

    def _failed(self, error: Exception) -> DetectorResult:
        # A check that was closed on purpose needs no log line.
        if self._is_closed:
            return DetectorResult(failure=type(error).__name__)
        return DetectorResult.failed(error)


def _without_last(detection: Detection, text: str, end: int) -> Detection:
    """Return a detection for the whole text, without claims that begin at ``end`` or after it.

    Call this if the answer breaks off within its last word, which begins at ``end``: the claims
    that are left out consist only of that word. If claims are left out, the result has no
    probability, because the probability would depend on them.
    """
    claims = tuple(claim for claim in detection.claims if claim.start < end)
    probability = detection.probability if len(claims) == len(detection.claims) else None
    return replace(detection, answer=text, claims=claims, probability=probability)


def _start_of_last_word(text: str) -> int:
    """Return the start of the word at the end of a text; without a word, the end of the text."""
    found = _LAST_WORD.search(text, max(0, len(text) - _MAX_WORD))
    return len(text) if found is None else found.start()


def read_answer(text: str) -> Answer:
    """Make an answer of the kind ``text``, or of the kind ``empty`` if the text is blank."""
    return Answer(index=0, kind=AnswerKind.TEXT if text.strip() else AnswerKind.EMPTY, text=text)
