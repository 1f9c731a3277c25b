"""Lets tests check the answers of an LLM: a test fails if the sources do not support the answer.

>>> from groundwire.testing import assert_grounded
>>> detection = assert_grounded("It is 330 m tall.", ["The tower is 330 m tall."])

pytest offers the function as the fixture ``grounded``; with other test runners, call it directly.
"""

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from groundwire.detection.example import SourceLike
    from groundwire.detection.values import Detection, Outcome

#: Outcomes that a test can allow; ``grounded`` and ``skipped`` always pass.
ALLOWED = ("partial", "unverified", "unavailable")


class Detects(Protocol):
    """Interface of the detectors that :func:`assert_grounded` can use."""

    def detect(
        self,
        *,
        sources: "Iterable[SourceLike]",
        answer: str,
        question: str | None = None,
        operating_point: str | float | None = None,
    ) -> "Detection":
        """Check whether the sources support an answer."""
        ...


class SharedDetector:
    """Loads the default detector when it is first used, and keeps it for later calls."""

    def __init__(self) -> None:
        #: Operating point for calls that name none; ``None`` means the detector's own.
        self.operating_point: str | float | None = None
        self._detector: Detects | None = None
        self._lock = Lock()

    @property
    def detector(self) -> Detects:
        """The default detector, which is loaded at the first access."""
        with self._lock:
            if self._detector is None:
                from groundwire.detector import Detector  # imports numpy and onnxruntime: 200 ms

                self._detector = Detector.load()
            return self._detector


#: Holds the default detector and the default operating point of :func:`assert_grounded`.
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
    """Check an answer, and fail unless its outcome is ``grounded``, ``skipped`` or allowed.

    Args:
        answer: The answer of the LLM.
        sources: The texts that the answer must rest on.
        question: The question; it is never evidence.
        operating_point: A name or a threshold; by default the one of
            ``--groundwire-operating-point``, or else that of the detector.
        allow: Outcomes with which the test passes as well: ``partial`` (something was not read),
            ``unverified`` (there was no source) or ``unavailable`` (the detector failed).
        detector: The detector; by default that of :meth:`groundwire.Detector.load`.

    Raises:
        AssertionError: If the outcome is neither ``grounded`` nor ``skipped`` nor in ``allow``; the
            message has the marked words, the evidence and the unchecked parts.
        SettingError: If ``allow`` has an outcome other than the three above, or there is no such
            operating point.
        GroundwireError: If an input is invalid, or the model cannot be loaded.
    """
    __tracebackhide__ = True  # makes pytest show the line of the call instead of this function
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

        raise SettingError("allow", sorted(wrong)[0], f"one of {', '.join(ALLOWED)}")
    return {"grounded", "skipped", *names}
