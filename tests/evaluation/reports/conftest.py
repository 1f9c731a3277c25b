"""Results that several tests look at."""

from pathlib import Path

import pytest

from groundwire.evaluation.reports.summary import Summary, summarize
from tests.evaluation.reports.results import ROWS, results_of


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row of each kind."""
    return results_of(ROWS, tmp_path_factory.mktemp("results") / "results.jsonl")


@pytest.fixture(scope="session")
def summary(results: Path) -> Summary:
    """What reports say of them."""
    return summarize(results)
