"""What is on record of each benchmark, and whether files are those of the benchmark."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from groundwire.errors import InputError, SettingError
from groundwire.evaluation.benches.checking import check_counts, sums_of
from groundwire.evaluation.benches.registry import BENCHES, Bench, bench

ALL = pytest.mark.parametrize("one", BENCHES.values(), ids=lambda one: one.name)


@ALL
def test_a_benchmark_says_where_it_is_from_and_how_it_is_scored(one: Bench) -> None:
    assert re.search(r"https://arxiv\.org/abs/\d{4}\.\d{5}", one.citation)
    assert one.licence
    assert one.url.startswith("https://")
    assert one.fetch
    assert bool(one.hub) == bool(one.hub_files)
    assert len({metric.name for metric in one.metrics}) == len(one.metrics)
    assert set(one.expected) <= set(one.splits)
    assert all(expected["source"] for expected in one.expected.values())


@ALL
def test_a_published_score_has_a_metric_a_source_and_a_sensible_value(one: Bench) -> None:
    names = {metric.name for metric in one.metrics}
    for each in one.published:
        assert each["scores"]
        assert each["scores"].keys() <= names, each["system"]
        assert all(1 < score <= 100 for score in each["scores"].values())
        assert each["source"]


def test_published_f1_of_ragtruth_follows_from_what_flagging_all_reaches() -> None:
    counts = bench("ragtruth").expected["test"]
    n, n_hallucinated = counts["total"]
    assert round(200 * n_hallucinated / (n + n_hallucinated), 1) == 51.8
    assert [sum(each) for each in zip(*counts["tasks"].values(), strict=True)] == counts["total"]


def test_an_unknown_name_or_split_says_what_there_is() -> None:
    assert bench("RAGTruth").name == "ragtruth"
    with pytest.raises(InputError, match="There are ragtruth, halueval"):
        bench("truth")
    assert bench("aggrefact").split(None) == "test"
    with pytest.raises(SettingError, match="one of test, dev for aggrefact"):
        bench("aggrefact").split("train")


def test_files_are_named_below_what_they_have_in_common(tmp_path: Path) -> None:
    files = [tmp_path / "covidqa" / "test.parquet", tmp_path / "techqa" / "test.parquet"]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)
    assert sums_of(files) == {
        "covidqa/test.parquet": sha256(b"covidqa").hexdigest(),
        "techqa/test.parquet": sha256(b"techqa").hexdigest(),
    }
    assert list(sums_of(files[:1])) == ["test.parquet"]


def test_counts_agree_differ_or_are_not_known() -> None:
    expected = {"total": [4, 2], "tasks": {"QA": [2, None]}, "source": "a page"}
    same = check_counts(expected, (4, 2), {"QA": (2, 1), "Other": (2, 1)})
    assert (same.counts, same.differences, same.source) == ("same", (), "a page")
    other = check_counts(expected, (1004, 3), {})
    assert other.counts == "different"
    assert other.differences == (
        "QA: 0 answers, 0 hallucinated, and 2 answers expected",
        "all: 1,004 answers, 3 hallucinated, and 4 answers, 2 hallucinated expected",
    )
    assert check_counts({}, (4, 2), {}).counts == "unknown"
