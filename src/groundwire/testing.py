"""Tests of what an LLM writes: an answer that its sources do not support fails the test.

>>> from groundwire.testing import assert_grounded
>>> detection = assert_grounded("It is 330 m tall.", ["The tower is 330 m tall."])

pytest knows it as the fixture ``grounded``; any other runner calls the function. Nothing is loaded
before the first call, and the detector is loaded once a process.
"""

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from groundwire.detection.example import SourceLike
    from groundwire.detection.values import Detection, Outcome

#: Outcomes that a test may let pass; a hallucinated answer is what it is there to find.
ALLOWED = ("partial", "unverified", "unavailable")


class Detects(Protocol):
    """What is needed of a detector."""

    def detect(
        self,
        *,
        sources: "Iterable[SourceLike]",
        answer: str,
        question: str | None = None,
        operating_point: str | float | None = None,
    ) -> "Detection":
        """Check one answer."""
        ...


class SharedDetector:
    """The detector of a process, loaded when it is first asked for."""

    def __init__(self) -> None:
        #: The operating point of calls that name none; ``None``: that of the detector.
        self.operating_point: str | float | None = None
        self._detector: Detects | None = None
        self._lock = Lock()

    @property
    def detector(self) -> Detects:
        """The embedded reader."""
        with self._lock:
            if self._detector is None:
                from groundwire.detector import Detector  # numpy and the runtime: 200 ms

                self._detector = Detector.load()
            return self._detector


#: What :func:`assert_grounded` uses if nothing else is given.
SHARED = SharedDetector()


def assert_grounded(
    answer: str,
    sources: "Iterable[SourceLike]",
    question: str | None = None,
    *,
    operating_point: str | float | None = None,
    allow: "Iterable[Outcome | str]" = (),
    detector: Detects | None = None,
) -> "Detection":
    """Fail unless all of an answer was checked, and its sources support it.

    Args:
        answer: What the LLM wrote.
        sources: What it has to rest on.
        question: What was asked; it is never evidence.
        operating_point: A name or a threshold; by default that of ``--groundwire-operating-point``,
            or of the detector.
        allow: Outcomes that pass as well, of ``partial`` (something was not read), ``unverified``
            (there was no source) and ``unavailable`` (a claim could not be judged).
        detector: What checks; by default the embedded reader.

    Returns:
        The detection, to look at further.

    Raises:
        AssertionError: With the marked words, the evidence and what was not checked.
        SettingError: If ``allow`` names another outcome.
        GroundwireError: If there is nothing to check, or the check fails: that is no pass.
    """
    __tracebackhide__ = True  # pytest shows the call, not this line
    passing = _passing(allow)
    checked = (detector or SHARED.detector).detect(
        sources=sources,
        answer=answer,
        question=question,
        operating_point=SHARED.operating_point if operating_point is None else operating_point,
    )
    if str(checked.outcome) not in passing:
        from groundwire.render import to_text

        raise AssertionError(f"the answer is {checked.outcome}, not grounded\n\n{to_text(checked)}")
    return checked


def _passing(allow: "Iterable[Outcome | str]") -> set[str]:
    given = [allow] if isinstance(allow, str) else list(allow)
    names = {str(each) for each in given}
    if wrong := names - set(ALLOWED):
        from groundwire.errors import SettingError

        raise SettingError("allow", sorted(wrong)[0], f"among {', '.join(ALLOWED)}")
    return {"grounded", "skipped", *names}
