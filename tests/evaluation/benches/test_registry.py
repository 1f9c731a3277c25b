"""What is on record of each benchmark."""

import re

import pytest

from groundwire.errors import SettingError
from groundwire.evaluation.benches.bench import Bench
from groundwire.evaluation.benches.registry import BENCHES, UnknownBenchError, bench

ALL = pytest.mark.parametrize("one", BENCHES.values(), ids=lambda one: one.name)


@ALL
def test_a_benchmark_says_where_it_is_from_and_how_it_is_scored(one: Bench) -> None:
    assert re.search(r"https://arxiv\.org/abs/\d{4}\.\d{5}", one.citation)
    assert one.licence
    assert one.origin.url.startswith("https://")
    assert one.origin.files
    assert bool(one.origin.hub) == bool(one.origin.patterns)
    assert len({metric.name for metric in one.metrics}) == len(one.metrics)
    assert set(one.expected) <= set(one.splits)
    assert all(expected.source for expected in one.expected.values())


@ALL
def test_a_published_score_has_a_metric_a_source_and_a_sensible_value(one: Bench) -> None:
    names = {metric.name for metric in one.metrics}
    for each in one.published:
        assert each.scores
        assert each.scores.keys() <= names, each.system
        assert all(1 < score <= 100 for score in each.scores.values())
        assert each.source


def test_published_f1_of_ragtruth_follows_from_what_flagging_all_reaches() -> None:
    counts = bench("ragtruth").expected["test"]
    assert counts.total is not None
    n, n_hallucinated = counts.total
    assert n_hallucinated is not None
    assert round(200 * n_hallucinated / (n + n_hallucinated), 1) == 51.8
    assert sum(n for n, _ in counts.tasks.values()) == n
    assert sum(bad or 0 for _, bad in counts.tasks.values()) == n_hallucinated


def test_an_unknown_name_or_split_says_what_there_is() -> None:
    assert bench("RAGTruth").name == "ragtruth"
    with pytest.raises(UnknownBenchError, match="There are ragtruth, halueval"):
        bench("truth")
    assert bench("aggrefact").split(None) == "test"
    with pytest.raises(SettingError, match="one of test, dev for aggrefact"):
        bench("aggrefact").split("train")
