"""The pytest plugin: fixtures for tests of LLM answers, and a command-line option.

pytest imports this module at every start, so the module imports little.
"""

from argparse import ArgumentTypeError
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import pytest

from groundwire.testing import SHARED, Detects, assert_grounded

if TYPE_CHECKING:
    from groundwire.detection.example import SourceLike
    from groundwire.detection.values import Detection, Outcome

__all__ = ["Grounded", "assert_grounded"]


class Grounded(Protocol):
    """The type of the fixture ``grounded``: :func:`groundwire.testing.assert_grounded`."""

    def __call__(  # noqa: D102
        self,
        answer: str,
        sources: "Iterable[SourceLike]",
        question: str | None = None,
        *,
        operating_point: str | float | None = None,
        allow: "Iterable[Outcome | str]" = (),
        detector: Detects | None = None,
    ) -> "Detection": ...


def _read_point(text: str) -> str | float:
    from groundwire.detection.values import read_operating_point

    try:
        return read_operating_point(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line option ``--groundwire-operating-point``."""
    parser.getgroup("groundwire", "answers of LLMs (groundwire)").addoption(
        "--groundwire-operating-point",
        type=_read_point,
        metavar="POINT",
        help="precision, balanced, recall, or a threshold above 0 and at most 1, for checks that "
        "name none. Default: that of the detector.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the option's value the default operating point of ``assert_grounded``."""
    SHARED.operating_point = config.getoption("--groundwire-operating-point")


def pytest_unconfigure() -> None:
    """Reset the default operating point, so that no later session in this process uses it."""
    SHARED.operating_point = None


@pytest.fixture(scope="session")
def groundwire_detector() -> Detects | None:
    """The detector of ``grounded``; ``None`` means that of :meth:`groundwire.Detector.load`.

    Override this fixture to use another detector.
    """
    return None


@pytest.fixture(scope="session")
def grounded(groundwire_detector: Detects | None) -> Grounded:
    """The function ``assert_grounded``, with the detector of ``groundwire_detector``."""
    return partial(assert_grounded, detector=groundwire_detector)
